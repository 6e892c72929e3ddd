package preload

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jobeff/preload/record"
)

// fingerprint runs n ranks and returns what rank 0 says of its workload; the others
// must say nothing.
func fingerprint(t *testing.T, f family, env []string, n int, program string, args ...string) record.Slot {
	t.Helper()
	file := filepath.Join(t.TempDir(), "record")
	mustRun(t, mpirun(t, f, append(byHand(file), env...), n, program, args...))
	var zero record.Slot
	for _, s := range readSlots(t, file) {
		if s.Rank == 0 {
			zero = s
		} else if s.ArgsHash+s.InputHash+s.ExeHash+s.Workload != "" || s.Input != record.InputNotLooked {
			t.Errorf("rank %d: %+v", s.Rank, s)
		}
	}
	if zero.Size != n {
		t.Fatalf("%d ranks, want %d", zero.Size, n)
	}
	return zero
}

// b2sum is the hash that the library should come to.
func b2sum(t *testing.T, parts ...[]byte) string {
	t.Helper()
	cmd := exec.Command("b2sum", "-l", "128")
	cmd.Stdin = bytes.NewReader(bytes.Join(parts, nil))
	out, err := cmd.Output()
	must(t, err)
	return string(out[:32])
}

// asInput is how a file goes into an input's hash.
func asInput(content []byte, size int) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(size)), content...)
}

// sampled is what is read of a large file: four parts, spread from its begin to its end.
func sampled(content []byte) []byte {
	const part = 64 << 10
	var parts []byte
	for i := range 4 {
		from := (len(content) - part) * i / 3
		parts = append(parts, content[from:from+part]...)
	}
	return parts
}

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, content, 0o644))
	return path
}

// The same input and arguments give the same hashes on any number of ranks and with any
// MPI; another file, another argument give others.
func TestFingerprint(t *testing.T) {
	input, other := write(t, "in.melt", []byte("run 100\n")), write(t, "in.melt", []byte("run 200\n"))
	wantArgs := b2sum(t, []byte("-in\x00"+input+"\x00"))
	wantInput := b2sum(t, asInput([]byte("run 100\n"), 8))
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "workload.c")
		for _, n := range []int{1, 2, 4} {
			s := fingerprint(t, f, nil, n, program, "-in", input)
			if s.ArgsHash != wantArgs || s.InputHash != wantInput || s.Inputs != 1 || s.Input != record.InputKnown || s.Args != nil || s.Workload != "" {
				t.Errorf("%d ranks: %+v, want %s and %s", n, s, wantArgs, wantInput)
			}
		}
		must(t, os.WriteFile(other, []byte("run 200\n"), 0o644))
		was := fingerprint(t, f, nil, 1, program, other)
		must(t, os.WriteFile(other, []byte("run 300\n"), 0o644))
		is := fingerprint(t, f, nil, 1, program, other)
		if was.ArgsHash != is.ArgsHash || was.InputHash == is.InputHash {
			t.Errorf("another content: %+v, was %+v", is, was)
		}
		if is := fingerprint(t, f, nil, 1, program, other, "x"); is.ArgsHash == was.ArgsHash || is.Input != record.InputKnown {
			t.Errorf("another argument: %+v", is)
		}
	})
}

// Two nodes of one launcher, each with a record of its own, are one machine here: what is
// not rank 0's says nothing.
func TestFingerprintOnTwoNodes(t *testing.T) {
	input := write(t, "in.melt", []byte("run 100\n"))
	program := compile(t, mpich.cc, "workload.c")
	env := append(byHand(filepath.Join(t.TempDir(), "record")), "HYDRA_LAUNCHER=fork")
	r := run(t, env, "mpirun.mpich", "-launcher", "fork", "-hosts", "localhost,127.0.0.1", "-n", "2", "-ppn", "1", program, input)
	mustRun(t, r)
	slots := readSlots(t, strings.TrimPrefix(env[1], "JOBEFF_RECORD="))
	hashes := ""
	for _, s := range slots {
		hashes += s.InputHash
	}
	if len(slots) != 2 || hashes != b2sum(t, asInput([]byte("run 100\n"), 8)) {
		t.Errorf("%d slots, hashes %q", len(slots), hashes)
	}
}

// What is named may be anything: only regular files are inputs, and only of some size,
// number and kind.
func TestInputsOfEveryKind(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	big := make([]byte, 3<<20)
	for i := range big {
		big[i] = byte(i >> 12) // each 4 KiB are others
	}
	must(t, os.WriteFile(at("a"), []byte("A"), 0o644))
	must(t, os.WriteFile(at("b"), nil, 0o644))
	must(t, os.WriteFile(at("big"), big, 0o644))
	must(t, os.WriteFile(at("sparse"), nil, 0o644))
	must(t, os.Truncate(at("sparse"), 1<<30))
	must(t, syscall.Mkfifo(at("fifo"), 0o600))
	must(t, os.Symlink(at("a"), at("link")))
	var many []string
	for i := range 20 {
		many = append(many, at(fmt.Sprint("many", i)))
		must(t, os.WriteFile(many[i], []byte{byte(i)}, 0o644))
	}
	a, b := asInput([]byte("A"), 1), asInput(nil, 0)
	cases := []struct {
		name  string
		args  []string
		input record.Input
		of    []byte // what the hash is of
	}{
		{"no argument", nil, record.InputNone, nil},
		{"no file", []string{"-n", "4", "", at("missing"), "x=", "="}, record.InputNone, nil},
		{"two files and more", []string{at("a"), "-v", at("b"), at("missing")}, record.InputKnown, append(bytes.Clone(a), b...)},
		{"key=file", []string{"--in=" + at("a"), "key=" + at("b")}, record.InputKnown, append(bytes.Clone(a), b...)},
		{"link", []string{at("link")}, record.InputKnown, a},
		{"outputs", []string{"-o", at("a"), "--log-file", at("a"), "out=" + at("a"), "-in", at("b"), "--LOG=" + at("a")}, record.InputKnown, b},
		{"larger than what is read", []string{at("big")}, record.InputKnown, asInput(sampled(big), 3<<20)},
		{"sparse", []string{at("sparse")}, record.InputKnown, asInput(make([]byte, 256<<10), 1<<30)},
		{"fifo, directory, devices", []string{at("fifo"), folder, "/dev/zero", "/dev/tty", "/dev/stdin", "/proc/self/mem", "/proc/kmsg", "/sys/power/state"},
			record.InputNone, nil},
		{"sixteen", many[:16], record.InputKnown, sixteen()},
		{"twenty", many, record.InputMany, nil},
		{"a long command line", []string{strings.Repeat("x", 64<<10)}, record.InputLong, nil},
	}
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "workload.c")
		for _, c := range cases {
			s := fingerprint(t, f, nil, 1, program, c.args...)
			want := ""
			if c.of != nil {
				want = b2sum(t, c.of)
			}
			if s.Input != c.input || s.InputHash != want || (s.Inputs > 0) != (c.of != nil) || (s.ArgsHash == "") != (c.input == record.InputLong) {
				t.Errorf("%s: input %d, hash %q of %d, want %d, %q", c.name, s.Input, s.InputHash, s.Inputs, c.input, want)
			}
		}
	})
}

func sixteen() (of []byte) {
	for i := range byte(16) {
		of = append(of, asInput([]byte{i}, 1)...)
	}
	return of
}

// What the program does with its files goes on as if nobody had looked.
func TestInputsThatAreInUse(t *testing.T) {
	cases := []struct {
		name, variable, says string
		input                record.Input
	}{
		{"locked", "LOCK", "lock held\n", record.InputInUse},
		{"being read", "READ", "offset 5\n", record.InputKnown},
		{"being written", "WRITE", "", record.InputNone},
		{"being changed", "CHANGE", "", record.InputInUse},
	}
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "workload.c")
		for _, c := range cases {
			file, input := filepath.Join(t.TempDir(), "record"), write(t, "in", []byte("run 100\n"))
			r := mustRun(t, mpirun(t, f, append(byHand(file), c.variable+"="+input), 1, program, input))
			want := ""
			if c.input == record.InputKnown {
				want = b2sum(t, asInput([]byte("run 100\n"), 8))
			}
			for _, s := range readSlots(t, file) {
				if s.Rank == 0 && (s.Input != c.input || s.InputHash != want) || r.stdout != c.says {
					t.Errorf("%s: %q, %+v", c.name, r.stdout, s)
				}
			}
		}
	})
}

// Standard input is the program's alone, even where it is the file that is named.
func TestStandardInputIsNotRead(t *testing.T) {
	program := compile(t, mpich.cc, "workload.c")
	input := write(t, "in", []byte("all of it"))
	file := filepath.Join(t.TempDir(), "record")
	r := mustRun(t, run(t, byHand(file), "sh", "-c", `exec "$0" "$1" < "$1"`, program, input))
	if s := readSlots(t, file)[0]; r.stdout != "stdin all of it\n" || s.Input != record.InputInUse {
		t.Errorf("%q, input %d", r.stdout, s.Input)
	}
	file += "2"
	r = mustRun(t, run(t, byHand(file), "sh", "-c", `echo piped | "$0" /dev/stdin -`, program))
	if s := readSlots(t, file)[0]; r.stdout != "stdin piped\n\n" || s.Input != record.InputNone {
		t.Errorf("%q, input %d", r.stdout, s.Input)
	}
}

// A file that may not be read makes the input unknown, not another.
func TestUnreadableInput(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run a program as somebody else")
	}
	program := compile(t, mpich.cc, "workload.c")
	folder, err := os.MkdirTemp("/run", "jobeff-preload-test")
	must(t, err)
	defer os.RemoveAll(folder)
	must(t, os.Chmod(folder, 0o777))
	must(t, os.WriteFile(filepath.Join(folder, "mine"), nil, 0o600))
	for name, want := range map[string]record.Input{"mine": record.InputUnreadable, "none": record.InputNone} {
		file := filepath.Join(folder, "record-"+name)
		args := append([]string{"--reuid", "65534", "--clear-groups", "env", "HOME=/tmp"}, byHand(file)...)
		mustRun(t, run(t, nil, "setpriv", append(args, program, filepath.Join(folder, name))...))
		must(t, os.Chown(file, 0, 0))
		if s := readSlots(t, file)[0]; s.Input != want || s.InputHash != "" || s.ArgsHash == "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// A file that is not read in time, or lies where nothing is read, makes the input
// unknown. The library is built for it: with no time at all, and taking tmpfs for FUSE.
func TestInputIsNotReadEverywhere(t *testing.T) {
	folder, err := os.MkdirTemp("/dev/shm", "jobeff-preload-test")
	must(t, err)
	defer os.RemoveAll(folder)
	input := filepath.Join(folder, "in")
	must(t, os.WriteFile(input, []byte("run 100\n"), 0o644))
	program := compile(t, mpich.cc, "workload.c")
	for flag, want := range map[string]record.Input{"-DJE_WORKLOAD_NS=0": record.InputLate, "-DJE_FUSE_MAGIC=0x01021994": record.InputFUSE} {
		file := filepath.Join(t.TempDir(), "record")
		mustRun(t, mpirun(t, mpich, append(byHand(file), "LD_PRELOAD="+fakedLibrary(t, flag)), 1, program, input))
		if s := readSlots(t, file)[0]; s.Input != want || s.InputHash != "" || s.ArgsHash == "" {
			t.Errorf("%s: %+v", flag, s)
		}
	}
}

// The arguments' text is kept only where it is asked for; a name is always.
func TestArgumentsText(t *testing.T) {
	long := strings.Repeat("y", 1000)
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "workload.c")
		s := fingerprint(t, f, []string{"JOBEFF_ARGUMENTS=1", "JOBEFF_WORKLOAD=water"}, 2, program, "-in", "", "a b\n", long, "end")
		if got := strings.Join(s.Args, "|"); got != "-in||a b?|"+long+"|end" || s.Workload != "water" {
			t.Errorf("got %q, %q", got, s.Workload)
		}
		s = fingerprint(t, f, []string{"JOBEFF_ARGUMENTS=1", "JOBEFF_WORKLOAD=" + long}, 1, program, "-in", long+long, "end")
		if got := strings.Join(s.Args, "|"); got != "-in|…" || s.Workload != "" {
			t.Errorf("got %q, %q", got, s.Workload)
		}
	})
}

// An executable without a build-id has a hash of its file instead.
func TestExecutableHash(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		with := fingerprint(t, f, nil, 1, compile(t, f.cc, "workload.c"))
		program := compile(t, f.cc, "workload.c", "-Wl,--build-id=none")
		content, err := os.ReadFile(program)
		must(t, err)
		if _, err := elf.Open(program); err != nil || len(content) > 256<<10 {
			t.Fatalf("%d bytes, %v", len(content), err)
		}
		without := fingerprint(t, f, nil, 1, program)
		if want := b2sum(t, asInput(content, len(content))); with.ExeHash != "" || with.BuildID == "" || without.BuildID != "" || without.ExeHash != want {
			t.Errorf("with %q %q, without %q %q, want %q", with.BuildID, with.ExeHash, without.BuildID, without.ExeHash, want)
		}
		big := program + "-big"
		must(t, os.WriteFile(big, append(content, make([]byte, 3<<20)...), 0o755))
		was := fingerprint(t, f, nil, 1, big)
		must(t, os.WriteFile(big, append(append(content, make([]byte, 3<<20-1)...), 'x'), 0o755))
		if is := fingerprint(t, f, nil, 1, big); is.ExeHash == was.ExeHash || was.ExeHash == without.ExeHash || was.ExeHash == "" {
			t.Errorf("data at its end: %q, was %q", is.ExeHash, was.ExeHash)
		}
	})
}
