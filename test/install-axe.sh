#!/bin/bash
# install-axe.sh: installs axe-core for the tests of the pages, in the version that
# test/browser/package-lock.json pins. It installs Debian's npm, which is large, only if there is
# none.
set -euo pipefail
cd "$(dirname "$0")/browser"
wanted=$(sed -n 's/.*"axe-core": "\(.*\)".*/\1/p' package.json)
if grep -qs "\"version\": \"$wanted\"" node_modules/axe-core/package.json; then exit 0; fi
if ! command -v npm >/dev/null; then
	if [ "$(id -u)" != 0 ]; then
		echo "install-axe.sh: needs npm: sudo apt-get install npm" >&2
		exit 1
	fi
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends npm
fi
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
