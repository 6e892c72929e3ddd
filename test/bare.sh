#!/bin/bash
# bare.sh TARGET…: runs make targets as README tells a newcomer to: on a Debian 12 that was made a
# moment ago and has Go and nothing else (distro.sh). At the end it prints how long each took. With
# RESULT it adds that to a file, with the versions, the counts of tests, and what was skipped.
#
# CPUS   how many CPUs the machine has (all)
set -euo pipefail
cd "$(dirname "$0")/.."
head="$(date -u +%FT%RZ) $(git describe --always --dirty): make bare TARGET=\"$*\"${CPUS:+ CPUS=$CPUS}, load $(cut -d' ' -f1 /proc/loadavg) before"
log=$(mktemp /tmp/jobeff-bare.XXXXXX)
trap 'rm -f "$log"' EXIT

test/install-packages.sh <(echo debootstrap)
go mod download
go mod download -modfile=packaging/tools.mod

# In the bare machine. The first line is README's.
# shellcheck disable=SC2016 # the inner shell expands it
newcomer='
apt-get update -q && apt-get install -q -y git make || exit
for target in "$@"; do
	began=$SECONDS
	make "$target"
	code=$?
	echo "bare: make $target: exit code $code after $(((SECONDS - began) / 60)) min $(((SECONDS - began) % 60)) s"
	[ $code = 0 ] || break
done
echo "bare: $(go version), kernel $(uname -r), $(nproc) CPUs"
dpkg-query -W -f "bare: \${Package} \${Version}\n" slurmctld openmpi-bin mpich libc6 gcc postgresql chromium 2>/dev/null
exit $code'
code=0
test/distro.sh bare bash -c "$newcomer" bash "$@" 2>&1 | tee "$log" || code=$?
grep -a '^bare: ' "$log" || true
echo "bare: $((SECONDS / 60)) min $((SECONDS % 60)) s in all, with the root"
if [ -n "${RESULT:-}" ]; then
	{
		echo "$head"
		grep -aE '^bare: |^=== (FAIL|SKIP): |^[0-9]+ passed, ' "$log"
		echo "$((SECONDS / 60)) min $((SECONDS % 60)) s in all"
		echo
	} >>"$RESULT"
fi
grep -aE '^[0-9]+ passed, ' "$log" | tail -n 1 || true
exit $code
