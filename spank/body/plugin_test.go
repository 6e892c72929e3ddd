package main

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPreloadList(t *testing.T) {
	dir, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	for _, lib := range []string{"/opt/je/libjobeff.so", "/opt/je/$PLATFORM/libjobeff.so"} {
		names := strings.NewReplacer("$PLATFORM", "$PLATFORM", "L", lib)
		for _, c := range []struct{ list, want string }{ // [stripped] [joined] other
			{"-", "[] [L] 0"},
			{"", "[] [L] 0"},
			{"/a.so", "[/a.so] [L:/a.so] 0"},
			{"/a.so:/b.so", "[/a.so:/b.so] [L:/a.so:/b.so] 0"},
			{"/a.so /b.so", "[/a.so /b.so] [L:/a.so /b.so] 0"},
			{"/a.so:", "[/a.so:] [L:/a.so:] 0"},
			{"L", "[] [L] 0"},
			{"/a.so:L", "[/a.so] [L:/a.so] 0"},
			{"/a.so::L", "[/a.so:] [L:/a.so:] 0"},
			{"L:/a.so", "[/a.so] [L:/a.so] 0"},
			{"/a.so:L:/b.so", "[/a.so:/b.so] [L:/a.so:/b.so] 0"},
			{"/a.so L", "[/a.so] [L:/a.so] 0"},
			{"L:L", "[] [L] 0"},
			{"/x/L", "[/x/L] [L:/x/L] 1"},
			{"/a.so:/opt/je/$PLATFORM/libjobeff.so", "[/a.so] [L:/a.so] 0"},
			{"/opt/je/libjobeff.so:/a.so", "[/a.so] [L:/a.so] 0"},
			{"/opt/je//libjobeff.so", "[] [L] 0"}, // $PLATFORM after eval in a shell
			{"/opt/je/libjobeff.so:L", "[] [L] 0"},
			{"/opt/je/lib64/libjobeff.so", "[/opt/je/lib64/libjobeff.so] [L:/opt/je/lib64/libjobeff.so] 1"},
			{"/opt/je/$PLATFORM/other.so", "[/opt/je/$PLATFORM/other.so] [L:/opt/je/$PLATFORM/other.so] 0"},
			{"/opt/jet/$PLATFORM/libjobeff.so", "[/opt/jet/$PLATFORM/libjobeff.so] [L:/opt/jet/$PLATFORM/libjobeff.so] 1"},
			{"libjobeff.so", "[libjobeff.so] [L:libjobeff.so] 0"},
			{"/other/libjobeff.so:/a.so", "[/other/libjobeff.so:/a.so] [L:/other/libjobeff.so:/a.so] 1"},
			{"/x/libasan.so.8:/a.so", "[/x/libasan.so.8:/a.so] [/x/libasan.so.8:L:/a.so] 0"},
			{"/a.so /x/libtsan.so:/b.so", "[/a.so /x/libtsan.so:/b.so] [/a.so /x/libtsan.so:L:/b.so] 0"},
			{"libclang_rt.asan-x86_64.so", "[libclang_rt.asan-x86_64.so] [libclang_rt.asan-x86_64.so:L] 0"},
			{"/usr/libexec/valgrind/vgpreload_core.so:L ", "[/usr/libexec/valgrind/vgpreload_core.so:] [/usr/libexec/valgrind/vgpreload_core.so:L:] 0"},
		} {
			out, err := exec.Command(dir+"/preload_list", names.Replace(c.list), lib).Output()
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(out), names.Replace(c.want)+"\n"; got != want {
				t.Errorf("%s in %q:\n got %swant %s", lib, c.list, got, want)
			}
		}
	}
}

// Slurm calls whatever is exported under its names, and a plugin that needs more
// than libc would drag it into slurmd.
func TestPluginExportsAndNeeds(t *testing.T) {
	dir, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(dir + "/jobeff_spank.so")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	allowed := regexp.MustCompile(`^(plugin_(name|type|version)|spank_plugin_version|jobeff_releases|slurm_spank_\w+)$`)
	exported := 0
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF {
			continue
		}
		exported++
		if !allowed.MatchString(s.Name) {
			t.Errorf("exports %s", s.Name)
		}
	}
	if exported < 12 {
		t.Errorf("only %d symbols are exported", exported)
	}
	libs, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, lib := range libs {
		if lib != "libc.so.6" && lib != "libdl.so.2" {
			t.Errorf("needs %s", lib)
		}
	}
}

// Every release of Slurm sees its own number. In one that is not known the options are there,
// and nothing happens on the node.
func TestReleases(t *testing.T) {
	for _, c := range []struct {
		api      int
		version  string
		measures bool
	}{
		{38, "160500", true}, {39, "170200", true}, {40, "170b00", true}, {41, "180500", true}, {42, "180b00", true},
		{43, "190500", true}, {44, "190b00", true}, {45, "1a0500", true}, {46, "1a0b00", false}, {47, "1b0500", false},
	} {
		n := newNode(t)
		n.env = append(n.env, fmt.Sprint("HOST_API=", c.api))
		out, logged := n.host("print=version", "context=allocator", "call=init", "option=jobeff:off")
		if want := c.version + "\noption jobeff: 0\n"; out != want || logged != "" {
			t.Errorf("API %d: printed %q, want %q; logged %q", c.api, out, want, logged)
		}
		n.prolog(30)
		env := n.step(30, 0)
		if got := strings.Contains(env, "LD_PRELOAD="); got != c.measures {
			t.Errorf("API %d: the task's environment is %q", c.api, env)
		}
		if !c.measures && len(n.entries()) > 0 {
			t.Errorf("API %d: /run/jobeff has %q", c.api, n.entries())
		}
		n.epilog(30)
		if got := len(n.entries()) == 0; !got {
			t.Errorf("API %d: left %q", c.api, n.entries())
		}
	}
}

func TestOptions(t *testing.T) {
	n := newNode(t)
	for _, c := range []struct{ context, option, want, says string }{
		{"allocator", "jobeff:off", "0", ""},
		{"allocator", "jobeff:on", "0", ""},
		{"local", "jobeff:maybe", "-1", "--jobeff takes on or off"},
		{"allocator", "jobeff:", "-1", "--jobeff takes on or off"},
		{"remote", "jobeff:maybe", "0", ""},
		{"local", "jobeff-workload:water/box-1", "0", ""},
		{"local", "jobeff-workload:a b", "-1", "--jobeff-workload takes a name"},
		{"local", "jobeff-workload:" + strings.Repeat("x", 100000), "-1", "--jobeff-workload takes a name"},
		{"remote", "jobeff-workload:x\ny", "0", ""},
	} {
		out, logged := n.host("context="+c.context, "call=init", "option="+c.option)
		name, _, _ := strings.Cut(c.option, ":")
		if out != "option "+name+": "+c.want+"\n" || !strings.Contains(logged, c.says) || (c.says == "") != (logged == "") {
			t.Errorf("%s %.40q: %q, %q", c.context, c.option, out, logged)
		}
	}
}

// What a step's tasks get, by what its user set. LIB is the library's path.
func TestTaskEnvironment(t *testing.T) {
	n := newNode(t)
	n.prolog(5)
	lib := n.parts + "/libjobeff.so"
	injected := "APPTAINERENV_LD_PRELOAD=\nJOBEFF_RECORD_FILE=/run/jobeff/5/ranks\nJOBEFF_WINDOWS=4\nLD_PRELOAD=LIB\nSINGULARITYENV_LD_PRELOAD=\n"
	for name, c := range map[string]struct {
		words []string
		want  string
	}{
		"nothing set": {nil, injected},
		"own preload": {[]string{"env=LD_PRELOAD=/a.so:/b.so"},
			"APPTAINERENV_LD_PRELOAD=/a.so:/b.so\nJOBEFF_RECORD_FILE=/run/jobeff/5/ranks\nJOBEFF_WINDOWS=4\nLD_PRELOAD=LIB:/a.so:/b.so\nSINGULARITYENV_LD_PRELOAD=/a.so:/b.so\n"},
		"own preload for containers": {[]string{"env=APPTAINERENV_LD_PRELOAD=/c.so"},
			"APPTAINERENV_LD_PRELOAD=/c.so\nJOBEFF_RECORD_FILE=/run/jobeff/5/ranks\nJOBEFF_WINDOWS=4\nLD_PRELOAD=LIB\nSINGULARITYENV_LD_PRELOAD=/c.so\n"},
		"own preload by the other name": {[]string{"env=SINGULARITYENV_LD_PRELOAD=/c.so"},
			"APPTAINERENV_LD_PRELOAD=/c.so\nJOBEFF_RECORD_FILE=/run/jobeff/5/ranks\nJOBEFF_WINDOWS=4\nLD_PRELOAD=LIB\nSINGULARITYENV_LD_PRELOAD=/c.so\n"},
		"own preload for containers in a step": {[]string{"env=LD_PRELOAD=LIB", "env=APPTAINERENV_LD_PRELOAD=/c.so", "env=SINGULARITYENV_LD_PRELOAD="},
			"APPTAINERENV_LD_PRELOAD=/c.so\nJOBEFF_RECORD_FILE=/run/jobeff/5/ranks\nJOBEFF_WINDOWS=4\nLD_PRELOAD=LIB\nSINGULARITYENV_LD_PRELOAD=/c.so\n"},
		"own preloads by both names": {[]string{"env=SINGULARITYENV_LD_PRELOAD=/c.so", "env=APPTAINERENV_LD_PRELOAD=/d.so"},
			"APPTAINERENV_LD_PRELOAD=/d.so\nJOBEFF_RECORD_FILE=/run/jobeff/5/ranks\nJOBEFF_WINDOWS=4\nLD_PRELOAD=LIB\nSINGULARITYENV_LD_PRELOAD=/c.so\n"},
		"inside a step":           {[]string{"env=LD_PRELOAD=LIB", "env=JOBEFF_RECORD_FILE=/run/jobeff/4/ranks", "env=APPTAINERENV_LD_PRELOAD=", "env=SINGULARITYENV_LD_PRELOAD="}, injected},
		"JOBEFF=off":              {[]string{"env=JOBEFF=off"}, "JOBEFF=off\n"},
		"JOBEFF=off in a step":    {[]string{"env=JOBEFF=off", "env=LD_PRELOAD=/a.so:LIB", "env=JOBEFF_RECORD_FILE=/run/jobeff/5/ranks"}, "JOBEFF=off\nLD_PRELOAD=/a.so\n"},
		"JOBEFF=off, and windows": {[]string{"env=JOBEFF=off", "env=LD_PRELOAD=LIB", "env=JOBEFF_WINDOWS=4"}, "JOBEFF=off\n"},
		"JOBEFF=off, own windows": {[]string{"env=JOBEFF=off", "env=LD_PRELOAD=LIB", "env=JOBEFF_WINDOWS=16"}, "JOBEFF=off\nJOBEFF_WINDOWS=16\n"},
		"--jobeff=off":            {[]string{"option=jobeff:off"}, ""},
		"--jobeff=on":             {[]string{"option=jobeff:on"}, injected},
		"forged option":           {[]string{"option=jobeff:\x1b"}, injected},
		"library missing":         {[]string{"arg=preload=/nowhere/libjobeff.so"}, ""},
		"library not loadable":    {[]string{"arg=preload=LIB:/x"}, ""},
		"own libjobeff.so":        {[]string{"env=LD_PRELOAD=/home/a/libjobeff.so", "env=JOBEFF_RECORD=r"}, "JOBEFF_RECORD=r\nLD_PRELOAD=/home/a/libjobeff.so\n"},
		"own record by hand":      {[]string{"env=JOBEFF_RECORD_FILE=/home/a/r", "option=jobeff:off"}, "JOBEFF_RECORD_FILE=/home/a/r\n"},
		"extern step":             {[]string{"step=4294967292"}, ""},
		"batch and interactive":   {[]string{"step=4294967291"}, injected},
		"hidden in a container":   {[]string{"arg=preload=" + n.path("copy.so"), "env=LD_PRELOAD=/a.so"}, ""},
		"seen in no container":    {[]string{"arg=preload=" + n.path("copy.so")}, ""},
		"another user's library":  {[]string{"arg=preload=" + n.path("secret.so")}, ""},
	} {
		n.write("", 0o755, "copy.so")
		n.write("", 0o600, "secret.so")
		words := slices.Clone(c.words)
		want := c.want
		if name == "hidden in a container" {
			want = "APPTAINERENV_LD_PRELOAD=/a.so\nLD_PRELOAD=/a.so\nSINGULARITYENV_LD_PRELOAD=/a.so\n"
		}
		if name == "seen in no container" {
			want = strings.ReplaceAll(injected, "LIB", n.path("copy.so"))
		}
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "LIB", lib)
		}
		all := stepWords(5, 0, words...)
		if name == "hidden in a container" {
			all = append(all, "unlink="+n.path("copy.so"))
		}
		out, _ := n.host(append(all, "call=task_init", "print=env")...)
		lines := slices.DeleteFunc(strings.SplitAfter(out, "\n"), func(l string) bool { return strings.HasPrefix(l, "option ") })
		slices.Sort(lines)
		out = strings.ReplaceAll(strings.Join(lines, ""), lib, "LIB")
		if d := cmp.Diff(want, out); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
}

// events are the lines of `steps` without their clocks.
func (n *testNode) events(dir string) string {
	clocks := regexp.MustCompile(`(?m)^(\w+ \w+) [1-9][0-9]+ 1[0-9]{18}`)
	return clocks.ReplaceAllString(n.read("run", dir, "steps"), "$1 MONO REAL")
}

func TestEvents(t *testing.T) {
	n := newNode(t)
	n.prolog(6)
	n.step(6, 0, "array=4", "arraytask=3", "option=jobeff-workload:water")
	n.step(6, 1, "array=6", "arraytask=4294967294", "env=JOBEFF=off")
	n.step(6, 2, "command=/usr/bin/apptainer")
	n.step(6, 3, "command=/usr/bin/apptainer2")
	n.write("", 0o644, "etc", "off")
	n.step(6, 4294967290)
	n.step(6, 4294967292)
	n.step(6, 4294967291, "command=/var/spool/slurmd/job00006/slurm_script", "command=a", "command=secret", "env=SLURM_NTASKS=8")
	want := `step 0 MONO REAL tasks=1 ntasks=2 nnodes=2 nodeid=1 array_job=4 array_task=3 cpus=1 workload=water
exit 0 MONO REAL pid=77 task=1 status=9
end 0 MONO REAL
step 1 MONO REAL tasks=1 ntasks=2 nnodes=2 nodeid=1 cpus=1 off=1 reason=asked by the step (JOBEFF=off)
exit 1 MONO REAL pid=77 task=1 status=9
end 1 MONO REAL
step 2 MONO REAL tasks=1 ntasks=2 nnodes=2 nodeid=1 cpus=1 container=1
exit 2 MONO REAL pid=77 task=1 status=9
end 2 MONO REAL
step 3 MONO REAL tasks=1 ntasks=2 nnodes=2 nodeid=1 cpus=1
exit 3 MONO REAL pid=77 task=1 status=9
end 3 MONO REAL
step interactive MONO REAL tasks=1 ntasks=2 nnodes=2 nodeid=1 cpus=1 off=1 reason=switched off on this node (/etc/jobeff/off)
exit interactive MONO REAL pid=77 task=1 status=9
end interactive MONO REAL
step extern MONO REAL tasks=1 ntasks=2 nnodes=2 nodeid=1 cpus=1
exit extern MONO REAL pid=77 task=1 status=9
end extern MONO REAL
step batch MONO REAL tasks=1 ntasks=2 nnodes=2 nodeid=1 cpus=1 args=d169b22ededb85af03252b6935a44391 asked=8 off=1 reason=switched off on this node (/etc/jobeff/off)
exit batch MONO REAL pid=77 task=1 status=9
end batch MONO REAL
`
	if d := cmp.Diff(want, n.events("6")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// startSteps runs so many steps of a job that all begin at the same moment.
func startSteps(n *testNode, job, steps int) {
	n.t.Helper()
	var running []*exec.Cmd
	for i := range steps {
		cmd := n.command(stepWords(job, i)...)
		if err := cmd.Start(); err != nil {
			n.t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			n.t.Error(err)
		}
	}
	if got := strings.Count(n.read("run", fmt.Sprint(job), "steps"), "\n"); got != steps {
		n.t.Errorf("%d events, want %d", got, steps)
	}
}

func TestStepsAtOnce(t *testing.T) {
	n := newNode(t)
	n.prolog(7)
	startSteps(n, 7, 16)
	if strings.Contains(n.read("run", "7", "steps"), "off=") {
		t.Errorf("a step was not measured:\n%s", n.read("run", "7", "steps"))
	}
	checkRanks(t, n, "7", 64<<20)
}

// Where no prolog ran, the steps make the directory, once, however many begin at the same moment.
// Nothing bounds what a record would take, so there is none, and each step says so.
func TestStepsAtOnceWithoutProlog(t *testing.T) {
	n := newNode(t)
	n.prolog(6) // notes that the site measures all jobs
	n.epilog(6)
	startSteps(n, 7, 16)
	if got := n.entries(); !slices.Equal(got, []string{"7"}) {
		t.Errorf("/run/jobeff holds %q", got)
	}
	files, err := filepath.Glob(n.path("run", "7", "*"))
	if err != nil || len(files) != 3 {
		t.Errorf("the directory holds %q, %v; want decision, job and steps", files, err)
	}
	if got := strings.Count(n.read("run", "7", "steps"), "off=1 reason=no prolog "); got != 16 {
		t.Errorf("%d steps say why they are not measured:\n%s", got, n.read("run", "7", "steps"))
	}
}

// Without a prolog a step makes the record where the epilog will unmount it: in the mount namespace of
// the node's pid 1, and in no other.
func TestStepMakesTheRecord(t *testing.T) {
	n := newNode(t)
	n.prolog(6) // notes that the site measures all jobs
	n.epilog(6)
	for in, measured := range map[string]bool{`"$@"; exit $?`: true, `unshare --mount "$@"; exit $?`: false} {
		words := slices.Concat([]string{"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", in, "sh", n.parts + "/host", n.parts + "/jobeff_spank.so"},
			stepWords(7, 0), []string{"print=env"})
		out, err := n.enter(words...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "LD_PRELOAD="+n.parts) != measured {
			t.Errorf("%s: the task got %q, %v", in, out, err)
		}
	}
}

// checkRanks checks the head and owner of a job's record file.
func checkRanks(t *testing.T, n *testNode, job string, most int64) {
	t.Helper()
	f, err := os.Open(n.path("run", job, "record", "ranks"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := make([]byte, 96)
	if _, err := f.ReadAt(head, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(head, []byte("JOBEFFR1")) {
		t.Errorf("head %q", head[:8])
	}
	if nonce := "nonce " + hex.EncodeToString(head[24:40]) + "\n"; !strings.Contains(n.read("run", job, "job"), nonce) {
		t.Errorf("the record's %s is not the job's", nonce)
	}
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() > most || st.Size() < most-32<<10 || st.Mode() != 0o600 {
		t.Errorf("the record has %d bytes, at most %d are allowed, mode %v", st.Size(), most, st.Mode())
	}
	if out, _ := exec.Command("stat", "-c", "%u %g %h", f.Name()).Output(); string(out) != fmt.Sprintf("%d 0 1\n", user) {
		t.Errorf("the record's owner, group and names are %s", out)
	}
}

func TestRecordBytes(t *testing.T) {
	n := newNode(t)
	n.write("[measure]\nrecord_mib = 3\n", 0o644, "etc", "jobeff.toml")
	n.prolog(8)
	n.step(8, 0)
	checkRanks(t, n, "8", 3<<20)
}

// The site's wishes for hardware counters, windows and the arguments' text reach the tasks; the user's own
// word stays. Of windows alone the site has a wish by default.
func TestSitesWishes(t *testing.T) {
	for setting, want := range map[string]map[string]string{
		"[measure]\n":                    {"WINDOWS": "4"},
		"[measure]\nwindows_mib = 0\n":   {},
		"[measure]\ncounters = true\n":   {"WINDOWS": "4", "COUNTERS": "1"},
		"[workload]\narguments = true\n": {"WINDOWS": "4", "ARGUMENTS": "1"},
	} {
		n := newNode(t)
		n.write(setting, 0o644, "etc", "jobeff.toml")
		n.prolog(8)
		for _, own := range []string{"", "COUNTERS", "WINDOWS", "ARGUMENTS"} {
			var words []string
			if own != "" {
				words = []string{"env=JOBEFF_" + own + "=9"}
			}
			got := map[string]string{}
			for _, line := range strings.Split(n.step(8, 0, words...), "\n") {
				name, value, _ := strings.Cut(strings.TrimPrefix(line, "JOBEFF_"), "=")
				if name == "COUNTERS" || name == "WINDOWS" || name == "ARGUMENTS" {
					got[name] += value
				}
			}
			both := maps.Clone(want)
			if own != "" {
				both[own] = "9"
			}
			if !maps.Equal(got, both) {
				t.Errorf("%q and %q: the task got %v, want %v", setting, words, got, both)
			}
		}
	}
}

// A job's directory that is not root's own is left alone, and nothing is measured.
func TestForeignDirectories(t *testing.T) {
	for name, prepare := range map[string]func(n *testNode){
		"symlink": func(n *testNode) { os.Mkdir(n.path("run"), 0o700); os.Symlink(n.path("etc"), n.path("run", "9")) },
		"file":    func(n *testNode) { os.Mkdir(n.path("run"), 0o700); n.write("x", 0o600, "run", "9") },
		"the user's": func(n *testNode) {
			n.prolog(9)
			os.Chown(n.path("run", "9"), user, user)
		},
		"nothing":                     func(n *testNode) { n.prolog(9) },
		"written by all":              func(n *testNode) { n.prolog(9); os.Chmod(n.path("top"), 0o777) },
		"notes written by a group":    func(n *testNode) { n.prolog(9); os.Chmod(n.path("run"), 0o720) },
		"a job's, written by a group": func(n *testNode) { n.prolog(9); os.Chmod(n.path("run", "9"), 0o720) },
		"ranks is a link": func(n *testNode) {
			n.prolog(9)
			os.Remove(n.path("run", "9", "record", "ranks"))
			os.Symlink("/etc/passwd", n.path("run", "9", "record", "ranks"))
		},
	} {
		n := newNode(t)
		prepare(n)
		if env := n.step(9, 0); (env == "") == (name == "nothing") {
			t.Errorf("%s: the task got %q", name, env)
		}
		if entries, _ := filepath.Glob(n.path("etc", "*")); len(entries) > 0 {
			t.Errorf("%s: wrote through a link: %q", name, entries)
		}
	}
}

// A tmpfs without room or inodes switches measuring off and nothing else.
func TestFullRunDirectory(t *testing.T) {
	for name, options := range map[string]string{
		"no inodes":         "mode=711,nr_inodes=1",
		"inodes for half":   "mode=711,nr_inodes=3",
		"inodes, no record": "mode=711,nr_inodes=4",
		"one page":          "mode=711,size=4k",
	} {
		n := newNode(t)
		n.run = options
		words := append(script(10, "job_prolog"), stepWords(10, 0)...)
		out, _ := n.host(append(words, "call=task_init", "print=env", "pid=7", "task=0", "status=0", "call=task_exit", "call=exit",
			"context=script", "call=job_epilog")...)
		if out != "" {
			t.Errorf("%s: the task got %q", name, out)
		}
	}
}
