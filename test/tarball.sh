#!/bin/bash
# tarball.sh: tries `make tarball` where people unpack it: as a user at home, in a Debian 11, 12 and 13
# that is made for the run (distro.sh bare), with Open MPI, MPICH and OpenMP. It prints a row for each.
# With RESULT it adds them to that file. It fails if a run has no report.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp /tmp/jobeff-tarball.XXXXXX)
trap 'rm -f "$log"' EXIT

# shellcheck disable=SC2016 # the inner shell expands it
unpack='
apt-get update -q && apt-get install -q -y --no-install-recommends gcc libc6-dev openmpi-bin libopenmpi-dev mpich libmpich-dev || exit
echo "127.0.0.1 $(hostname)" >>/etc/hosts # MPICH 3 asks for it
home=/home/somebody
top=$home/bin/jobeff
mkdir -p $top && tar xz -C $top --strip-components=1
cp test/apps/{sleeper.c,copylate.h,openmphello.c} $home
chown -R nobody $home && cd $home
as_user() { setpriv --reuid nobody --regid nogroup --clear-groups env HOME=$home "$@"; }
try() { # NAME COMMAND…
	local name=$1 said code
	shift
	said=$(as_user $top/bin/jobeff run -- "$@" 2>&1 </dev/null) && code=0 || code=$?
	echo "$said"
	said=$(grep -aoE "^(Size .*|Parallel efficiency +[0-9.]*)" <<<"$said" | tr -s " " | paste -sd ,)
	echo "tarball: $name, glibc $(ldd --version | head -n 1 | grep -o "[0-9.]*$"): exit code $code, ${said:-WRONG: no report}"
}
for mpi in openmpi mpich; do
	as_user mpicc.$mpi -o $mpi sleeper.c -I$top/include -L$top/lib -ljobeff_section -Wl,-rpath,$top/lib
	try "Debian $(cat /etc/debian_version), $mpi $(dpkg-query -W -f "\${Version}" ${mpi/openmpi/openmpi-bin})" mpirun.$mpi -n 2 ./$mpi 400 3 20
done
as_user gcc -fopenmp -o threads openmphello.c
try "Debian $(cat /etc/debian_version), OpenMP" ./threads
'
test/install-packages.sh <(echo debootstrap)
for suite in bullseye bookworm trixie; do
	BARE=$suite test/distro.sh bare bash -c "$unpack" 2>&1 < <(cat build/jobeff-*-linux-x86_64.tar.gz) | tee -a "$log"
done
{
	echo "$(date -u +%FT%RZ) $(git describe --always --dirty): test/tarball.sh, $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg) after"
	grep -a '^tarball: ' "$log"
	echo
} | tee -a "${RESULT:-/dev/null}"
[ "$(grep -ac '^tarball: .*Parallel efficiency' "$log")" = 9 ]
