#!/bin/bash
# lint.sh: checks what no reviewer should have to mention. It stops at the first kind of fault.
set -eu -o pipefail
cd "$(dirname "$0")/.."

fail() { echo "lint: $*" >&2; exit 1; }
step() { echo "lint: $*"; }

analyze() { # FILE SECONDS of CPU time
	(ulimit -v 2000000 -t "$2"; gcc -std=gnu11 -O2 -fPIC -fanalyzer -Werror -c "$1" -o /dev/null) || fail "gcc -fanalyzer $1"
}
# On the whole table, gcc's analyzer did not end within 9 minutes. So calls.c is built from one row of each shape,
# and from the rows that it or a header names. A shape is the numbers of arguments and strings, and whether bytes move.
few=$(mktemp -d)
trap 'rm -rf "$few"' EXIT
cp -r preload/lib preload/record "$few"
awk -v named="$(grep -oh 'JE_NUMBER_\w*' preload/lib/calls.c preload/lib/*.h | tr '\n' ' ')" '
	/^JE_(CALL|LARGE)/ { row = ""; inside = 1 }
	!inside { print; next }
	{ row = row $0 "\n" }
	/\)$/ { inside = 0; split(row, field, /[(,] */)
		shape = (row ~ /^JE_LARGE/ ? "large " field[4] : field[6] " " field[7]) (row ~ /SIDE/)
		if (!seen[shape]++ || index(named, "JE_NUMBER_" field[3] " ")) printf "%s", row }' preload/mpi_calls.def >"$few/mpi_calls.def"
analyze "$few/lib/calls.c" 240 & # two minutes of a CPU, beside all else
calls=$!

step "gofmt, go vet, staticcheck"
unformatted=$(gofmt -l cmd etc ingest policy preload report spank test)
[ -z "$unformatted" ] || fail "gofmt -w $unformatted"
go vet ./...
go tool staticcheck ./...
step "clang-format, clang-tidy"
mapfile -t c_files < <(find preload spank ingest test -name '*.[ch]' -not -path '*/build/*')
clang-format-14 --dry-run -Werror "${c_files[@]}" || fail "clang-format-14 -i the files above"
mapfile -t shipped < <(find preload/lib preload/overhead preload/record preload/stub preload/talp spank ingest -name '*.c' -not -path '*/testdata/*')
clang-tidy-14 --quiet "${shipped[@]}" -- -std=gnu11 -O2 2> >(grep -v 'warnings\? generated' >&2) || fail "see .clang-tidy"
step "gcc's analyzer (two minutes)"
for file in "${shipped[@]}"; do
	[ "$file" = preload/lib/calls.c ] || analyze "$file" 60
done
wait "$calls"
step shellcheck
mapfile -t shells < <(git ls-files -co --exclude-standard '*.sh' .ci/run 'packaging/scripts/*' packaging/ldap/mailaddress)
shellcheck "${shells[@]}"
