#!/bin/bash
# version.sh: prints the version of the packages and programs, which is CHANGELOG.md's newest. What follows a release
# is headed 0.2.0~dev: deb and rpm sort it before 0.2.0.
set -euo pipefail
sed -n '/^## /{s///p;q}' "$(dirname "$0")/../CHANGELOG.md"
