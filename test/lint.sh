#!/bin/bash
# lint.sh: checks what no reviewer should have to mention. It stops at the first kind of fault.
set -eu -o pipefail
cd "$(dirname "$0")/.."

fail() { echo "lint: $*" >&2; exit 1; }

unformatted=$(gofmt -l cmd etc ingest policy preload report spank test ./*.go)
[ -z "$unformatted" ] || fail "gofmt -w $unformatted"
go vet ./...
go tool staticcheck ./...
mapfile -t c_files < <(find preload spank ingest/munge test -name '*.[ch]' -not -path '*/build/*')
clang-format-14 --dry-run -Werror "${c_files[@]}" || fail "clang-format-14 -i the files above"
mapfile -t shipped < <(find preload/lib preload/record preload/stub spank -name '*.c' -not -path '*/testdata/*')
clang-tidy-14 --quiet "${shipped[@]}" -- -std=gnu11 -O2 2> >(grep -v 'warnings\? generated' >&2) || fail "see .clang-tidy"
# Not calls.c: gcc's analyzer had no end within 20 s on the wrappers that its macros make.
for file in "${shipped[@]}"; do
	[ "$file" != preload/lib/calls.c ] || continue
	(ulimit -v 2000000; timeout 60 gcc -std=gnu11 -O2 -fPIC -fanalyzer -Werror -c "$file" -o /dev/null) || fail "gcc -fanalyzer $file"
done
mapfile -t shells < <(git ls-files -co --exclude-standard '*.sh' .ci/run)
shellcheck "${shells[@]}"
