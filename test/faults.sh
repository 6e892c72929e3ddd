#!/bin/bash
# faults.sh [JOBS]: runs the tests of every fault in FAULTS.md, on the cluster and beside it. The
# storms have JOBS (5,000) jobs, and jobeffd is killed 200 times on each database. The results go to
# results/faults.txt. It fails if a test failed.
set -euo pipefail
cd "$(dirname "$0")/.."
export JOBEFF_FAULTS_JOBS=${1:-5000} JOBEFF_FAULTS_KILLS=200 JOBEFF_TEST_ALL=1
result=test/results/faults.txt
log=$(mktemp /tmp/jobeff-faults.XXXXXX)
trap 'rm -f "$log"' EXIT

status=0
while read -r folder; do
	# FAULTS.md names the tests of each folder
	names=$(grep -E '^\| [0-9]' test/FAULTS.md | grep -oE "(\| |, )$folder (Test|Fuzz)[A-Za-z0-9]+" | sed 's/.* //' | sort -u | paste -sd'|')
	go test "./$folder" -count=1 -v -timeout 3h -run "^($names)\$" 2>&1 | sed "s|^|$folder: |" | tee -a "$log" | grep -E ': (--- |FAIL|ok)' || status=1
done < <(grep -E '^\| [0-9]' test/FAULTS.md | grep -oE '[a-z/-]+ (Test|Fuzz)' | sed 's/ .*//' | sort -u)

{
	echo "$(date -u +%FT%TZ) $(git rev-parse --short HEAD): make faults, storms of $JOBEFF_FAULTS_JOBS jobs, $(nproc) CPUs"
	grep -oE '^[a-z/-]+: (--- (PASS|FAIL|SKIP): [A-Za-z0-9]+ \([0-9.]+s\)|.*[0-9]+ jobs, [0-9]+ rows)' "$log" | sed -E 's/--- //; s/: +[a-z_]+\.go:[0-9]+//'
} >"$result"
if grep -qE '^[a-z/-]+: +(--- )?FAIL' "$log"; then status=1; fi
exit $status
