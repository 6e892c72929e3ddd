#!/bin/bash
# fuzz.sh TIME [WORD]: runs every fuzz target of the repository, or those whose folder or name contains WORD, for
# TIME, as many at once as there are CPUs. Go leaves an input that fails in testdata/fuzz, in the folder of its
# test. Inputs are not minimized: that took most of the time, and Go's fuzzer sometimes ended during it ("while
# minimizing: EOF").
set -eu -o pipefail
cd "$(dirname "$0")/.."
export FUZZ_TIME=${1:-60s}

# fuzz FOLDER TARGET
fuzz() {
	local log
	if log=$(go test -run '^$' -fuzz "^$2\$" -fuzztime "$FUZZ_TIME" -fuzzminimizetime 0x -parallel 1 "$1" 2>&1); then
		echo "$2 ($1): $(grep -a '^fuzz: ' <<<"$log" | tail -n 1)"
	else
		printf '%s (%s) failed:\n%s\n' "$2" "$1" "$log"
		return 1
	fi
}
export -f fuzz

grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' cmd etc ingest policy preload report spank |
	sed -E 's|(.*)/[^/]*:func (.*)|./\1 \2|' | grep -e "${2:-}" |
	xargs -P "$(nproc)" -L 1 bash -c 'fuzz "$@"' fuzz
