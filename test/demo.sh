#!/bin/bash
# demo.sh: starts a throwaway Slurm of two nodes, with jobeff installed from its package. alice
# runs LAMMPS on 1, 2 and 4 ranks with sbatch, and asks jobeff about each job. The job script
# does not mention jobeff. KEEP=1 leaves the cluster running.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
export CLUSTER_DIR=${CLUSTER_DIR:-/var/tmp/jobeff-demo}
cluster() { "$here/cluster.sh" "$@"; }
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

take_down() {
	if [ "${KEEP:-}" = 1 ]; then
		echo "The cluster stays: CLUSTER_DIR=$CLUSTER_DIR test/cluster.sh as alice bash"
	else
		cluster down
	fi
}

# script NODES RANKS: prints the script that alice submits.
script() {
	cat <<-X
		#!/bin/bash
		#SBATCH --job-name=melt --nodes=$1 --ntasks-per-node=$(($2 / $1)) --time=5
		srun --mpi=pmix lmp -in in.melt -log none
	X
}

# failed JOB WHAT: ends the demo.
failed() {
	echo "demo.sh: $2. Below: jobeff's answer, and the job's output" >&2
	cluster as alice bash -c "jobeff $1; tail melt-$1.out" >&2
	exit 1
}

# told JOB: waits until the job has ended, and its nodes and sacct have told of it.
told() {
	local end=$((SECONDS + 120))
	until cluster as alice jobeff --json "$1" >"$CLUSTER_DIR/told" 2>/dev/null && grep -qE '"state": *"(COMPLETED|FAILED)' "$CLUSTER_DIR/told"; do
		[ $SECONDS -le $end ] || failed "$1" "jobeff knows nothing of job $1"
		sleep .2
	done
	grep -qE '"state": *"COMPLETED' "$CLUSTER_DIR/told" || failed "$1" "job $1 failed"
}

cluster down
trap take_down EXIT
cluster up 2 "$here"/../build/jobeff*_*.deb
cp "$here/lammps/in.melt" "$CLUSTER_DIR/home/alice/"
for shape in "1 1" "2 2" "2 4"; do
	read -r nodes ranks <<<"$shape"
	say "alice: LAMMPS, $ranks rank(s) on $nodes node(s)"
	script "$nodes" "$ranks" | sed 's/^/    /'
	job=$(script "$nodes" "$ranks" | cluster as alice sbatch --parsable --output=melt-%j.out)
	told "$job"
	say "alice: jobeff $job"
	cluster as alice jobeff "$job"
done
