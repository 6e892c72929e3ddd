#!/bin/bash
# bench-srun.sh: what the plugin costs a step, and what its reading of the step's cgroups does. It runs `srun true` inside one
# allocation with jobeff's line in plugstack.conf, with a plugin that reads no cgroup ("blind"), and without, in turn. It prints
# medians of the paired differences, ms: of the time of srun, and of the CPU time of what ends on the node, which is
# slurmstepd. Both vary more than that, so read the interval too: it holds the middle half of the differences.
# JOBEFF_BENCH_ROUNDS sets the rounds (default 15), each of 20 steps a kind.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
rounds=${JOBEFF_BENCH_ROUNDS:-15}
export CLUSTER_DIR=${CLUSTER_DIR:-/var/tmp/jobeff-bench}
conf=/etc/slurm/plugstack.conf.d/zz-jobeff.conf
raw=$here/../build/bench/srun.txt
cluster() { "$here/cluster.sh" "$@"; }

# blind PLUGIN: writes a plugin without the body of spank/cgroup.c.
blind() {
	gcc -std=gnu11 -O2 -fPIC -fvisibility=hidden -shared -I"$here/../spank" -o "$1" -xc - "$here"/../spank/[!c]*.c "$here"/../preload/{record/make,lib/hash}.c -ldl <<-X
		#include "jobeff_spank.h"
		void je_cgroup_find(struct je_cgroup *c, const char *own, const char *tree) { (void)own, (void)tree, c->job[0] = '\0'; }
		void je_cgroup_tell(const struct je_cgroup *c, char *text, size_t size) { (void)c, (void)size, text[0] = '\0'; }
	X
}

trap 'cluster down' EXIT
cluster down
cluster up 1 "$here"/../build/jobeff*_*.deb >/dev/null
mkdir -p "${raw%/*}"
blind "$CLUSTER_DIR/home/blind.so"
# slurmstepd (on the node) and srun (on ctl) read plugstack.conf at each step.
for node in ctl n1; do
	cluster exec $node chmod 666 $conf
	cluster exec $node chmod 777 "${conf%/*}"
done
cat >"$CLUSTER_DIR/home/alice/bench.job" <<-X
	#!/bin/bash
	cp $conf with.conf
	sed 's|[^ ]*/jobeff_spank.so|$CLUSTER_DIR/home/blind.so|' /usr/lib/jobeff/plugstack.d/*.conf >blind.conf
	: >without.conf
	cpu() { awk '{ print 10 * (\$16 + \$17) }' /proc/1/stat; } # ms, of all that ended here
	one() {
		cat \$1.conf >$conf
		start=\$EPOCHREALTIME before=\$(cpu)
		for i in {1..20}; do srun -n1 true 2>/dev/null; done
		awk -v a="\$start" -v b="\$EPOCHREALTIME" -v c="\$before" -v d="\$(cpu)" 'BEGIN { printf "%.3f %.3f ", (b - a) * 50, (d - c) / 20 }'
	}
	one with >/dev/null
	for ((i = 0; i < $rounds; i++)); do
		if ((i % 2)); then w=\$(one with) b=\$(one blind) o=\$(one without); else o=\$(one without) b=\$(one blind) w=\$(one with); fi
		echo \$w \$b \$o
	done
	cat with.conf >$conf
X
cluster as alice sbatch --wait --quiet -N1 -n1 --output=bench.out bench.job
awk '{ print $1, $5, $1 - $5, $2, $4, $6, $2 - $4, $2 - $6 }' "$CLUSTER_DIR/home/alice/bench.out" >"$raw"

# at COLUMN PART: a quantile of a column of the raw numbers. half COLUMN: its median and middle half.
at() { cut -d' ' -f"$1" "$raw" | sort -n | awk -v q="$2" '{ v[NR] = $1 } END { printf "%.2f", v[int((NR - 1) * q) + 1] }'; }
half() { echo "$(at "$1" .5) ($(at "$1" .25) to $(at "$1" .75))"; }
echo "srun true in an allocation, ms, $rounds rounds: with the plugin, without, difference (median, middle half; raw: build/bench/srun.txt)"
echo "$(at 1 .5)  $(at 2 .5)  $(half 3)"
echo "slurmstepd's CPU time, ms: with the plugin, with one that reads no cgroup, without any; what the reading costs, what the plugin costs"
echo "$(at 4 .5)  $(at 5 .5)  $(at 6 .5)  $(half 7)  $(half 8)"
