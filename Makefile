# jobeff. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

CC      ?= gcc
CFLAGS  ?= -O2 -g
CWARN   := -std=gnu11 -Wall -Wextra -Werror
DESTDIR ?=
PREFIX  ?= /usr
VERSION := $(shell packaging/version.sh)
GOFLAGS_BUILD := -trimpath -buildmode=pie -ldflags '-s -w -X jobeff/etc.Version=$(VERSION) -extldflags "-Wl,-z,relro,-z,now"'
GO_SOURCES = $(shell find cmd etc ingest policy preload report spank -name '*.go' -o -name '*.sql' -o -name '*.toml' -o -path '*/templates/*') $(wildcard doc/openapi.*) go.mod
GO_PROGRAMS := build/jobeff build/jobeffd build/jobeff-ingest

# Go's build cache does not notice that record/ includes a table from the folder above.
export CGO_CFLAGS = -O2 -g -DJE_TABLE_SUM=$(shell cksum < preload/mpi_calls.def | cut -d' ' -f1)

include preload/build.mk
include spank/build.mk

# What a person types most, in this order.
OFTEN := build quick demo site test lint bare packages install deps clean

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' -v often='$(OFTEN)' '/^[a-z-]+:.*## /{what[$$1] = $$2; all[++n] = $$1} \
		function line(name) {if (name in what) printf "  %-15s %s\n", name, what[name]; delete what[name]} \
		END {k = split(often, first, " "); for (i = 1; i <= k; i++) line(first[i]); print ""; for (i = 1; i <= n; i++) line(all[i])}' $(MAKEFILE_LIST)

.PHONY: build by-hand
build: by-hand $(GO_PROGRAMS) $(PRELOAD_STUB32) $(SPANK) ## build everything into build/
by-hand: look-build build/jobeff build/jobeff-overhead build/lib/libjobeff.so build/lib/libjobeff_section.so $(TALP_LIBS) ## build what measures without Slurm

.PHONY: look-build look-packages
look-build look-packages: look-%:
	@test/look.sh $*

$(GO_PROGRAMS): build/%: $(GO_SOURCES) $(wildcard preload/record/*.[ch]) preload/mpi_calls.def build/version
	go build $(GOFLAGS_BUILD) -o $@ ./cmd/$*

.PHONY: always
build/version: always # changes with the version alone
	@mkdir -p build
	@cmp -s $@ <<<'$(VERSION)' || echo '$(VERSION)' >$@

.PHONY: deps
deps: ## install all that building and testing need (as root): afterwards no network is needed
	@test/install-packages.sh test/hand-packages test/demo-packages test/packages
	@test/install-axe.sh
	@go mod download
	@go mod download -modfile=packaging/tools.mod

.PHONY: demo
demo: ## start a throwaway Slurm, run a program that sleeps and LAMMPS, show what jobeff advises
	@test/demo.sh

.PHONY: site
site: look-build build/jobeff build/jobeffd ## show a made-up site in a browser on this machine, until Ctrl-C; no root, no Slurm
	@go run ./test/site

.PHONY: test
test: ## install what is needed, build, lint, run every test
	@test/look.sh test >/dev/null
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory build packages lint
	@test/run-tests.sh ./test ./preload ./ingest/store ./... # the longest first, beside all others

.PHONY: bare
bare: ## run "make demo" and "make test", or TARGET, on a bare Debian 12 that is made for it; CPUS=2 shows it two
	@test/bare.sh $(or $(TARGET),demo test)

.PHONY: places
places: # in a bare machine, after test: "make quick" with a container's rights, and a user's
	@test/places.sh here

.PHONY: test-trixie test-sid
test-trixie: ## run the end-to-end tests, the library's and the plugin's in Debian 13
test-sid: ## run the same in Debian's unstable suite
SUITE_TESTS = ./preload/... ./spank/... ./test/...
test-sid: export RESULT = test/results/sid.txt
test-trixie test-sid: test-%:
	@test/install-packages.sh <(echo debootstrap)
	@if [ -n "$${RESULT:-}" ]; then rm -f "$$RESULT"; fi
	@test/distro.sh $* bash -c 'make --no-print-directory build packages && test/run-tests.sh "$$@"' - $(SUITE_TESTS)

.PHONY: test-vm
test-vm: deps build packages ## boot Debian 12, or SUITE=trixie, with cgroup v2 in QEMU, and test jobeff in it: PART=cgroup, units, bind, two or disk, or all
	@test/vm.sh $(PART)

.PHONY: test-old-kernel
test-old-kernel: deps build packages ## run the library's, the plugin's and ingest's tests with the system calls of Linux 4.18 alone
	@rm -f test/results/oldkernel.txt
	@RESULT=test/results/oldkernel.txt go run ./test/oldkernel test/run-tests.sh ./preload/... ./ingest/... ./spank/...

.PHONY: quick
quick: ## run the tests that need no cluster, server or MPI program: under a minute
	@go test -short ./...

.PHONY: lint
lint: ## run vet, staticcheck, gofmt, clang-format, clang-tidy, gcc's analyzer, shellcheck
	@test/lint.sh

.PHONY: scan
scan: ## follow the advice on 1,500 random curves: where it leads, and what it saves; and compare all that is printed of 1,500 random histories
	@go test ./policy/workload -run '^TestScan$$' -count=1 -v -args -scan 1500
	@go test ./cmd/jobeffd -run '^TestRandomHistories$$' -count=1 -timeout 60m -v -args -histories 1500

.PHONY: bench bench-sum bench-growth
bench: deps build packages ## measure every figure of doc/COSTS.md, as ratios side by side
	@preload/bench/bench.sh
	@test/bench-srun.sh
	@test/bench-interim.sh
	@test/bench-read.sh
	@go test ./cmd/jobeffd ./report -run '^$$' -bench JobPage -benchtime 100x
	@go test ./cmd/jobeffd -run '^$$' -bench Site -benchtime 1x -timeout 30m
	@go test ./policy/curve -run '^$$' -bench 'Backtest|Workloads' -benchtime 2000x
	@go test ./policy/workload -run '^$$' -bench Past -benchtime 1x -timeout 30m
	@go test ./ingest/node ./ingest/store -run '^$$' -bench 'WriteOutbox|LargeJob' -benchtime 500x
	@go test ./ingest/node -run '^$$' -bench Fold -benchtime 5x
	@go test ./ingest/replay -run '^$$' -bench Replay -benchtime 100x
	@go test ./ingest/wire -run '^$$' -bench TakeReport -benchtime 5000x
	@go test ./spank/body -run '^$$' -bench LightJobs -benchtime 2000x -timeout 30m
	@go test ./cmd/jobeffd -run '^$$' -bench Read -benchtime 200x -timeout 30m
	@go test ./cmd/jobeffd -run '^$$' -bench 'Load|Interim' -benchtime 1x -timeout 30m
	@$(MAKE) --no-print-directory bench-sum
bench-sum: deps ## measure the sum of what is spent beside an earlier commit's (BASE=), into test/results/bench.txt
	@table=$$(test/bench-sum.sh); echo "$$table" | tee test/results/bench.txt

GROWTH = 10000,100000,1000000
bench-growth: deps ## measure what people ask on sites of 10,000 to a million jobs (GROWTH=), into test/results/growth.txt
	@{ echo "$$(date -u +%FT%RZ) $$(git describe --always --dirty), SQLite, $$(nproc) CPUs, load $$(cut -d' ' -f1 /proc/loadavg) before"; \
	go test ./cmd/jobeffd -run '^$$' -bench '^BenchmarkGrowth$$' -benchtime 1x -timeout 5h -args -growth $(GROWTH) | sed -n '/^ms of CPU/,/^workloads/p'; } | tee test/results/growth.txt

.PHONY: fuzz
fuzz: ## run each fuzz target for 60 s (half an hour on two CPUs)
	@test/fuzz.sh 60s

.PHONY: faults
faults: deps build packages ## test every fault of test/FAULTS.md, with storms of 5,000 jobs (about an hour)
	@test/faults.sh

.PHONY: failover
failover: deps ## let three PostgreSQL servers fail over by themselves under load (about ten minutes)
	@test/install-packages.sh <(printf '%s\n' patroni etcd-server)
	@mkdir -p build && JOBEFF_FAILOVER=$(CURDIR)/build/failover.txt go test ./cmd/jobeffd -count=1 -v -timeout 1h -run '^TestFailover$$'
	@{ echo "$$(date -u +%FT%TZ) $$(git describe --always --dirty): make failover, $$(nproc) CPUs, load $$(cut -d' ' -f1-3 /proc/loadavg)"; \
		dpkg-query -W -f '$${Package} $${Version}\n' patroni etcd-server postgresql; cat build/failover.txt; } | tee test/results/failover.txt

.PHONY: apps
apps: deps build packages ## run real applications, and programs whose waiting is known, on the cluster; applications also in Debian 13
	@test/apps.sh
	@RESULT=test/results/apps-trixie.txt test/distro.sh trixie bash -c 'make --no-print-directory build packages && test/apps.sh TestHybridApplications'

.PHONY: compare
compare: deps build ## run the same programs under jobeff, TALP and mpiP, which are installed in PEERS=
	@test/compare.sh

.PHONY: mutants
mutants: deps build ## try the wrong changes of test/mutants.txt: the tests must notice each (under an hour)
	@go run ./test/mutants

.PHONY: soak
soak: deps build packages ## run 5,000 mpiruns in one job with little memory (about half an hour)
	@test/soak.sh

.PHONY: alarm
alarm: deps build packages ## crash one program in 50 by a test build of the library: jobeffd must raise an alarm (some minutes)
	@test/alarm.sh

.PHONY: hangs
hangs: deps build packages ## let jobs hang on the cluster in twenty ways, and watch 10,000 made-up jobs that do not hang (some minutes)
	@rm -f test/results/hangs.txt
	@RESULT=test/results/hangs.txt JOBEFF_TEST_HANGS=1 test/run-tests.sh ./test ./ingest/node -run '^(TestHung|TestNoneIsTold|TestHungAreTold)$$'

.PHONY: slow
slow: ## watch a year of made-up sites of 10,000 nodes: which nodes are named, rightly or wrongly, and after how many jobs (ten minutes)
	@go test ./policy/slow -run 'TestSites|TestFound' -count=1 -v -timeout 2h -args -slow.nodes 10000

.PHONY: cluster-up
cluster-up: deps build packages ## start a throwaway Slurm with jobeff installed from its package
	@test/cluster.sh up 3 build/jobeff*_*.deb

.PHONY: cluster-down
cluster-down: ## remove the throwaway Slurm without a trace
	@test/cluster.sh down

.PHONY: packages
packages: look-packages build ## build the packages for this machine, build/*.deb
	@packaging/build.sh

.PHONY: rpm
rpm: build ## build rpms for this machine, build/*.rpm; SLURM_PREFIX= where your own Slurm is
	@packaging/build.sh rpm

.PHONY: tarball
tarball: ## build what measures without Slurm and root, in Debian 11, into build/jobeff-VERSION-linux-x86_64.tar.gz
	@test/install-packages.sh <(echo debootstrap)
	@go mod download
	@test/distro.sh bullseye packaging/tarball.sh
	@mv build/bullseye/jobeff-*.tar.gz build/

.PHONY: release
release: deps ## build all debs, rpms and the tarball in Debian 11, for glibc 2.28 and newer, into build/release
	@test/distro.sh bullseye packaging/release.sh
	@rm -rf build/release && mv build/bullseye/release build/release && ls build/release

.PHONY: install
install: look-packages build ## install into DESTDIR below PREFIX, as the packages do
	@DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" packaging/install.sh

.PHONY: pictures
pictures: deps build ## make the documents' pictures again, from a made-up site
	@test/pictures.sh

.PHONY: clean
clean: ## remove build/
	rm -rf build
