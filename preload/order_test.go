package preload

import (
	"debug/elf"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longestChain is how many files may use each other in a row.
const longestChain = 8

// cFolders are the folders of C; the header of each begins with a map of its files.
var cFolders = []struct{ dir, header string }{{"lib", "jobeff.h"}, {"overhead", "overhead.h"}, {"../spank", "jobeff_spank.h"}}

var mapLine = regexp.MustCompile(`(?m)^ \*   ((?:\S+, )*\S+\.(?:c|h|map)) +\S`)

// mapped are the files that a header's map names, in its order.
func mapped(t *testing.T, header string) []string {
	t.Helper()
	text, err := os.ReadFile(header)
	must(t, err)
	comment, _, _ := strings.Cut(string(text), "*/")
	var files []string
	for _, line := range mapLine.FindAllStringSubmatch(comment, -1) {
		files = append(files, strings.Split(line[1], ", ")...)
	}
	return files
}

// A reader finds every file in the map, and at the head of the file what it is.
func TestMapNamesEveryFile(t *testing.T) {
	for _, folder := range cFolders {
		named := mapped(t, filepath.Join(folder.dir, folder.header))
		files, err := filepath.Glob(folder.dir + "/*.[chm]*")
		must(t, err)
		for _, file := range files {
			name := filepath.Base(file)
			if ext := filepath.Ext(name); name == folder.header || (ext != ".c" && ext != ".h" && ext != ".map") {
				continue
			}
			if !slices.Contains(named, name) {
				t.Errorf("the map of %s does not name %s", folder.header, name)
			}
			text, err := os.ReadFile(file)
			must(t, err)
			if !strings.HasPrefix(string(text), "/* "+name+": ") {
				t.Errorf("%s does not begin with what it is", file)
			}
		}
		for _, name := range named {
			if _, err := os.Stat(filepath.Join(folder.dir, name)); err != nil {
				t.Errorf("the map of %s names %s, which is not there", folder.header, name)
			}
		}
	}
}

// Each file uses functions and data of files above it in the map only, so there is no circle. A header's inline
// functions do, too, and it includes headers above it only.
func TestFilesUseFilesAboveThem(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the plugin and jobeff-overhead")
	}
	for _, folder := range cFolders {
		order := append([]string{folder.header}, mapped(t, filepath.Join(folder.dir, folder.header))...)
		files := slices.DeleteFunc(slices.Clone(order), func(name string) bool { return filepath.Ext(name) != ".c" })
		definedIn, uses := objects(t, folder.dir, files)
		for at, name := range order {
			if filepath.Ext(name) == ".h" {
				headerUses(t, folder.dir, name, order[at:], definedIn)
			}
		}
		chain, longest := map[string]int{}, 0
		for _, file := range files {
			chain[file] = 1
			for _, symbol := range uses[file] {
				used, ours := definedIn[symbol]
				if ours && chain[used] == 0 {
					t.Errorf("%s uses %s of %s, which is not above it in %s", file, symbol, used, folder.header)
				} else if ours && used != file {
					chain[file] = max(chain[file], chain[used]+1)
				}
			}
			longest = max(longest, chain[file])
		}
		if longest < 2 || longest > longestChain {
			t.Errorf("%s: the longest chain of uses has %d files, want 2 to %d", folder.dir, longest, longestChain)
		}
	}
}

var included = regexp.MustCompile(`(?m)^#include "(\S+)"`)

// headerUses fails where a header needs one of the files from it on in the map.
func headerUses(t *testing.T, dir, header string, fromIt []string, definedIn map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, header))
	must(t, err)
	for _, other := range included.FindAllStringSubmatch(string(text), -1) {
		if slices.Contains(fromIt, other[1]) {
			t.Errorf("%s includes %s, which is not above it in the map", header, other[1])
		}
	}
	object := filepath.Join(t.TempDir(), "header.o")
	mustRun(t, run(t, nil, "gcc", "-std=gnu11", "-w", "-fPIC", "-Dinline=__attribute__((used))", "-include", filepath.Join(dir, header), "-x", "c", "-c", "-o", object, "/dev/null"))
	_, undefined := objectSymbols(t, object)
	for _, symbol := range undefined {
		if file, ours := definedIn[symbol]; ours && slices.Contains(fromIt, file) {
			t.Errorf("%s uses %s of %s, which is not above it in the map", header, symbol, file)
		}
	}
}

// objects are the symbols of the files' objects: where each is defined, and what each file uses.
func objects(t *testing.T, dir string, files []string) (definedIn map[string]string, uses map[string][]string) {
	t.Helper()
	definedIn, uses = map[string]string{}, map[string][]string{}
	for _, file := range files {
		object := filepath.Join("../build/obj/lib/lib", strings.TrimSuffix(file, ".c")+".o")
		if dir != "lib" {
			object = filepath.Join(t.TempDir(), "object.o")
			mustRun(t, run(t, nil, "gcc", "-std=gnu11", "-O1", "-fPIC", "-c", "-o", object, filepath.Join(dir, file)))
		}
		defined, undefined := objectSymbols(t, object)
		for _, symbol := range defined {
			definedIn[symbol] = file
		}
		uses[file] = undefined
	}
	return definedIn, uses
}

// objectSymbols is what a file defines for others, and what it uses of others.
func objectSymbols(t *testing.T, object string) (defined, undefined []string) {
	t.Helper()
	f, err := elf.Open(object)
	must(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	must(t, err)
	for _, s := range symbols {
		if elf.ST_BIND(s.Info) == elf.STB_LOCAL {
			continue
		}
		if s.Section == elf.SHN_UNDEF {
			undefined = append(undefined, s.Name)
		} else {
			defined = append(defined, s.Name)
		}
	}
	return defined, undefined
}
