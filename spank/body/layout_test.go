package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// installed is what `make install` puts into /usr/lib/jobeff.
func installed(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("make install builds every program that changed")
	}
	for _, f := range []string{"../../packaging/install.sh", "../../preload/build.mk"} {
		if _, err := os.ReadFile(f); err != nil { // as in buildParts
			t.Fatal(err)
		}
	}
	dest := t.TempDir()
	if out, err := exec.Command("make", "-s", "-C", "../..", "install", "DESTDIR="+dest).CombinedOutput(); err != nil {
		t.Fatalf("make install: %v\n%s", err, out)
	}
	return dest + "/usr/lib/jobeff"
}

// loads runs program with a preload in place of its own work and returns what ld.so
// lists as loaded, and what the program and ld.so print.
func loads(t *testing.T, program, preload string) (list, printed string) {
	t.Helper()
	run := func(env ...string) string {
		cmd := exec.Command(program)
		cmd.Env = append(env, "LD_PRELOAD="+preload)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s with %s: %v\n%s", program, preload, err, out)
		}
		return string(out)
	}
	return run("LD_TRACE_LOADED_OBJECTS=1"), run()
}

// A process loads the library that fits it, or an empty one: ld.so has nothing to say.
func TestProcessesOfEveryClass(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the other class is x86's")
	}
	lib := installed(t)
	through := lib + "/$PLATFORM/libjobeff.so"
	build := func(name string, command ...string) string {
		program := filepath.Join(t.TempDir(), name)
		cmd := exec.Command(command[0], append(command[1:], "-x", "c", "-", "-o", program)...)
		cmd.Stdin = strings.NewReader("int main(void) { return 0; }")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", command, err, out)
		}
		return program
	}
	wide, narrow, musl := build("wide", "gcc"), build("narrow", "gcc", "-m32"), build("musl", "musl-gcc")
	for _, c := range []struct{ name, program, preload, loaded, prints string }{
		{"64-bit, the oldest name", wide, lib + "/x86_64/libjobeff.so", lib + "/x86_64/libjobeff.so", ""},
		{"64-bit", wide, through, "/libjobeff.so", ""},
		{"32-bit", narrow, through, lib + "/i686/libjobeff.so", ""},
		{"32-bit, without $PLATFORM", narrow, lib + "/libjobeff.so", "", "wrong ELF class: ELFCLASS64"},
		{"static", build("static", "gcc", "-static"), through, "", ""},
		{"musl, which does not know $PLATFORM", musl, through, "", ""},
	} {
		list, printed := loads(t, c.program, c.preload)
		if c.loaded != "" && !strings.Contains(list, c.loaded+" ") {
			t.Errorf("%s: loaded is\n%swant %s", c.name, list, c.loaded)
		}
		if !strings.Contains(printed, c.prints) || (c.prints == "") != (printed == "") {
			t.Errorf("%s: printed %q, want %q", c.name, printed, c.prints)
		}
	}
}

// Whatever stands for $PLATFORM is a link inside the folder, or a library without needs.
func TestLayoutOfPlatforms(t *testing.T) {
	lib := installed(t)
	links, err := filepath.Glob(lib + "/*/libjobeff.so")
	if err != nil || len(links) < 2 {
		t.Fatalf("only %q, %v", links, err)
	}
	for _, file := range links {
		if target, err := os.Readlink(file); err == nil {
			if filepath.Join(filepath.Dir(file), target) != lib+"/libjobeff.so" || filepath.IsAbs(target) {
				t.Errorf("%s leads to %s", file, target)
			}
			continue
		}
		f, err := elf.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		needs, _ := f.ImportedLibraries()
		symbols, _ := f.DynamicSymbols()
		if f.Class != elf.ELFCLASS32 || f.Machine != elf.EM_386 || len(needs) > 0 || len(symbols) > 0 {
			t.Errorf("%s is %v for %v, needs %q, has symbols %v", file, f.Class, f.Machine, needs, symbols)
		}
		f.Close()
	}
}

// What LD_PRELOAD says with and without the folders that $PLATFORM stands for. An outer
// step may have been of a node with the other layout.
func TestLayouts(t *testing.T) {
	n := newNode(t)
	n.prolog(30)
	for _, part := range []string{"host", "jobeff_spank.so", "jobeff_spank_body.so", "libjobeff.so"} {
		if out, err := exec.Command("cp", "-p", filepath.Join(n.parts, part), n.path(part)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	n.parts = n.dir
	through, plain := n.path("$PLATFORM", "libjobeff.so"), n.path("libjobeff.so")
	preload := func(words ...string) string {
		out, _ := n.host(append(stepWords(30, 0, words...), "call=task_init", "print=env")...)
		for line := range strings.Lines(out) {
			if list, ok := strings.CutPrefix(line, "LD_PRELOAD="); ok {
				return strings.TrimSpace(list)
			}
		}
		return ""
	}
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: LD_PRELOAD=%s, want %s", what, got, want)
		}
	}
	want("without folders", preload("env=LD_PRELOAD=/a.so:"+through), plain+":/a.so")
	os.Mkdir(n.path("x86_64"), 0o755)
	if err := os.Symlink("../libjobeff.so", n.path("x86_64", "libjobeff.so")); err != nil {
		t.Fatal(err)
	}
	want("with folders", preload(), through)
	want("in a step", preload("env=LD_PRELOAD=/a.so:"+through), through+":/a.so")
	want("in a step of another layout", preload("env=LD_PRELOAD="+plain+":/a.so"), through+":/a.so")
	want("in a step, switched off", preload("env=LD_PRELOAD=/a.so:"+through, "option=jobeff:off"), "/a.so")
	want("plain by plugstack.conf", preload("arg=preload="+plain), plain)
	os.Chmod(plain, 0o600)
	want("root's alone", preload("env=LD_PRELOAD=/a.so"), "/a.so")
	os.Chmod(plain, 0o644)
	words := append(stepWords(30, 0, "env=LD_PRELOAD=/a.so"), "unlink="+plain, "call=task_init", "print=env")
	if out, _ := n.host(words...); !strings.HasPrefix(out, "LD_PRELOAD=/a.so\n") {
		t.Errorf("hidden in a container: %s", out)
	}
}
