#!/bin/bash
# run-tests.sh PACKAGES… [-run TESTS]: runs the Go tests, which start the real Slurm, MPIs and
# servers themselves. It shows what failed, and why something was skipped. The last line counts
# them. If no test passed, it fails. With RESULT it adds to that file where it ran, the counts, and
# what failed or was skipped, and what tests say after "result: ". RESULT_ROOT is the root of the Debian where the tests ran, if not /.
# Where no Slurm can be started, the tests of ./test are left out: they are named first, and count as skipped.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit
log=$(mktemp /tmp/jobeff-test.XXXXXX)
trap 'rm -f "$log" "$log.out"' EXIT
load=$(cut -d' ' -f1 /proc/loadavg) root=${RESULT_ROOT:-}
export JOBEFF_TEST_ALL=1 # a test that lacks something fails

packages=()
while [ $# != 0 ] && [[ $1 != -* ]]; do
	packages+=("$1")
	shift
done
left_out=0
if [ "$(test/look.sh test 2>/dev/null)" = hand ]; then
	cluster=$(go list ./test)
	mapfile -t packages < <(go list "${packages[@]}" | sort -u)
	if printf '%s\n' "${packages[@]}" | grep -qx "$cluster"; then
		mapfile -t names < <(go test -list . ./test | grep '^Test')
		left_out=${#names[@]}
		echo "Left out, since no Slurm can be started here: $left_out tests of ./test: ${names[*]}"
		mapfile -t packages < <(printf '%s\n' "${packages[@]}" | grep -vx "$cluster")
	fi
fi

# progress: prints each half minute how far the tests are, since a large package is silent for minutes.
progress() {
	local said='' now
	while sleep 30 >/dev/null; do # it may outlast this script
		now="$(count pass) tests passed so far, $(count fail) failed"
		[ "$now" = "$said" ] || echo "$now"
		said=$now
	done
}
# Subtests count as tests, and so do their parents, as in go test.
count() { grep -cE "\"Action\":\"$1\".*\"Test\":" "$log"; }
progress &
trap 'kill $!; rm -f "$log" "$log.out"' EXIT

go tool gotestsum --format pkgname --jsonfile "$log" --packages "${packages[*]}" \
	-- -count=1 -timeout 5h "$@" | tee "$log.out"
status=$?

passed=$(count pass) failed=$(count fail) skipped=$(($(count skip) + left_out))
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
