package preload

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func openLibrary(t *testing.T) *elf.File {
	t.Helper()
	f, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// It must load on glibc 2.17 and in any process: a missing library or symbol would end
// every command of a job with 127.
func TestNeedsOnlyOldLibc(t *testing.T) {
	f := openLibrary(t)
	needed, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(needed)
	if want := []string{"libc.so.6", "libdl.so.2"}; !slices.Equal(needed, want) {
		t.Errorf("needs %v, want %v", needed, want)
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	versioned := 0
	for _, s := range symbols {
		if s.Version == "" {
			continue // weak, as crt files have them
		}
		versioned++
		if newer(s.Version, 17) {
			t.Errorf("%s needs %s, newer than 2.17", s.Name, s.Version)
		}
	}
	if versioned == 0 {
		t.Error("no imported symbol has a version: the test sees nothing")
	}
}

// A library that needs a newer symbol is not built.
func TestBuildRefusesNewSymbols(t *testing.T) {
	build := func(source string) (string, error) {
		file := filepath.Join(t.TempDir(), "lib.so")
		cc := exec.Command("gcc", "-shared", "-fPIC", "-nostartfiles", "-x", "c", "-o", file, "-")
		cc.Stdin = strings.NewReader(source)
		if out, err := cc.CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
		out, err := exec.Command("make", "-s", "-C", "..", "--eval", "checked: ; $(call needs_only_old_glibc,"+file+")", "checked").CombinedOutput()
		return string(out), err
	}
	if out, err := build("int getpid(void); int f(void) { return getpid(); }"); err != nil {
		t.Errorf("getpid is as old as glibc: %v\n%s", err, out)
	}
	if out, err := build("int getrandom(void); int f(void) { return getrandom(); }"); err == nil || !strings.Contains(out, "needs GLIBC_2.25") {
		t.Errorf("getrandom is from glibc 2.25: %v\n%s", err, out)
	}
}

// Undefined symbols that are not bound lazily would end a process at its start.
func TestBindsLazily(t *testing.T) {
	f := openLibrary(t)
	for _, tag := range []elf.DynTag{elf.DT_BIND_NOW, elf.DT_TEXTREL} {
		if v, err := f.DynValue(tag); err != nil || len(v) != 0 {
			t.Errorf("%v is %v (%v)", tag, v, err)
		}
	}
	flags, _ := f.DynValue(elf.DT_FLAGS)
	flags1, _ := f.DynValue(elf.DT_FLAGS_1)
	for _, v := range flags {
		if elf.DynFlag(v)&elf.DF_BIND_NOW != 0 {
			t.Error("DF_BIND_NOW")
		}
	}
	for _, v := range flags1 {
		if v&1 != 0 {
			t.Error("DF_1_NOW")
		}
	}
}

// newerVersion is the first one of lib/exports.map, which functions of MPI 4 have.
const newerVersion = "JOBEFF_NEWER"

// All spellings of each row are there, and what AddressSanitizer asks for (lib/asan.c). Nothing
// else could clash with a program.
func TestExportsOnlySpellings(t *testing.T) {
	symbols, err := openLibrary(t).DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	exported, versioned := map[string]bool{}, map[string]bool{}
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF || strings.HasPrefix(s.Name, "GOMP_") { // TestExportsGompRows
			continue
		}
		if s.Version != "" && s.Version != newerVersion {
			t.Errorf("%s has the version %s: a program that has another MPI's would not find it", s.Name, s.Version)
		}
		exported[s.Name] = true
		versioned[s.Name] = s.Version != ""
	}
	for _, r := range readRows(t) {
		f := "mpi_" + r.lower
		spellings := []string{"MPI_" + r.name, f + "_", f + "__", f, "MPI_" + r.upper, f + "_f08_"}
		if r.large {
			spellings = spellings[:1]
		}
		if !r.special { // those have no choice buffer
			spellings = append(spellings, f+"_f08ts_")
		}
		for _, s := range spellings {
			if !exported[s] || versioned[s] != r.newer {
				t.Errorf("%s is not exported, or dlsym() finds it where MPI has none", s)
			}
			delete(exported, s)
		}
	}
	for _, s := range append(slices.Clone(spellingsOfSections), "__asan_default_options", "ompt_start_tool", newerVersion) {
		if !exported[s] {
			t.Errorf("%s is not exported", s)
		}
		delete(exported, s)
	}
	for s := range exported {
		t.Errorf("exports %s", s)
	}
}

// newer tells whether the version of a symbol is newer than glibc 2.minor.
func newer(version string, minor int) bool {
	rest, ok := strings.CutPrefix(version, "GLIBC_2.")
	first, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(first)
	return !ok || err != nil || n > minor
}

func TestNewer(t *testing.T) {
	for version, want := range map[string]bool{
		"GLIBC_2.2.5": false, "GLIBC_2.17": false, "GLIBC_2.18": true, "GLIBC_2.34": true,
		"GLIBC_PRIVATE": true, "GLIBC_ABI_DT_RELR": true, "CXXABI_1.3": true,
	} {
		if newer(version, 17) != want {
			t.Errorf("newer(%s) is not %v", version, want)
		}
	}
}
