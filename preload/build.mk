# libjobeff.so is linked to no MPI. symbols_test.go checks what it may need of libc.
PRELOAD_C := $(wildcard preload/lib/*.c) preload/record/make.c
PRELOAD_H := $(wildcard preload/lib/*.h preload/record/*.h) preload/mpi_calls.def preload/gomp_calls.def preload/lib/exports.map
PRELOAD_CFLAGS := -std=gnu11 -O2 -fPIC -fvisibility=hidden -fno-semantic-interposition \
	-ftls-model=initial-exec -fno-stack-protector -U_FORTIFY_SOURCE -Wall -Wextra -Wshadow -Wvla -Werror
PRELOAD_LDFLAGS := -shared -Wl,-soname,libjobeff.so -Wl,--version-script=preload/lib/exports.map \
	-Wl,-z,lazy -Wl,-z,norelro -Wl,-z,noseparate-code -Wl,--hash-style=gnu -Wl,-z,defs \
	-Wl,--no-as-needed -l:libdl.so.2 -Wl,--build-id -Wl,-s

# If the library needed a symbol that is newer than this glibc, each program on an older one would end at its start.
PRELOAD_GLIBC := GLIBC_2.17
needs_only_old_glibc = @newest=$$({ echo $(PRELOAD_GLIBC); readelf -VW $(1) | sed -n 's/.*Name: \(GLIBC_[^ ]*\).*/\1/p'; } | sort -V | tail -n 1); \
	[ "$$newest" = $(PRELOAD_GLIBC) ] || { echo "$(1) needs $$newest, newer than $(PRELOAD_GLIBC)" >&2; exit 1; }

# The objects of a variant of the library are in a folder below build/obj. $(2) compiles them. Tests of
# several packages may build the same object at once, so each is made under a name of its own and renamed.
define variant
build/obj/$(1)/%.o: preload/%.c $$(PRELOAD_H) preload/build.mk
	@mkdir -p $$(@D)
	$(2) $$(PRELOAD_CFLAGS) -c $$< -o $$@.$$$$$$$$ && mv $$@.$$$$$$$$ $$@
endef
$(eval $(call variant,lib,$(CC)))
$(eval $(call variant,clock,$(CC) -DJE_TEST_CLOCK))
$(eval $(call variant,no-tsc,$(CC) -DJE_NO_TSC))
$(eval $(call variant,places,$(CC) -DJE_LONG_NS=1))
$(eval $(call variant,aarch64,aarch64-linux-gnu-gcc))
objects_of = $(PRELOAD_C:preload/%.c=build/obj/$(1)/%.o)

build/lib/libjobeff.so: $(call objects_of,lib)
	@mkdir -p build/lib
	$(CC) $(PRELOAD_CFLAGS) $^ $(PRELOAD_LDFLAGS) -o $@.new
	$(call needs_only_old_glibc,$@.new)
	mv $@.new $@

# A 32-bit process loads this empty library instead; otherwise ld.so would print that the other
# one has the wrong class. It needs no 32-bit libc. Only x86-64 has 32-bit processes.
PRELOAD_STUB32 := $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),build/lib/libjobeff32.so)

build/lib/libjobeff32.so: preload/build.mk
	@mkdir -p build/lib
	$(CC) -m32 -shared -fPIC -nostdlib -nostartfiles -Wl,-soname,libjobeff.so -Wl,-z,norelro \
		-Wl,-z,noseparate-code -Wl,--hash-style=both -Wl,--build-id -Wl,-s -x c /dev/null -o $@.new
	mv $@.new $@

# A program with sections is linked with this library. It does nothing, and needs no MPI.
build/lib/libjobeff_section.so: preload/stub/section.c preload/build.mk
	@mkdir -p build/lib
	$(CC) -std=gnu11 -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror $< \
		-shared -Wl,-soname,libjobeff_section.so -Wl,--hash-style=gnu -Wl,-z,defs -Wl,-s -o $@.new
	$(call needs_only_old_glibc,$@.new)
	mv $@.new $@

# libdlb.so for programs that were built for TALP: a folder for each layout of dlb_monitor_t.
# Programs are linked with DLB's library with MPI, or the one without.
TALP_LIBS := build/lib/talp/libdlb.so build/lib/talp-3.5/libdlb.so

build/lib/talp-3.5/libdlb.so: TALP_LAYOUT := -DJE_TALP_35
$(TALP_LIBS): preload/talp/talp.c $(wildcard preload/talp/*.h preload/talp/*.def) preload/lib/region.h preload/lib/libc.h preload/build.mk
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Wshadow -Wvla -Werror $(TALP_LAYOUT) $< \
		-shared -Wl,-soname,libdlb.so -Wl,--hash-style=gnu -Wl,-z,defs -Wl,--no-as-needed -l:libdl.so.2 -Wl,-s -o $@.new
	$(call needs_only_old_glibc,$@.new)
	mv $@.new $@

# For bench and test: the library as it works on a machine whose TSC is not invariant.
build/bench/jobeff_clock.so: $(call objects_of,no-tsc)
	@mkdir -p build/bench
	$(CC) $(PRELOAD_CFLAGS) $^ $(PRELOAD_LDFLAGS) -o $@

# For bench: the library that notes the place of each call.
build/bench/jobeff_places.so: $(call objects_of,places)
	@mkdir -p build/bench
	$(CC) $(PRELOAD_CFLAGS) $^ $(PRELOAD_LDFLAGS) -o $@

# For bench: the library whose windows a program can switch.
build/bench/jobeff_windows.so: $(call objects_of,lib) preload/bench/switch.c
	@mkdir -p build/bench
	$(CC) $(PRELOAD_CFLAGS) $^ $(PRELOAD_LDFLAGS) -o $@

# For tests: the library as it is, but with the readings of test/apps/virtualclock.c.
build/test/libjobeff-clock.so: $(call objects_of,clock)
	@mkdir -p build/test
	$(CC) $(PRELOAD_CFLAGS) $^ $(PRELOAD_LDFLAGS) -o $@.$$$$ && mv $@.$$$$ $@

# Not shipped: the tests run another architecture's code under qemu-user.
build/test/libjobeff-aarch64.so: $(call objects_of,aarch64)
	@mkdir -p build/test
	aarch64-linux-gnu-gcc $(PRELOAD_CFLAGS) $^ $(PRELOAD_LDFLAGS) -o $@.new
	$(call needs_only_old_glibc,$@.new)
	mv $@.new $@

# jobeff-overhead opens the MPI under which it is started, so it is linked to none.
OVERHEAD_C := $(wildcard preload/overhead/*.c) preload/lib/ticks.c preload/record/make.c

build/jobeff-overhead: $(OVERHEAD_C) $(wildcard preload/overhead/*.h) $(PRELOAD_H) preload/build.mk
	@mkdir -p build
	$(CC) -std=gnu11 -O2 -Wall -Wextra -Wshadow -Wvla -Werror $(OVERHEAD_C) \
		-ldl -lm -Wl,-s -o $@.new
	mv $@.new $@
