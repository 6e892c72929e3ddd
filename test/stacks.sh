#!/bin/bash
# stacks.sh JOB SECONDS: prints the stacks of a job's MPI programs that are older than SECONDS,
# rank by rank. It runs on a node, as root. No output means that no rank hangs. cluster_test.go
# uses it to see why a job does not end.
set -u

# of_job PID: succeeds if it is an MPI program of job $job, and not a launcher.
of_job() {
	grep -qzx "SLURM_JOB_ID=$job" "/proc/$1/environ" && grep -qE '/libmpi(ch)?\.so' "/proc/$1/maps"
} 2>/dev/null

job=$1 oldest=$2
ps -eo pid=,etimes=,comm= | while read -r pid age name; do
	if [ "$age" -lt "$oldest" ] || ! of_job "$pid"; then continue; fi
	echo "$name, pid $pid, $age s old, $(tr '\0' '\n' <"/proc/$pid/environ" | grep -E '^(SLURM_PROCID|PMI_RANK|JOBEFF|LD_PRELOAD)=' | tr '\n' ' ')"
	timeout 30 gdb -batch -nx -p "$pid" -ex 'thread apply all backtrace' 2>/dev/null </dev/null | grep -E '^(#|Thread)'
done
