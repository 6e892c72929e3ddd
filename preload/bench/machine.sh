#!/bin/bash
# machine.sh: prints on which machine a table is measured: its CPU, how many, and what else it does.
set -euo pipefail
awk -F '\t*: ' '{ of[$1] = $2 } END { printf "%s (family %s model %s), ", of["model name"], of["cpu family"], of["model"] }' /proc/cpuinfo
echo "$(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg)"
