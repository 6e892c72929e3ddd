# spank/build.mk: the SPANK plugin and its Go body, side by side in build/lib.
# The plugin may be built against the spank.h of any Slurm (SLURM_PREFIX); release.c says why it
# loads into others, too. It is linked to libc only.

SPANK_SRC := $(wildcard spank/*.c) preload/record/make.c preload/lib/hash.c
SLURM_CFLAGS ?= $(if $(SLURM_PREFIX),-I$(SLURM_PREFIX)/include)
SPANK_CFLAGS ?= -std=gnu11 -O2 -g -Wall -Wextra -Werror -Wshadow -Wvla -fstack-protector-strong -D_FORTIFY_SOURCE=2
SPANK_BODY_SRC := $(wildcard $(addsuffix /*.go,spank/body etc report/figure policy/doubt policy/overhead ingest/slurmid ingest/when ingest/hang \
	ingest/job ingest/assemble ingest/wire ingest/replay ingest/node ingest/node/gpu) ingest/node/gpu/*.[ch] etc/*.toml preload/record/*) go.mod

# Without Slurm's headers all else is built (test/look.sh says so).
SPANK := $(if $(shell printf '\043include <slurm/spank.h>\n' | $(CC) $(SLURM_CFLAGS) -E -x c - >/dev/null 2>&1 && echo yes),build/lib/jobeff_spank.so build/lib/jobeff_spank_body.so)

build/lib/jobeff_spank.so: $(SPANK_SRC) spank/jobeff_spank.h $(wildcard preload/record/*.h)
	@mkdir -p $(@D)
	$(CC) $(SPANK_CFLAGS) $(SLURM_CFLAGS) -ffile-prefix-map=$(CURDIR)=. -fPIC -fvisibility=hidden -shared \
		-Wl,-z,relro,-z,now,-z,nodelete -o $@.tmp $(SPANK_SRC) -ldl
	mv $@.tmp $@

build/lib/jobeff_spank_body.so: $(SPANK_BODY_SRC)
	@mkdir -p $(@D)
	CGO_ENABLED=1 go build -trimpath -buildmode=c-shared -ldflags='-s -extldflags "-Wl,-z,relro,-z,now"' -o $@.tmp ./spank/body
	mv $@.tmp $@
	rm -f $@.h $@.tmp.h $(@D)/jobeff_spank_body.so.h $(@D)/jobeff_spank_body.h
