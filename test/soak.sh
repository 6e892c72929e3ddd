#!/bin/bash
# soak.sh [RUNS]: runs RUNS (5,000) mpiruns of 2 ranks in one batch script with --mem=200M. It
# fails unless the job completes, every execution is there, and the record stays small.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
runs=${1:-5000}
export CLUSTER_DIR=${CLUSTER_DIR:-/var/tmp/jobeff-soak}
cluster() { "$here/cluster.sh" "$@"; }

trap 'cluster down' EXIT
cluster up 1 "$here"/../build/jobeff*_*.deb
mkdir -p "$CLUSTER_DIR/home/bin"
mpicc.mpich -O1 -o "$CLUSTER_DIR/home/bin/ending" "$here/apps/ending.c"

start=$SECONDS
cat >"$CLUSTER_DIR/home/soak.job" <<-X
	#!/bin/bash
	for ((i = 0; i < $runs; i++)); do
		timeout 60 mpiexec.hydra -n 2 $CLUSTER_DIR/home/bin/ending finalize || exit 1
	done
	du -k /run/jobeff/\$SLURM_JOB_ID/ranks 2>/dev/null | cut -f1
X
id=$(cluster as alice sbatch --parsable --output=soak.out -N1 -n2 --mem=200M "$CLUSTER_DIR/home/soak.job")
until cluster exec ctl squeue -h -t all -j "$id" -o %T | grep -qE 'COMPLETED|FAILED|CANCELLED|OUT_OF_MEMORY'; do
	cluster exec n1 du -k "/run/jobeff/$id/ranks" 2>/dev/null | cut -f1 >"$CLUSTER_DIR/kib.new" || true
	if [ -s "$CLUSTER_DIR/kib.new" ]; then mv "$CLUSTER_DIR/kib.new" "$CLUSTER_DIR/kib"; fi
	sleep 1
done
state=$(cluster exec ctl squeue -h -t all -j "$id" -o %T)
until cluster as alice jobeff --json "$id" >"$CLUSTER_DIR/soak.json" 2>/dev/null; do sleep 1; done
sums=$(python3 -c 'import json, sys; all = json.load(open(sys.argv[1]))["executions"]
print(sum(e.get("folded", 1) for e in all), sum(e["endings"].get("finalized", 0) for e in all) // 2)' "$CLUSTER_DIR/soak.json")
read -r seen whole <<<"$sums"
echo "$(date -u +%FT%TZ) $(git -C "$here" rev-parse --short HEAD): $runs mpiruns of 2 ranks in $((SECONDS - start)) s:" \
	"job $state, $seen executions, $whole with both ranks finalized, record $(cat "$CLUSTER_DIR/kib") KiB of memory"
[ "$state" = COMPLETED ] && [ "$seen" = "$runs" ] && [ "$whole" = "$runs" ]
