#!/bin/bash
# version.sh: prints the version of the packages and programs, from the last tag: v0.2.0 is 0.2.0,
# and 5 commits later 0.2.0+5.gHASH, which deb and rpm sort between 0.2.0 and 0.2.1. A tag
# v0.3.0-rc1 sorts before 0.3.0. Before the first tag it counts from 0.1.0.
set -euo pipefail
cd "$(dirname "$0")/.."
if version=$(git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null); then
	:
elif version=$(git describe --always --dirty 2>/dev/null); then
	version=0.1.0-$(git rev-list --count HEAD)-g$version
else
	version=0.1.0
fi
echo "$version" | sed 's/^v//; s/-rc/~rc/; s/-/+/; s/-/./g'
