#!/bin/bash
# run-tests.sh PACKAGES… [-run TESTS]: runs the Go tests, which start the real Slurm, MPIs and
# servers themselves. It shows what failed, and why something was skipped. The last line counts
# them. If no test passed, it fails. With RESULT it adds to that file where it ran, the counts, and
# what failed or was skipped.
#
# Up to six failed tests are run once more when all others have ended, as a shared machine may
# stop for seconds. What passes only then is named before the counts: it is a defect of jobeff or
# of the test.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit
log=$(mktemp /tmp/jobeff-test.XXXXXX)
trap 'rm -f "$log" "$log".*' EXIT
export JOBEFF_TEST_ALL=1 # what is missing fails

packages=()
while [ $# != 0 ] && [[ $1 != -* ]]; do
	packages+=("$1")
	shift
done
go tool gotestsum --format pkgname --jsonfile "$log" --packages "${packages[*]}" \
	--rerun-fails=1 --rerun-fails-max-failures 6 --rerun-fails-report "$log.again" \
	-- -count=1 -timeout 25m "$@" | tee "$log.out"
status=$?

# Subtests count as tests, and so do their parents, as in go test. Of two runs the last counts.
sed -nE 's/.*"Action":"(pass|fail|skip)".*"Package":"([^"]*)","Test":"([^"]*)".*/\1 \2 \3/p' "$log" |
	awk '{ last[$2 " " $3] = $1 } END { for (test in last) print last[test], test }' >"$log.last"
count() { grep -c "^$1 " "$log.last"; }
passed=$(count pass) failed=$(count fail) skipped=$(count skip)
[ "$failed" = 0 ] && [ "$status" != 0 ] && failed=1 # a package that did not build
[ "$passed" = 0 ] && status=1
counts="$passed passed, $failed failed, $skipped skipped"
again=$(sed -nE 's/^.*\.(Test[^:]*): 2 runs, 1 failures$/\1/p' "$log.again" 2>/dev/null | paste -sd ' ')
[ -n "$again" ] && counts="passed only when run again: $again
$counts"
if [ -n "${RESULT:-}" ]; then
	{
		echo "$(date -u +%FT%RZ) $(git describe --always --dirty), $(sed -n 's/^PRETTY_NAME=//p' /etc/os-release), $(nproc) CPUs"
		dpkg-query -W -f '${Package} ${Version}\n' slurmctld openmpi-bin mpich libc6 gcc apptainer 2>/dev/null
		echo "${packages[*]} $*: $counts"
		grep -aE '^=== (FAIL|SKIP): ' "$log.out"
		echo
	} >>"$RESULT"
fi
echo "$counts"
exit "$status"
