#!/bin/bash
# demo-cluster.sh: starts a throwaway Slurm of two nodes, with jobeff installed from its package. alice runs a
# program that sleeps (test/apps/sleeper.c) on 1 to 8 ranks, past the core count where more are slower. Then
# she runs LAMMPS on one rank and on as many as there are CPUs, up to four. Her scripts do not mention jobeff.
# It fails where jobeff does not advise fewer cores. KEEP=1 leaves the cluster running.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
root=$(dirname "$here")
export CLUSTER_DIR=${CLUSTER_DIR:-/var/tmp/jobeff-demo}
cluster() { "$here/cluster.sh" "$@"; }
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
alice() { say "alice: $*"; cluster as alice "$@"; }

take_down() {
	if [ "${KEEP:-}" = 1 ]; then
		echo "The cluster stays: CLUSTER_DIR=$CLUSTER_DIR test/cluster.sh as alice bash"
	else
		cluster down
	fi
}

# script NAME NODES RANKS COMMAND: prints a script that alice submits.
script() {
	cat <<-X
		#!/bin/bash
		#SBATCH --job-name=$1 --nodes=$2 --ntasks-per-node=$(($3 / $2)) --time=5
		srun --mpi=pmix $4
	X
}

# failed JOB WHAT: ends the demo.
failed() {
	echo "demo-cluster.sh: $2. Below: jobeff's answer, and the job's output" >&2
	cluster as alice bash -c "jobeff --full $1; tail ./*-${1%_*}.out" >&2
	exit 1
}

# told JOB: waits until the job has ended, and its nodes and sacct have reported it.
told() {
	local end=$((SECONDS + 120))
	until cluster as alice jobeff --json "$1" >"$CLUSTER_DIR/told" 2>/dev/null && grep -qE '"state": *"(COMPLETED|FAILED)' "$CLUSTER_DIR/told"; do
		[ $SECONDS -le $end ] || failed "$1" "jobeff knows nothing of job $1"
		sleep .2
	done
	grep -qE '"state": *"COMPLETED' "$CLUSTER_DIR/told" || failed "$1" "job $1 failed"
}

# lammps RANKS: runs it, over both nodes where that fits, and shows what jobeff says.
lammps() {
	local nodes=$((2 - $1 % 2)) job
	say "alice: LAMMPS, $1 rank(s) on $nodes node(s)"
	script melt $nodes "$1" "lmp -in in.melt -log none" | sed 's/^/    /'
	job=$(script melt $nodes "$1" "lmp -in in.melt -log none" | cluster as alice sbatch --parsable --output=melt-%j.out)
	told "$job"
	alice jobeff "$job"
}

# sleeper: runs it three times on each of four core counts. It sets last to the last job.
sleeper() {
	local ranks nodes job jobs=()
	say "alice: a program that sleeps, on 1, 2, 4 and 8 ranks, three times each"
	cat <<-X
		Its work is a sleep, shared by its ranks. Its messages are sleeps too, longer with each rank.
		So it behaves the same on every machine, however few CPUs there are.
	X
	script sleeper 2 8 "./sleeper 4000 3 200" | sed 's/^/    /'
	for ranks in 1 2 4 8; do
		nodes=$((1 + ranks / 8))
		jobs+=("$(script sleeper $nodes $ranks "./sleeper 4000 3 200" | cluster as alice sbatch --parsable --array=1-3 --output=sleeper-%A.out)")
	done
	for job in "${jobs[@]}"; do
		for ranks in 1 2 3; do told "${job}_$ranks"; done
	done
	last=${job}_1
}

# advice: shows what jobeff says of the job on 8 ranks and of its workload. It must advise fewer cores.
advice() {
	local page=$root/build/demo/job-$last.html
	alice jobeff "$last" | tee "$CLUSTER_DIR/said"
	cores=$(sed -nE 's/^Ask for ([1-7]) cores?.*/\1/p' "$CLUSTER_DIR/said")
	[ -n "$cores" ] || failed "$last" "jobeff does not advise fewer than 8 cores"
	alice jobeff workload "$last"
	mkdir -p "$(dirname "$page")"
	cluster as alice jobeff report "$last" --html - >"$page"
	say "root: all jobs as a page: curl --unix-socket /run/jobeffd/jobeffd.sock http://jobeffd/jobs"
	cluster exec ctl curl -sS --fail --unix-socket /run/jobeffd/jobeffd.sock http://jobeffd/jobs >"${page%/*}/jobs.html"
	grep -o 'Total of[^<]*' "${page%/*}/jobs.html" || failed "$last" "the page lists no jobs"
	grep -q "href=\"jobs/${last%_*}\"" "${page%/*}/jobs.html" || failed "$last" "the page of all jobs lacks array ${last%_*}"
}

# mail: shows what alice would get. There must be a mail.
mail() {
	say "root: the mail that jobeffd would send now: jobeff admin notices"
	cluster exec ctl jobeff admin notices | tee "$CLUSTER_DIR/said"
	grep -q '^alice on test: one mail now' "$CLUSTER_DIR/said" || failed "$last" "there is no mail for alice"
}

closing() {
	local page=$root/build/demo/job-$last.html
	say "What you saw"
	cat <<-X
		- The scripts say nothing of jobeff, and every job has its parallel efficiency.
		- The program that sleeps got slower on 8 cores: jobeff says to ask for $cores, and what that would have saved.
		- Its page, for a browser: $page
		- All jobs as a page: ${page%/*}/jobs.html; jobeffd serves it with a form and links, behind a login of yours.
		- Rules and mails are about longer jobs; for these short ones jobeff.toml says otherwise.
		- To look around yourself: KEEP=1 make demo, then the command that it prints at its end.
		- Type there: jobeff, jobeff $last, jobeff --full $last, jobeff explain $last, jobeff workload, man jobeff.
	X
}

cluster down
trap take_down EXIT
cluster up 2 "$root"/build/jobeff*_*.deb
printf '[notice]\nleast_core_hours = 0.001\n' | cluster exec ctl sh -c 'cat >>/etc/jobeff/jobeff.toml' # its jobs take seconds
cp "$here/lammps/in.melt" "$CLUSTER_DIR/home/alice/"
mpicc.openmpi -O1 -o "$CLUSTER_DIR/home/alice/sleeper" "$here/apps/sleeper.c" -I"$root/preload/include" -L"$root/build/lib" -ljobeff_section
cpus=$(nproc)
sleeper
advice
mail
lammps 1
if [ "$cpus" -gt 1 ]; then lammps $((cpus < 4 ? cpus : 4)); fi
closing
