#!/bin/bash
# bench-srun.sh: what the plugin costs a step. It runs `srun true` inside one allocation, with
# and without jobeff's line in plugstack.conf, in turn. It prints the median of the paired
# differences, ms. srun's own time varies more than that, so read the interval too: it holds
# the middle half of the differences.
# JOBEFF_BENCH_ROUNDS sets the rounds (default 15), each of 5 steps a side.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
rounds=${JOBEFF_BENCH_ROUNDS:-15}
export CLUSTER_DIR=${CLUSTER_DIR:-/var/tmp/jobeff-bench}
conf=/etc/slurm/plugstack.conf.d/zz-jobeff.conf
cluster() { "$here/cluster.sh" "$@"; }

trap 'cluster down' EXIT
cluster down
cluster up 1 "$here"/../build/jobeff*_*.deb >/dev/null
# slurmstepd (on the node) and srun (on ctl) read plugstack.conf at each step.
for node in ctl n1; do
	cluster exec $node chmod 666 $conf
	cluster exec $node chmod 777 "${conf%/*}"
done
cat >"$CLUSTER_DIR/home/alice/bench.job" <<-X
	#!/bin/bash
	cp $conf with.conf
	one() {
		if [ \$1 = with ]; then cat with.conf >$conf; else : >$conf; fi
		start=\$EPOCHREALTIME
		for i in 1 2 3 4 5; do srun -n1 true 2>/dev/null; done
		awk -v a="\$start" -v b="\$EPOCHREALTIME" 'BEGIN { printf "%.3f ", (b - a) * 200 }'
	}
	one with >/dev/null
	for ((i = 0; i < $rounds; i++)); do
		if ((i % 2)); then w=\$(one with) o=\$(one without); else o=\$(one without) w=\$(one with); fi
		echo \$w \$o
	done
	cat with.conf >$conf
X
cluster as alice sbatch --wait --quiet -N1 -n1 --output=bench.out bench.job
echo "srun true in an allocation, ms, $rounds rounds: with the plugin, without, difference (median, middle half)"
raw=$here/../build/bench/srun.txt
mkdir -p "${raw%/*}"
awk '{ print $1, $2, $1 - $2 }' "$CLUSTER_DIR/home/alice/bench.out" >"$raw"

# at COLUMN PART: a quantile of a column of the raw numbers.
at() { cut -d' ' -f"$1" "$raw" | sort -n | awk -v q="$2" '{ v[NR] = $1 } END { printf "%.1f", v[int((NR - 1) * q) + 1] }'; }
echo "$(at 1 .5)  $(at 2 .5)  $(at 3 .5) ($(at 3 .25) to $(at 3 .75))  (raw: build/bench/srun.txt)"
