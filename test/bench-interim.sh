#!/bin/bash
# bench-interim.sh: what interim reports cost a parallel job. A job on four nodes, one rank each, computes
# 1 ms and calls MPI_Allreduce, again and again. In every other block of 5 s all nodes make an interim
# report each second, at the same moment and as jobeff-interim.service does: 600 times as often as by
# default. It prints us per iteration, elapsed and CPU time of a rank, paired, and the CPU time of a report.
# Blocks take turns in one run, so that a drift of the machine favours neither.
# JOBEFF_BENCH_ROUNDS sets the pairs (default 15). The raw numbers are in build/bench/interim.txt.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
rounds=${JOBEFF_BENCH_ROUNDS:-15}
export CLUSTER_DIR=${CLUSTER_DIR:-/var/tmp/jobeff-bench} CLUSTER_CPUS=1
nodes=4 block=5
raw=$here/../build/bench/interim.txt
cluster() { "$here/cluster.sh" "$@"; }

trap 'cluster down' EXIT
cluster down
cluster up $nodes "$here"/../build/jobeff*_*.deb >/dev/null
mkdir -p "${raw%/*}" "$CLUSTER_DIR/home/bin"
mpicc.mpich -O2 "$here/../preload/bench/blocks.c" -o "$CLUSTER_DIR/home/bin/blocks"
cat >"$CLUSTER_DIR/home/bin/reports" <<-X
	#!/bin/bash
	# reports END: an interim report each second of every other block, until END
	exec {never}<> <(:)
	while [ \$EPOCHSECONDS -lt \$1 ]; do
		us=\${EPOCHREALTIME#*.} # no other process: what children take is the reports'
		printf -v rest 0.%06d \$((999999 - 10#\$us))
		read -rt \$rest -u \$never
		[ \$((EPOCHSECONDS / $block % 2)) = 0 ] || continue
		n=\$((n + 1))
		nice -n 19 chrt -i 0 jobeff-ingest interim
	done
	echo "\$n \$(awk '{ print (\$16 + \$17) * 10 }' /proc/\$\$/stat)" >"$CLUSTER_DIR/log/reports-\$(hostname)"
X
chmod 755 "$CLUSTER_DIR/home/bin/reports"
seconds=$(((2 * rounds + 2) * block))
echo "srun --mpi=pmi2 $CLUSTER_DIR/home/bin/blocks $block $((2 * rounds))" | sed '1i #!/bin/bash' |
	cluster as alice sbatch --parsable --quiet -N$nodes -n$nodes --output=blocks.out >/dev/null
for ((n = 1; n <= nodes; n++)); do
	cluster exec n$n sh -c "echo 'interim = \"1s\"' >>/etc/jobeff/jobeff.toml" # of [report]
	cluster exec n$n "$CLUSTER_DIR/home/bin/reports" $((EPOCHSECONDS + seconds + block)) &
done
wait
out=$CLUSTER_DIR/home/alice/blocks.out
for ((i = 0; i < 60; i++)); do [ "$(wc -l <"$out")" -lt $((2 * rounds)) ] || break; sleep 1; done
awk '{ who = $1 % 2 ? "none" : "jobeff"; round = ++n[who]; print round, "elapsed", who, $2; print round, "cpu", who, $3 }' "$out" >"$raw"
echo "a loop of 1 ms and MPI_Allreduce on $nodes nodes, us per iteration, an interim report each second (by default each 600 s), $rounds pairs"
awk -f "$here/../preload/bench/median.awk" -f "$here/../preload/bench/pairs.awk" -v over=none -v unit=us "$raw" |
	awk '{ print; gsub(/[],]/, "", $NF); most = 100 * $NF / 600 / $3; printf "  a report each 600 s: at most %.4f %%, bound 0.1: %s\n", most, most <= 0.1 ? "met" : "NOT MET" }'
awk '{ n += $1; ms += $2 } END { printf "a report: %.1f ms of CPU time, with its start and end; each 600 s %.4f %% of a core\n", ms / n, ms / n / 6000 }' "$CLUSTER_DIR"/log/reports-*
