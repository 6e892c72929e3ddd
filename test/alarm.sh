#!/bin/bash
# alarm.sh: on a cluster that measures half of the jobs, a library that crashes one program in 50 raises
# the alarm, and nodes stop measuring until an operator goes on. Before that, a user whose jobs
# fail where they are measured raises none. The results go to results/alarm.txt.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
export CLUSTER_DIR=${CLUSTER_DIR:-/var/tmp/jobeff-alarm} CLUSTER_CPUS=8
others=(u{01..30})
export CLUSTER_USERS="alice bob ${others[*]}"
cluster() { "$here/cluster.sh" "$@"; }
nodes=(n1 n2)

die() {
	echo "alarm.sh: $*" >&2
	cluster exec ctl jobeff admin alarm >&2
	tail -n 20 "$CLUSTER_DIR/log/jobeffd.log" >&2
	exit 1
}

# soon COMMAND...: waits until it succeeds, five minutes at most.
soon() {
	local end=$((SECONDS + 300))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || die "gave up waiting for: $*"
		sleep 1
	done
}

# submit USER JOBS SCRIPT: an array.
submit() {
	local job=$CLUSTER_DIR/home/$1.job
	printf '#!/bin/bash\n%s\n' "$3" >"$job"
	cluster as "$1" sbatch --parsable --output=/dev/null --requeue -n1 --mem=20M --array="1-$2" "$job"
}

ended() { [ -z "$(cluster exec ctl squeue -h)" ]; }

is_up() { cluster exec ctl jobeff admin alarm | grep -q ALARM; }

# is_measured yes|no: runs six more jobs, whose coins differ. With yes one of them must be measured. With no none may
# be, and one must say that an alarm is why.
is_measured() {
	local id decisions=''
	for _ in 1 2 3 4 5 6; do
		id=$(cluster as alice sbatch --parsable --wait --output=/dev/null -n1 --mem=20M --wrap=true) || true
		soon cluster as alice jobeff --json "$id"
		decisions+=$(cluster as alice jobeff --json "$id" | grep -E '"decision"')
	done
	if [ "$1" = yes ]; then grep -q '"on"' <<<"$decisions"; else grep -q stop_on_harm <<<"$decisions" && ! grep -q '"on"' <<<"$decisions"; fi
}

trap 'cluster down' EXIT
cluster up ${#nodes[@]} "$here"/../build/jobeff*_*.deb
for node in ctl "${nodes[@]}"; do
	cluster exec "$node" sh -c 'printf "[measure]\nshare = 0.5\nstop_on_harm = true\n" >>/etc/jobeff/jobeff.toml'
done
cluster jobeffd stop
cluster jobeffd start

# bob makes those of his jobs fail that are measured
for user in "${others[@]}"; do submit "$user" 4 true >/dev/null; done
# shellcheck disable=SC2016 # the job's shell expands it
submit bob 60 'case $LD_PRELOAD in *jobeff*) kill -SEGV $$ ;; esac' >/dev/null
soon ended
sleep 70 # jobeffd looks once a minute
if is_up; then die "one user raised an alarm"; fi
hostile=$(cluster exec ctl sacct -anX -u bob -o state | grep -c FAILED)
[ "$hostile" -gt 20 ] || die "bob has $hostile failed jobs"

# the crashing library
mapfile -t objects < <(find "$here/../build/obj/lib" -name '*.o')
cc -shared -fPIC -x c - -x none "${objects[@]}" -Wl,--version-script="$here/../preload/lib/exports.map" -Wl,-z,lazy -l:libdl.so.2 -o "$CLUSTER_DIR/crash.so" <<-X
	#include <signal.h>
	#include <unistd.h>
	__attribute__((constructor)) static void crash(void)
	{
		if (getpid() % 50 == 0)
			raise(SIGSEGV);
	}
X
for node in "${nodes[@]}"; do
	cluster exec "$node" sh -c 'cd /usr/lib/jobeff && cat >new && chmod 755 new && mv new libjobeff.so' <"$CLUSTER_DIR/crash.so"
done
start=$SECONDS
rounds=0
until is_up; do
	[ $((rounds += 1)) -le 6 ] || die "no alarm after $rounds rounds"
	for user in "${others[@]}"; do submit "$user" 6 'for i in 1 2 3 4 5 6 7 8; do /bin/true || exit; done' >/dev/null; done
	soon ended
	for _ in {1..80}; do is_up || sleep 1; done
done
took=$((SECONDS - start))
text=$(cluster exec ctl jobeff admin alarm | head -n 12)
soon is_measured no
cluster exec ctl jobeff admin alarm --go-on >/dev/null
soon is_measured yes
{
	echo "$(date -u +%FT%TZ) $(git -C "$here" rev-parse --short HEAD): $hostile jobs of one user failed where they were measured: no alarm"
	echo "a library that crashes one program in 50: alarm in round $rounds, each of $((6 * ${#others[@]})) jobs, after $took s; then no new job was measured; after --go-on jobs were"
	echo "$text"
} | tee "$here/results/alarm.txt"
