#!/bin/bash
# demo-hand.sh: the demo where no Slurm can be started. It measures a program that sleeps (test/apps/sleeper.c)
# by `jobeff run`, and on 1, 2, 4 and 8 ranks by `jobeff scale`. Then it shows a made-up site.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d /tmp/jobeff-demo.XXXXXX) daemon=''
trap '[ -z "$daemon" ] || kill "$daemon"; rm -rf "$dir"' EXIT
pages=build/demo
export PATH=$PWD/build:$PATH
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() { say "\$ $*"; "$@"; }

# measured: measures the program once, and on several core counts.
measured() {
	local run='mpirun'
	if mpirun --version | grep -q 'Open MPI'; then
		run+=' --oversubscribe'
		if [ "$(id -u)" = 0 ]; then run+=' --allow-run-as-root'; fi
	fi
	mpicc -O1 -o "$dir/sleeper" test/apps/sleeper.c -Ipreload/include -Lbuild/lib -ljobeff_section -Wl,-rpath,"$PWD/build/lib"
	cat <<-X
		Its work is a sleep, shared by its ranks. Its messages are sleeps too, longer with each rank.
		So it behaves the same on every machine, however few CPUs there are.
	X
	cd "$dir"
	# shellcheck disable=SC2086 # the words of a command
	show jobeff run -- $run -n 8 ./sleeper 2000 3 100
	# shellcheck disable=SC2086
	show jobeff scale -n 1,2,4,8 --html scale.html -- $run -n '{n}' ./sleeper 2000 3 100
	cd - >/dev/null
	mkdir -p $pages
	cp "$dir/scale.html" $pages
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
- A program that knows nothing of jobeff, measured by one command. It got slower on 8 ranks, and the curve says so.
- A job, a list and the week's digest of a made-up site.
- For a browser: the curve's page, $PWD/$pages/scale.html, and a job's, $PWD/$pages/job.html
What you did not see, since no Slurm can be started here (the first line says why):
- that every job of a cluster is measured with nothing in front of its command, by jobeff's plugin for Slurm;
- a real application as a job, the advice on it, and the mail that its user would get.
X
