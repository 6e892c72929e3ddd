#!/bin/bash
# places.sh [short|here|full|loaded]: runs README's two commands where people first try them. The places are in a
# Debian that is made for the run (distro.sh bare): no Go, no compiler, empty lists of packages, root with a
# container's capabilities, an ordinary user. short needs no packages of the tests. here, in a bare machine that has
# them, is `make quick` in the container and as the user. full is both, and the whole `make test` in the container, no
# network after `make deps`, and Debian 13. loaded is `make test` alone, of what is built and linted once, beside ten busy
# loops, and with an OpenCL that ends ASan's programs where hwloc loads it. The script prints a row for each command:
# seconds until the first useful line, seconds in all, and what was said of the place. With RESULT it adds
# the rows to that file. It fails if a command does not end as it should.
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${1:-full} log=$(mktemp /tmp/jobeff-places.XXXXXX)
trap 'rm -f "$log"' EXIT

# This runs in the bare machines. A line is useful if it is an answer of jobeff, a figure, or the sentence that
# says what to do.
# shellcheck disable=SC2016 # the inner shell expands it
begin='
try() { # PLACE EXPECTED-EXIT USEFUL COMMAND…
	local place=$1 expected=$2 useful=$3 began=$SECONDS first="" said="" line code
	shift 3
	exec 3< <("$@" 2>&1 </dev/null; echo "exit code $?")
	while IFS= read -r -u 3 line; do
		code=${line#exit code }
		if [ "$first$line" = "$line" ] && [[ $line =~ $useful ]]; then first=$((SECONDS - began)); fi
		if [[ $line == "make "[a-z]*": "* && $line != *minutes\ on* && $said != *"$line"* ]]; then said+=" $line"; fi
		printf "%s\n" "$line"
	done
	echo "place: $place: ${*: -2}: useful after ${first:-no} s, $((SECONDS - began)) s in all, exit code $code;${said:- nothing was said}"
	[ "$code" = "$expected" ] && [ -n "$first" ] || echo "place: WRONG: $place: ${*: -2}"
}
as_user() { setpriv --reuid nobody --regid nogroup --clear-groups env HOME=/home/nobody GOMODCACHE="$GOMODCACHE" GOFLAGS=-modcacherw PATH="$PATH" "$@"; }
# Docker'"'"'s default set, and cgroups that cannot be written
contained() {
	local caps=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap
	unshare --mount --propagation private sh -c "for c in /sys/fs/cgroup /sys/fs/cgroup/*; do mount -o remount,ro,bind \$c 2>/dev/null; done; exec \"\$@\"" sh setpriv --bounding-set "$caps" --inh-caps "$caps" "$@"
}
answer="^Parallel efficiency|jobeff 4_1"
'
needs='
apt-get update -q >/dev/null && apt-get install -q -y git make >/dev/null || exit
'
# shellcheck disable=SC2016
places='
try "no Go" 2 "There is no Go" env PATH=/usr/sbin:/usr/bin:/sbin:/bin make demo
try "no compiler" 2 "There is no C compiler" make
rm -rf /var/lib/apt/lists/*
try "a container, empty lists" 0 "$answer" contained make demo
chmod 755 /root && rm -rf /home/nobody && cp -r . /home/nobody && chown -R nobody /home/nobody && cd /home/nobody
try "a user, packages missing" 2 "As root: make deps" as_user make test
try "a user" 0 "$answer" as_user make demo
'
quick='
cd /root/jobeff
make deps >/dev/null 2>&1 || echo "place: WRONG: make deps"
try "a container" 0 "^ok " contained make quick
chmod 755 /root && rm -rf /home/nobody && cp -r . /home/nobody && cp -rl /root/.cache /home/nobody && chown -R nobody /home/nobody && cd /home/nobody
try "a user, with a build cache" 0 "^ok " as_user make quick
'
# shellcheck disable=SC2016
whole='
cd /root/jobeff
try "a container" 0 "^ok|passed so far" contained make test
rm -rf build
try "no network after make deps" 0 "^build/jobeff" unshare --net make build packages
'
# shellcheck disable=SC2016
loaded='
apt-get install -q -y mesa-opencl-icd libhwloc-plugins >/dev/null && make deps >/dev/null 2>&1 && make build packages lint >/dev/null 2>&1 && go test -run none ./... >/dev/null 2>&1 || { echo "place: WRONG: what is tested cannot be built"; exit; }
for _ in {1..10}; do while :; do :; done & done
try "ten busy loops, mesa-opencl-icd" 0 "^ok|passed so far" make test
kill $(jobs -p)
'
case $kind in
here)
	[ "$(hostname)" = bare ] || { echo "places.sh: here is for a machine of distro.sh bare: it removes /home/nobody" >&2; exit 2; }
	bash -c "$begin$quick" 2>&1 | tee "$log"
	;;
full) places+=$quick$whole ;;
loaded) places=$loaded ;;
esac
if [ "$kind" != here ]; then
	test/install-packages.sh <(echo debootstrap)
	go mod download
	go mod download -modfile=packaging/tools.mod
	test/distro.sh bare bash -c "$begin$needs$places" 2>&1 | tee "$log"
fi
if [ "$kind" = full ]; then
	BARE=trixie test/distro.sh bare bash -c "$begin$needs try 'Debian 13' 0 \"\$answer\" make demo" 2>&1 | tee -a "$log"
fi
grep -a '^place: ' "$log"
if [ -n "${RESULT:-}" ]; then
	{
		echo "$(date -u +%FT%RZ) $(git describe --always --dirty): test/places.sh $kind, $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg) after"
		grep -a '^place: \|^[0-9]* passed, ' "$log"
		echo
	} >>"$RESULT"
fi
! grep -aq '^place: WRONG' "$log"
