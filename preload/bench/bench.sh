#!/bin/bash
# bench.sh: measures what the preload costs, each variant beside the others.
#   calls:  ns per MPI call on one rank, in C, mpif.h's binding and mpi_f08: with no preload, a
#           stub that reads the clock twice and adds twice (the floor), and libjobeff. At 3 GHz.
#   clock:  the same with clock_gettime instead of the TSC, in a second build of the library.
#   places: ns that a call takes longer whose place is noted, in a build of the library that notes each.
#   loop:   ns per iteration of {compute 1 us, Allreduce, Barrier} on two ranks.
#   windows: ns per iteration of that loop with sampled windows, beside those without: both alternate for
#           a minute. ns that a call in a window takes longer that is logged.
#   openmp: ns of a parallel region and of calls inside one, on two threads.
#   hydro:  us of a step of a small hydrodynamics proxy, on one rank of two threads.
#   start:  ms of a trivial MPI program, and the KiB that it uses.
#   inputs: ms of MPI_Init for a program whose arguments name 16 files of 1 MiB.
#   shell:  s of a bash loop of 2,000 /bin/true with no preload, an empty one, and libjobeff.
#   exec:   us of a process without MPI with no preload, an empty one, and libjobeff.
#   size:   KiB of the library.
# Differences are paired inside a round and have a 90 % bootstrap interval.
# Usage: bench.sh [calls|clock|places|loop|windows|openmp|hydro|start|inputs|exec|shell|size]...   JOBEFF_BENCH_ROUNDS sets the
# rounds (default 15). JOBEFF_BENCH_BASE names another libjobeff.so: calls measures it in place of the
# floor, with a bound of 0.5 ns, and start beside the others. The raw numbers are in build/bench/*.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."

rounds=${JOBEFF_BENCH_ROUNDS:-15}
out=build/bench
library=$PWD/build/lib/libjobeff.so
cc=${CC:-gcc}
base=${JOBEFF_BENCH_BASE:-}
record=/dev/shm/jobeff-bench-$$
mkdir -p "$out"
trap 'rm -f "$record"' EXIT

# Prints the preload of a variant; empty for none.
preload_of() {
	case $1 in
	none) echo "" ;;
	base) echo "$base" ;;
	stub_c) echo "$PWD/$out/stub.so" ;;
	jobeff) echo "$library" ;;
	*) echo "$PWD/$out/$1.so" ;;
	esac
}

build() {
	local here=preload/bench mpi fortran=(-O2 -w -ffree-line-length-none -fallow-argument-mismatch)
	"$cc" -O2 -fPIC -shared $here/empty.c -o "$out/empty.so"
	"$cc" -O2 $here/exec.c -o "$out/exec"
	"$cc" -O2 -c $here/steady.c -o "$out/steady.o"
	"$cc" -O2 -fopenmp $here/openmp.c -o "$out/openmp.gcc"
	clang -O2 -fopenmp $here/openmp.c -o "$out/openmp.clang"
	local stub=("$cc" -O2 -fPIC -shared -ftls-model=initial-exec "$here/stub.c" -ldl)
	"${stub[@]}" -o "$out/stub.so"
	"${stub[@]}" -DFORTRAN -o "$out/stub_mpi.so"
	"${stub[@]}" -DF08 -o "$out/stub_mpi_f08.so"
	"${stub[@]}" -DNO_TSC -o "$out/stub_clock.so"
	make -s build/lib/libjobeff.so build/lib/libjobeff_section.so "$out/jobeff_clock.so" "$out/jobeff_places.so" "$out/jobeff_windows.so"
	for mpi in openmpi mpich; do
		"mpicc.$mpi" -O2 $here/calls.c "$out/steady.o" -o "$out/calls_c.$mpi"
		"mpifort.$mpi" "${fortran[@]}" $here/calls.F90 "$out/steady.o" -o "$out/calls_mpi.$mpi"
		"mpifort.$mpi" "${fortran[@]}" -DUSE_F08 $here/calls.F90 "$out/steady.o" -o "$out/calls_mpi_f08.$mpi"
		"mpicc.$mpi" -O2 -fopenmp -Ipreload/include test/apps/hydro.c -o "$out/hydro.$mpi" \
			-Lbuild/lib -ljobeff_section -Wl,-rpath,"$PWD/build/lib" -lm
		"mpicc.$mpi" -O2 $here/loop.c -o "$out/loop.$mpi" -ldl
		"mpicc.$mpi" -O2 $here/logged.c -o "$out/logged.$mpi"
		"mpicc.$mpi" -O2 -fPIC -shared $here/inner.c -o "$out/libinner_$mpi.so"
		"mpicc.$mpi" -O2 $here/trivial.c -o "$out/trivial.$mpi" -L"$out" "-linner_$mpi" -Wl,-rpath,"$PWD/$out"
	done
}

# run MPI RANKS VARIANT PROGRAM ARGUMENTS…: with $bind not empty, each rank on a core of its own.
run() {
	local launch=(mpirun.mpich ${bind:+-bind-to core} -n "$2") program=$PWD/$out/$4.$1
	if [ "$1" = openmpi ]; then
		launch=(mpirun.openmpi ${bind:+--bind-to core} -n "$2" --oversubscribe)
		[ "$(id -u)" -ne 0 ] || launch+=(--allow-run-as-root)
	fi
	JOBEFF_RECORD=$record timeout 300 "${launch[@]}" \
		env LD_PRELOAD="$(preload_of "$3")" "$program" "${@:5}"
}

# Prints the variants, each round in another order, so that a drift of the machine favours none.
turned() { # ROUND VARIANT…
	local by=$(($1 % ($# - 1)))
	shift
	echo "${@:by+1}" "${@:1:by}"
}

bench_calls() {
	local mpi binding variant round floor
	rm -f "$out/calls.txt"
	for round in $(seq "$rounds"); do
		for mpi in openmpi mpich; do
			for binding in c mpi mpi_f08; do
				floor=stub_$binding
				[ -z "$base" ] || floor=base
				for variant in $(turned "$round" none "$floor" jobeff); do
					rm -f "$record"
					run "$mpi" 1 "$variant" "calls_$binding" |
						sed "s/^/$round $mpi $binding ${variant%"_$binding"} /" >>"$out/calls.txt"
				done
			done
		done
	done
	echo "ns at 3 GHz that a call takes longer on one rank, quickest tenth of $rounds interleaved rounds (raw: $out/calls.txt)"
	awk -v over="${base:+base}" -f preload/bench/median.awk -f preload/bench/calls.awk "$out/calls.txt"
}

bench_clock() {
	local mpi variant round
	rm -f "$out/clock.txt"
	for round in $(seq "$rounds"); do
		for mpi in openmpi mpich; do
			for variant in $(turned "$round" stub_clock jobeff_clock); do
				rm -f "$record"
				run "$mpi" 1 "$variant" calls_c | while read -r name ns; do
					echo "$round $mpi-$name ${variant%_clock} $ns"
				done >>"$out/clock.txt"
			done
		done
	done
	echo "ns at 3 GHz per call with clock_gettime in place of the TSC, medians of $rounds rounds (raw: $out/clock.txt)"
	awk -v over=stub -v unit=ns -v bound=10 -f preload/bench/median.awk -f preload/bench/pairs.awk "$out/clock.txt"
}

# On one rank Open MPI's and MPICH's calls take less than 1 us, so none is long.
bench_places() {
	local mpi variant round
	rm -f "$out/places.txt"
	for round in $(seq "$rounds"); do
		for mpi in openmpi mpich; do
			for variant in $(turned "$round" jobeff jobeff_places); do
				rm -f "$record"
				run "$mpi" 1 "$variant" calls_c | while read -r name ns; do
					[ "$name" = Pcontrol ] || echo "$round $mpi-$name $variant $ns"
				done | sed 's/ jobeff / not /; s/ jobeff_places / jobeff /' >>"$out/places.txt"
			done
		done
	done
	echo "ns at 3 GHz per call whose place is noted, over one whose place is not, medians of $rounds rounds (raw: $out/places.txt)"
	awk -v over=not -v unit=ns -v bound=60 -f preload/bench/median.awk -f preload/bench/pairs.awk "$out/places.txt"
}

# How many rounds of the loop's arithmetic take 1 us here (two multiply-adds deep).
rounds_per_us() {
	awk '/^cpu MHz/ { print int($4 / 8); found = 1; exit } END { if (!found) print 300 }' /proc/cpuinfo
}

bench_loop() {
	local mpi variant round work
	work=$(rounds_per_us)
	rm -f "$out/loop.txt"
	for round in $(seq "$rounds"); do
		for mpi in openmpi mpich; do
			for variant in $(turned "$round" empty stub jobeff); do
				rm -f "$record"
				echo "$round $mpi $variant $(run "$mpi" 2 "$variant" loop "$work")" >>"$out/loop.txt"
			done
		done
	done
	echo "ns per iteration of {compute 1 us, Allreduce, Barrier} on 2 ranks, p50 of 200 us blocks, $rounds pairs (raw: $out/loop.txt)"
	awk -v over=stub -v unit=ns -v bound=20 -f preload/bench/median.awk -f preload/bench/pairs.awk "$out/loop.txt"
}

# Windows may cost 0.3 %. A round is a second of one run.
bench_windows() {
	local mpi round work bind=yes seconds=${JOBEFF_BENCH_SECONDS:-60}
	export JOBEFF_WINDOWS=4
	work=$(rounds_per_us)
	rm -f "$out/windows.txt" "$out/logged.txt"
	for mpi in openmpi mpich; do
		rm -f "$record"
		run "$mpi" 2 jobeff_windows loop "$work" "$seconds" |
			awk -v mpi="$mpi" '{ print NR, mpi, "jobeff", $1; print NR, mpi, "without", $2 }' >>"$out/windows.txt"
		for round in $(seq "$rounds"); do
			rm -f "$record"
			run "$mpi" 1 jobeff logged |
				awk -v round="$round" -v mpi="$mpi" '{ print round, mpi, "jobeff", $1; print round, mpi, "not", $2 }' >>"$out/logged.txt"
		done
	done
	unset JOBEFF_WINDOWS
	echo "ns per iteration of the loop with windows, p50 of 200 us blocks, $seconds s, bound 0.3 % (raw: $out/windows.txt)"
	awk -v over=without -v unit=ns -v bound=0 -v share=0.003 -f preload/bench/median.awk -f preload/bench/pairs.awk "$out/windows.txt"
	echo "ns of a Sendrecv in a window that is logged, over one that is not, medians of $rounds rounds (raw: $out/logged.txt)"
	awk -v over=not -v unit=ns -v bound=100 -f preload/bench/median.awk -f preload/bench/pairs.awk "$out/logged.txt"
}

# Two threads that wait spin, as on cores of their own. A region may cost 5 % more, or 100 ns.
# With gcc and libgomp, and with clang and libomp.
bench_openmp() {
	local cc variant round pairs=$((rounds > 20 ? rounds : 20))
	rm -f "$out/openmp.txt"
	for round in $(seq "$pairs"); do
		for cc in gcc clang; do
			for variant in $(turned "$round" empty jobeff); do
				rm -f "$record"
				OMP_WAIT_POLICY=active JOBEFF_RECORD=$record LD_PRELOAD=$(preload_of "$variant") "$out/openmp.$cc" |
					while read -r name ns; do
						echo "$round $cc-$name $variant $ns"
					done >>"$out/openmp.txt"
			done
		done
	done
	echo "ns per region and per call on 2 threads, p50 of 200 blocks, $pairs pairs (raw: $out/openmp.txt)"
	awk '$2 ~ /-parallel/' "$out/openmp.txt" |
		awk -v over=empty -v unit=ns -v bound=100 -v share=0.05 -f preload/bench/median.awk -f preload/bench/pairs.awk
	awk '$2 !~ /-parallel/' "$out/openmp.txt" |
		awk -v over=empty -v unit=ns -v bound=25 -f preload/bench/median.awk -f preload/bench/pairs.awk
}

# The median step by the proxy's own clock. It may take 1 % longer.
bench_hydro() {
	local mpi variant round us pairs=$((rounds > 20 ? rounds : 20))
	rm -f "$out/hydro.txt"
	for round in $(seq "$pairs"); do
		for mpi in openmpi mpich; do
			for variant in $(turned "$round" none jobeff); do
				rm -f "$record"
				us=$(OMP_NUM_THREADS=2 OMPI_MCA_hwloc_base_binding_policy=none run "$mpi" 1 "$variant" hydro 400 50 | awk '/us a step/ { print $1 }')
				echo "$round $mpi $variant $us" >>"$out/hydro.txt"
			done
		done
	done
	echo "us of a step of the hydrodynamics proxy on one rank of 2 threads, p50, $pairs pairs, bound 1 % (raw: $out/hydro.txt)"
	awk -v over=none -v unit=us -v bound=1 -v share=0.01 -f preload/bench/median.awk -f preload/bench/pairs.awk "$out/hydro.txt"
}

# Prints the KiB of the record's pages that somebody wrote to: those only set aside are holes.
touched_kib() {
	python3 - "$record" <<-'X'
		import os, sys
		end = kib = 0
		try:
		    record = os.open(sys.argv[1], os.O_RDONLY)
		    while True:
		        begin = os.lseek(record, end, os.SEEK_DATA)
		        end = os.lseek(record, begin, os.SEEK_HOLE)
		        kib += (end - begin) // 1024
		except OSError:
		    print(kib)
	X
}

bench_start() {
	local mpi variant round ms cpu_ms init_ms kib backed
	rm -f "$out/start.txt" "$out/memory.txt"
	for round in $(seq "$rounds"); do
		for mpi in openmpi mpich; do
			for variant in $(turned "$round" empty ${base:+base} jobeff); do
				rm -f "$record"
				read -r ms cpu_ms init_ms kib < <(run "$mpi" 1 "$variant" trivial)
				backed=0
				[ ! -e "$record" ] || backed=$(($(stat -c %b "$record") / 2))
				printf '%s %s %s %s\n' "$round" "$mpi" "$variant" "$ms" "$round" "$mpi-computing" "$variant" "$cpu_ms" \
					"$round" "$mpi-init" "$variant" "$init_ms" >>"$out/start.txt"
				printf '%s %s %s %s\n' "$round" "$mpi" "$variant" $((kib + backed)) \
					"$round" "$mpi-touched" "$variant" "$(touched_kib)" >>"$out/memory.txt"
			done
		done
	done
	echo "ms of a trivial MPI program on one rank, $rounds pairs (raw: $out/start.txt)"
	awk -v over=empty -v unit=ms -v bound=1 -f preload/bench/median.awk -f preload/bench/pairs.awk "$out/start.txt"
	echo "KiB of anonymous memory and of the record, of one rank (raw: $out/memory.txt)"
	awk -v over=empty -v unit=KiB -v bound=256 -f preload/bench/median.awk -f preload/bench/pairs.awk "$out/memory.txt"
}

bench_inputs() {
	local mpi variant round ms files=$out/inputs
	mkdir -p "$files"
	for round in {1..16}; do head -c 1M /dev/urandom >"$files/$round"; done
	rm -f "$out/inputs.txt"
	for round in $(seq "$rounds"); do
		for mpi in openmpi mpich; do
			for variant in $(turned "$round" without jobeff); do
				set --
				[ "$variant" = without ] || set -- "$files"/*
				rm -f "$record"
				read -r _ ms _ < <(run "$mpi" 1 jobeff trivial "$@")
				echo "$round $mpi $variant $ms" >>"$out/inputs.txt"
			done
		done
	done
	echo "ms of CPU time that MPI_Init takes longer with 16 named files of 1 MiB, $rounds pairs (raw: $out/inputs.txt)"
	awk -v over=without -v unit=ms -v bound=10 -f preload/bench/median.awk -f preload/bench/pairs.awk "$out/inputs.txt"
}

bench_exec() {
	local round variant us
	rm -f "$out/exec.txt"
	for round in $(seq "$rounds"); do
		for variant in none empty jobeff; do
			read -r us
			echo "$round exec $variant $us"
		done < <("$out/exec" "" "$(preload_of empty)" "$library") >>"$out/exec.txt"
	done
	echo "us per exec of /bin/true, medians of $rounds rounds of 200 in turn, their lower quartile (raw: $out/exec.txt)"
	awk -v over=empty -v unit=us -v bound=60 -f preload/bench/median.awk -f preload/bench/pairs.awk "$out/exec.txt"
}

# Prints the seconds of one loop.
run_shell() { # VARIANT
	local start=$EPOCHREALTIME
	# shellcheck disable=SC2016  # the inner shell expands it
	LD_PRELOAD="$(preload_of "$1")" bash -c 'for ((i = 0; i < 2000; i++)); do /bin/true; done'
	awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.4f\n", b - a }'
}

bench_shell() {
	local round variant
	rm -f "$out/shell.txt"
	for round in $(seq "$rounds"); do
		# each round in another order, so that a drift of the machine favours none
		case $((round % 3)) in
		0) set -- none empty jobeff ;;
		1) set -- empty jobeff none ;;
		2) set -- jobeff none empty ;;
		esac
		for variant in "$@"; do
			echo "$round $variant $(run_shell "$variant")" >>"$out/shell.txt"
		done
	done
	echo "a bash loop of 2,000 /bin/true, paired medians of $rounds rounds, bound 1.05 over empty (raw: $out/shell.txt)"
	awk -f preload/bench/median.awk -f preload/bench/shell.awk "$out/shell.txt"
}

bench_size() {
	local kib=$((($(stat -c %s "$library") + 1023) / 1024)) met="NOT MET"
	[ "$kib" -ge 496 ] || met=met # 400 before it measured OpenMP, 448 before windows, 480 before places
	echo "libjobeff.so: $kib KiB, bound 496: $met"
}

build
preload/bench/machine.sh
for part in "${@:-calls clock places loop windows openmp hydro start inputs exec shell size}"; do
	for one in $part; do
		"bench_$one"
	done
done
