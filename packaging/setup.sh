#!/bin/sh
# setup.sh node|server: does what the packages' scripts do after an installation, for sites that use
# `make install`: makes folders and the user, and switches the units on. As root; it may be repeated.
set -e
scripts=$(dirname "$0")/scripts
case ${1-} in
node)
	sh "$scripts/jobeff-node.postinst" configure
	;;
server)
	sh "$scripts/jobeffd.postinst" configure
	if [ -d /run/systemd/system ]; then systemctl enable --now jobeffd.service; fi
	;;
*)
	echo "usage: setup.sh node|server" >&2
	exit 2
	;;
esac
