package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/policy/doubt"
)

func TestPrologMakesDirectory(t *testing.T) {
	n := newNode(t)
	n.env = append(n.env, "SLURM_JOB_SLUID=s\x1bX")
	if logged := n.prolog(20); logged != "" {
		t.Errorf("logged %q", logged)
	}
	random := regexp.MustCompile(`(?m)^(run|nonce|boot_id) [0-9a-f]{32}$|^(start_\w+_ns) [0-9]+$`)
	want := `version 1
run *
nonce *
boot_id *
job_id 20
uid 12345
record_bytes 67108864
windows 4
prolog 1
start_mono_ns *
start_real_ns *
gid 12345
user alice
cluster test
node n1
account proj
partition main
nnodes 2
het_job_id 40
sluid s?X
restart 0
nodelist n[1-2]
`
	if d := cmp.Diff(want, random.ReplaceAllString(n.read("run", "20", "job"), "$1$2 *")); d != "" {
		t.Errorf("job: (-want +got)\n%s", d)
	}
	if got := n.read("run", "20", "decision"); got != "on\n" {
		t.Errorf("decision %q", got)
	}
	for name, want := range map[string]os.FileMode{".": os.ModeDir | 0o700, "job": 0o600, "decision": 0o644} {
		if st, err := os.Lstat(n.path("run", "20", name)); err != nil || st.Mode() != want {
			t.Errorf("%s: %v %v, want %v", name, st.Mode(), err, want)
		}
	}
}

// The list of a job's nodes may be longer than what the C reads of the job file. What the site wants
// still holds, a requeue is noticed, and the report has of the list what a report may have.
func TestJobOfScatteredNodes(t *testing.T) {
	n := newNode(t)
	n.write("[measure]\nrecord_mib = 3\nwindows_mib = 16\n", 0o644, "etc", "jobeff.toml")
	numbers := make([]string, 3000)
	for i := range numbers {
		numbers[i] = strconv.Itoa(2*i + 1)
	}
	list := "n[" + strings.Join(numbers, ",") + "]"
	n.env = append(n.env, "SLURM_NODELIST="+list)
	n.prolog(8)
	if env := n.step(8, 0); !strings.Contains(env, "JOBEFF_WINDOWS=16\n") {
		t.Errorf("the task got %q", env)
	}
	checkRanks(t, n, "8", 3<<20)
	n.env = append(n.env, "SLURM_JOB_RESTART_COUNT=1")
	n.prolog(8)
	if done, _ := filepath.Glob(n.path("run", ".done-8-*")); len(done) != 1 {
		t.Errorf("directories of the attempt before: %v", done)
	}
	n.epilog(8)
	for _, r := range n.outbox() {
		if r.NodeList != list[:4096] {
			t.Errorf("the list of nodes has %d bytes", len(r.NodeList))
		}
	}
}

// A prolog may run twice; what it made stays, with what steps have added.
func TestPrologTwice(t *testing.T) {
	n := newNode(t)
	n.prolog(21)
	n.step(21, 0)
	before := n.read("run", "21", "job")
	n.prolog(21)
	if d := cmp.Diff(before, n.read("run", "21", "job")); d != "" || !strings.HasPrefix(n.events("21"), "step 0") {
		t.Errorf("the second prolog changed the directory\n%s", d)
	}
	if got := n.entries(); !slices.Equal(got, []string{"21"}) {
		t.Errorf("/run/jobeff holds %q", got)
	}
}

// What another run, user or boot left under the job's id is kept apart.
func TestPrologAfterLostEpilog(t *testing.T) {
	for name, change := range map[string]func(n *testNode){
		"requeued": func(n *testNode) { n.env = append(n.env, "SLURM_JOB_RESTART_COUNT=1") },
		"other user": func(n *testNode) {
			n.write(strings.Replace(n.read("run", "22", "job"), "uid 12345", "uid 54321", 1), 0o600, "run", "22", "job")
		},
		"other boot": func(n *testNode) {
			n.write(regexp.MustCompile("boot_id ..").ReplaceAllString(n.read("run", "22", "job"), "boot_id zz"), 0o600, "run", "22", "job")
		},
	} {
		n := newNode(t)
		n.prolog(22)
		n.step(22, 0)
		change(n)
		n.prolog(22)
		if got := n.entries(); !slices.Equal(got, []string{".done-22", "22"}) {
			t.Errorf("%s: /run/jobeff holds %q", name, got)
			continue
		}
		n.epilog(22)
		reports := n.outbox()
		if len(reports) != 2 || reports[0].Nonce == reports[1].Nonce {
			t.Errorf("%s: %d reports", name, len(reports))
		}
	}
}

func TestDecisions(t *testing.T) {
	for name, c := range map[string]struct {
		prepare  func(n *testNode)
		asked    string
		decision string
	}{
		"asked off":     {func(*testNode) {}, "off", "off asked by the job (--jobeff=off)\n"},
		"asked rubbish": {func(*testNode) {}, "OFF;", "on\n"},
		"kill switch":   {func(n *testNode) { n.write("", 0o644, "etc", "off") }, "on", "off switched off on this node (/etc/jobeff/off)\n"},
		"configuration": {func(n *testNode) { n.write("[measure]\nnope = 1\n", 0o644, "etc", "jobeff.toml") }, "on",
			"off /etc/jobeff/jobeff.toml:2: unknown key \"measure.nope\" (known in [measure]: enabled, share, stop_on_harm, partitions, exclude_partitions, counters, record_mib, windows_mib)\n"},
		"alarm": {func(n *testNode) {
			n.write("[measure]\nstop_on_harm = true\n", 0o644, "etc", "jobeff.toml")
			n.write("", 0o600, "spool", "alarm")
		}, "on", "off the site stopped measuring, as measured jobs may end worse (measure.stop_on_harm)\n"},
		"alarm, but the site goes on": {func(n *testNode) { n.write("", 0o600, "spool", "alarm") }, "on", "on\n"},
	} {
		n := newNode(t)
		c.prepare(n)
		n.host(append([]string{"asked=" + c.asked}, script(23, "job_prolog")...)...)
		if got := n.read("run", "23", "decision"); got != c.decision {
			t.Errorf("%s: %q, want %q", name, got, c.decision)
		}
		env := n.step(23, 0)
		if (env == "") != strings.HasPrefix(c.decision, "off") {
			t.Errorf("%s: the task got %q", name, env)
		}
		n.epilog(23)
		reports := n.outbox()
		if len(reports) != 1 || reports[0].Decision+"\n" != c.decision || len(reports[0].Executions) != 0 {
			t.Errorf("%s: reports %+v", name, reports)
		}
	}
}

func TestEpilogReports(t *testing.T) {
	n := newNode(t)
	n.prolog(23)
	n.epilog(23)
	os.RemoveAll(n.path("spool", "outbox"))
	n.step(24, 0, "array=20", "arraytask=3") // no prolog
	if logged := n.epilog(24); logged != "" {
		t.Errorf("logged %q", logged)
	}
	reports := n.outbox()
	if len(reports) != 1 {
		t.Fatalf("%d reports", len(reports))
	}
	r := reports[0]
	got := []any{r.JobID, r.Prolog, r.Decision, r.UID, r.Cluster, r.Node, r.User, r.Account, r.Partition, r.HetJobID, r.ArrayJobID, *r.ArrayTaskID, len(r.Steps)}
	want := []any{uint32(24), false, "on", uint32(user), "test", "n1", "alice", "proj", "main", uint32(40), uint32(20), uint32(3), 1}
	got[5] = strings.Replace(got[5].(string), hostName(t), "n1", 1) // no prolog: the host's own name
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if left := n.entries(); len(left) > 0 {
		t.Errorf("/run/jobeff holds %q", left)
	}
	n.epilog(24)
	if ids := n.ids(); !slices.Equal(ids, []uint32{24}) {
		t.Errorf("a second epilog: reports of %v", ids)
	}
}

func hostName(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ = strings.Cut(name, ".")
	return name
}

// Whatever users write into their file, root's part of the report is there.
func TestHostileRecord(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"garbage":    func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("\xff\x00rubbish", 100000)), 0o600) },
		"empty":      func(p string) error { return os.Truncate(p, 0) },
		"one tebi":   func(p string) error { return os.Truncate(p, 1<<40) },
		"head alone": func(p string) error { return os.Truncate(p, 100) },
	} {
		n := newNode(t)
		n.prolog(25)
		n.step(25, 0)
		if err := spoil(n.path("run", "25", "record", "ranks")); err != nil {
			t.Fatal(err)
		}
		n.epilog(25)
		reports := n.outbox()
		if len(reports) != 1 || reports[0].UID != user || len(reports[0].Steps) != 1 || len(n.entries()) != 0 {
			t.Errorf("%s: %d reports, left %q", name, len(reports), n.entries())
		}
	}
}

// However the body fails, the entry points return 0 in time, the job's data stays,
// and the next epilog brings it in.
func TestFailpoints(t *testing.T) {
	kinds := []string{"panic", "fatal", "oom"}
	if testing.Short() {
		kinds = kinds[:1] // each takes a second of CPU
	}
	for _, kind := range kinds {
		for _, c := range []struct {
			point   string
			claimed bool // the fold is a process of its own
		}{{"prolog", false}, {"epilog", false}, {"epilog", true}, {"ship", true}} {
			n := newNode(t)
			n.prolog(25) // notes that the site measures all jobs
			n.epilog(25)
			n.write(c.point+" "+kind+"\n", 0o644, "etc", "failpoints")
			logged := n.prolog(26)
			if env := n.step(26, 0); !strings.Contains(env, "LD_PRELOAD="+n.parts) {
				t.Errorf("%+v %s: the task got %q", c, kind, env)
			}
			if c.claimed {
				n.claim(26)
			}
			logged += n.epilog(26)
			if !strings.Contains(logged, "the job goes on without it") || len(n.ids()) != 1 && c.point != "prolog" {
				t.Errorf("%+v %s: logged %q, reports of %v", c, kind, logged, n.ids())
			}
			os.Remove(n.path("etc", "failpoints"))
			n.prolog(27)
			n.epilog(27)
			left, codes := []string(nil), map[string]bool{}
			if c.point == "prolog" { // counted on the node, and told of the job
				left = []string{"failed"}
			}
			for _, r := range n.outbox() {
				for _, w := range r.Warnings {
					codes[w.Code] = codes[w.Code] || r.JobID == 26
				}
			}
			if codes[doubt.WarnPrologFailed] != (c.point == "prolog") || codes[doubt.WarnNoProlog] {
				t.Errorf("%+v %s: warnings %v", c, kind, codes)
			}
			if ids := n.ids(); !slices.Equal(ids, []uint32{25, 26, 27}) || !slices.Equal(n.entries(), left) {
				t.Errorf("%+v %s: then reports of %v, left %q", c, kind, ids, n.entries())
			}
		}
	}
}

// TestHangs: a body that hangs for ever is ended, in the prolog before the 2 s that it may
// take, in the epilog before the 9 s.
func TestHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for these 9 s")
	}
	for point, said := range map[string]string{"prolog": "over 1900 ms and was ended", "ship": "over 8900 ms and was ended"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			n.prolog(27) // notes that the site measures all jobs
			n.epilog(27)
			n.write(point+" hang\n", 0o644, "etc", "failpoints")
			logged := n.prolog(28)
			n.step(28, 0)
			n.claim(28)
			logged += n.epilog(28)
			if !strings.Contains(logged, said) {
				t.Errorf("logged %q, want %q", logged, said)
			}
			if logged := n.epilog(29); point == "ship" && !strings.Contains(logged, "over 2900 ms and was ended") {
				t.Errorf("the next job's epilog logged %q: it waits less long for what another job left", logged)
			}
			os.Remove(n.path("etc", "failpoints"))
			n.epilog(30)
			if ids := n.ids(); !slices.Equal(ids, []uint32{27, 28}) {
				t.Errorf("then reports of %v", ids)
			}
		})
	}
}

// A user's failpoints are not obeyed.
func TestFailpointsAreRoots(t *testing.T) {
	n := newNode(t)
	n.write("prolog panic\n", 0o666, "etc", "failpoints")
	if logged := n.prolog(30); logged != "" {
		t.Errorf("anybody can write it, and yet: %q", logged)
	}
	n.write("prolog panic\n", 0o644, "etc", "failpoints")
	os.Chown(n.path("etc", "failpoints"), user, user)
	if logged := n.prolog(31); logged != "" {
		t.Errorf("a user owns it, and yet: %q", logged)
	}
}

// A record that the fold cannot get over is given up after some tries: what root
// noted is reported, and no later epilog is troubled by it.
func TestGivesUp(t *testing.T) {
	n := newNode(t)
	n.fuse()
	record := n.startJob(user, 32)
	n.claim(32)
	if mounted, _ := n.cover(user, record); !mounted { // what a user mounts on the record keeps nobody from removing it
		t.Fatal("fusermount3 refuses")
	}
	n.write("epilog panic\n", 0o644, "etc", "failpoints")
	for range 5 {
		n.epilog(32)
	}
	if got := n.entries(); !slices.Equal(got, []string{".done-32"}) {
		t.Fatalf("/run/jobeff holds %q", got)
	}
	os.Remove(n.path("etc", "failpoints"))
	n.epilog(32)
	reports := n.outbox()
	if len(reports) != 1 || len(n.entries()) > 0 {
		t.Fatalf("%d reports, left %q", len(reports), n.entries())
	}
	said := ""
	for _, w := range reports[0].Warnings {
		said += " " + w.Args.Kind
	}
	if !strings.Contains(said, "given_up") || len(reports[0].Steps) != 1 {
		t.Errorf("the report says %q", said)
	}
}

// tried is what epilogs noted of their tries to fold a job that waits.
func (n *testNode) tried(id int) string {
	files, _ := filepath.Glob(n.path("run", fmt.Sprintf(".done-%d-*", id), "tries"))
	if len(files) != 1 {
		n.t.Fatalf("job %d: tries in %q", id, files)
	}
	b, _ := os.ReadFile(files[0])
	return string(b)
}

// Of records that wait, one that makes the fold fail, or is too slow, costs itself alone: it is given up, the
// others are reported whole.
func TestFailingRecordsCostThemselvesAlone(t *testing.T) {
	kinds := []string{"panic", "fatal", "oom", "hang"}
	if testing.Short() {
		kinds = kinds[:1]
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			end := func(id int) {
				n.prolog(id)
				n.step(id, 0)
				n.claim(id)
				n.epilog(id)
			}
			n.write("epilog panic 50\n", 0o644, "etc", "failpoints") // the node was busy
			end(50)
			n.write("epilog "+kind+" 51\nepilog "+kind+" 52\n", 0o644, "etc", "failpoints")
			end(51)
			if kind != "hang" { // each takes seconds
				end(52)
			}
			n.epilog(60)
			if ids := n.ids(); !slices.Equal(ids, []uint32{50}) {
				t.Errorf("reports of %v, left %q", ids, n.entries())
			}
			if kind != "panic" {
				return
			}
			for next := 61; len(n.tried(51)) < 5 || len(n.tried(52)) < 5; next++ {
				n.epilog(next)
			}
			os.Remove(n.path("etc", "failpoints"))
			n.epilog(80)
			for _, r := range n.outbox() {
				given := slices.ContainsFunc(r.Warnings, func(w doubt.Warning) bool { return w.Args.Kind == doubt.KindGivenUp })
				if given != (r.JobID != 50) {
					t.Errorf("job %d: given up is %v", r.JobID, given)
				}
			}
			if ids := n.ids(); !slices.Equal(ids, []uint32{50, 51, 52}) || len(n.entries()) > 0 {
				t.Errorf("then reports of %v, left %q", ids, n.entries())
			}
		})
	}
}

// The sender is started once the report is durable, apart from the epilog.
func TestSender(t *testing.T) {
	n := newNode(t)
	n.write("#!/bin/sh\ncd /var/spool/jobeff\necho \"$@\" > args\nls outbox >> args\nuntil [ -e go ]; do sleep .02; done\necho end >> args\n", 0o755, "sender")
	n.prolog(33)
	_, logged := n.host(append([]string{"arg=sender=" + n.path("sender")}, script(33, "job_epilog")...)...)
	if logged != "" { // that it was ended, had it waited for the sender
		t.Errorf("the epilog logged %q", logged)
	}
	n.write("", 0o644, "spool", "go")
	deadline := time.Now().Add(time.Minute)
	for {
		b, _ := os.ReadFile(n.path("spool", "args"))
		if strings.HasSuffix(string(b), "end\n") {
			if want := "send --quiet --config /etc/jobeff/jobeff.toml --jitter 2s\nopen.jsonl\n"; !strings.HasPrefix(string(b), want) {
				t.Errorf("sender: %q, want %q", b, want)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the sender got no further than %q", b)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Jobs without MPI are lines of one file, brought there by one process each; who ends while a
// sender waits to begin starts no other.
func TestLightJobs(t *testing.T) {
	n := newNode(t)
	n.write("#!/bin/sh\necho started >> /var/spool/jobeff/senders\n", 0o755, "sender")
	n.write("ship panic\n", 0o644, "etc", "failpoints") // where there are two
	end := func(id int) {
		n.prolog(id)
		n.step(id, 0)
		n.host(append([]string{"arg=sender=" + n.path("sender")}, script(id, "job_epilog")...)...)
	}
	waiting, err := os.Create(n.path("spool", ".send-next.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(waiting.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	end(35)
	end(36)
	waiting.Close()
	end(37)
	started := func() string {
		b, _ := os.ReadFile(n.path("spool", "senders"))
		return string(b)
	}
	for deadline := time.Now().Add(time.Minute); started() == "" && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	if got := started(); got != "started\n" {
		t.Errorf("senders: %q", got)
	}
	if files, _ := filepath.Glob(n.path("spool", "outbox", "*")); len(files) != 1 || !slices.Equal(n.ids(), []uint32{35, 36, 37}) {
		t.Errorf("%q hold %v", files, n.ids())
	}
}

// Files of the outbox are root's alone: they name users' programs.
func TestOutboxIsPrivate(t *testing.T) {
	n := newNode(t)
	n.prolog(34)
	n.epilog(34)
	files, err := filepath.Glob(n.path("spool", "outbox", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, f := range append(files, n.path("spool", "outbox")) {
		if st, err := os.Stat(f); err != nil || st.Mode()&0o077 != 0 {
			t.Errorf("%s: %v %v", f, st.Mode(), err)
		}
	}
}

// C alone does not know whether the site measures a job. If the prolog's body failed, or none ran, it
// believes the note of an earlier prolog: all jobs are measured, by the configuration of now.
func TestMeasuredWithoutTheBody(t *testing.T) {
	broken := func(n *testNode) { n.write("prolog panic\n", 0o644, "etc", "failpoints") }
	configure := func(text string) func(n *testNode) {
		return func(n *testNode) {
			n.write(text, 0o644, "etc", "fresh")
			os.Rename(n.path("etc", "fresh"), n.path("etc", "jobeff.toml"))
		}
	}
	for name, c := range map[string]struct {
		before, after func(n *testNode) // the prolog that works
		asked, want   string
	}{
		"all jobs":               {configure("[measure]\nrecord_mib = 3\ncounters = true\n"), broken, "", "on"},
		"the defaults":           {func(*testNode) {}, broken, "", "on"},
		"none":                   {configure("[measure]\nenabled = false\n"), broken, "", "off no prolog told"},
		"a share":                {configure("[measure]\nshare = 0.999999\n"), broken, "", "off no prolog told"},
		"some partitions":        {configure("[measure]\npartitions = [\"main\"]\n"), broken, "", "off no prolog told"},
		"all but a partition":    {configure("[measure]\nexclude_partitions = [\"x\"]\n"), broken, "", "off no prolog told"},
		"not known":              {configure("[measure]\nnope = 1\n"), broken, "", "off no prolog told"},
		"switched off meanwhile": {func(*testNode) {}, func(n *testNode) { broken(n); configure("[measure]\nenabled = false\n")(n) }, "", "off no prolog told"},
		"another file meanwhile": {configure("[measure]\n"), func(n *testNode) { broken(n); configure("[measure]\n")(n) }, "", "off no prolog told"},
		"asked by the job":       {func(*testNode) {}, broken, "off", "off asked by the job (--jobeff=off)"},
	} {
		n := newNode(t)
		n.prolog(36) // a note of other settings
		n.epilog(36)
		c.before(n)
		n.prolog(37)
		n.epilog(37)
		c.after(n)
		n.host(append([]string{"asked=" + c.asked}, script(38, "job_prolog")...)...)
		env := n.step(38, 0)
		if c.want == "on" && name == "all jobs" {
			checkRanks(t, n, "38", 3<<20)
		}
		if (env == "") != strings.HasPrefix(c.want, "off") || strings.Contains(env, "JOBEFF_COUNTERS=1") != (name == "all jobs") {
			t.Errorf("%s: the task got %q", name, env)
		}
		n.step(39, 0) // no prolog ran
		n.epilog(38)
		n.epilog(39)
		for _, r := range n.outbox() {
			want := c.want
			if c.asked != "" && r.JobID == 39 {
				want = "on"
			}
			if r.JobID > 37 && (!strings.HasPrefix(r.Decision, want) || r.Prolog || len(r.Warnings) != 1) {
				t.Errorf("%s: job %d: decision %q, warnings %v", name, r.JobID, r.Decision, r.Warnings)
			}
		}
		if ids := n.ids(); !slices.Equal(ids, []uint32{36, 37, 38, 39}) {
			t.Errorf("%s: reports of %v", name, ids)
		}
	}
}
