#!/bin/bash
# release.sh: makes all debs and rpms, the tarball and the list of their parts in build/release, and tries them.
# `make release` runs it in bullseye (distro.sh), so that they run with glibc 2.28 and newer.
set -euo pipefail
cd "$(dirname "$0")/.."
TARGET=build/release
version=$(packaging/version.sh)
rm -rf $TARGET
make --no-print-directory build packages
TARGET=$TARGET packaging/build.sh deb rpm
TARGET=$TARGET packaging/tarball.sh
go run ./packaging/sbom "$version" "$(git log -1 --format=%ct)" build/{jobeff,jobeffd,jobeff-ingest,lib/jobeff_spank_body.so} \
	>"$TARGET/jobeff-$version.spdx.json"
(cd $TARGET && sha256sum jobeff* >SHA256SUMS)
JOBEFF_RELEASE=1 go test -count=1 -timeout 30m ./packaging ./spank/body
