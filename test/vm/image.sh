#!/bin/bash
# image.sh ROOT IMAGE: makes a disk image from a root that vm.sh made. It adds Slurm's configuration, jobeff's packages and the
# end-to-end tests. The root stays as it is.
#
# NODE   the machine's name (n1)
# NODES  how many machines share the Slurm (1): n1 has address 10.79.0.1, and all daemons; the others have slurmd only
set -euo pipefail
SELF=$(realpath "$0")
REPO=${SELF%/test/vm/*}
NODE=${NODE:-n1} NODES=${NODES:-1} NET=10.79.0
# shellcheck source=test/cluster-conf.sh
. "$REPO/test/cluster-conf.sh"

# configure: writes the settings of a machine. Slurm wants an address that is not loopback's, so a single
# machine gets a dummy interface.
configure() {
	local etc=$R/etc s i interface=Driver=virtio_net
	echo "$NODE" >"$etc/hostname"
	echo 127.0.0.1 localhost >"$etc/hosts"
	for ((i = 1; i <= NODES; i++)); do echo "$NET.$i n$i" >>"$etc/hosts"; done
	echo '/dev/vda / ext4 defaults 0 1' >"$etc/fstab"
	if [ "$NODES" = 1 ]; then
		interface=Name=eth9
		printf '[NetDev]\nName=eth9\nKind=dummy\n' >"$etc/systemd/network/eth9.netdev"
	fi
	printf '[Match]\n%s\n[Network]\nAddress=%s/24\nConfigureWithoutCarrier=yes\n' "$interface" "$NET.${NODE#n}" >"$etc/systemd/network/eth9.network"
	printf '%s;\n' 'create database if not exists slurm_acct_db' 'create user if not exists slurm@localhost identified via unix_socket' \
		'grant all on slurm_acct_db.* to slurm@localhost' >"$etc/mysql/slurm.sql"
	printf '[mysqld]\ninit_file=/etc/mysql/slurm.sql\nskip-networking\n' >"$etc/mysql/mariadb.conf.d/99-slurm.cnf"
	printf 'CgroupPlugin=cgroup/v2\nConstrainCores=yes\nConstrainRAMSpace=yes\n' >"$etc/slurm/cgroup.conf"
	printf 'AutoBasePath=true\nBasePath=/var/spool/job_container\n' >"$etc/slurm/job_container.conf"
	slurm_conf >"$etc/slurm/slurm.conf"
	printf '%s\n' DbdHost=localhost SlurmUser=slurm AuthType=auth/munge StorageType=accounting_storage/mysql StorageHost=localhost \
		StorageUser=slurm StorageLoc=slurm_acct_db LogFile=/var/log/slurm/slurmdbd.log PidFile=/run/slurmdbd.pid >"$etc/slurm/slurmdbd.conf"
	mkdir -p "$etc/systemd/system.conf.d"
	printf '[Manager]\nDefaultTimeoutStartSec=15min\nDefaultDeviceTimeoutSec=15min\n' >"$etc/systemd/system.conf.d/vm.conf"
	for s in slurmdbd:mariadb slurmctld:slurmdbd slurmd:munge; do # a slow machine: try again
		mkdir -p "$etc/systemd/system/${s%:*}.service.d"
		printf '[Unit]\nAfter=%s.service\n[Service]\nRestart=on-failure\nRestartSec=2\n' "${s#*:}" >"$etc/systemd/system/${s%:*}.service.d/vm.conf"
	done
	printf '[Service]\nEnvironment=HOME=/root\nExecStart=/bin/bash /usr/local/sbin/agent\n[Install]\nWantedBy=multi-user.target\n' >"$etc/systemd/system/agent.service"
	install -m 755 "$REPO/test/vm/agent" "$REPO/test/vm/slurm-ready" "$R/usr/local/sbin/"
}

# slurm_conf: prints slurm.conf as sites have it on cgroup v2. The intervals are short for the tests' sake.
slurm_conf() {
	local i
	printf '%s\n' ClusterName=test "SlurmctldHost=n1($NET.1)" SlurmUser=slurm AuthType=auth/munge MpiDefault=none MailProg=/bin/true \
		ProctrackType=proctrack/cgroup TaskPlugin=task/cgroup,task/affinity JobAcctGatherType=jobacct_gather/cgroup JobAcctGatherFrequency=1 \
		PrologFlags=Alloc,Contain SelectType=select/cons_tres SelectTypeParameters=CR_CPU_Memory ReturnToService=2 \
		SlurmdSpoolDir=/var/lib/slurm/slurmd StateSaveLocation=/var/lib/slurm/slurmctld SlurmctldLogFile=/var/log/slurm/slurmctld.log \
		SlurmdLogFile=/var/log/slurm/slurmd.log AccountingStorageType=accounting_storage/slurmdbd AccountingStorageHost=n1 \
		SlurmdParameters=config_overrides MessageTimeout=60 KillWait=5 SchedulerParameters=bf_interval=1,sched_min_interval=0 \
		"PartitionName=main Nodes=ALL Default=YES DefMemPerCPU=400"
	for ((i = 1; i <= NODES; i++)); do echo "NodeName=n$i NodeAddr=$NET.$i CPUs=2 RealMemory=2600"; done
}

# add_jobeff: adds the packages as they were built, and once more as an older version, to upgrade from. It enables the units,
# since postinst does not where systemd does not run (ADMIN 1).
add_jobeff() {
	local deb
	mkdir -p "$R"/root/jobeff/{build,older} "$R/etc/jobeff"
	cp "$REPO"/build/jobeff*.deb "$R/root/jobeff/build/"
	for deb in "$R"/root/jobeff/build/*.deb; do
		dpkg-deb -R "$deb" "$R/older"
		sed -i 's/^Version:.*/Version: 0.0.9/' "$R/older/DEBIAN/control"
		if [ -e "$R/older/usr/sbin/jobeffd" ]; then before_sockets; fi
		dpkg-deb -Znone -b "$R/older" "$R/root/jobeff/older/" >/dev/null
		rm -r "$R/older"
	done
	cp -r "$REPO/test" "$R/root/jobeff/"
	cp "$REPO/build/vm/e2e.test" "$REPO/test/vm/cluster.sh" "$R/root/jobeff/test/"
	server_conf 15s >"$R/etc/jobeff/jobeff.toml"
	chroot "$R" sh -euc '
		useradd -m -s /bin/bash alice
		useradd -m -s /bin/bash bob
		chmod 755 /home/*
		chown slurm: /etc/slurm/slurmdbd.conf
		chmod 600 /etc/slurm/slurmdbd.conf
		install -d -o slurm /var/log/slurm /var/lib/slurm/slurmctld
		dpkg -i --force-unsafe-io /root/jobeff/build/*.deb
		systemctl mask apt-daily.timer apt-daily-upgrade.timer
		jobeffd --sockets
		systemctl enable agent jobeffd run-jobeff.mount jobeff-ingest.timer systemd-networkd'
	if [ "$NODE" != n1 ]; then
		printf '[report]\nto = "http://n1:6822"\n' >"$R/etc/jobeff/jobeff.toml"
		chroot "$R" systemctl disable -q slurmctld slurmdbd mariadb jobeffd jobeffd-read
	fi
}

# before_sockets: makes the older jobeffd as it was before systemd held its sockets.
before_sockets() {
	rm "$R"/older/usr/lib/systemd/system/jobeffd*.socket
	sed -i 's/^Type=notify/&\nRuntimeDirectory=%N/; /^Requires=/d; /^Also=/d' "$R"/older/usr/lib/systemd/system/jobeffd*.service
	printf '#!/bin/sh\n[ -d /run/systemd/system ] || exit 0\nsystemctl daemon-reload\nsystemctl try-restart jobeffd jobeffd-read\n' >"$R/older/DEBIAN/postinst"
}

# inside ROOT IMAGE: makes the image, in namespaces that end with it. postinst needs /proc.
inside() {
	R=$2.d/root
	mkdir -p "$2".d/{root,upper,work}
	mount -t overlay -o "lowerdir=$1,upperdir=$2.d/upper,workdir=$2.d/work" overlay "$R"
	mount -t proc proc "$R/proc"
	configure
	add_jobeff
	umount "$R/proc"
	truncate -s 5G "$2"
	mkfs.ext4 -q -F -d "$R" "$2"
	umount "$R"
	rm -r "$2.d"
}

if [ "$1" = __inside ]; then
	shift
	inside "$@"
else
	exec unshare --mount --pid --fork --propagation private bash "$SELF" __inside "$@"
fi
