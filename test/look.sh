#!/bin/bash
# look.sh build|packages|demo|test: checks, before anything is installed, what a target of the Makefile
# needs. For each thing that is missing it prints a sentence with the remedy. It exits with 1 if the target
# cannot begin. For demo and test it prints their way: cluster, or hand where no Slurm can be started.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1 way=hand missing=0

say() { echo "make $target: $*" >&2; }
need() { say "$@"; missing=1; }

# look_go: from 1.21 on, an older Go fetches the version that go.mod names by itself.
look_go() {
	local want have least
	want=$(sed -n 's/^go //p' go.mod)
	have=$(cd / && GOTOOLCHAIN='' go env GOVERSION 2>/dev/null) || have=none
	least=$want
	if [ "$(cd / && go env GOTOOLCHAIN 2>/dev/null)" = auto ]; then least=1.21; fi
	if [ "$have" = none ]; then
		need "There is no Go. Take $want or newer from go.dev/dl (Debian 12's golang is too old), and put its bin folder into PATH."
	elif [ "$(printf '%s\n' "$least" "${have#go}" | sort -V | head -n 1)" != "$least" ]; then
		need "Go ${have#go} is too old. Take $want or newer from go.dev/dl, and put its bin folder into PATH."
	fi
}

has_header() { ${CC:-gcc} ${SLURM_PREFIX:+-I"$SLURM_PREFIX/include"} -E -x c - <<<"#include <$1>" >/dev/null 2>&1; }

look_compiler() {
	if ! command -v "${CC:-gcc}" >/dev/null; then
		need "There is no C compiler (${CC:-gcc}): apt install gcc libc6-dev, or dnf install gcc."
	elif ! has_header stdio.h; then
		need "The C compiler lacks libc's headers: apt install libc6-dev, or dnf install glibc-devel."
	fi
}

# look_spank need|say: without Slurm's header, everything but the plugin can be built.
look_spank() {
	if [ $missing = 0 ] && ! has_header slurm/spank.h; then
		"$1" "There is no slurm/spank.h, so Slurm's plugin is not built: apt install libslurm-dev, dnf install slurm-devel, or SLURM_PREFIX= where your own Slurm is."
	fi
}

# may_cluster: tries what cluster.sh will do, in namespaces that end with the try. If that fails, it
# prints why.
may_cluster() {
	if [ "$(id -u)" != 0 ]; then
		say "Only root can start the throwaway Slurm, so this goes on without it."
		return 1
	fi
	# shellcheck disable=SC2016 # the inner shell expands it
	unshare --mount --uts --ipc --net --pid --fork --propagation private sh -ec 'mount -t tmpfs tmpfs /tmp
		mkdir /tmp/up /tmp/work
		mount -t overlay -o lowerdir=/etc,upperdir=/tmp/up,workdir=/tmp/work overlay /etc' >/dev/null 2>&1 && return
	say "No Slurm can be started here, so this goes on without it: root may make no namespaces and mounts (CAP_SYS_ADMIN). In a container: docker run --privileged"
	return 1
}

# look_packages LIST…: checks that the missing packages can be installed.
look_packages() {
	if ! command -v apt-get >/dev/null; then
		[ "$target" = demo ] || need "The tests need Debian's packages, and there is no apt-get: make quick needs none."
		[ "$(command -v mpicc mpirun | wc -l)" = 2 ] || need "There is no apt-get, and no mpicc and mpirun in PATH: dnf install gcc make git openmpi-devel, and put Open MPI's bin folder into PATH."
		return
	fi
	lacks=$(test/install-packages.sh --missing "$@" | tr '\n' ' ')
	[ -n "$lacks" ] || return 0
	if [ "$(id -u)" != 0 ]; then
		if [ "$target" = test ]; then need "Packages are missing, and only root can install them. As root: make deps"
		else need "Packages are missing, and only root can install them: sudo apt-get install --no-install-recommends $lacks"; fi
	elif ! test/mirror.sh >/dev/null 2>&1; then
		need "apt has no source of packages: name a mirror in /etc/apt/sources.list, then apt update."
	fi
}

# look_room PACKAGES BUILD MEMORY: checks that these MB are free. What is installed or built already needs
# no more room.
look_room() {
	local free limit
	free=$(df --output=avail -BM / | tail -n 1 | tr -dc 0-9)
	[ -z "${lacks:-}" ] || [ "$free" -ge "$1" ] || need "The packages take $1 MB, and / has $free MB free: make room there."
	free=$(df --output=avail -BM . | tail -n 1 | tr -dc 0-9)
	[ -e build/jobeffd ] || [ "$free" -ge "$2" ] || need "The build takes $2 MB, and $PWD has $free MB free: make room there."
	free=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
	limit=$(cat /sys/fs/cgroup/memory{.max,/memory.limit_in_bytes} 2>/dev/null || true)
	if [[ $limit =~ ^[0-9]{1,18}$ ]] && [ $((limit >> 20)) -lt "$free" ]; then free=$((limit >> 20)); fi
	[ "$free" -ge "$3" ] || need "Building takes $3 MB of memory, and $free MB are free: end other programs, or give the container more."
}

look_go
case $target in
build | packages)
	look_compiler
	if [ "$target" = build ]; then look_spank say; else look_spank need; fi
	;;
demo)
	if may_cluster; then way=cluster; fi
	if [ $way = cluster ]; then look_packages test/{hand,demo}-packages; else look_packages test/hand-packages; fi
	look_room 1000 1500 1500
	;;
test)
	if may_cluster; then way=cluster; fi
	look_packages test/{hand-,demo-,}packages
	look_room 4000 2500 3000
	;;
esac
[ $missing = 0 ] || exit 1
if [ "$target" = test ]; then say "It takes about $((8 + 30 / $(nproc))) minutes on $(nproc) CPUs, after the packages."; fi
case $target in demo | test) echo $way ;; esac
