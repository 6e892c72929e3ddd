#!/bin/bash
# cluster.sh: what ../cluster.sh is to the end-to-end tests, in a machine where systemd runs Slurm and jobeff. This machine is
# the only node, whatever node a test names.
set -euo pipefail
command=$1
shift
case $command in
up)
	mkdir -p "$CLUSTER_DIR/log"
	ln -sfn /home "$CLUSTER_DIR/home"
	mkdir -p /home/bin
	modprobe fuse
	;;
down) rm -rf "$CLUSTER_DIR" ;;
as)
	user=$1
	shift
	exec setpriv --reuid "$user" --regid "$user" --init-groups --reset-env env -C "/home/$user" LANG=C.UTF-8 "$@"
	;;
exec)
	shift
	exec "$@"
	;;
nodedown) systemctl stop slurmd ;;
nodeup) systemctl start slurmd ;;
install)
	dpkg -i --force-unsafe-io --no-triggers "$@"
	systemctl restart slurmd
	;;
jobeffd)
	case $1 in
	kill9) systemctl kill -s KILL jobeffd ;;
	stop) systemctl stop jobeffd.socket ;;
	*) systemctl "$1" jobeffd ;;
	esac
	;;
*) exit 2 ;;
esac
