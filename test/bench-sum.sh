#!/bin/bash
# bench-sum.sh: the sum of what is spent: one table of this tree against the commit BASE, both measured
# in turn in one run.
#   calls:    ns that a call takes longer than without a preload, on one rank (bench.sh calls). Other
#             work only adds, so a round is the quickest of three.
#   start:    over an empty library: KiB of a rank's memory and its record; ms of CPU time of MPI_Init
#             outside the MPI (bench.sh start)
#   plugin:   what a measured job costs more than one that is not: BenchmarkLightJobs, less the process that
#             stands in for slurmstepd, and BenchmarkRecord
#   server:   BenchmarkLoad/socket with 2,000 jobs, 29,200 reports
#   munge:    BenchmarkLoad/munge with 1,000 jobs, 14,600 reports; CPU time is that of all: munged, which signs
#             and checks for both sides, the clients, jobeffd, and what makes the reports
#   database: SQLite with 20,000 jobs of `jobeffd admin demo-data`
#   sizes:    KiB of the library, and lines of code. In Go: all lines of *.go but *_test.go. In C: the lines
#             that are not empty, in *.c, *.h and *.def outside the folders test, testdata and bench.
# A ratio is 1 + the median of the paired differences / BASE's median; the interval is of 90 %.
# Usage: bench-sum.sh [calls|start|plugin|server|munge|database|sizes]...   JOBEFF_BENCH_ROUNDS sets the rounds
# (default 9; the plugin and the server half as many). BASE is built once, from a clone in build/base. The
# raw numbers are in build/bench/sum.txt.
set -euo pipefail
here=$(realpath "$(dirname "$0")/..")
cd "$here"
BASE=${BASE:-7955bd9}
export JOBEFF_BENCH_ROUNDS=${JOBEFF_BENCH_ROUNDS:-9}
out=$here/build/bench
raw=$out/sum.txt
mkdir -p "$out" build/base
commit=$(git rev-parse --verify --quiet "$BASE^{commit}") || { echo "bench-sum.sh: no commit $BASE here; git fetch --unshallow" >&2; exit 1; }
base=$here/build/base/$commit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# tree VARIANT: its folder.
tree() { if [ "$1" = base ]; then echo "$base"; else echo "$here"; fi; }

# build VARIANT: builds what the table needs of it.
build() (
	cd "$(tree "$1")"
	CGO_CFLAGS="-O2 -g -DJE_TABLE_SUM=$(cksum <preload/mpi_calls.def | cut -d' ' -f1)"
	export CGO_CFLAGS
	make --no-print-directory -s build/lib/libjobeff.so build/jobeffd
	mkdir -p build/bench
	go test -c -o build/bench/body.test ./spank/body
	go test -c -o build/bench/jobeffd.test ./cmd/jobeffd
)

build_base() {
	[ -e "$base/built" ] && return
	rm -rf "$base"
	git clone --quiet --shared --no-checkout . "$base"
	git -C "$base" checkout --quiet --detach "$commit"
	build base
	touch "$base/built"
}

# In all that follows, a line of the raw numbers is: round, figure, variant, value.

preload_bench() { JOBEFF_BENCH_BASE=$base/build/lib/libjobeff.so preload/bench/bench.sh "$1" >"$work/log" 2>&1; }
as_variants() { awk '{ sub("jobeff", "now", $3); sub("empty", "none", $3); print }'; }

measure_calls() {
	JOBEFF_BENCH_ROUNDS=$((3 * JOBEFF_BENCH_ROUNDS)) preload_bench calls || return
	awk '{ key = int(($1 + 2) / 3) " " $2 "/" $3 "/" $5 " " $4 }
		!(key in least) || $6 < least[key] { least[key] = $6 }
		END { for (key in least) print key, least[key] }' "$out/calls.txt" | as_variants
}

measure_start() {
	preload_bench start || return
	{ grep -- -init "$out/start.txt"; awk '{ $2 = $2 "-KiB"; print }' "$out/memory.txt"; } | as_variants
}

# metrics ROUND VARIANT: lines of `go test -bench` as raw numbers.
metrics() {
	awk -v round="$1" -v variant="$2" '
		/^Benchmark/ {
			for (i = 3; i < NF; i += 2) value[$(i + 1)] = $i
			host = value["host-ms"]
			for (unit in value) print round, unit, variant, value[unit] - (unit ~ /^(pro|epi)log-ms$/ ? host : 0)
			delete value
		}'
}

# bench VARIANT FOLDER PROGRAM PATTERN TIMES
bench() (
	cd "$(tree "$1")/$2"
	"$(tree "$1")/build/bench/$3.test" -test.v -test.run '^$' -test.bench "$4" -test.benchtime "$5" 2>&1 | tee "$work/log"
)

# benches FOLDER PROGRAM PATTERN TIMES: both variants in turn, in half as many rounds, since each takes 20 s.
benches() {
	local round variant
	for round in $(seq $(((JOBEFF_BENCH_ROUNDS + 1) / 2))); do
		for variant in $(if ((round % 2)); then echo base now; else echo now base; fi); do
			bench "$variant" "$@" | metrics "$round" "$variant"
		done
	done
}

measure_plugin() { benches spank/body body 'LightJobs|Record/others=0' 100x; }
measure_munge() {
	local round variant cpu TIMEFORMAT='%U %S'
	for round in $(seq $(((JOBEFF_BENCH_ROUNDS + 1) / 2))); do
		for variant in $(if ((round % 2)); then echo base now; else echo now base; fi); do
			cpu=$({ time JOBEFF_LOAD_JOBS=1000 bench "$variant" cmd/jobeffd jobeffd Load/munge 1x >"$work/bench"; } 2>&1) || return
			metrics "$round" "$variant" <"$work/bench" | awk '$2 ~ "/s$|^daemon" { $2 = "munge-" $2; print }'
			awk -v round="$round" -v variant="$variant" '{ print round, "munge-cpu", variant, ($1 + $2) * 1e6 / 14600 }' <<<"$cpu"
		done
	done
}
measure_server() { JOBEFF_LOAD_JOBS=2000 benches cmd/jobeffd jobeffd Load/socket 1x; }

measure_database() {
	local variant
	for variant in base now; do
		"$(tree $variant)/build/jobeffd" admin demo-data "$work/$variant.db" --jobs 20000 --until 2026-01-01T00:00:00Z >"$work/log" 2>&1 || return
		echo "1 bytes $variant $(($(stat -c %s "$work/$variant.db") / 20000))"
	done
}

measure_sizes() (
	local variant files
	for variant in base now; do
		cd "$(tree $variant)" || return
		echo "1 library $variant $((($(stat -c %s build/lib/libjobeff.so) + 1023) / 1024))"
		mapfile -t files < <(git ls-files '*.go' | grep -v '_test\.go$')
		echo "1 go $variant $(cat "${files[@]}" | wc -l)"
		mapfile -t files < <(git ls-files '*.c' '*.h' '*.def' | grep -vE '(^|/)(test|testdata|bench)/')
		echo "1 c $variant $(cat "${files[@]}" | grep -c .)"
	done
)

# part NAME: its raw numbers, or why there are none.
part() {
	: >"$work/log"
	if ! "measure_$1" >"$work/part" || [ ! -s "$work/part" ]; then
		echo "- $1 why $(grep -vE '^(PASS|FAIL|)$' "$work/log" | tail -n 1 || true)"
	fi
	cat "$work/part"
}

build_base >&2
build now >&2
machine=$(preload/bench/machine.sh) now=$(git describe --always --dirty)
[ $# -gt 0 ] || set -- calls start plugin server munge database sizes
for one in "$@"; do part "$one"; done >"$raw"
echo "$(date -u +%FT%RZ): what is spent, ${commit:0:7} against $now, $JOBEFF_BENCH_ROUNDS rounds"
echo "$machine before and $(cut -d' ' -f1 /proc/loadavg) after"
awk -v from="${commit:0:7}" -v parts="$*" -f preload/bench/median.awk -f test/bench-sum.awk "$raw"
