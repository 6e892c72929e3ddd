# shellcheck shell=bash
# The configuration of cluster.sh's Slurm, which sources this file. It is written below $D/etc
# once, and copied into each namespace at its start.

# write_conf NODES: writes all that a namespace needs at its start.
write_conf() {
	local i
	mkdir -p "$D"/{etc,ns,log,home,root/ctl,lower/{etc,usr,var}}
	chmod 755 "$D" "$D/home"
	for ((i = 1; i <= $1; i++)); do mkdir -p "$D/root/n$i"; done
	cgroup_kind >"$D/etc/cgroup_kind"
	echo "${CLUSTER_CONFIGLESS:-0}" >"$D/etc/configless"
	(umask 077 && head -c 128 /dev/urandom >"$D/etc/munge.key")
	write_hosts "$1"
	write_users
	write_slurm_conf "$1"
	write_slurmdbd_conf
	chown slurm "$D/log"
}

configless() { [ "$(cat "$D/etc/configless")" = 1 ]; }

write_hosts() {
	local i
	{
		echo "127.0.0.1 localhost"
		echo "$NET.1 ctl"
		for ((i = 1; i <= $1; i++)); do echo "$NET.$((10 + i)) n$i"; done
	} >"$D/etc/hosts"
}

# write_users: adds the users to the namespaces' own passwd, never to the machine's.
write_users() {
	local u uid=20000 names
	names=$(IFS='|' && echo "${USERS[*]}")
	for f in passwd group shadow; do
		(umask 077 && grep -vE "^($names):" /etc/$f >"$D/etc/$f")
	done
	chmod 644 "$D"/etc/{passwd,group}
	for u in "${USERS[@]}"; do
		while uid=$((uid + 1)) && cut -d: -f3 /etc/passwd /etc/group | grep -qx $uid; do :; done
		echo "$u:x:$uid:$uid::$D/home/$u:/bin/bash" >>"$D/etc/passwd"
		echo "$u:x:$uid:" >>"$D/etc/group"
		echo "$u:*:19000::::::" >>"$D/etc/shadow"
		install -d -m 755 -o $uid -g $uid "$D/home/$u"
	done
}

write_slurm_conf() {
	local i track=proctrack/linuxproc task=task/none gather=jobacct_gather/linux
	if [ "$(cat "$D/etc/cgroup_kind")" = v1 ]; then
		track=proctrack/cgroup task=task/cgroup gather=jobacct_gather/cgroup
	fi
	cat >"$D/etc/cgroup.conf" <<-X
		CgroupPlugin=cgroup/v1
		CgroupMountpoint=/sys/fs/cgroup
		ConstrainRAMSpace=yes
		ConstrainCores=no
	X
	# no real GPUs: Slurm only counts these devices. Jobs may share the first one of a node.
	printf 'Name=gpu Type=t4 File=/dev/tty[1-2]\nName=shard Count=4 File=/dev/tty1\n' >"$D/etc/gres.conf"
	printf 'AutoBasePath=true\nBasePath=/var/spool/job_container\n' >"$D/etc/job_container.conf"
	{
		slurm_conf_fixed
		echo "ProctrackType=$track"
		echo "TaskPlugin=$task"
		echo "JobAcctGatherType=$gather"
		if configless; then echo "SlurmctldParameters=enable_configless"; fi
		case ${CLUSTER_PROLOGFLAGS:-Alloc} in none) ;; *) echo "PrologFlags=${CLUSTER_PROLOGFLAGS:-Alloc}" ;; esac
		case ${CLUSTER_CONTAINER:-} in '') ;; *) echo "JobContainerType=job_container/$CLUSTER_CONTAINER" ;; esac
		for ((i = 1; i <= $1; i++)); do
			echo "NodeName=n$i NodeAddr=$NET.$((10 + i)) CPUs=${CLUSTER_CPUS:-4} RealMemory=8000 Gres=gpu:t4:2,shard:4 State=UNKNOWN"
		done
		echo "PartitionName=main Nodes=n[1-$1] Default=YES MaxTime=INFINITE State=UP DefMemPerCPU=400"
	} >"$D/etc/slurm.conf"
}

# KillWait and the scheduler's intervals are short for the tests' sake. MinJobAge is long enough
# for `scontrol show job` after a job's end.
slurm_conf_fixed() {
	cat <<-X
		ClusterName=$NAME
		SlurmctldHost=ctl($NET.1)
		SlurmUser=slurm
		AuthType=auth/munge
		MpiDefault=none
		MailProg=/bin/true
		JobAcctGatherFrequency=1
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU_Memory
		SlurmdParameters=config_overrides
		ReturnToService=2
		SlurmctldPidFile=/run/slurm/slurmctld.pid
		SlurmdPidFile=/run/slurmd.pid
		SlurmdSpoolDir=/var/lib/slurm/slurmd
		StateSaveLocation=/var/lib/slurm/slurmctld
		SlurmctldLogFile=$D/log/slurmctld.log
		SlurmdLogFile=$D/log/slurmd-%n.log
		SlurmctldDebug=info
		SlurmdDebug=verbose
		KillWait=5
		OverTimeLimit=0
		SchedulerParameters=bf_interval=1,sched_min_interval=0
		JobRequeue=1
		MessageTimeout=30
		SlurmdTimeout=120
		TCPTimeout=5
		MaxArraySize=10001
		MaxJobCount=20000
		AccountingStorageType=accounting_storage/slurmdbd
		AccountingStorageHost=ctl
		AccountingStorageTRES=gres/gpu,gres/gpu:t4
		GresTypes=gpu,shard
	X
}

write_slurmdbd_conf() {
	cat >"$D/etc/slurmdbd.conf" <<-X
		DbdHost=ctl
		SlurmUser=slurm
		AuthType=auth/munge
		StorageType=accounting_storage/mysql
		StorageHost=localhost
		StorageUser=slurm
		StorageLoc=slurm_acct_db
		LogFile=$D/log/slurmdbd.log
		PidFile=/run/slurm/slurmdbd.pid
	X
}

# server_conf INTERVAL: prints jobeffd's configuration. jobeffd asks sacct once per INTERVAL. The shipped rules are
# about longer jobs than a throwaway cluster runs, so it lowers their limits.
server_conf() {
	printf '[server]\nlisten = "0.0.0.0:6822"\nsacct_interval = "%s"\n' "$1"
	sed -nE '/^\[\[rule\]\]/ { N; s/( +#.*)?$//; s/$/\nleast_runtime = "1ms"\nleast_core_hours = 0/p }' "$REPO/etc/jobeff.toml"
}
