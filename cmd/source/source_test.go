package source

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest/job"
)

func TestMain(m *testing.M) {
	if os.Args[0] == Reader {
		os.Exit(Read(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// program is a C program with a build-id and lines, in which halo calls exchange.
func program(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "p.c")
	text := "int exchange(int n);\n__attribute__((noinline)) int exchange(int n)\n{\n\t__asm__ volatile(\"nop\");\n\treturn n + 1;\n}\nint halo(int n);\n__attribute__((noinline)) int halo(int n)\n{\n\treturn exchange(n) + 2;\n}\nint main(void)\n{\n\treturn halo(1);\n}\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "p")
	args := append([]string{"-g", "-O1", "-Wl,--build-id", "-o", to, source}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return to
}

// symbolAt returns where a function begins, and where it ends.
func symbolAt(t *testing.T, path, name string) (from, to uint64) {
	t.Helper()
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	all, err := e.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == name {
			return s.Value, s.Value + s.Size
		}
	}
	t.Fatalf("%s has no %s", path, name)
	return 0, 0
}

func idOf(t *testing.T, path string) string {
	t.Helper()
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return buildID(e)
}

// lookAt finds the names of one frame in a file.
func lookAt(t *testing.T, m job.Module, offset uint64) job.Frame {
	t.Helper()
	e := &job.Execution{Start: time.Now().Add(time.Hour), Places: &job.Places{Modules: []job.Module{m}, List: []job.Place{{Frames: []job.Frame{{Offset: offset}}}}}}
	find(context.Background(), e, e.Places != nil, true)
	if len(e.Places.List[0].Frames) != 1 || !e.Places.Looked {
		t.Fatalf("%+v", e.Places)
	}
	return e.Places.List[0].Frames[0]
}

func TestNames(t *testing.T) {
	path := program(t)
	at, _ := symbolAt(t, path, "exchange")
	f := lookAt(t, job.Module{Path: path, BuildID: idOf(t, path)}, at)
	if f.Symbol != "exchange" || filepath.Base(f.File) != "p.c" || f.Line < 2 || f.Line > 4 || f.Why != "" {
		t.Errorf("%+v", f)
	}
	if out, err := exec.Command("strip", "-g", path).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v\n%s", err, out)
	}
	if f := lookAt(t, job.Module{Path: path, BuildID: idOf(t, path)}, at); f.Symbol != "exchange" || f.Line != 0 || f.Why != noLines {
		t.Errorf("without lines: %+v", f)
	}
}

// TestWaits: the calls of waits get names, too, even in a job without places. An unknown one stays unknown.
func TestWaits(t *testing.T) {
	path := program(t)
	id := idOf(t, path)
	exchange, _ := symbolAt(t, path, "exchange")
	halo, _ := symbolAt(t, path, "halo")
	p := &job.WaitPath{Modules: []job.Module{{Path: "/none"}, {Path: path, BuildID: id}}, Links: []job.WaitLink{
		{Waits: job.CallAt{Frames: []job.Frame{{Module: 1, Offset: exchange}}}, For: job.CallAt{Frames: []job.Frame{{Module: 1, Offset: halo}}}},
		{Waits: job.CallAt{}, For: job.CallAt{Frames: []job.Frame{{Module: 0, Offset: halo}}}},
	}}
	e := job.Execution{Start: time.Now().Add(time.Hour), Windows: &job.Windows{Path: p}, Places: &job.Places{Modules: []job.Module{{Path: path, BuildID: id}},
		List: []job.Place{{Frames: []job.Frame{{Offset: halo}}}}}}
	Find(context.Background(), &job.Job{Executions: []job.Execution{e, {}, {Windows: &job.Windows{}}}}, true)
	if a, b := p.Links[0].Waits.Frames[0], p.Links[0].For.Frames[0]; a.Symbol != "exchange" || b.Symbol != "halo" || b.Line == 0 || !p.Looked {
		t.Errorf("%+v, %+v", a, b)
	}
	if l := p.Links[1]; len(l.Waits.Frames) != 0 || l.For.Frames[0].Symbol != "" || l.For.Frames[0].Why == "" {
		t.Errorf("%+v", l)
	}
	if f := e.Places.List[0].Frames[0]; f.Symbol != "halo" {
		t.Errorf("the place beside them is %+v", f)
	}
}

// TestCallsComeFirst: what is found until the bounds end the reader counts, and the calls themselves are found first.
func TestCallsComeFirst(t *testing.T) {
	path := program(t)
	inner, _ := symbolAt(t, path, "exchange")
	from, to := symbolAt(t, path, "halo")
	q := question{Modules: []job.Module{{Path: path, BuildID: idOf(t, path)}, {Path: "/none"}}, Frames: [][]frame{nil, {{1, 0}}}}
	for at := from; at < to; at++ {
		q.Frames = append(q.Frames, []frame{{0, inner}, {0, at}})
	}
	var names []string
	for f := range named(&q, opener{uid: os.Getuid(), users: true, left: mostBytes}) {
		if names = append(names, f.Symbol); f.Place == 0 || len(names) == 1 && f.Place != 1 {
			t.Errorf("%+v", f)
		}
	}
	want := slices.Concat([]string{""}, slices.Repeat([]string{"exchange"}, int(to-from)), []string{"halo"})
	if !slices.Equal(names, want) {
		t.Errorf("named are %q, want %q", names, want)
	}
	frames := []job.Frame{{Offset: inner}, {Offset: from}}
	none := slices.Clone(frames)
	if fillIn([]*[]job.Frame{&frames, &none}, [][]found{{{Symbol: "exchange"}}, nil}); len(frames) != 1 || frames[0].Symbol != "exchange" || len(none) != 1 || !strings.HasSuffix(none[0].Why, "try again") {
		t.Errorf("%+v, %+v", frames, none)
	}
}

// TestCallers: a caller is shown only if its instruction calls the function of the frame inside of it.
func TestCallers(t *testing.T) {
	for _, flags := range [][]string{nil, {"-no-pie"}, {"-fPIC", "-fno-plt"}, {"-fPIC", "-Wl,-z,now"}} {
		path := program(t, append(flags, "-rdynamic")...)
		id := idOf(t, path)
		inner, _ := symbolAt(t, path, "exchange")
		from, to := symbolAt(t, path, "halo")
		main, _ := symbolAt(t, path, "main")
		e := &job.Execution{Places: &job.Places{Modules: []job.Module{{Path: path, BuildID: id}}}}
		for at := from; at < to; at++ {
			for _, called := range []uint64{inner, main} {
				e.Places.List = append(e.Places.List, job.Place{Frames: []job.Frame{{Offset: called}, {Offset: at}}})
			}
		}
		find(context.Background(), e, e.Places != nil, true)
		sure := map[string]int{}
		for _, p := range e.Places.List {
			if len(p.Frames) == 2 {
				sure[p.Frames[0].Symbol]++
				if f := p.Frames[1]; f.Symbol != "halo" || f.Line != 10 {
					t.Errorf("%v: %+v", flags, f)
				}
			}
		}
		if len(sure) != 1 || sure["exchange"] != 1 {
			t.Errorf("%v: so many addresses of halo call %v, want one that calls exchange", flags, sure)
		}
	}
}

// TestHostileFiles: whatever a path names, the answer comes soon, and says why there is no name.
func TestHostileFiles(t *testing.T) {
	dir := t.TempDir()
	fifo, link, text, empty := filepath.Join(dir, "fifo"), filepath.Join(dir, "link"), filepath.Join(dir, "text"), filepath.Join(dir, "empty")
	huge := filepath.Join(dir, "huge")
	for _, err := range []error{
		syscall.Mkfifo(fifo, 0o644), os.Symlink(fifo, link), os.WriteFile(text, []byte("\x7fELF, not"), 0o644), os.WriteFile(empty, nil, 0o644),
		os.WriteFile(huge, []byte("x"), 0o644), os.Truncate(huge, mostBytes+1),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"": "not on this machine", "a/b": "not on this machine", filepath.Join(dir, "none"): "not on this machine",
		fifo: "no regular file", link: "no regular file", dir: "no regular file", "/dev/zero": "no regular file", "/proc/self/mem": "no regular file",
		"/sys/kernel/uevent_seqnum": "no regular file", "/proc/self/exe": "rebuilt since", text: "no ELF file", empty: "no regular file", huge: "more than 512 MB",
		"/tmp/\x1b[2J": "not on this machine",
	} {
		if f := lookAt(t, job.Module{Path: path, BuildID: "00"}, 1); !strings.Contains(f.Why, want) || f.Symbol != "" {
			t.Errorf("%q: %+v, want %q", path, f, want)
		}
	}
}

// TestOwners: a file of somebody else is not opened, and for root no user's file.
func TestOwners(t *testing.T) {
	path := program(t)
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	if err := os.Chown(path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		uid   int
		users bool
		opens bool
	}{{0, false, false}, {0, true, true}, {12345, false, true}, {12346, false, false}, {12346, true, false}} {
		o := opener{uid: tt.uid, users: tt.users, left: mostBytes}
		f, err := o.open(path)
		if f != nil {
			f.Close()
		}
		if (err == nil) != tt.opens {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	o := opener{uid: 0, left: mostBytes}
	if f, err := o.open("/bin/sh"); err != nil {
		t.Errorf("root's own: %v", err)
	} else {
		f.Close()
	}
}

// TestChangedFile: without a build-id, only a file that is older than the run is used.
func TestChangedFile(t *testing.T) {
	path := program(t, "-Wl,--build-id=none")
	at, _ := symbolAt(t, path, "exchange")
	if f := lookAt(t, job.Module{Path: path}, at); f.Symbol != "exchange" || f.Line == 0 {
		t.Errorf("an hour before the run: %+v", f)
	}
	e := &job.Execution{Start: time.Now().Add(-time.Hour), Places: &job.Places{Modules: []job.Module{{Path: path}}, List: []job.Place{{Frames: []job.Frame{{Offset: at}}}}}}
	find(context.Background(), e, e.Places != nil, true)
	if f := e.Places.List[0].Frames[0]; f.Symbol != "" || f.Why != errChanged.Error() {
		t.Errorf("since the run began: %+v", f)
	}
}

// FuzzFile: any file gives names or a reason. What else the parsers may do harms only a process of its own.
func FuzzFile(f *testing.F) {
	for _, flags := range [][]string{nil, {"-gz"}} {
		dir := f.TempDir()
		source, to := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
		if err := os.WriteFile(source, []byte("int f(int n) { return n; }\nint g(int n) { return f(n) + 1; }\n"), 0o644); err != nil {
			f.Fatal(err)
		}
		if out, err := exec.Command("gcc", append([]string{"-g", "-shared", "-nostdlib", "-Wl,--build-id", "-o", to, source}, flags...)...).CombinedOutput(); err != nil {
			f.Fatalf("gcc: %v\n%s", err, out)
		}
		text, err := os.ReadFile(to)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint64(0x1000), uint64(0x1010))
	}
	f.Fuzz(func(t *testing.T, text []byte, at, call uint64) {
		if len(text) > 1<<20 {
			return
		}
		e, err := elf.NewFile(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, s := range e.Sections {
			if s.Size > 1<<20 || s.FileSize > 1<<20 { // a bomb: the process's limits are for it
				return
			}
		}
		buildID(e)
		debugLink(e)
		m := safely(func() *module {
			m := &module{code: e, names: []*elf.File{e}}
			m.read()
			return m
		})
		m.name(at)
		if m.code != nil {
			calls(m, call, m, at)
		}
	})
}

// TestReaderDies: a broken question, or a reader that is gone, leaves places as they are.
func TestReaderDies(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Stdin, cmd.Stdout = []string{Reader}, strings.NewReader("{"), &out
	if err := cmd.Run(); err == nil || out.Len() != 0 {
		t.Errorf("%v, %q", err, out.String())
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	e := &job.Execution{Places: &job.Places{Modules: []job.Module{{}}, List: []job.Place{{Frames: []job.Frame{{Offset: 1}, {Offset: 2}}}, {}}}}
	find(ended, e, e.Places != nil, false)
	if got := e.Places.List[0].Frames; len(got) != 1 || got[0].Why == "" {
		t.Errorf("%+v", got)
	}
	if _, err := json.Marshal(e.Places); err != nil {
		t.Error(err)
	}
}

// TestSymbolsOfCpp: a symbol of C++ is shown as its author wrote it. A name that only looks like one stays as it is.
func TestSymbolsOfCpp(t *testing.T) {
	for name, want := range map[string]string{
		"exchange_halo_":               "exchange_halo_",
		"_ZN4Halo8exchangeEi":          "Halo::exchange",
		"_ZN4Halo4sendIdEEvRKT_":       "Halo::send<double>",
		"_ZN":                          "_ZN",
		"_Z" + strings.Repeat("N", 99): "_Z" + strings.Repeat("N", 99),
	} {
		m := &module{symbols: []symbol{{0, 9, name}}}
		if got := m.name(5).Symbol; got != want {
			t.Errorf("%s is shown as %q, want %q", name, got, want)
		}
	}
	twice := "_Z1fI1A" // each type holds the one before it twice
	for i := range 30 {
		last := strings.ToUpper(strconv.FormatInt(int64(2*i), 36))
		twice += "1BIS" + last + "_S" + last + "_E"
	}
	m := &module{symbols: []symbol{{0, 9, twice + "Evv"}}}
	if got := m.name(5).Symbol; len(got) > mostName || !strings.HasPrefix(got, "f<A, B<A, A>") {
		t.Errorf("a name that doubles is shown with %d bytes: %.40q", len(got), got)
	}
}
