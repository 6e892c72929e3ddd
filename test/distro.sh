#!/bin/bash
# distro.sh SUITE COMMAND…: runs a command in another Debian: bookworm, trixie or sid. bullseye
# has only what building a release needs (packaging/packages).
#
# The suite's root is made once, by debootstrap, in DISTRO_CACHE/SUITE. Each run first
# installs what test/packages lists for the suite and the root lacks. The command has a mount,
# pid, IPC and UTS namespace of its own, and a part of the cgroup tree. Its root is changed by
# pivot_root, so overlays and further namespaces work in it. Two runs never see each other: /tmp,
# /var/tmp, /run and /proc are each run's own. The repository and Go are where they are outside,
# but build/ is build/SUITE outside.
#
# DISTRO_CACHE   where the roots are (/var/cache/jobeff-test), 8 GB each
# DISTRO_MIRROR  where the packages come from (http://deb.debian.org/debian)
set -euo pipefail

SELF=$(realpath "$0")
REPO=$(dirname "$(dirname "$SELF")")
CACHE=${DISTRO_CACHE:-/var/cache/jobeff-test}
MIRROR=${DISTRO_MIRROR:-http://deb.debian.org/debian}
CGROUPS=(freezer memory cpuset cpuacct cpu devices) # as cluster.sh

die() { echo "distro.sh: $*" >&2; exit 1; }

# check_ways: fails where a root cannot be made, before anything hangs or fills the disk.
check_ways() {
	local free
	free=$(df --output=avail -B1G "$CACHE" | tail -1)
	[ "$free" -ge 8 ] || die "a root takes 8 GB, $CACHE has $free: give another folder in DISTRO_CACHE"
	wget -q --timeout=20 --tries=2 -O /dev/null "$MIRROR/dists/$SUITE/InRelease" ||
		die "$SUITE cannot be had from $MIRROR: give another mirror in DISTRO_MIRROR"
}

# make_root: the suite without our packages. No daemon starts in it, and dpkg writes without
# waiting for the disk. sid's list of packages may be older than its own limit on a mirror.
make_root() {
	check_ways
	rm -rf --one-file-system "$ROOT.new"
	timeout 20m debootstrap --variant=minbase "$SUITE" "$ROOT.new" "$MIRROR" >"$ROOT.log" 2>&1 || die "debootstrap failed: see $ROOT.log"
	printf '#!/bin/sh\nexit 101\n' >"$ROOT.new/usr/sbin/policy-rc.d"
	chmod 755 "$ROOT.new/usr/sbin/policy-rc.d"
	echo force-unsafe-io >"$ROOT.new/etc/dpkg/dpkg.cfg.d/jobeff-test"
	printf '%s\n' 'Acquire::Check-Valid-Until "false";' 'Binary::apt-get::APT::Keep-Downloaded-Packages "false";' \
		'APT::Sandbox::User "root";' 'Acquire::http::Timeout "30";' 'Acquire::Retries "2";' >"$ROOT.new/etc/apt/apt.conf.d/jobeff-test"
	mv "$ROOT.new" "$ROOT"
}

# prepare: makes what is missing, one run at a time.
prepare() {
	mkdir -p "$CACHE"
	exec 9>"$ROOT.lock"
	flock 9
	[ -d "$ROOT" ] || make_root
	enter timeout 30m "$REPO/test/install-packages.sh" "$LIST" >"$ROOT.packages.log" 2>&1 || die "packages are missing: see $ROOT.packages.log"
	exec 9>&-
}

# enter COMMAND…: kills the namespaces when it is told to end, and removes what the run left.
enter() {
	local dir child code=0
	dir=$(mktemp -d "$CACHE/run.XXXXXX")
	unshare --mount --pid --ipc --uts --fork --kill-child --propagation private \
		bash "$SELF" __inside "$SUITE" "$dir" "$@" <&0 9>&- &
	child=$!
	trap 'kill -9 $child' INT TERM HUP
	wait $child || code=$?
	trap - INT TERM HUP
	remove_cgroups "${dir##*/}"
	rm -rf --one-file-system "$dir"
	return $code
}

# remove_cgroups NAME: the killed processes may need a moment to be gone.
remove_cgroups() {
	local c
	for c in "${CGROUPS[@]}"; do
		for _ in {1..60}; do
			[ -d "/sys/fs/cgroup/$c/jobeff-$1" ] || break
			find "/sys/fs/cgroup/$c/jobeff-$1" -depth -type d -exec rmdir {} + 2>/dev/null || sleep .05
		done
	done
}

# --- in the namespaces; pid 1 -----------------------------------------------

# inside DIR COMMAND…: this shell stays pid 1 and reaps orphans.
inside() {
	local dir=$1
	shift
	hostname "$SUITE"
	mount --bind "$ROOT" "$ROOT"
	mount_system "$dir"
	mount_repository
	cd "$ROOT"
	mkdir -p .old
	pivot_root . .old
	umount -l /.old
	cd "$WHERE"
	PATH=$GO_ROOT/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

mount_system() {
	local dir=$1 c part
	mount -t proc proc "$ROOT/proc"
	mount --rbind /sys "$ROOT/sys"
	mount --rbind /dev "$ROOT/dev"
	mount -t tmpfs -o mode=1777 tmpfs "$ROOT/dev/shm"
	mount -t tmpfs -o mode=755 tmpfs "$ROOT/run"
	mkdir "$ROOT/run/lock"
	install -d -m 1777 "$dir/tmp" "$dir/var-tmp"
	mount --bind "$dir/tmp" "$ROOT/tmp"
	mount --bind "$dir/var-tmp" "$ROOT/var/tmp"
	cp /etc/resolv.conf /etc/hosts "$ROOT/etc/"
	for c in "${CGROUPS[@]}"; do
		[ -e "/sys/fs/cgroup/$c/tasks" ] || continue
		part=/sys/fs/cgroup/$c/jobeff-${dir##*/}
		mkdir -p "$part"
		if [ "$c" = cpuset ]; then # an empty cpuset accepts no task
			cat "/sys/fs/cgroup/$c/cpuset.cpus" >"$part/cpuset.cpus"
			cat "/sys/fs/cgroup/$c/cpuset.mems" >"$part/cpuset.mems"
		fi
		mount --bind "$part" "$ROOT/sys/fs/cgroup/$c"
	done
}

# mount_repository: the repository, Go and its caches at their own paths; git's folder, too, where
# the repository is a worktree.
mount_repository() {
	local dir
	for dir in "$REPO" "$(git -C "$REPO" rev-parse --path-format=absolute --git-common-dir)" "$GO_ROOT" "$GOMODCACHE" "$GOCACHE"; do
		mkdir -p "$dir" "$ROOT$dir"
		mount --rbind "$dir" "$ROOT$dir"
	done
	mkdir -p "$REPO/build/$SUITE"
	mount --bind "$REPO/build/$SUITE" "$ROOT$REPO/build"
}

main() {
	[ $# -ge 2 ] || die "usage: test/distro.sh bullseye|bookworm|trixie|sid COMMAND…"
	SUITE=$1 ROOT=$CACHE/$1
	shift
	case $SUITE in
	bullseye) LIST=$REPO/packaging/packages ;;
	bookworm | trixie | sid) LIST=$REPO/test/packages ;;
	*) die "no such suite: $SUITE" ;;
	esac
	[ "$(id -u)" = 0 ] || die "needs root"
	WHERE=$PWD
	case $WHERE/ in "$REPO"/*) ;; *) WHERE=$REPO ;; esac
	GO_ROOT=$(go env GOROOT) GOMODCACHE=$(go env GOMODCACHE) GOCACHE=$(go env GOCACHE) HOME=/root
	export WHERE GO_ROOT GOMODCACHE GOCACHE HOME
	prepare
	enter "$@"
}

if [ "${1:-}" = __inside ]; then
	SUITE=$2 ROOT=$CACHE/$2
	shift 2
	inside "$@"
else
	main "$@"
fi
