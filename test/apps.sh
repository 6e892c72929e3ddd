#!/bin/bash
# apps.sh: runs Debian's applications with MPI and OpenMP on the cluster, with jobeff and without it.
# What happened goes to apps-result.txt. It fails if a test failed.
set -euo pipefail
cd "$(dirname "$0")/.."
result=test/apps-result.txt
log=$(mktemp /tmp/jobeff-apps.XXXXXX)
trap 'rm -f "$log"' EXIT

status=0
go test ./test -count=1 -v -timeout 1h -run '^(TestHybridApplications|TestThreadsIdle|TestWindowsOfApplications)$' 2>&1 | tee "$log" | grep -E -- '--- |^(FAIL|ok)' || status=1
{
	echo "$(date -u +%FT%TZ) $(git rev-parse --short HEAD): make apps, $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg)"
	dpkg-query -W -f '${Package} ${Version}\n' lammps quantum-espresso gromacs hpcc libgomp1 libopenmpi3
	grep -oE -- '--- (PASS|FAIL|SKIP): [A-Za-z0-9_/]+ \([0-9.]+s\)|(hybrid|waits)_test.go:[0-9]+: .*' "$log" | sed -E 's/^--- //; s/^(hybrid|waits)_test.go:[0-9]+: //'
} >"$result"
if grep -qE '^(--- FAIL|FAIL)' "$log"; then status=1; fi
exit $status
