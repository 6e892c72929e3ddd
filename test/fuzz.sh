#!/bin/bash
# fuzz.sh TIME: runs every fuzz target of the repository for TIME, one at a time.
set -eu -o pipefail
cd "$(dirname "$0")/.."
time=${1:-30s}
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
	sed -nE 's/^func (Fuzz[A-Za-z0-9_]+)\(.*/\1/p' "$file" | while read -r target; do
		echo "== $target ($(dirname "$file"))"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 5x "./$(dirname "$file")"
	done
done
