#!/bin/bash
# gpu.sh [FILE]: writes what NVIDIA's driver on this machine answers into FILE (gpu.txt), beside what jobeff reads of it:
# for those who tell us about a real GPU. It changes no setting, and asks nothing for longer than 20 s. As root it also
# asks as nobody. It needs build/jobeff, or jobeff in PATH.
set -uo pipefail
jobeff=$(realpath "$(dirname "$0")/../build/jobeff" 2>/dev/null)
if [ ! -x "$jobeff" ]; then jobeff=$(command -v jobeff || true); fi
if [ -z "$jobeff" ]; then
	echo "gpu.sh: there is neither build/jobeff nor an installed jobeff: run make" >&2
	exit 1
fi

# ask TITLE COMMAND...: its answer, its exit code and how long it took.
ask() {
	local title=$1 begin end code
	shift
	echo "== $title"
	begin=$(date +%s%N)
	timeout -k 2 20 "$@" 2>&1 </dev/null
	code=$?
	end=$(date +%s%N)
	echo "-- exit $code after $(((end - begin) / 1000000)) ms"
}

# reader is jobeff's own (ingest/node/gpu): what the driver has of all GPUs since a moment, in us.
# shellcheck disable=SC2016 # the inner shell expands them
reader=(bash -c 'exec -a jobeff-gpus "$0" "$1" ""' "$jobeff" 0)
apps='--query-accounted-apps=gpu_uuid,pid,gpu_utilization,mem_utilization,max_memory_usage,time'

answers() {
	date -u +%FT%TZ
	uname -srm
	"$jobeff" --version
	if [ ! -e /proc/driver/nvidia/version ]; then
		echo "no NVIDIA driver here: /proc/driver/nvidia/version is not there"
		return
	fi
	cat /proc/driver/nvidia/version
	ask "libraries" sh -c 'ldconfig -p | grep libnvidia-ml; ls -l /dev/nvidia*'
	ask "GPUs, persistence mode, accounting, room for processes, MIG" nvidia-smi --query-gpu=index,name,uuid,pci.bus_id,driver_version,persistence_mode,accounting.mode,accounting.buffer_size,mig.mode.current --format=csv
	ask "jobeff admin doctor" "$jobeff" admin doctor
	if [ "$(id -u)" = 0 ]; then
		ask "as nobody: nvidia-smi's accounts" setpriv --reuid=65534 --regid=65534 --clear-groups nvidia-smi "$apps" --format=csv
	fi
	for limit in unlimited 4194304 1048576; do # KiB of addresses
		ask "jobeff's reader, addresses: $limit" bash -c "ulimit -Sv $limit; "'exec "$@"' _ "${reader[@]}"
		ask "nvidia-smi -L, addresses: $limit" bash -c "ulimit -Sv $limit; exec nvidia-smi -L"
	done
	ask "accounts: jobeff's reader" "${reader[@]}"
	ask "accounts: nvidia-smi" nvidia-smi "$apps" --format=csv
	ask "a process that has a GPU, in pid namespaces" unshare --pid --fork --mount-proc sh -c 'echo "inside: $$"; nvidia-smi --query-compute-apps=pid,gpu_uuid --format=csv; nvidia-smi '"$apps"' --format=csv'
	ask "settings afterwards" nvidia-smi --query-gpu=index,persistence_mode,accounting.mode --format=csv
}

file=${1:-gpu.txt}
answers | tee "$file"
echo "written to $file"
