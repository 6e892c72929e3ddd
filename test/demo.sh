#!/bin/bash
# demo.sh: installs what the demo needs, builds, and runs it on a throwaway Slurm (demo-cluster.sh), or
# without one where none can be started (demo-hand.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
way=$(test/look.sh demo)
lists=(test/hand-packages) targets=(build)
if [ "$way" = cluster ]; then lists+=(test/demo-packages) targets+=(packages); fi
if command -v apt-get >/dev/null; then test/install-packages.sh "${lists[@]}"; fi
make --no-print-directory "${targets[@]}"
exec "test/demo-$way.sh"
