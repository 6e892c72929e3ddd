#!/bin/bash
# compare.sh: runs the same programs under jobeff, TALP (of DLB) and mpiP. What they print goes to RESULT (test/results/compare.txt).
#   figures: jobeff and one of the others in the same run, jobeff's library first, so that both see the same calls.
#   costs:   each tool alone, and none, in turn; mpiP also without call sites (-k 0). JOBEFF_BENCH_ROUNDS sets the rounds (default 15).
# PEERS is the folder where the others were installed, for each MPI: dlb-openmpi, dlb-mpich, mpip-openmpi, mpip-mpich.
# It fails where one of them is missing. CONTRIBUTING.md says more.
set -euo pipefail
cd "$(dirname "$0")/.."
peers=${PEERS:?is not set: where are dlb-openmpi, dlb-mpich, mpip-openmpi and mpip-mpich? CONTRIBUTING.md says more}
rounds=${JOBEFF_BENCH_ROUNDS:-15}
result=${RESULT:-test/results/compare.txt}
work=$(mktemp -d /dev/shm/jobeff-compare.XXXXXX)
trap 'rm -rf "$work"' EXIT

library() { # TOOL MPI
	case $1 in
	jobeff) realpath -e build/lib/libjobeff.so ;;
	talp) realpath -e "$peers/dlb-$2/lib/libdlb_mpi.so" ;;
	mpip | mpip-k0) realpath -e "$peers/mpip-$2/lib/libmpiP.so" ;;
	esac
}

# run TOOLS MPI RANKS PROGRAM…: TOOLS is none, or tools with a space between. What they write is in $work/out.
run() {
	local tool preload='' mpip='-c' launch=(mpirun.mpich -n "$3")
	if [ "$2" = openmpi ]; then
		launch=(mpirun.openmpi -n "$3" --oversubscribe)
		[ "$(id -u)" -ne 0 ] || launch+=(--allow-run-as-root)
	fi
	if [ "$1" = mpip-k0 ]; then mpip='-c -k 0'; fi
	for tool in ${1/none/}; do preload+=${preload:+:}$(library "$tool" "$2"); done
	rm -rf "$work/out"
	mkdir "$work/out"
	JOBEFF_RECORD=$work/out/record DLB_ARGS="--talp --talp-output-file=$work/out/talp.json" MPIP="$mpip -f $work/out" \
		timeout 600 "${launch[@]}" env LD_PRELOAD="$preload" "${@:4}" >"$work/stdout" 2>"$work/stderr" || { cat "$work/stderr" >&2; exit 1; }
}

# The functions below print figures of the last run, each from another source: parallel efficiency, load balance,
# communication efficiency, and MPI's part of the ranks' time in %.
field() { grep -om1 "\"$2\": *[0-9.]*" "$1" | grep -oE '[0-9.]+$'; } # FILE NAME
jobeff() {
	local job=$work/out/job.json
	build/jobeff-ingest --print --json "$work/out/record" >"$job"
	awk -v pe="$(field "$job" parallel_efficiency)" -v lb="$(field "$job" load_balance)" -v comm="$(field "$job" communication_efficiency)" \
		-v u="$(field "$job" useful)" -v m="$(field "$job" mpi_time)" -v io="$(field "$job" io_time)" \
		'BEGIN { printf "%6.3f %6.3f %6.3f %6.2f\n", pe, lb, comm, 100 * m / (u + m + io) }'
}
talp() { # as DLB computes them, from the times in its file: its efficiencies have only two digits
	local file=$work/out/talp.json
	awk -v u="$(field "$file" usefulTime)" -v m="$(field "$file" mpiTime)" -v e="$(field "$file" elapsedTime)" \
		-v n="$(field "$file" numCpus)" -v least="$(field "$file" minMpiNormdProc)" \
		'BEGIN { printf "%6.3f %6.3f %6.3f %6.2f\n", u / (u + m), (e - m / n) / (e - least), (e - least) / e, 100 * m / (u + m) }'
}
mpip() { awk '$1 == "Aggregate" { printf "%6s %6s %6s %6.2f\n", "-", "-", "-", $4; exit }' "$work"/out/*.mpiP; }
known() { printf '%6.3f %6.3f %6.3f %6.2f\n' .5833 .5833 1 41.67; } # waits.c's tree: its ranks work 150, 100, 50 and 50 ms a round
itself() { # load.c prints the times that it took around its calls: "outside RANK ELAPSED MPI"
	awk '$1 == "outside" { u = $3 - $4; sum += u; mpi += $4; if (u > most) most = u; if ($3 > e) e = $3; n++ }
		END { printf "%6.3f %6.3f %6.3f %6.2f\n", sum / n / e, sum / n / most, most / e, 100 * mpi / (sum + mpi) }' "$work/stdout"
}

versions() {
	local mpi
	dpkg-query -W -f '${Package} ${Version}\n' lammps openmpi-bin mpich
	for mpi in openmpi mpich; do
		run talp $mpi 2 "$work/load.$mpi" 1 1 100 .01
		echo "DLB $(sed -n 's/.*"dlbVersion": "\(.*\)".*/\1/p' "$work/out/talp.json") for $mpi"
		run mpip $mpi 2 "$work/load.$mpi" 1 1 100 .01
		echo "mpiP $(awk '/^@ Version/ { print $4 }' "$work"/out/*.mpiP) for $mpi, timer $(awk '/^@ Timer/ { print $5 }' "$work"/out/*.mpiP)"
	done
}

figures() { # MPI NAME RANKS TRUTH PROGRAM…: TRUTH is known, itself or nothing
	local other tool
	for other in talp mpip; do
		run "jobeff $other" "$1" "$3" "${@:5}"
		for tool in jobeff "$other" $4; do
			printf '%-9s %-8s %-12s %-7s %s\n' "$2" "$1" "jobeff+$other" "$tool" "$($tool)"
		done
	done
}

turned() { # ROUND WORD…: each round in another order, so that a drift of the machine favours none
	local by=$(($1 % ($# - 1)))
	shift
	echo "${@:by+1}" "${@:1:by}"
}

costs() { # prints "ROUND WHAT TOOL NUMBER"
	local mpi round tool start
	for round in $(seq "$rounds"); do
		for mpi in openmpi mpich; do
			for tool in $(turned "$round" none jobeff talp mpip mpip-k0); do
				run "$tool" $mpi 1 "$work/calls.$mpi"
				awk -v round="$round" -v mpi=$mpi -v tool="$tool" '/^[A-Z][a-z]* [0-9.]*$/ && !/Pcontrol/ { print round, mpi "-" $1 "-ns", tool, $2 }' "$work/stdout"
			done
		done
		for tool in $(turned "$round" none jobeff talp mpip mpip-k0); do
			start=$EPOCHREALTIME
			run "$tool" openmpi 2 lmp -in test/lammps/in.melt -log none
			awk -v a="$start" -v b="$EPOCHREALTIME" -v round="$round" -v tool="$tool" 'BEGIN { print round, "openmpi-LAMMPS-ms", tool, (b - a) * 1e3 }'
		done
	done
}

for mpi in openmpi mpich; do
	mpicc.$mpi -O2 -o "$work/load.$mpi" test/apps/load.c
	mpicc.$mpi -O2 -w -o "$work/waits.$mpi" test/apps/waits.c test/apps/patient.c
	mpicc.$mpi -O2 -o "$work/calls.$mpi" preload/bench/calls.c preload/bench/steady.c
done
{
	echo "$(date -u +%FT%TZ) $(git rev-parse --short HEAD): make compare, $(sed -n 's/^PRETTY_NAME=//p' /etc/os-release), $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg), niceness $(nice)"
	versions
	echo "program   MPI      in one run   says        PE     LB  CommE  MPI %"
	for mpi in openmpi mpich; do
		figures $mpi tree 4 known "$work/waits.$mpi" tree 20
		figures $mpi load.c 2 itself "$work/load.$mpi" 40 60 100 3
	done
	figures openmpi LAMMPS 2 '' lmp -in test/lammps/in.melt -log none
	echo "what a call and the whole of LAMMPS take longer than with none: medians of $rounds paired rounds [90 % interval]; mpip-k0: mpiP without call sites"
	costs | awk -f preload/bench/median.awk -f test/compare.awk
} >"$work/result"
mv "$work/result" "$result"
