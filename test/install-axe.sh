#!/bin/bash
# install-axe.sh: installs axe-core for the tests of the pages, in the version that
# test/browser/package-lock.json pins. It installs Debian's npm, which is large, only if there is
# none. Where it cannot be had, those tests are left out and say so.
set -euo pipefail
cd "$(dirname "$0")/browser"

left_out() { echo "install-axe.sh: $*, so tests that ask axe-core about a page are left out" >&2; exit; }

wanted=$(sed -n 's/.*"axe-core": "\(.*\)".*/\1/p' package.json)
if grep -qs "\"version\": \"$wanted\"" node_modules/axe-core/package.json; then exit 0; fi
if ! command -v npm >/dev/null; then
	[ "$(id -u)" = 0 ] || left_out "there is no npm (sudo apt-get install npm)"
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends npm || left_out "npm cannot be installed"
fi
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || left_out "npm cannot fetch axe-core"
