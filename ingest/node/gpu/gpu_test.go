package gpu

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// TestMain lets this program be the reader, too.
func TestMain(m *testing.M) {
	if os.Args[0] == Name {
		os.Exit(Read(os.Args[1:], os.Stdout))
	}
	code := m.Run()
	os.RemoveAll(builtIn)
	os.Exit(code)
}

var builtIn string

// standIns are folders with a library that stands in for NVIDIA's: as it is now, and as it was before it counted samples.
var standIns = sync.OnceValues(func() (map[string]string, error) {
	dir, err := os.MkdirTemp("", "jobeff-gpu")
	builtIn = dir
	folders := map[string]string{"now": dir + "/now", "older": dir + "/older"}
	for which, folder := range folders {
		if err == nil {
			err = os.Mkdir(folder, 0o755)
		}
		args := []string{"-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", folder + "/libnvidia-ml.so.1", "../../../test/plugins/nvml.c", "-ldl"}
		if which == "older" {
			args = append(args, "-DOLD")
		}
		if err == nil {
			var said []byte
			if said, err = exec.Command("gcc", args...).CombinedOutput(); err != nil {
				err = fmt.Errorf("%w: %s", err, said)
			}
		}
	}
	if err == nil {
		err = os.Chmod(dir, 0o755) // nobody reads it
	}
	return folders, err
})

// began is when the jobs of these tests began; they took ten minutes.
var began = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

const took = 10 * time.Minute

// at is a moment of the job in us.
func at(after time.Duration) int64 { return began.Add(after).UnixMicro() }

// ran is a line of the stand-in about a process.
func ran(pid int, start, life time.Duration, samples, busy, memory, running int) string {
	return fmt.Sprintf("process %d %d %d %d %d %d %d\n", pid, at(start), life.Milliseconds(), samples, busy, memory, running)
}

// driver installs a stand-in that says lines, and returns how it is read.
func driver(t testing.TB, which, lines string) Reader {
	t.Helper()
	folders, err := standIns()
	if err == nil {
		err = os.WriteFile(folders[which]+"/gpus", []byte(lines), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return Reader{Program: "/proc/self/exe", Lock: filepath.Join(t.TempDir(), "lock"), Most: time.Minute,
		Driver: folders[which], env: []string{"LD_LIBRARY_PATH=" + folders[which]}}
}

// ask is Ask for a job with these GPUs.
func ask(r Reader, q node.GPUQuestion) []job.GPU {
	report := job.NodeReport{Start: began, End: began.Add(took)}
	Ask(&report, &q, r)
	return report.GPUs
}

const (
	gpu0  = "gpu GPU-00 0 1\n"
	gpu1  = "gpu GPU-11 1 2\n"
	older = "process 1 1000000 1000 2 5000 4096 0\n" // of an earlier job
)

// TestAsk: what each state of a driver tells of a job's GPUs, through the real reader. Whatever is odd makes the GPU
// not known, and never idle.
func TestAsk(t *testing.T) {
	const minute = time.Minute
	whole := ran(7, 0, 5*minute, 300, 5000, 1<<30, 0)
	half := job.GPU{UUID: "GPU-00", Life: 5 * minute, Busy: 150 * time.Second, Processes: 1, Memory: 1 << 30}
	unknown := func(why string) job.GPU { return job.GPU{UUID: "GPU-00", Why: why} }
	both := half
	both.Life, both.Busy, both.Processes, both.AtMost = 7*minute, 300*time.Second, 2, true
	second := ran(8, 2*minute, 5*minute, 300, 5000, 1<<20, 0)
	idle := job.GPU{UUID: "GPU-00"}
	one := node.GPUQuestion{GPUs: []string{"0"}}
	shared := node.GPUQuestion{GPUs: []string{"0"}, Shared: true}
	for name, c := range map[string]struct {
		driver string
		q      node.GPUQuestion
		want   job.GPU
	}{
		"a process":                     {gpu0 + whole, one, half},
		"by its UUID":                   {"gpu GPU-33 0 9\n" + gpu0 + whole, node.GPUQuestion{GPUs: []string{"GPU-00"}}, half},
		"two at once":                   {gpu0 + second + whole, one, both},
		"others outside the job":        {gpu0 + older + ran(9, -minute, minute/2, 100, 9000, 1, 0) + ran(9, took+minute, minute, 100, 9000, 1, 0) + whole, one, half},
		"MPS's server runs":             {gpu0 + older + ran(9, -minute, 0, 100, 9000, 1, 1), one, unknown(job.GPUBefore)},
		"MPS's server ended":            {gpu0 + ran(9, -minute, 3*minute, 100, 9000, 1, 0) + whole, one, unknown(job.GPUBefore)},
		"one that looks since before":   {gpu0 + ran(9, -minute, 0, 0, 0, 0, 1) + whole, one, half},
		"shared, another's from before": {gpu0 + ran(9, -minute, 0, 100, 9000, 1, 1) + whole, node.GPUQuestion{GPUs: []string{"0"}, Shared: true, Tasks: []int{7}}, half},
		"a pid again":                   {gpu0 + ran(7, minute, minute, 60, 100, 1, 0) + whole, one, half}, // the driver tells of the latest alone
		"no memory, nobody knows it":    {gpu0 + ran(8, 0, 9*minute, 500, 0, 0, 0) + whole, one, half},
		"no memory, a task": {gpu0 + ran(7, 0, 5*minute, 300, 5000, 0, 0), node.GPUQuestion{GPUs: []string{"0"}, Tasks: []int{7}},
			job.GPU{UUID: "GPU-00", Life: 5 * minute, Busy: 150 * time.Second, Processes: 1}},
		"no process":                {gpu0 + older, one, idle},
		"no process and no proof":   {gpu0, one, unknown(job.GPUNew)},
		"it still runs":             {gpu0 + ran(7, 0, 0, 300, 5000, 1, 1), one, unknown(job.GPURunning)},
		"shared, its task":          {gpu0 + ran(8, 0, 9*minute, 300, 9000, 5, 0) + whole, node.GPUQuestion{GPUs: []string{"0"}, Shared: true, Tasks: []int{3, 7}}, half},
		"shared, no task":           {gpu0 + older + whole, shared, unknown(job.GPUShared)},
		"full":                      {gpu0 + "room 2\n" + second + whole, one, unknown(job.GPUOverwritten)},
		"full since before the job": {gpu0 + "room 2\n" + older + whole, one, half},
		"1,000 short processes":     {gpu0 + older + fmt.Sprintf("many 1000 %d 200 0 0 4096 0\n", at(minute)), one, unknown(job.GPUShort)},
		"1,000 with samples": {gpu0 + fmt.Sprintf("many 1000 %d 200 1 2500 4096 0\n", at(minute)), one,
			job.GPU{UUID: "GPU-00", Life: 200 * time.Millisecond, Busy: 200 * time.Millisecond, Processes: 1000, Memory: 4096, AtMost: true}},
		"a share that is not known": {gpu0 + ran(7, 0, minute, 60, -1, 1, 0), one, unknown(job.GPUUnsupported)},
		"accounting off":            {gpu0 + "off\n" + whole, one, unknown(job.GPUNoAccounting)},
		"persistence off":           {gpu0 + "transient\n" + whole, one, unknown(job.GPUNoPersistence)},
		"a vGPU's host":             {gpu0 + "deny 3\n" + whole, one, unknown(job.GPUUnsupported)},
		"forbidden":                 {gpu0 + "deny 4\n" + whole, one, unknown(job.GPUForbidden)},
		"an error":                  {gpu0 + "deny 999\n" + whole, one, unknown(job.GPUFailed)},
		"MIG":                       {gpu0 + "mig\n" + whole, one, job.GPU{Why: job.GPUMIG}},
		"Slurm says MIG":            {gpu0 + whole, node.GPUQuestion{GPUs: []string{"MIG-1"}}, job.GPU{Why: job.GPUMIG}},
		"it fell off the bus":       {gpu0 + whole + gpu1 + "lost 15\n", one, job.GPU{Why: job.GPUFailed}},
		"no driver in the kernel":   {"init 9\n", one, job.GPU{Why: job.GPUNoDriver}},
		"versions differ":           {"init 18\n", one, job.GPU{Why: job.GPUFailed}},
		"no such GPU":               {gpu0 + whole, node.GPUQuestion{GPUs: []string{"4"}}, job.GPU{Why: job.GPUUnnumbered}},
		"numbers in another order":  {"gpu GPU-00 1 1\ngpu GPU-11 0 2\n", one, job.GPU{Why: job.GPUUnnumbered}},
		"a UUID with an escape":     {"gpu GPU-\x1b[2J 0 1\n", one, job.GPU{Why: job.GPUFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(driver(t, "now", c.driver), c.q); !slices.Equal(got, []job.GPU{c.want}) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestAskOlderLibrary: without counts of samples, the share is in whole percent, and a short process without any is not
// known.
func TestAskOlderLibrary(t *testing.T) {
	for busy, want := range map[int]job.GPU{
		5075: {UUID: "GPU-00", Life: time.Minute, Busy: 30 * time.Second, Processes: 1, Memory: 9},
		0:    {UUID: "GPU-00", Life: time.Minute, Processes: 1, Memory: 9},
	} {
		if got := ask(driver(t, "older", gpu0+ran(7, 0, time.Minute, 60, busy, 9, 0)), node.GPUQuestion{GPUs: []string{"0"}}); got[0] != want {
			t.Errorf("%d: %+v", busy, got)
		}
	}
	if got := ask(driver(t, "older", gpu0+ran(7, 0, time.Second/2, 0, 0, 9, 0)), node.GPUQuestion{GPUs: []string{"0"}}); got[0].Why != job.GPUShort {
		t.Errorf("%+v", got)
	}
}

// TestChoose: numbers of Slurm's serve where both orders that they may stand for make of them the same GPUs.
func TestChoose(t *testing.T) {
	crossed := []found{{uuid: "GPU-a", minor: 1, place: 1}, {uuid: "GPU-b", minor: 0, place: 2}, {uuid: "GPU-c", minor: 2, place: 3}}
	straight := []found{{uuid: "GPU-b", minor: 1, place: 2}, {uuid: "GPU-a", minor: 0, place: 1}}
	for name, c := range map[string]struct {
		all   []found
		names string
		want  string
	}{
		"in order":         {straight, "0", "GPU-a"},
		"both":             {straight, "1,0", "GPU-b,GPU-a"},
		"crossed":          {crossed, "0", "numbers"},
		"crossed, all":     {crossed, "0,1,2", "GPU-a,GPU-b,GPU-c"},
		"crossed, a pair":  {crossed, "1,0", "GPU-b,GPU-a"},
		"not crossed":      {crossed, "2", "GPU-c"},
		"crossed, by UUID": {crossed, "GPU-b", "GPU-b"},
		"twice":            {straight, "0,0", "numbers"},
		"too high":         {straight, "2", "numbers"},
		"below":            {straight, "-1", "numbers"},
		"no number":        {straight, "x", "numbers"},
		"everything":       {straight, "", "GPU-b,GPU-a"},
		"one is lost":      {append([]found{{code: 15}}, straight...), "0", "failed"},
		"lost, by UUID":    {append([]found{{code: 15}}, straight...), "GPU-a", "GPU-a"},
	} {
		var names []string
		if c.names != "" {
			names = strings.Split(c.names, ",")
		}
		chosen, got := choose(c.all, names)
		for i, f := range chosen {
			got += map[bool]string{true: ","}[i > 0] + f.uuid
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestHangs: a driver that hangs costs its time. While the reader lives, no other is started, and nobody waits for it;
// another epilog's, which is at work, is waited for.
func TestHangs(t *testing.T) {
	r, q := driver(t, "now", gpu0+older+"hang\n"), node.GPUQuestion{GPUs: []string{"0"}}
	r.Most = 400 * time.Millisecond
	begin := time.Now()
	if got := ask(r, q); got[0].Why != job.GPUHangs || time.Since(begin) < r.Most {
		t.Errorf("%+v after %v", got, time.Since(begin))
	}
	held, err := os.OpenFile(r.Lock, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil { // the killed reader lets go of it
		t.Fatal(err)
	}
	r.Program, r.Most = "/nowhere", time.Minute
	os.Chtimes(r.Lock, time.Time{}, time.Now().Add(-time.Minute))
	if got := ask(r, q); got[0].Why != job.GPUHangs {
		t.Errorf("while a reader hangs: %+v", got)
	}
	os.Chtimes(r.Lock, time.Time{}, time.Now().Add(time.Hour)) // it has just begun
	time.AfterFunc(100*time.Millisecond, func() { unix.Flock(int(held.Fd()), unix.LOCK_UN) })
	if got := ask(r, q); got[0].Why != job.GPUNotAsked {
		t.Errorf("after another one: %+v", got)
	}
}

// TestNothingIsStarted: on a machine without the driver, and when the time is nearly over.
func TestNothingIsStarted(t *testing.T) {
	r := driver(t, "now", gpu0)
	mark := filepath.Join(t.TempDir(), "started")
	r.Program = script(t, "touch "+mark)
	r.Driver += "/nowhere"
	if got := ask(r, node.GPUQuestion{GPUs: []string{"0"}}); got[0].Why != job.GPUNoDriver {
		t.Errorf("%+v", got)
	}
	r.Driver, r.Most = "/", leastTime/2
	if got := ask(r, node.GPUQuestion{GPUs: []string{"0", "1"}}); got[0].Why != job.GPUNotAsked || len(got) != 2 {
		t.Errorf("%+v", got)
	}
	for _, file := range []string{mark, r.Lock} {
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s is there", file)
		}
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestReaderHoldsNothing: a reader gets its pipe and the lock, no other descriptor and no environment.
func TestReaderHoldsNothing(t *testing.T) {
	r := driver(t, "now", "")
	said := filepath.Join(t.TempDir(), "said")
	r.Program, r.env = script(t, "ls -l /proc/$$/fd >"+said+"; env >>"+said), nil
	if got := ask(r, node.GPUQuestion{GPUs: []string{"0"}}); got[0].Why != job.GPUFailed {
		t.Errorf("%+v", got)
	}
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		_, to, isLink := strings.Cut(line, " -> ")
		switch {
		case !isLink && (strings.HasPrefix(line, "total ") || line == "PWD=/" || strings.HasPrefix(line, "PATH=/usr/sbin:") || strings.HasPrefix(line, "_=")):
		case to == "/dev/null" || strings.HasPrefix(to, "pipe:") || to == r.Lock || to == said || to == r.Program: // the script opens two
		default:
			t.Errorf("it has %s", line)
		}
	}
}

// TestAnswers: a reader may be anybody.
func TestAnswers(t *testing.T) {
	one := []string{"0"}
	for text, want := range map[string]string{
		``:                           job.GPUFailed,
		`{"why":"hangs up"}`:         job.GPUFailed,
		`{"why":"mig"}`:              job.GPUMIG,
		`{"gpus":[]}`:                job.GPUFailed,
		`{"gpus":[{"uuid":"GPU-0"}]`: job.GPUFailed,
		`{"gpus":[{"uuid":"GPU-0"},{"uuid":"GPU-1"}]}`: job.GPUFailed,
		`{"why":"` + strings.Repeat("x", mostAnswer):   job.GPUFailed,
	} {
		if _, why := take(strings.NewReader(text), one); why != want {
			t.Errorf("%.60s: %q, want %q", text, why, want)
		}
	}
	for text, why := range map[string]string{
		`{"gpus":[{"uuid":"GPU-0"}]}`:                                       "",
		`{"gpus":[{"uuid":"GPU-0\u001b"}]}`:                                 job.GPUFailed,
		`{"gpus":[{"uuid":"GPU-0","processes":[{"life":-1}]}]}`:             job.GPUFailed,
		`{"gpus":[{"uuid":"GPU-0","processes":[{"busy":10001}]}]}`:          job.GPUFailed,
		`{"gpus":[{"uuid":"GPU-0","processes":[{"life":40000000000000}]}]}`: job.GPUFailed,
	} {
		if told, no := take(strings.NewReader(text), one); no != "" || told[0].Why != why {
			t.Errorf("%s: %+v, %q", text, told, no)
		}
	}
}

// FuzzAnswer: whatever a reader answers, what becomes of it can be.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"gpus":[{"uuid":"GPU-0","older":true,"processes":[{"pid":7,"start":1782907200000000,"life":9000,"busy":5000,"samples":9,"memory":1}]}]}`, false)
	f.Add(`{"why":"mig"}`, true)
	f.Fuzz(func(t *testing.T, text string, shared bool) {
		q := &node.GPUQuestion{GPUs: []string{"0"}, Shared: shared, Tasks: []int{7}}
		told, why := take(strings.NewReader(text), q.GPUs)
		if (why == "") != (len(told) == 1) {
			t.Fatalf("%q, %+v", why, told)
		}
		for i := range told {
			if g := told[i].sum(&job.NodeReport{Start: began, End: began.Add(took)}, q); !g.Possible() {
				t.Errorf("%+v", g)
			}
		}
	})
}

// BenchmarkAsk is what a question takes: of a driver that is well, with 1 and 8,000 processes to tell of.
func BenchmarkAsk(b *testing.B) {
	for name, lines := range map[string]string{
		"one":       gpu0 + ran(7, 0, time.Minute, 60, 5000, 1, 0),
		"thousands": gpu0 + older + fmt.Sprintf("room 9000\nmany 8000 %d 200 1 2500 4096 0\n", at(time.Minute)),
	} {
		b.Run(name, func(b *testing.B) {
			r := driver(b, "now", lines)
			for b.Loop() {
				if got := ask(r, node.GPUQuestion{GPUs: []string{"0"}}); got[0].Why != "" {
					b.Fatal(got)
				}
			}
		})
	}
}
