#!/bin/bash
# gremlins.sh [FOLDER…]: changes the formulas' operators one by one and runs `go test -short` of their package. For each folder
# it prints the mutants that lived or were not reached, and the counts. test/gremlins.txt has the reasons. It takes hours.
set -eu -o pipefail
cd "$(dirname "$0")/.."
go=$(command -v go)
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
GOBIN=$bin go install github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
# go test exits with 1 also where a mutant does not compile; for gremlins that would be a kill.
cat >"$bin/go" <<END
#!/bin/bash
out=\$($go "\$@" 2>&1)
status=\$?
echo "\$out"
case \$out in *'[build failed]'*) exit 2 ;; esac
exit \$status
END
chmod +x "$bin/go"
export PATH=$bin:$PATH GOFLAGS=-short JOBEFF_CURVES=$PWD/../shared/data/scaling
[ -d "$JOBEFF_CURVES" ] || unset JOBEFF_CURVES
[ $# -gt 0 ] || set -- ingest/job ingest/assemble policy/overhead ingest/node ingest/replay policy/curve policy/workload policy policy/rule
for folder in "$@"; do
	others=/ # excluded: files of folders inside it, and files without formulas
	case $folder in
	ingest/job) others='/|^(call|hung|report|steps|waiting)\.go' ;;
	ingest/assemble) others='/|^(fold|steps)\.go' ;;
	ingest/node) others='/|^(machine|outbox|quota|refused|remove|rundir|steps)\.go' ;;
	esac
	gremlins unleash --workers "$(nproc)" --timeout-coefficient 20 --output-statuses lct --exclude-files "$others" "./$folder"
done
