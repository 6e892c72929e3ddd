#!/bin/bash
# build.sh: makes build/jobeff_VERSION_ARCH.deb from what `make build` left in build/. nfpm is a Go
# tool with a module file of its own, so that jobeff's stays small.
set -euo pipefail
cd "$(dirname "$0")/.."

# A Debian version begins with a digit: before the first tag it is 0 and the commit.
version=$(git describe --tags --always --dirty 2>/dev/null | sed 's/^v//; s/-/+/; s/-/./g' || true)
case $version in [0-9]*.*) ;; *) version=0.0.0${version:++$version} ;; esac

# The plugin loads only in the Slurm version (major.minor) that it was built for.
slurm=$(dpkg-query -W -f '${Version}' libslurm-dev | cut -d. -f1,2)
root=build/package
rm -rf $root build/*.deb
packaging/install.sh $root
export JOBEFF_VERSION=$version JOBEFF_SLURM=$slurm
JOBEFF_ARCH=$(dpkg --print-architecture)
export JOBEFF_ARCH
go tool -modfile=packaging/tools.mod nfpm package --config packaging/nfpm.yaml --packager deb --target build/ >/dev/null
rm -rf $root
ls build/*.deb
