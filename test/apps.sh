#!/bin/bash
# apps.sh [TEST…]: runs Debian's applications with MPI and OpenMP on the cluster, with jobeff and without it, a program of up to
# 144 ranks whose speedup bounds are published, and programs whose waiting is known; their places in the code are compared with
# a full trace. Three clusters have one jobeffd. What happened goes to RESULT (test/results/apps.txt). It fails if a test
# failed. TEST: only these; TestSlowNode, where one of four nodes is slowed, takes 100 minutes and is run by its name alone.
set -euo pipefail
cd "$(dirname "$0")/.."
result=${RESULT:-test/results/apps.txt}
log=$(mktemp /tmp/jobeff-apps.XXXXXX)
trap 'rm -f "$log"' EXIT

# unpack_blas: unpacks a BLAS with OpenMP. If it were installed, all programs would use it.
unpack_blas() {
	rm -rf build/openblas.new
	mkdir build/openblas.new
	(
		cd build/openblas.new
		apt-get update -q >/dev/null
		apt-get download -q -o APT::Sandbox::User=root libopenblas0-openmp >/dev/null
		dpkg-deb -x ./*.deb .
	)
	mv build/openblas.new build/openblas
}

[ -d build/openblas ] || unpack_blas
test/install-packages.sh test/apps-packages
OPENMP_BLAS=$(echo "$PWD"/build/openblas/usr/lib/*/openblas-openmp)
export OPENMP_BLAS JOBEFF_TEST_APPS=1

tests=$(IFS='|' && echo "${*:-TestHybridApplications|TestThreadsIdle|TestSpeedupBounds|TestWindowsOfApplications|TestPlacesOfApplications|TestWaitsOverNodes|TestClusters}")
status=0
go test ./test -count=1 -v -timeout 2h -run "^($tests)\$" 2>&1 | tee "$log" | grep -E -- '--- |^(FAIL|ok)' || status=1
{
	echo "$(date -u +%FT%TZ) $(git rev-parse --short HEAD): make apps, $(sed -n 's/^PRETTY_NAME=//p' /etc/os-release), $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg)"
	dpkg-query -W -f '${Package} ${Version}\n' lammps quantum-espresso gromacs hpcc libgomp1 openmpi-bin
	dpkg-query -W -f '${Package} ${Version}\n' nwchem-openmpi cp2k 2>/dev/null || true
	basename -a build/openblas/*.deb
	grep -oE -- '--- (PASS|FAIL|SKIP): [A-Za-z0-9_/]+ \([0-9.]+s\)|(hybrid|bounds|waits|windows|referee|slow)_test.go:[0-9]+: .*' "$log" | sed -E 's/^--- //; s/^[a-z]+_test.go:[0-9]+: //'
} >"$result"
if grep -qE '^(--- FAIL|FAIL)' "$log"; then status=1; fi
exit $status
