#!/bin/bash
# install.sh DESTDIR: installs jobeff for `make install` and the package. Everything comes from
# build/ and from files of this repository.
set -euo pipefail
cd "$(dirname "$0")/.."
dest=${1-}
lib=$dest/usr/lib/jobeff
slurm=$dest/usr/lib/$(gcc -print-multiarch)/slurm-wlm # Debian's PluginDir
units=$dest/usr/lib/systemd/system

# put MODE FILE TARGET
put() { install -D -m "$1" "$2" "$3"; }

put 755 build/jobeff "$dest/usr/bin/jobeff"
put 755 build/jobeffd "$dest/usr/sbin/jobeffd"
put 755 build/jobeff-ingest "$dest/usr/sbin/jobeff-ingest"
put 644 build/lib/libjobeff.so "$lib/libjobeff.so"
# LD_PRELOAD names the library with $PLATFORM in its path, which ld.so replaces by the processor
# type of the process. glibc has two more names for newer x86-64 processors.
case $(gcc -dumpmachine) in
x86_64-*) platforms="x86_64 haswell xeon_phi" narrow="i686 i586 i486 i386" ;;
*) platforms=$(uname -m) narrow="" ;;
esac
for platform in $platforms; do
	install -d -m 755 "$lib/$platform"
	ln -sfn ../libjobeff.so "$lib/$platform/libjobeff.so"
done
for platform in $narrow; do # 32-bit processes get an empty library
	put 644 build/lib/libjobeff32.so "$lib/$platform/libjobeff.so"
done
put 644 build/lib/libjobeff_section.so "$dest/usr/lib/$(gcc -print-multiarch)/libjobeff_section.so"
put 644 preload/include/jobeff_section.h "$dest/usr/include/jobeff_section.h"
put 644 preload/include/jobeff_section.inc "$dest/usr/include/jobeff_section.inc"
put 644 build/lib/jobeff_spank.so "$lib/jobeff_spank.so"
put 644 build/lib/jobeff_spank_body.so "$lib/jobeff_spank_body.so"
mkdir -p "$slurm" # the plugin looks for its parts beside the file that the link points to
ln -sfn ../../jobeff/jobeff_spank.so "$slurm/jobeff_spank.so"

put 644 etc/jobeff.toml "$dest/etc/jobeff/jobeff.toml"
put 644 etc/plugstack.conf.d/zz-jobeff.conf "$dest/etc/slurm/plugstack.conf.d/zz-jobeff.conf"

for unit in packaging/systemd/*.{service,timer,mount}; do
	put 644 "$unit" "$units/${unit##*/}"
done
for unit in jobeffd jobeffd-read; do
	put 644 packaging/systemd/sandbox.conf "$units/$unit.service.d/sandbox.conf"
done
put 644 packaging/systemd/sysusers.conf "$dest/usr/lib/sysusers.d/jobeff.conf"
put 644 packaging/systemd/tmpfiles.conf "$dest/usr/lib/tmpfiles.d/jobeff.conf"

shopt -s nullglob
for page in packaging/man/*.[1-9]; do
	target=$dest/usr/share/man/man${page##*.}/${page##*/}
	put 644 "$page" "$target"
	gzip -9nf "$target"
done
put 644 packaging/completions/jobeff "$dest/usr/share/bash-completion/completions/jobeff"
put 644 packaging/completions/jobeff.fish "$dest/usr/share/fish/vendor_completions.d/jobeff.fish"
for where in vendor-completions site-functions; do # zsh's on Debian; elsewhere
	put 644 packaging/completions/_jobeff "$dest/usr/share/zsh/$where/_jobeff"
done
put 644 LICENSE "$dest/usr/share/doc/jobeff/copyright"
for page in README.md doc/*; do
	put 644 "$page" "$dest/usr/share/doc/jobeff/$page"
done
