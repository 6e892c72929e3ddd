#!/bin/bash
# run-tests.sh PACKAGES…: run the Go tests (they start the real Slurm, MPIs and
# servers themselves), show what failed and why something was skipped, and close
# with one line of counts. A run without a single passed test is a failure.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit
log=$(mktemp /tmp/jobeff-test.XXXXXX)
trap 'rm -f "$log"' EXIT
export JOBEFF_TEST_ALL=1 # what is missing fails

go tool gotestsum --format pkgname --jsonfile "$log" -- -count=1 -timeout 25m "$@"
status=$?

# Subtests are counted as tests; their parents too, as go test does.
count() { grep -c "\"Action\":\"$1\".*\"Test\":" "$log"; }
passed=$(count pass) failed=$(count fail) skipped=$(count skip)
[ "$failed" = 0 ] && [ "$status" != 0 ] && failed=1 # a package that did not build
[ "$passed" = 0 ] && status=1
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
