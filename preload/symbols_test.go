package preload

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"regexp"
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

type exportKind struct {
	kind  string
	names *regexp.Regexp
	count int
	why   string
}

// exports are all names that a program sees of the library: how many of a kind there are, and why each of
// them harms nobody. A preloaded library stands before a program's own, so it may have no name that an
// object without MPI and OpenMP is likely to have.
var exports = []exportKind{
	{"MPI in C", regexp.MustCompile(`^MPI_[A-Z][a-z]\w+$`), 362, "the standard's; a library of others that has one stands for an MPI, and its callers reach it (lib/next.c)"},
	{"MPI in mpi_f08", regexp.MustCompile(`^mpi_\w+_f08_$`), 235, "MPI's standard has it for this binding alone"},
	{"… with descriptors", regexp.MustCompile(`^mpi_\w+_f08ts_$`), 354, "the same"},
	{"MPI in mpif.h", regexp.MustCompile(`^mpi_[a-z]\w+[a-z0-9]_$`), 236, "what compilers emit for Fortran, so no C function has such a name by chance; else as those of C"},
	{"… with a second underscore", regexp.MustCompile(`^mpi_[a-z]\w+[a-z0-9]__$`), 236, "the same by the Fortran ABI of f2c"},
	{"sections", regexp.MustCompile(`^(MPIX_Section|mpix_section)_(enter|exit)_{0,2}$`), 6, "those of a proposal to MPI's forum; the next library's is called, too (lib/sectioncalls.c)"},
	{"TALP's regions", regexp.MustCompile(`^jobeff_region_(enter|exit|now)$`), 3, "our own"},
	{"Kokkos' hooks", regexp.MustCompile(`^kokkosp_(push_profile_region|pop_profile_region|request_tool_settings)$`), 3, "tools of Kokkos have them all, and Kokkos looks into the one library that its user names"},
	{"libgomp", regexp.MustCompile(`^GOMP_[a-z]\w+$`), 103, "only who is linked to libgomp asks for its versions (TestExportsGompRows, TestOpenMPIsNotPretended)"},
	{"OMPT", regexp.MustCompile(`^ompt_start_tool$`), 1, "OpenMP's runtimes look for it; where another tool has it, that one is asked (lib/ompt.c)"},
	{"AddressSanitizer", regexp.MustCompile(`^__asan_default_options$`), 1, "a program's own stands before ours; gcc's runtime has to be the first library, and its own stands before all others'"},
	{"versions", regexp.MustCompile(`^(GOMP_[\d.]+|` + newerVersion + `)$`), 6, "no functions"},
}

// Each name that the library exports is of one of these kinds.
func TestEveryExportHasAReason(t *testing.T) {
	symbols, err := openLibrary(t).DynamicSymbols()
	must(t, err)
	counts := map[string]int{}
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF {
			continue
		}
		kind := slices.IndexFunc(exports, func(e exportKind) bool { return e.names.MatchString(s.Name) })
		if kind < 0 {
			t.Errorf("%s is exported: of which kind is it, and whom may it harm?", s.Name)
			continue
		}
		counts[exports[kind].kind]++
	}
	for _, e := range exports {
		if counts[e.kind] != e.count {
			t.Errorf("%s: %d names, want %d (%s)", e.kind, counts[e.kind], e.count, e.why)
		}
	}
}

// All spellings of each row are there. Functions of MPI 4 have a version, so that dlsym() does not
// find them where the program's MPI has none; no other has one.
func TestExportsAllSpellings(t *testing.T) {
	symbols, err := openLibrary(t).DynamicSymbols()
	must(t, err)
	versions := map[string]string{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			versions[s.Name] = "as " + s.Version
		}
	}
	for _, r := range readRows(t) {
		f, version := "mpi_"+r.lower, "as "
		spellings := []string{"MPI_" + r.name, f + "_", f + "__", f + "_f08_"}
		if r.large {
			spellings = spellings[:1]
		}
		if !r.special { // those have no choice buffer
			spellings = append(spellings, f+"_f08ts_")
		}
		if r.newer {
			version += newerVersion
		}
		for _, s := range spellings {
			if versions[s] != version {
				t.Errorf("%s is exported %q, want %q", s, versions[s], version)
			}
		}
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
