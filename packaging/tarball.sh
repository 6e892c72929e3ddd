#!/bin/bash
# tarball.sh: makes jobeff-VERSION-linux-x86_64.tar.gz: one folder with what measures programs without
# Slurm and root. It works wherever it is unpacked. `make tarball` builds it in bullseye (distro.sh), so
# that it runs with glibc 2.28 and newer.
#
# TARGET             the folder for it (build)
# SOURCE_DATE_EPOCH  as in build.sh
set -euo pipefail
cd "$(dirname "$0")/.."
STAGE=build/tarball
TARGET=${TARGET:-build}
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
name=jobeff-$(packaging/version.sh)-linux-$(uname -m)

make --no-print-directory by-hand
rm -rf $STAGE
mkdir -p "$TARGET"
DESTDIR=$STAGE PREFIX=/$name packaging/install.sh jobeff by-hand
ln -s share/doc/jobeff/copyright "$STAGE/$name/LICENSE"
ln -s share/doc/jobeff/doc "$STAGE/$name/doc"
tar -C $STAGE --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$time" -c "$name" | gzip -9n >"$TARGET/$name.tar.gz"
rm -rf $STAGE
ls "$TARGET/$name.tar.gz"
