#!/bin/bash
# distro.sh SUITE COMMAND…: runs a command in another Debian: bookworm, trixie or sid. bullseye
# has only what building a release needs (packaging/packages). bare is a new machine.
#
# The suite's root is made once, by debootstrap, in DISTRO_CACHE/SUITE. Each run first
# installs what test/{hand-,demo-,}packages list for it and the root lacks. The command has a mount,
# pid, IPC and UTS namespace of its own, and a part of the cgroup tree. Its root is changed by
# pivot_root, so overlays and further namespaces work in it. Two runs never see each other: /tmp,
# /var/tmp, /run and /proc are each run's own. The repository and Go are where they are outside,
# but build/ is build/SUITE outside.
#
# bare is a bookworm, or BARE, that is made for one run and removed after it. It has Go, and in
# /root/jobeff a clone of the last commit, with what was changed or `git add`ed since. No other
# package is installed, nothing is built, and the environment is empty. Only downloads stay for
# the next run: Debian's packages and Go's modules.
#
# CPUS           with bare: how many of the machine's CPUs it has, the first ones
# DISTRO_CACHE   where the roots are (/var/cache/jobeff-test), 8 GB each
# DISTRO_MIRROR  where the packages come from (where apt here has them from: mirror.sh)
set -euo pipefail

SELF=$(realpath "$0")
REPO=$(dirname "$(dirname "$SELF")")
CACHE=${DISTRO_CACHE:-/var/cache/jobeff-test}
CGROUPS=(freezer memory cpuset cpuacct cpu devices) # as cluster.sh

die() { echo "distro.sh: $*" >&2; exit 1; }

# check_ways: fails where a root cannot be made, before anything hangs or fills the disk.
check_ways() {
	local free
	MIRROR=$("$REPO/test/mirror.sh") || exit
	free=$(df --output=avail -B1G "$CACHE" | tail -1)
	[ "$free" -ge 8 ] || die "a root takes 8 GB, $CACHE has $free: give another folder in DISTRO_CACHE"
	wget -q --timeout=20 --tries=2 -O /dev/null "$MIRROR/dists/$DEBIAN/InRelease" ||
		die "$DEBIAN cannot be had from $MIRROR: give another mirror in DISTRO_MIRROR"
}

# make_root PLACE: the suite without our packages. dpkg writes without waiting for the disk. sid's
# list of packages may be older than its own limit on a mirror.
make_root() {
	check_ways
	mkdir -p "$CACHE/archives"
	timeout 20m debootstrap --variant=minbase --cache-dir="$CACHE/archives" "$DEBIAN" "$1" "$MIRROR" >"$CACHE/$SUITE.log" 2>&1 ||
		die "debootstrap failed: see $CACHE/$SUITE.log"
	echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/jobeff-test"
	printf '%s\n' 'Acquire::Check-Valid-Until "false";' 'APT::Sandbox::User "root";' \
		'Acquire::http::Timeout "30";' 'Acquire::Retries "2";' >"$1/etc/apt/apt.conf.d/jobeff-test"
}

# prepare: makes what is missing, one run at a time. No daemon starts in the root.
prepare() {
	exec 9>"$ROOT.lock"
	flock 9
	if [ ! -d "$ROOT" ]; then
		rm -rf --one-file-system "$ROOT.new"
		make_root "$ROOT.new"
		printf '#!/bin/sh\nexit 101\n' >"$ROOT.new/usr/sbin/policy-rc.d"
		chmod 755 "$ROOT.new/usr/sbin/policy-rc.d"
		echo 'Binary::apt-get::APT::Keep-Downloaded-Packages "false";' >>"$ROOT.new/etc/apt/apt.conf.d/jobeff-test"
		mv "$ROOT.new" "$ROOT"
	fi
	enter timeout 30m "$REPO/test/install-packages.sh" "${LISTS[@]}" >"$ROOT.packages.log" 2>&1 || die "packages are missing: see $ROOT.packages.log"
	exec 9>&-
}

# prepare_bare: makes the root of this run, with the downloads of earlier ones. If this machine's
# network wants a certificate to be trusted, the root trusts it, too.
prepare_bare() {
	local commit
	make_root "$ROOT"
	find "$CACHE/archives" -name '*.deb' -exec cp -lf -t "$ROOT/var/cache/apt/archives" {} +
	if [ -n "${SSL_CERT_FILE:-}" ]; then install -D -m 644 "$SSL_CERT_FILE" "$ROOT/usr/local/share/ca-certificates/site.crt"; fi
	commit=$(git -C "$REPO" stash create)
	git clone -q "$REPO" "$ROOT$WHERE"
	git -C "$ROOT$WHERE" checkout -q --detach "${commit:-$(git -C "$REPO" rev-parse HEAD)}"
}

# enter COMMAND…: runs a command in namespaces of its own. At a signal it kills them. At the end it
# removes the run's cgroups.
enter() {
	local child code=0
	unshare --mount --pid --ipc --uts --fork --kill-child --propagation private \
		bash "$SELF" __inside "$@" <&0 9>&- &
	child=$!
	trap 'kill -9 $child' INT TERM HUP
	wait $child || code=$?
	trap - INT TERM HUP
	remove_cgroups "${RUN##*/}"
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

# tidy: removes what the run left, and keeps its downloads.
tidy() {
	if [ "$SUITE" = bare ]; then
		find "$ROOT/var/cache/apt/archives" -name '*.deb' -exec cp -lf -t "$CACHE/archives" {} + 2>/dev/null || true
	fi
	rm -rf --one-file-system "$RUN"
}

# --- in the namespaces; pid 1 -----------------------------------------------

# inside COMMAND…: this shell stays pid 1 and reaps orphans.
inside() {
	local env=(env)
	hostname "$SUITE"
	mount --bind "$ROOT" "$ROOT"
	mount_system
	show "$GO_ROOT"
	show "$GOMODCACHE"
	if [ "$SUITE" = bare ]; then
		if [ -d "$REPO/../shared" ]; then show "$REPO/../shared" "${WHERE%/*}/shared"; fi
		if [ -n "${CPUS:-}" ]; then limit_cpus; fi
		env+=(-i HOME="$HOME" TERM="${TERM:-dumb}" GOMODCACHE="$GOMODCACHE" ${NODE_EXTRA_CA_CERTS:+"NODE_EXTRA_CA_CERTS=$NODE_EXTRA_CA_CERTS"})
	else
		show_repository
	fi
	cd "$ROOT"
	mkdir -p .old
	pivot_root . .old
	umount -l /.old
	cd "$WHERE"
	"${env[@]}" PATH="$GO_ROOT/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "$@"
}

mount_system() {
	local c part
	mount -t proc proc "$ROOT/proc"
	mount --rbind /sys "$ROOT/sys"
	mount --rbind /dev "$ROOT/dev"
	mount -t tmpfs -o mode=1777 tmpfs "$ROOT/dev/shm"
	mount -t tmpfs -o mode=755 tmpfs "$ROOT/run"
	mkdir "$ROOT/run/lock"
	install -d -m 1777 "$RUN/tmp" "$RUN/var-tmp"
	mount --bind "$RUN/tmp" "$ROOT/tmp"
	mount --bind "$RUN/var-tmp" "$ROOT/var/tmp"
	cp /etc/resolv.conf /etc/hosts "$ROOT/etc/"
	for c in "${CGROUPS[@]}"; do
		[ -e "/sys/fs/cgroup/$c/tasks" ] || continue
		part=/sys/fs/cgroup/$c/jobeff-${RUN##*/}
		mkdir -p "$part"
		if [ "$c" = cpuset ]; then # an empty cpuset accepts no task
			cat "/sys/fs/cgroup/$c/cpuset.cpus" >"$part/cpuset.cpus"
			cat "/sys/fs/cgroup/$c/cpuset.mems" >"$part/cpuset.mems"
		fi
		mount --bind "$part" "$ROOT/sys/fs/cgroup/$c"
	done
}

# limit_cpus: hides all but the first $CPUS CPUs from whoever asks which are online, which it may
# use, or which folders /sys has.
limit_cpus() {
	local list=0-$((CPUS - 1)) cpu=$ROOT/sys/devices/system/cpu i
	if [ -e /sys/fs/cgroup/cpuset/tasks ]; then
		echo "$list" >"$ROOT/sys/fs/cgroup/cpuset/cpuset.cpus"
		echo 0 >"$ROOT/sys/fs/cgroup/cpuset/tasks"
	fi
	taskset -cp "$list" $$ >/dev/null
	mount -t tmpfs tmpfs "$cpu"
	tee "$cpu"/{online,present,possible} <<<"$list" >/dev/null
	for ((i = 0; i < CPUS; i++)); do show "/sys/devices/system/cpu/cpu$i"; done
}

# show_repository: mounts the repository, with a build/ of its own for each suite. It also mounts git's
# folder, which lies elsewhere if the repository is a worktree.
show_repository() {
	show "$REPO"
	show "$(git -C "$REPO" rev-parse --path-format=absolute --git-common-dir)"
	mkdir -p "$GOCACHE" "$REPO/build/$SUITE"
	show "$GOCACHE"
	mount --bind "$REPO/build/$SUITE" "$ROOT$REPO/build"
}

# show DIR [PLACE]: mounts a folder into the root, at its own path or at another.
show() {
	mkdir -p "$ROOT${2:-$1}"
	mount --rbind "$1" "$ROOT${2:-$1}"
}

main() {
	[ $# -ge 2 ] || die "usage: test/distro.sh bullseye|bookworm|trixie|sid|bare COMMAND…"
	SUITE=$1 DEBIAN=$1 ROOT=$CACHE/$1 WHERE=$PWD
	LISTS=("$REPO"/test/{hand-,demo-,}packages)
	shift
	[ "$(id -u)" = 0 ] || die "needs root"
	mkdir -p "$CACHE"
	RUN=$(mktemp -d "$CACHE/run.XXXXXX")
	trap tidy EXIT
	case $WHERE/ in "$REPO"/*) ;; *) WHERE=$REPO ;; esac
	case $SUITE in
	bullseye) LISTS=("$REPO/packaging/packages") ;;
	bookworm | trixie | sid) ;;
	bare) DEBIAN=${BARE:-bookworm} ROOT=$RUN/root WHERE=/root/jobeff ;;
	*) die "no such suite: $SUITE" ;;
	esac
	GO_ROOT=$(go env GOROOT) GOMODCACHE=$(go env GOMODCACHE) GOCACHE=$(go env GOCACHE) HOME=/root
	export SUITE ROOT RUN WHERE GO_ROOT GOMODCACHE GOCACHE HOME
	if [ "$SUITE" = bare ]; then prepare_bare; else prepare; fi
	enter "$@"
}

if [ "${1:-}" = __inside ]; then
	shift
	inside "$@"
else
	main "$@"
fi
