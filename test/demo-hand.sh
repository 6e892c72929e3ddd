#!/bin/bash
# demo-hand.sh: the demo where no Slurm can be started. It measures a program that sleeps
# (test/apps/sleeper.c) by hand on 1, 2, 4 and 8 ranks, and shows the curve of these runs. Then it shows
# a made-up site.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d /tmp/jobeff-demo.XXXXXX) daemon=''
trap '[ -z "$daemon" ] || kill "$daemon"; rm -rf "$dir"' EXIT
pages=build/demo
export PATH=$PWD/build:$PATH
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() { say "\$ $*"; "$@"; }

# measured: runs the program, each time with a record of its own, and makes a table of the runs for `jobeff curve`.
measured() {
	local ranks run=(mpirun)
	if mpirun --version | grep -q 'Open MPI'; then
		run+=(--oversubscribe)
		if [ "$(id -u)" = 0 ]; then run+=(--allow-run-as-root); fi
	fi
	mpicc -O1 -o "$dir/sleeper" test/apps/sleeper.c -Ipreload/include -Lbuild/lib -ljobeff_section -Wl,-rpath,"$PWD/build/lib"
	cat <<-X
		Its work is a sleep, shared by its ranks. Its messages are sleeps too, longer with each rank.
		So it behaves the same on every machine, however few CPUs there are.
	X
	echo n,t_n,tau_n >"$dir/runs.csv"
	for ranks in 1 2 4 8; do
		say "\$ JOBEFF_RECORD=rec$ranks LD_PRELOAD=build/lib/libjobeff.so ${run[*]} -n $ranks ./sleeper 4000 3 200"
		JOBEFF_RECORD=$dir/rec$ranks LD_PRELOAD=$PWD/build/lib/libjobeff.so "${run[@]}" -n $ranks "$dir/sleeper" 4000 3 200
		jobeff-ingest --print --json "$dir/rec$ranks" | awk -F '[:,]' '/^  "(elapsed|ranks|parallel_efficiency)"/ { gsub(/[ "]/, "", $1); is[$1] = $2 }
			END { print is["ranks"] + 0 "," is["elapsed"] + 0 "," is["elapsed"] * (1 - is["parallel_efficiency"]) }' >>"$dir/runs.csv"
	done
	say "\$ jobeff-ingest --print rec8"
	jobeff-ingest --print "$dir/rec8"
	say "\$ jobeff curve runs.csv   # cores, seconds, seconds of overhead of each run"
	cat "$dir/runs.csv"
	jobeff curve "$dir/runs.csv"
}

# site: starts a daemon on a socket, with a made-up year, and shows what jobeff prints of it.
site() {
	printf '[report]\nto = "unix:%s/s"\n[server]\nsocket = "%s/s"\ndatabase = "%s/site.db"\nsacct_interval = "0s"\n' "$dir" "$dir" "$dir" >"$dir/jobeff.toml"
	export JOBEFF_CONFIG=$dir/jobeff.toml
	say "A made-up site, since there is no Slurm"
	jobeff admin demo-data "$dir/site.db" --jobs 6000 --until 2026-11-21
	jobeffd --config "$JOBEFF_CONFIG" 2>"$dir/log" &
	daemon=$!
	until [ -S "$dir/s" ]; do
		kill -0 "$daemon" || { cat "$dir/log" >&2; exit 1; }
		sleep .1
	done
	job=$(jobeff -a -S 2026-11-15 -nP -o jobid,lost | sort -t'|' -k2 -n -r | cut -d'|' -f1 |
		while read -r id; do if jobeff "$id" | grep -q 'would have taken'; then echo "$id" && break; fi; done)
	show jobeff "$job"
	say "\$ jobeff -a -S 2026-11-20"
	jobeff -a -S 2026-11-20 | sed -n '1,12p; $p'
	say "\$ jobeff digest --week 2026-W46"
	jobeff digest --week 2026-W46 | sed -n '1,40p'
	mkdir -p $pages
	jobeff report "$job" --html - >$pages/job.html
}

measured
site
say "What you saw"
cat <<X
- The program says nothing of jobeff: LD_PRELOAD is all. It got slower on 8 ranks, and the curve says so.
- A job, a list and the week's digest of a made-up site. A job's page, for a browser: $PWD/$pages/job.html
What you did not see, since no Slurm can be started here (the first line says why):
- that every job of a cluster is measured with no such variable, by jobeff's plugin for Slurm;
- a real application as a job, the advice on it, and the mail that its user would get.
X
