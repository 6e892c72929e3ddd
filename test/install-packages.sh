#!/bin/bash
# install-packages.sh [--missing] LIST…: installs the missing packages of lists such as test/packages.
# It is quick if none is missing, and needs root and the network only otherwise. With --missing it
# prints them and installs nothing.
set -euo pipefail

# wanted LIST…: prints the packages that the lists have for this Debian.
wanted() {
	local suite
	suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	sed 's/#.*//; s/[][]//g' "$@" | awk -v suite="$suite" '
		NF == 1 { print $1 }
		NF > 1 { for (i = 2; i <= NF; i++) if ($i == suite) print $1 }'
}

# missing LIST…: prints the packages that are not fully installed.
missing() {
	local have
	# shellcheck disable=SC2016 # dpkg-query expands it
	have=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null | sed -n 's/ installed$//p')
	wanted "$@" | grep -vxF "$have" || true
}

# no_services: stops Debian's packages from starting their daemons, since the cluster starts its
# own. Afterwards the machine's own policy, if it had one, comes back.
no_services() {
	policy=/usr/sbin/policy-rc.d
	saved=$(mktemp -d)
	if [ -e $policy ]; then cp -a $policy "$saved/"; fi
	trap restore_policy EXIT
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
}

restore_policy() {
	if [ -e "$saved/policy-rc.d" ]; then cp -a "$saved/policy-rc.d" $policy; else rm -f $policy; fi
	rm -rf "$saved"
}

if [ "${1:-}" = --missing ]; then
	shift
	missing "$@"
	exit
fi
if ! command -v apt-get >/dev/null; then
	echo "install-packages.sh: there is no apt-get. What is built and used by hand needs: dnf install gcc make git openmpi-devel slurm-devel. The tests need Debian's packages." >&2
	exit 1
fi
# shellcheck disable=SC2207 # package names have no spaces
packages=($(missing "$@"))
[ ${#packages[@]} -gt 0 ] || exit 0
echo "to install: ${packages[*]}"
if [ "$(id -u)" != 0 ]; then
	echo "install-packages.sh: needs root: sudo apt-get install ${packages[*]}" >&2
	exit 1
fi
no_services
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends "${packages[@]}"
