#!/bin/bash
# mirror.sh: prints where Debian's packages come from: DISTRO_MIRROR, else where this machine's apt has them from.
set -euo pipefail
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mirror=${DISTRO_MIRROR:-$(apt-get update --print-uris 2>/dev/null | sed -n "s|^'\(.*\)/dists/$suite/InRelease'.*|\1|p" | head -n 1)}
[ -n "$mirror" ] || { echo "mirror.sh: apt here names no mirror of Debian: give one in DISTRO_MIRROR" >&2; exit 1; }
echo "$mirror"
