#!/bin/bash
# pictures.sh: makes the documents' pictures again: doc/*.png from pages of a made-up site, and
# doc/overhead.svg from what messages cost on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
# what doc/job.png, doc/jobs.png, doc/course.png and doc/digest.png are made of: their data, templates, style and drawing
inputs() { cat policy/demo/*.go report/block/*.go report/mail/mail.go report/mail/templates/digest.html report/templates/* | sha256sum; }
if [ "${1:-}" = --inputs ]; then
	inputs
	exit
fi
dir=$(mktemp -d /tmp/jobeff-pictures.XXXXXX)
trap 'kill "${daemon:-}" 2>/dev/null || true; rm -rf "$dir"' EXIT
printf '[report]\nto = "unix:%s/s"\n[server]\nsocket = "%s/s"\ndatabase = "%s/demo.db"\nsacct_interval = "0s"\n' "$dir" "$dir" "$dir" >"$dir/jobeff.toml"
export JOBEFF_CONFIG=$dir/jobeff.toml
build/jobeff admin demo-data "$dir/demo.db" --jobs 60000 >/dev/null
build/jobeffd --config "$JOBEFF_CONFIG" 2>"$dir/log" &
daemon=$!
for _ in $(seq 100); do if [ -S "$dir/s" ]; then break; fi; sleep 0.1; done

# picture NAME HEIGHT [WIDTH]: makes doc/NAME.png from NAME.html.
picture() {
	chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
		--disable-component-update --disable-sync --user-data-dir="$dir/chromium" --hide-scrollbars \
		--window-size="${3:-1000},$2" --screenshot="doc/$1.png" "file://$dir/$1.html" 2>/dev/null
}
mkdir -p doc
# the job that lost most, among last week's for which a curve would have advised fewer cores
job=$(build/jobeff -a -S -7days -nP -o jobid,lost | sort -t'|' -k2 -n -r | cut -d'|' -f1 |
	while read -r id; do if build/jobeff "$id" | grep -q 'would have taken'; then echo "$id" && break; fi; done)
build/jobeff report "$job" --html "$dir/job.html"
# the first job that got worse, among the last month's on 4 to 16 nodes: its page shows it over time
course=$(build/jobeff -a -S -30days -nP -o jobid,nodes | awk -F'|' '$2 >= 4 && $2 <= 16 { print $1 }' |
	while read -r id; do if build/jobeff --full "$id" | grep -Eq 'Until [^,]*, [1-3]?[0-9] % of .*; since'; then echo "$id" && break; fi; done)
build/jobeff report "$course" --html "$dir/page.html"
sed -n '1,/<main/p; /<h1>/p; /aria-labelledby="course"/,/<\/section>/p; /<\/main>/,$p' "$dir/page.html" | sed 's/<details><summary>/<details open><summary>/' >"$dir/course.html"
build/jobeff digest --html "$dir/digest.html" >/dev/null
for _ in $(seq 300); do # until its jobs are judged
	curl -sS --fail --unix-socket "$dir/s" http://jobeffd/jobs >"$dir/jobs.html"
	if ! grep -q 'have not judged' "$dir/jobs.html"; then break; fi
	sleep 1
done
picture job 1500
picture jobs 760 1280
picture digest 1200
picture course 640
inputs >doc/pictures.sha256

root=()
if [ "$(id -u)" = 0 ]; then root=(--allow-run-as-root); fi
mpirun.openmpi "${root[@]}" --oversubscribe -n 2 build/jobeff-overhead --json >"$dir/openmpi.json"
mpirun.mpich -n 2 build/jobeff-overhead --json >"$dir/mpich.json"
rm -f doc/overhead.svg
build/jobeff admin overhead plot --svg doc/overhead.svg "$dir/openmpi.json" "$dir/mpich.json"
