#!/bin/bash
# build.sh [deb|rpm…]: makes packages of three parts from what `make build` left in build/: debs by
# default. nfpm is a Go tool with a module file of its own, so that jobeff's stays small.
#
# TARGET             the folder for them (build)
# JOBEFF_MAINTAINER  the maintainer that they name: NAME <ADDRESS> (the last commit's author)
# SOURCE_DATE_EPOCH  the time of the files in them (that commit's): the same tree gives the same packages
set -euo pipefail
cd "$(dirname "$0")/.."
PARTS=(jobeff jobeff-node jobeffd)
STAGE=build/package
TARGET=${TARGET:-build}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
JOBEFF_VERSION=$(packaging/version.sh)
JOBEFF_MAINTAINER=${JOBEFF_MAINTAINER:-$(git log -1 --format='%an <%ae>' 2>/dev/null || echo 'jobeff <jobeff@invalid>')}
JOBEFF_ARCH=$(go env GOARCH)
export SOURCE_DATE_EPOCH JOBEFF_VERSION JOBEFF_MAINTAINER JOBEFF_ARCH

# newest_glibc FOLDER: prints the newest version of glibc's symbols that programs and libraries need.
newest_glibc() {
	find "$1" -type f \( -path '*bin/*' -o -name '*.so' \) -exec readelf -VW {} + |
		sed -n 's/.*Name: GLIBC_\([0-9.]*\) .*/\1/p' | sort -Vu | tail -n 1
}

# package FORMAT PART
package() {
	JOBEFF_GLIBC=$(newest_glibc "$STAGE/$2") go tool -modfile=packaging/tools.mod nfpm package \
		--config "packaging/$2.yaml" --packager "$1" --target "$TARGET/" >$STAGE/nfpm.log || { cat $STAGE/nfpm.log >&2; return 1; }
}

# stage FORMAT PART: installs a part into a folder of its own. On machines with rpms, the linker and zsh look
# in other folders than on Debian.
stage() {
	rm -rf "${STAGE:?}/$2"
	if [ "$1" = rpm ]; then LIBDIR=/usr/lib64; else LIBDIR=''; fi
	DESTDIR=$STAGE/$2 LIBDIR=$LIBDIR packaging/install.sh "$2"
	if [ "$1" = rpm ]; then rm -rf "$STAGE/$2/usr/share/zsh/vendor-completions"; fi
	find "$STAGE/$2" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
}

mkdir -p "$TARGET"
if [ $# = 0 ]; then set -- deb; fi
for format; do
	rm -f "$TARGET"/jobeff*."$format"
	for part in "${PARTS[@]}"; do stage "$format" "$part"; done
	sed "s/@SCHEMA@/$(cat $STAGE/jobeffd/usr/share/jobeff/schema)/" packaging/scripts/jobeffd.preinst >$STAGE/jobeffd.preinst
	for part in "${PARTS[@]}"; do package "$format" "$part"; done
done
rm -rf $STAGE
for format; do ls "$TARGET"/jobeff*."$format"; done
