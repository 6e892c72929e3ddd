#!/bin/bash
# vm.sh [PART…]: boots a Debian with systemd, cgroup v2, Slurm and jobeff's packages in QEMU, and tests jobeff there. It needs
# no KVM. A part is a test of test/vm: cgroup is TestCgroup. The suite's root is made once, by mmdebstrap. The last result of
# each part is in results/vm-SUITE-PART.txt. The part disk boots nothing: it makes 200 power cuts of disks under this machine's
# kernel. Its result is in results/vm-disk.txt.
#
# SUITE          bookworm or trixie
# VM_CACHE       where the roots are (/var/cache/jobeff-vm), 1.2 GB each
# DISTRO_MIRROR  where the packages come from (where apt here has them from: mirror.sh)
set -euo pipefail
cd "$(dirname "$0")/.."
SUITE=${SUITE:-bookworm}
CACHE=${VM_CACHE:-/var/cache/jobeff-vm}
ROOT=$CACHE/$SUITE

# make_root: makes the suite's root, which takes a minute. If the list of packages has changed, it makes the root again.
make_root() {
	local include
	if cmp -s test/vm/packages "$ROOT/packages"; then return; fi
	mkdir -p "$CACHE"
	rm -rf --one-file-system "$ROOT" "$ROOT.new"
	include=$(sed 's/#.*//; /^ *$/d; s/ *$//' test/vm/packages | paste -sd,)
	mmdebstrap --variant=minbase --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
		--dpkgopt='path-exclude=/usr/share/doc/*' --include="$include" \
		"$SUITE" "$ROOT.new" "$(test/mirror.sh)" >"$ROOT.log" 2>&1 || { tail "$ROOT.log" >&2; return 1; }
	cp test/vm/packages "$ROOT.new/packages"
	mv "$ROOT.new" "$ROOT"
}

if [ "$*" != disk ]; then
	test/install-packages.sh <(printf '%s\n' qemu-system-x86 qemu-utils mmdebstrap e2fsprogs)
	make_root
	mkdir -p build/vm
	go test -c -o build/vm/e2e.test ./test
fi
export JOBEFF_VM_ROOT=$ROOT
status=0
[ $# != 0 ] || set -- cgroup units bind two disk
for part; do
	if [ "$part" = disk ]; then
		rm -f test/results/vm-disk.txt
		JOBEFF_POWER_CUTS=200 RESULT=test/results/vm-disk.txt \
			test/run-tests.sh ./cmd/jobeffd -v -run '^Test(PowerCuts|DiskErrors)$' || status=1
		continue
	fi
	result=test/results/vm-$SUITE-$part.txt
	rm -f "$result"
	RESULT=$result RESULT_ROOT=$ROOT test/run-tests.sh ./test/vm -timeout 3h -v -run "^Test${part^}\$" || status=1
done
exit $status
