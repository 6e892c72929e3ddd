#!/bin/bash
# run-tests.sh PACKAGES… [-run TESTS]: runs the Go tests, which start the real Slurm, MPIs and
# servers themselves. It shows what failed, and why something was skipped. The last line counts
# them. If no test passed, it fails. With RESULT it adds to that file where it ran, the counts, and
# what failed or was skipped, and what tests say after "result: ". RESULT_ROOT is the root of the Debian where it ran, if that is another.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit
log=$(mktemp /tmp/jobeff-test.XXXXXX)
trap 'rm -f "$log" "$log.out"' EXIT
load=$(cut -d' ' -f1 /proc/loadavg) root=${RESULT_ROOT:-}
export JOBEFF_TEST_ALL=1 # what is missing fails

packages=()
while [ $# != 0 ] && [[ $1 != -* ]]; do
	packages+=("$1")
	shift
done
go tool gotestsum --format pkgname --jsonfile "$log" --packages "${packages[*]}" \
	-- -count=1 -timeout 60m "$@" | tee "$log.out"
status=$?

# Subtests count as tests, and so do their parents, as in go test.
count() { grep -cE "\"Action\":\"$1\".*\"Test\":" "$log"; }
passed=$(count pass) failed=$(count fail) skipped=$(count skip)
[ "$failed" = 0 ] && [ "$status" != 0 ] && failed=1 # a package that did not build
[ "$passed" = 0 ] && status=1
counts="$passed passed, $failed failed, $skipped skipped"
if [ -n "${RESULT:-}" ]; then
	{
		echo "$(date -u +%FT%RZ) $(git describe --always --dirty), $(sed -n 's/^PRETTY_NAME=//p' "$root/etc/os-release"), $(nproc) CPUs, load $load before"
		dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package} ${Version}\n' slurmctld openmpi-bin mpich libc6 gcc apptainer 2>/dev/null
		echo "${packages[*]} $*: $counts, $((SECONDS / 60)) min $((SECONDS % 60)) s"
		grep -aE '^=== (FAIL|SKIP): ' "$log.out"
		grep -aoE '"Output":"[^"]*: result: [^"\\]+' "$log" | sed 's/.*: result: //' | sort -u
		echo
	} >>"$RESULT"
fi
echo "$counts"
exit "$status"
