#!/bin/bash
# bench-read.sh: how long a user waits for one job. It runs `jobeff JOBID` and `sacct -j JOBID`
# (with the fields that seff reads) in turn, on a throwaway Slurm with slurmdbd and some ended
# jobs. JOBEFF_BENCH_JOBS (default 24) sets how many jobs, JOBEFF_BENCH_ROUNDS (default 10) how
# often each is asked for.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
jobs=${JOBEFF_BENCH_JOBS:-24}
rounds=${JOBEFF_BENCH_ROUNDS:-10}
export CLUSTER_DIR=${CLUSTER_DIR:-/var/tmp/jobeff-bench}
cluster() { "$here/cluster.sh" "$@"; }
home=$CLUSTER_DIR/home/alice
fields=JobID,User,Group,State,Cluster,AllocCPUS,ReqMem,TotalCPU,Elapsed,MaxRSS,TRESUsageInTot,ExitCode,NNodes,NTasks

trap 'cluster down' EXIT
cluster down
cluster up 2 "$here"/../build/jobeff*_*.deb >/dev/null
mpicc.openmpi -O2 -o "$home/sleepscale" "$here/apps/sleepscale.c"
array=$(cluster as alice sbatch --parsable --array="1-$jobs" -n2 --output=/dev/null --wrap='srun --mpi=pmix ./sleepscale 200 4')

# Both must know every job first.
known() {
	cluster as alice jobeff -nP -o jobid,state,pe "${array}_[1-$jobs]" 2>/dev/null | grep -cE '\|COMPLETED\|[01]\.' || true
}
end=$((SECONDS + 600))
until [ "$(known)" = "$jobs" ]; do
	[ $SECONDS -lt $end ] || { echo "bench-read.sh: jobeff knows $(known) of $jobs jobs" >&2; exit 1; }
	sleep 1
done

# The loop runs inside the cluster, as alice, so that it times only the program.
cat >"$home/read.sh" <<-X
	TIMEFORMAT='%3R %3U %3S'
	ask() {
		local out
		printf '%s ' \$1
		case \$1 in
		jobeff) time out=\$(jobeff \$2) ;;
		sacct) time out=\$(sacct -P -n -a --format $fields -j \$2) ;;
		esac 2>&1
		[ -n "\$out" ] || { echo "\$1 says nothing of \$2" >&2; exit 1; }
	}
	for ((round = 0; round < $rounds; round++)); do
		for ((i = 1; i <= $jobs; i++)); do
			both=(jobeff sacct)
			if (((round + i) % 2)); then both=(sacct jobeff); fi
			for program in "\${both[@]}"; do ask "\$program" ${array}_\$i; done
		done
	done
X
raw=$here/../build/bench/read.txt
mkdir -p "${raw%/*}"
cluster as alice bash read.sh >"$raw"

# at PROGRAM PART: a quantile of its waits, ms. cpu PROGRAM: its mean CPU time, ms.
at() { awk -v p="$1" '$1 == p { print $2 }' "$raw" | sort -n | awk -v q="$2" '{ v[NR] = $1 } END { printf "%.0f", 1e3 * v[int((NR - 1) * q) + 1] }'; }
cpu() { awk -v p="$1" '$1 == p { s += $3 + $4; n++ } END { printf "%.1f", 1e3 * s / n }' "$raw"; }
echo "one of $jobs jobs, asked for $((rounds * jobs)) times each, in turn (raw: build/bench/read.txt)"
for program in jobeff sacct; do
	echo "$program  p50 $(at $program .5) ms, p99 $(at $program .99) ms, CPU $(cpu $program) ms"
done
awk -v a="$(at sacct .5)" -v b="$(at jobeff .5)" 'BEGIN { printf "sacct / jobeff at p50: %.1f\n", a / b }'
