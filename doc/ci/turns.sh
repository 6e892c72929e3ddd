#!/bin/bash
# turns.sh BASE NEW COMMAND…: runs a command five times in each of two folders, in turns, and ends with 1
# if NEW's runs are surely slower than BASE's, by 5 % or more. jobeff is in PATH. The runs are kept in
# base-1.json, new-1.json and so on, which must not be there before.
set -euo pipefail
base=$1 new=$2
shift 2
for i in {1..5}; do
	(cd "$base" && jobeff run --json "$OLDPWD/base-$i.json" -- "$@")
	(cd "$new" && jobeff run --json "$OLDPWD/new-$i.json" -- "$@")
done
jobeff compare --fail 5% base-*.json -- new-*.json
