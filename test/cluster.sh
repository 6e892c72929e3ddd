#!/bin/bash
# A throwaway Slurm of several nodes on one machine, without systemd. It leaves no trace.
#
# One pid namespace holds the whole cluster, so killing ONE process ends it in any state.
# Inside, "ctl" and each node have their own mount, network, UTS, IPC and pid namespace. /etc,
# /usr and /var are overlays whose upper side is a tmpfs. So Slurm, munge, MariaDB and jobeff
# are in their usual places, and dpkg installs them. The machine's own files never change, and
# two clusters never meet. The machine itself gets only CLUSTER_DIR (logs, the users' homes)
# and the cgroups jobeff-test-<hash of CLUSTER_DIR>.
#
# CLUSTER_DIR         where (/var/tmp/jobeff-cluster)
# CLUSTER_NAME        test
# CLUSTER_NET         10.78.0; no route leads out of it, so clusters may use the same one
# CLUSTER_CPUS        of each node (4)
# CLUSTER_USERS       "alice bob"
# CLUSTER_PROLOGFLAGS Alloc; none: the job's first step runs the prolog; Contain
# CLUSTER_CONTAINER   tmpfs: job_container/tmpfs
# CLUSTER_CONFIGLESS  1: the nodes get slurm.conf from slurmctld
# CLUSTER_CGROUP      v1 or none; the default is what the machine can do
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

SELF=$(realpath "$0")
REPO=$(dirname "$(dirname "$SELF")")
D=$(realpath -m "${CLUSTER_DIR:-/var/tmp/jobeff-cluster}")
ID=jobeff-test-$(printf %s "$D" | sha1sum | cut -c1-8)
NET=${CLUSTER_NET:-10.78.0}
NAME=${CLUSTER_NAME:-test}
read -ra USERS <<<"${CLUSTER_USERS:-alice bob}"
# shellcheck source=test/cluster-conf.sh
. "$(dirname "$SELF")/cluster-conf.sh"
CGROUPS=(freezer memory cpuset cpuacct cpu devices)
NS=(--mount --uts --ipc --net --pid)

usage() {
	cat >&2 <<-X
		usage: cluster.sh up [NODES [DEB…]]     start (3 nodes), with jobeff from the DEBs
		       cluster.sh down                  remove everything
		       cluster.sh status                sinfo
		       cluster.sh as USER COMMAND…      on ctl, as alice or bob, in the shared home
		       cluster.sh exec NODE COMMAND…    on ctl, n1, n2 …, as root
		       cluster.sh nodedown|nodeup NODE  stop, start its slurmd
		       cluster.sh install DEB…          jobeff, on ctl and on each node
		       cluster.sh jobeffd start|stop|kill9
	X
	exit 2
}

die() { echo "cluster.sh: $*" >&2; exit 1; }

# wait_for SECONDS COMMAND…: waits until the command succeeds.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -le $end ] || { echo "cluster.sh: gave up waiting for: $*" >&2; return 1; }
		sleep .05
	done
}

# --- namespaces -------------------------------------------------------------

# inside NODE COMMAND…: runs a command on a node. From the machine this takes two hops, since the
# node's pid file holds its pid inside ctl's pid namespace.
inside() {
	local node=$1 hop=(nsenter -t "$(cat "$D/ns/ctl.pid")" "${NS[@]}" --)
	shift
	if [ "${IN_CTL:-}" = 1 ]; then hop=(); fi
	if [ "$node" != ctl ]; then hop+=(nsenter -t "$(cat "$D/ns/$node.pid")" "${NS[@]}" --); fi
	[ ${#hop[@]} -gt 0 ] || hop=(env)
	IN_CTL='' "${hop[@]}" "$@"
}

# spawn NODE: makes a namespace whose pid 1 is `init`. It dies with its supervisor.
spawn() {
	setsid unshare "${NS[@]}" --fork --kill-child --propagation private \
		bash "$SELF" __init "$D" "$1" </dev/null >"$D/log/init-$1" 2>&1 &
	wait_for 180 ready_or_gone "$1" $! && test -e "$D/ns/$1.ready"
}

ready_or_gone() { test -e "$D/ns/$1.ready" || ! kill -0 "$2"; }

# init: pid 1 of a namespace. It writes down its pid as seen from outside, which /proc still
# shows here.
init() {
	local node=$1 pid
	read -r pid _ </proc/self/stat
	echo "$pid" >"$D/ns/$node.pid"
	mount -t proc proc /proc
	hostname "$node"
	bind_cgroups "$node"
	mount_root "$node"
	settle "$node"
	ip link set lo up
	if [ "$node" = ctl ]; then make_bridge; fi
	: >"$D/ns/$node.ready"
	trap 'exit 0' TERM
	while :; do sleep 3600 & wait $!; done # bash reaps orphans here
}

# mount_root: puts overlays over the system's folders. CLUSTER_DIR and the repository come back
# on top unchanged, since files behind an overlay must not change.
mount_root() {
	local up=$D/root/$1 dir keep
	if [ "$1" = ctl ]; then # nodes start inside ctl: keep what ctl's overlays would hide from them
		for dir in etc usr var; do mount --bind "/$dir" "$D/lower/$dir"; done
	fi
	mount -t tmpfs -o mode=755 tmpfs "$up"
	mount -t tmpfs -o mode=1777 tmpfs /dev/shm
	mkdir /dev/shm/{cluster,repo}
	mount --rbind "$D" /dev/shm/cluster
	mount --rbind "$REPO" /dev/shm/repo
	for dir in etc usr var; do
		mkdir "$up/$dir" "$up/$dir.work"
		mount -t overlay -o "lowerdir=$D/lower/$dir,upperdir=$up/$dir,workdir=$up/$dir.work" overlay "/$dir"
	done
	mount -t tmpfs -o mode=755 tmpfs /run
	mount -t tmpfs -o mode=1777 tmpfs /tmp
	for keep in "cluster $D" "repo $REPO"; do
		mkdir -p "${keep#* }"
		mount --move "/dev/shm/${keep%% *}" "${keep#* }"
	done
	rmdir /dev/shm/{cluster,repo}
}

# settle: makes the files in /etc, and the folders in /run that tmpfiles.d would make.
settle() {
	cp "$D"/etc/{hosts,passwd,group,shadow} /etc/
	if [ "$1" != ctl ] && configless; then rm -f /etc/slurm/*.conf
	else install -m 644 "$D"/etc/{slurm,cgroup,gres,job_container}.conf /etc/slurm/; fi
	install -m 400 -o munge -g munge "$D/etc/munge.key" /etc/munge/munge.key
	# the nodes have more CPUs than the machine: waiting ranks must let others run
	# and Open MPI 6 does not find out by itself which network leads to the others
	printf '%s\n' mpi_yield_when_idle=1 btl_tcp_if_include="$NET".0/24 >>/etc/openmpi/openmpi-mca-params.conf
	install -d -m 755 -o munge -g munge /run/munge
	install -d /run/lock /run/user
	if [ "$1" = ctl ]; then
		install -m 600 -o slurm -g slurm "$D/etc/slurmdbd.conf" /etc/slurm/slurmdbd.conf
		install -d -o slurm /run/slurm
		install -d -o mysql -g mysql /run/mysqld /run/mysqld/data
		ln -s mysqld /run/mariadbd # where clients of newer versions look for the socket
		find /var/lib/slurm/slurmctld -mindepth 1 -delete
	fi
	setpriv --reuid munge --regid munge --clear-groups munged
}

make_bridge() {
	ip link add br0 type bridge
	ip addr add "$NET".1/24 dev br0
	ip link set br0 up
}

# plug_in NODE NUMBER: connects a node to the network. Runs in ctl.
plug_in() {
	ip link add "veth-$1" type veth peer name eth0 netns "$(cat "$D/ns/$1.pid")"
	ip link set "veth-$1" master br0 up
	inside "$1" ip addr add "$NET.$((10 + $2))/24" dev eth0
	inside "$1" ip link set eth0 up
}

# --- cgroups ----------------------------------------------------------------

cgroup_kind() {
	if [ -n "${CLUSTER_CGROUP:-}" ]; then echo "$CLUSTER_CGROUP"
	elif [ -w /sys/fs/cgroup/freezer/tasks ] && [ -w /sys/fs/cgroup/memory/tasks ]; then echo v1
	else echo none; fi
}

# bind_cgroups: each node sees a part of the cgroup tree as the whole tree. ctl's part is $ID;
# the nodes' parts are in it, since they start inside ctl.
bind_cgroups() {
	local c dir name=$1
	[ "$(cat "$D/etc/cgroup_kind")" = v1 ] || return 0
	if [ "$name" = ctl ]; then name=$ID; fi
	for c in "${CGROUPS[@]}"; do
		dir=/sys/fs/cgroup/$c
		mkdir -p "$dir/$name"
		if [ "$c" = cpuset ]; then # an empty cpuset accepts no task
			cat "$dir/cpuset.cpus" >"$dir/$name/cpuset.cpus"
			cat "$dir/cpuset.mems" >"$dir/$name/cpuset.mems"
		fi
		mount --bind "$dir/$name" "$dir"
	done
}

# thaw: wakes frozen processes, which not even SIGKILL can end.
thaw() {
	local f
	[ -d "/sys/fs/cgroup/freezer/$ID" ] || return 0
	find "/sys/fs/cgroup/freezer/$ID" -mindepth 1 -name freezer.state 2>/dev/null | while read -r f; do
		echo THAWED >"$f" || true
	done
}

remove_cgroups() {
	local c left
	for _ in {1..60}; do
		left=0
		for c in "${CGROUPS[@]}"; do
			[ -d "/sys/fs/cgroup/$c/$ID" ] || continue
			find "/sys/fs/cgroup/$c/$ID" -depth -type d -exec rmdir {} + 2>/dev/null || left=1
		done
		[ $left = 1 ] || return 0
		sleep .05
	done
	echo "cluster.sh: cgroups named $ID are still in use" >&2
	return 1
}

# --- servers; these functions run inside ctl --------------------------------

# boot NODES: starts accounting and the nodes' namespaces side by side, then slurmctld (which
# needs slurmdbd), then slurmd (which needs slurmctld).
boot() {
	local i accounting
	start_accounting &
	accounting=$!
	for ((i = 1; i <= $1; i++)); do
		spawn "n$i"
		plug_in "n$i" "$i"
	done
	wait $accounting || die "slurmdbd did not start: see $D/log/slurmdbd.log and $D/log/mariadb.log"
	as_slurm slurmctld
	for ((i = 1; i <= $1; i++)); do start_slurmd "n$i"; done
	wait_for 180 nodes_idle "$1" || die "slurmctld or slurmd did not start: see $D/log/slurmctld.log and $D/log/slurmd-n*.log"
}

as_slurm() { setpriv --reuid slurm --regid slurm --clear-groups "$@"; }

start_slurmd() {
	local args=()
	if configless; then args=(--conf-server ctl); fi
	inside "$1" slurmd "${args[@]}"
}

nodes_idle() { [ "$(sinfo -hN -o %t | grep -cE '^(idle|mix|alloc|comp)$')" = "$1" ]; }

start_accounting() {
	start_mariadb
	as_slurm slurmdbd
	wait_for 180 sacctmgr -n list cluster
	{
		echo "add cluster $NAME"
		echo "add account proj"
		printf 'add user %s account=proj\n' "${USERS[@]}"
	} | sacctmgr -iQ >"$D/log/sacctmgr.log"
}

start_mariadb() {
	cat >/run/mysqld/first.sql <<-X
		create database slurm_acct_db;
		create user slurm@localhost identified via unix_socket;
		grant all on slurm_acct_db.* to slurm@localhost;
	X
	mariadb-install-db --no-defaults --user=mysql --datadir=/run/mysqld/data --skip-test-db \
		--auth-root-authentication-method=socket >"$D/log/mariadb-install.log" 2>&1
	setsid mariadbd --no-defaults --user=mysql --datadir=/run/mysqld/data --socket=/run/mysqld/mysqld.sock \
		--skip-networking --init-file=/run/mysqld/first.sql --innodb-log-file-size=16M \
		--innodb-flush-log-at-trx-commit=0 --innodb-lock-wait-timeout=900 --loose-innodb-snapshot-isolation=OFF \
		</dev/null >"$D/log/mariadb.log" 2>&1 &
	wait_for 180 as_slurm mariadb -e 'use slurm_acct_db'
}

# restart_slurmd: the node's jobs go on.
restart_slurmd() {
	inside "$1" pkill --pidfile /run/slurmd.pid
	wait_for 60 inside "$1" sh -c '! pgrep -x slurmd'
	start_slurmd "$1"
}

# --- jobeff -----------------------------------------------------------------

# install_debs DEB…: installs the packages on every node with dpkg -i, as a site does; jobeffd on
# ctl only. It mounts /run/jobeff as the package's unit says, which systemd would do at boot.
install_debs() {
	local node
	[ -r "$1" ] || die "no such package: $1 (make packages)"
	rm -rf "$D/debs"
	mkdir "$D/debs"
	cp "$@" "$D/debs/"
	for node in $(nodes); do
		inside "$node" bash "$SELF" __install "$D" "$node" >"$D/log/install-$node" 2>&1 \
			|| { cat "$D/log/install-$node" >&2; die "dpkg -i failed on $node"; }
	done
	# slurmd looks for plugins with a prolog or epilog only at its start
	for node in $(nodes | grep -vx ctl); do restart_slurmd "$node"; done
}

install_here() {
	local node=$1 conf=/etc/jobeff/jobeff.toml
	local debs=("$D"/debs/*)
	if [ "$node" != ctl ]; then mapfile -t debs < <(printf '%s\n' "${debs[@]}" | grep -v /jobeffd_); fi
	dpkg -i --force-unsafe-io --no-triggers "${debs[@]}" # man-db's trigger would take seconds
	mount_run_jobeff
	if [ "$node" = ctl ]; then
		server_conf 1s >$conf
	else
		printf '[report]\nto = "http://ctl:6822"\n' >$conf
	fi
}

mount_run_jobeff() {
	local unit=/usr/lib/systemd/system/run-jobeff.mount
	mountpoint -q /run/jobeff && return 0
	install -d /run/jobeff
	mount -t tmpfs -o "$(sed -n 's/^Options=//p' $unit)" tmpfs /run/jobeff
	mount --make-shared /run/jobeff # as systemd's mounts are
}

up_or_gone() { test -S /run/jobeffd/jobeffd.sock || test ! -e "/proc/$1"; }

# jobeffd_do: runs the daemon with the user and the directories of its unit.
jobeffd_do() {
	local pid
	case ${1:-} in
	start)
		install -d -m 755 -o jobeff -g jobeff /run/jobeffd /var/lib/jobeff
		setsid setpriv --reuid jobeff --regid jobeff --init-groups \
			/usr/sbin/jobeffd </dev/null >>"$D/log/jobeffd.log" 2>&1 &
		echo $! >/run/jobeffd.pid
		pid=$!
		wait_for 180 up_or_gone "$pid"
		test -S /run/jobeffd/jobeffd.sock || die "jobeffd did not start: $(tail -n 1 "$D/log/jobeffd.log")"
		;;
	stop | kill9)
		pid=$(cat /run/jobeffd.pid)
		if [ "$1" = kill9 ]; then kill -9 "$pid"; else kill "$pid"; fi
		wait_for 60 test ! -e "/proc/$pid"
		rm -f /run/jobeffd/jobeffd.sock
		;;
	*) usage ;;
	esac
}

# --- commands ---------------------------------------------------------------

nodes() { (cd "$D/ns" && printf '%s\n' *.pid | sed 's/\.pid$//'); }

# supervisors: prints the pids of this directory's cluster. These are root's processes that were
# started with its name, so a lost pid file hides nothing. Another root (see distro.sh) may hold a
# cluster of the same name, in a pid namespace of its own.
supervisors() {
	local p argv
	for p in /proc/[0-9]*; do
		[ -O "$p" ] || continue
		[ "$p/ns/pid" -ef /proc/self/ns/pid ] || continue
		mapfile -d '' argv 2>/dev/null <"$p/cmdline" || continue
		case "${argv[*]}" in "unshare "*" bash "*" __init $D ctl") echo "${p#/proc/}" ;; esac
	done
}

up() {
	local n=${1:-3} t0=${EPOCHREALTIME/./}
	[ "$(id -u)" = 0 ] || die "needs root: sudo $0 up"
	if [ -e "$D/ready" ] && inside ctl true 2>/dev/null; then
		echo "cluster is up in $D"
		return
	fi
	# job_container/tmpfs of 22.05 fails at random on Linux 6.18 ("ns base mount
	# failed"), also without jobeff. On one CPU it never failed (43 of 43 jobs).
	if [ "${CLUSTER_CONTAINER:-}" = tmpfs ]; then taskset -cp 0 $$ >/dev/null; fi
	down
	mkdir -p "$D"
	: >"$D/.jobeff-cluster"
	write_conf "$n"
	spawn ctl || { cat "$D/log/init-ctl" >&2; die "no namespaces: see above"; }
	inside ctl bash "$SELF" __boot "$D" "$n"
	if [ $# -ge 2 ]; then
		install_debs "${@:2}"
		jobeffd start
	fi
	: >"$D/ready"
	t0=$(((${EPOCHREALTIME/./} - t0) / 100000))
	echo "cluster is up in $D: $n nodes in $((t0 / 10)).$((t0 % 10)) s"
}

# down: needs only the directory's name, so it also cleans up after a crash.
down() {
	local pid child
	thaw
	for pid in $(supervisors); do
		child=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null || true)
		kill -9 "$pid" 2>/dev/null || true # its child is pid 1 of the namespace: all others end with it
		wait_for 60 test ! -e "/proc/${child% }"
	done
	remove_cgroups
	[ -e "$D" ] || return 0
	if [ ! -e "$D/.jobeff-cluster" ]; then
		rmdir "$D" 2>/dev/null || die "$D is not a cluster's directory: give another one in CLUSTER_DIR"
		return 0
	fi
	rm -rf --one-file-system "$D"
}

jobeffd() { inside ctl bash "$SELF" __jobeffd "$D" "$1"; }

as_user() {
	local user=$1
	shift
	inside ctl setpriv --reuid "$user" --regid "$user" --init-groups --reset-env \
		env -C "$D/home/$user" LANG=C.UTF-8 "$@"
}

main() {
	local command=${1:-}
	shift || usage
	case $command in
	up | down) "$command" "$@" ;;
	status) inside ctl sinfo -N ;;
	exec) [ $# -ge 2 ] || usage; inside "$@" ;;
	as) [ $# -ge 2 ] || usage; as_user "$@" ;;
	nodeup) [ $# = 1 ] || usage; start_slurmd "$1" ;;
	nodedown) [ $# = 1 ] || usage; inside "$1" pkill --pidfile /run/slurmd.pid ;;
	install) [ $# -ge 1 ] || usage; install_debs "$@" ;;
	jobeffd) [ $# = 1 ] || usage; jobeffd "$1" ;;
	__*) D=$1; shift; inner "$command" "$@" ;;
	*) usage ;;
	esac
}

# inner: the functions that this script calls inside the namespaces; CLUSTER_DIR comes first.
inner() {
	local command=$1
	shift
	ID=jobeff-test-$(printf %s "$D" | sha1sum | cut -c1-8)
	export IN_CTL=1
	case $command in
	__init) init "$1" ;;
	__boot) boot "$1" ;;
	__install) install_here "$1" ;;
	__jobeffd) jobeffd_do "$1" ;;
	*) usage ;;
	esac
}

main "$@"
