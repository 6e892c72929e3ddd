#!/bin/bash
# install.sh [PART…]: installs jobeff for `make install` and the packages: jobeff, jobeff-node,
# jobeffd or all. by-hand is the part of jobeff-node that needs no Slurm. Everything comes from
# build/ and from files of this repository.
#
# DESTDIR  a folder that stands for /
# PREFIX   /usr, or where a site puts what is not from packages. Units are then in
#          /etc/systemd/system; settings stay in /etc/jobeff, and Slurm's line in /etc/slurm
# LIBDIR   where the linker looks (Debian's below /usr, else PREFIX/lib)
set -euo pipefail
cd "$(dirname "$0")/.."
DESTDIR=${DESTDIR-} PREFIX=${PREFIX:-/usr}
dest=$DESTDIR$PREFIX
lib=$dest/lib/jobeff
if [ "$PREFIX" = /usr ]; then
	multiarch=$(gcc -print-multiarch)
	libdir=$DESTDIR${LIBDIR:-/usr/lib${multiarch:+/$multiarch}}
	systemd=$DESTDIR/usr/lib/systemd/system confs=$DESTDIR/usr/lib
else
	libdir=$DESTDIR${LIBDIR:-$PREFIX/lib}
	systemd=$DESTDIR/etc/systemd/system confs=$DESTDIR/etc
fi

# put MODE FILE TARGET
put() { install -D -m "$1" "$2" "$3"; }

# put_text FILE TARGET: installs a text, and changes the paths below /usr in it to PREFIX.
put_text() {
	put 644 "$1" "$2"
	sed -i "s#/usr/\(bin\|sbin\|lib/jobeff\)\([/ ]\)#$PREFIX/\1\2#g" "$2"
}

put_page() {
	put 644 "packaging/man/$1" "$dest/share/man/man${1##*.}/$1"
	gzip -9nf "$dest/share/man/man${1##*.}/$1"
}

# put_doc PART: puts the licence and the changelog, which each package has.
put_doc() {
	put 644 LICENSE "$dest/share/doc/$1/copyright"
	put 644 CHANGELOG.md "$dest/share/doc/$1/changelog"
	gzip -9nf "$dest/share/doc/$1/changelog"
}

install_jobeff() {
	local where page
	put 755 build/jobeff "$dest/bin/jobeff"
	put_page jobeff.1
	put_page jobeff.toml.5
	put 644 packaging/completions/jobeff "$dest/share/bash-completion/completions/jobeff"
	put 644 packaging/completions/jobeff.fish "$dest/share/fish/vendor_completions.d/jobeff.fish"
	for where in vendor-completions site-functions; do # zsh's folder on Debian, and elsewhere
		put 644 packaging/completions/_jobeff "$dest/share/zsh/$where/_jobeff"
	done
	put_doc jobeff
	for page in README.md doc/*.[!g]* doc/ci/*; do # all but Go
		put 644 "$page" "$dest/share/doc/jobeff/$page"
	done
	put 644 etc/jobeff.toml "$dest/share/doc/jobeff/jobeff.toml"
	for page in jobeff.yml jobeff/manifest.yml widgets/_jobeff.html.erb; do
		put 644 "packaging/ondemand/$page" "$dest/share/doc/jobeff/ondemand/$page"
	done
}

install_by-hand() {
	local header layout
	put 755 build/jobeff-overhead "$dest/bin/jobeff-overhead"
	put_page jobeff-overhead.1
	put 644 build/lib/libjobeff.so "$lib/libjobeff.so"
	put 644 build/lib/libjobeff_section.so "$libdir/libjobeff_section.so"
	for layout in talp talp-3.5; do # programs need DLB's library under one of two names
		put 644 "build/lib/$layout/libdlb.so" "$lib/$layout/libdlb.so"
		ln -sfn libdlb.so "$lib/$layout/libdlb_mpi.so"
	done
	for header in h hpp inc f90; do
		put 644 "preload/include/jobeff_section.$header" "$dest/include/jobeff_section.$header"
	done
}

install_jobeff-node() {
	local unit
	install_by-hand
	put 755 build/jobeff-ingest "$dest/sbin/jobeff-ingest"
	install_platforms
	put 644 build/lib/jobeff_spank.so "$lib/jobeff_spank.so"
	strip "$lib/jobeff_spank.so"
	put 644 build/lib/jobeff_spank_body.so "$lib/jobeff_spank_body.so"
	put_text packaging/plugstack.conf "$lib/plugstack.d/jobeff.conf"
	put_text packaging/zz-jobeff.conf "$DESTDIR/etc/slurm/plugstack.conf.d/zz-jobeff.conf"
	for unit in jobeff-alarm.path jobeff-alarm.service jobeff-ingest.service jobeff-ingest.timer jobeff-interim.service jobeff-interim.timer run-jobeff.mount; do
		put_text "packaging/systemd/$unit" "$systemd/$unit"
	done
	put 644 packaging/systemd/tmpfiles.conf "$confs/tmpfiles.d/jobeff.conf"
	put 644 packaging/jobeff.cil "$dest/share/selinux/packages/jobeff.cil"
	put_page jobeff-ingest.8
	put_doc jobeff-node
}

# install_platforms: LD_PRELOAD names the library with $PLATFORM in its path, which ld.so replaces
# by the processor type of the process. glibc has two more names for newer x86-64 processors.
install_platforms() {
	local platform platforms narrow=""
	case $(gcc -dumpmachine) in
	x86_64-*) platforms="x86_64 haswell xeon_phi" narrow="i686 i586 i486 i386" ;;
	*) platforms=$(uname -m) ;;
	esac
	for platform in $platforms; do
		install -d -m 755 "$lib/$platform"
		ln -sfn ../libjobeff.so "$lib/$platform/libjobeff.so"
	done
	for platform in $narrow; do # 32-bit processes get an empty library
		put 644 build/lib/libjobeff32.so "$lib/$platform/libjobeff.so"
	done
}

install_jobeffd() {
	local unit schema
	put 755 build/jobeffd "$dest/sbin/jobeffd"
	for unit in jobeffd jobeffd-read; do
		put_text "packaging/systemd/$unit.service" "$systemd/$unit.service"
		put_text "packaging/systemd/$unit.socket" "$systemd/$unit.socket"
		put 644 packaging/systemd/sandbox.conf "$systemd/$unit.service.d/sandbox.conf"
	done
	put 644 packaging/systemd/sysusers.conf "$confs/sysusers.d/jobeff.conf"
	schema=$(printf '%s\n' ingest/store/migrations/*.sql | sed -n '$s|.*/0*\([0-9]*\)_.*|\1|p')
	put 644 packaging/prometheus/jobeff.rules.yml "$dest/share/jobeff/jobeff.rules.yml"
	put 644 packaging/grafana/jobeff.json "$dest/share/jobeff/grafana.json"
	echo "$schema" >"$dest/share/jobeff/schema" # jobeffd.preinst compares it, and refuses a downgrade
	put_page jobeffd.8
	put 644 packaging/ldap/mailaddress "$dest/share/doc/jobeffd/examples/mailaddress"
	put_doc jobeffd
}

umask 022
if [ $# = 0 ]; then set -- jobeff jobeff-node jobeffd; fi
for part; do "install_$part"; done
