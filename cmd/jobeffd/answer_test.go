package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/etc"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// second is the pid of a daemon's process that answers people.
func (d *daemon) second(t testing.TB) int {
	t.Helper()
	for range 3000 {
		if all := children(t, d.cmd.Process.Pid); len(all) == 1 {
			return all[0]
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("there is no second process")
	return 0
}

// children are the pids of a process's own ones.
func children(t testing.TB, pid int) (all []int) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for word := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, child)
		}
	}
	return all
}

// TestSecondKilled: the process that answers people is killed again and again while jobs end.
// Every job has its row at the end, and people are answered again.
func TestSecondKilled(t *testing.T) {
	d := newDaemon(t)
	d.start(t)
	const jobs, clients = 200, 4
	var wg sync.WaitGroup
	var ended atomic.Int32
	for first := range clients {
		spool := t.TempDir()
		wg.Go(func() {
			for job := first; job < jobs; job += clients {
				if _, err := node.WriteOutbox(spool, report(uint32(1000+job))); err != nil {
					t.Error(err)
				}
				d.send(t, spool)
				time.Sleep(20 * time.Millisecond) // so that they end over some kills
				ended.Add(1)
			}
			for range 100 {
				if res := d.send(t, spool); res.Refused != 0 {
					t.Errorf("%+v", res)
				} else if res.Kept == 0 {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
			t.Error("reports remain")
		})
	}
	kills := 0
	for ; ended.Load() < jobs && !t.Failed(); kills++ {
		second := d.second(t)
		time.Sleep(200 * time.Millisecond) // it begins to answer, and does
		syscall.Kill(second, syscall.SIGKILL)
	}
	wg.Wait()
	list, err := d.client().Jobs(ctx, job.JobQuery{Limit: 2 * jobs})
	if err != nil || len(list.Jobs) != jobs {
		t.Errorf("%v: %+v, want %d jobs", err, list, jobs)
	}
	if kills < 2 {
		t.Errorf("only %d kills", kills)
	}
}

// TestFirstKilled: with the process that keeps the database the other one ends, so that the
// next jobeffd finds the socket free.
func TestFirstKilled(t *testing.T) {
	d := newDaemon(t)
	d.start(t)
	for range 10 {
		second := d.second(t)
		d.stop(syscall.SIGKILL)
		for i := 0; syscall.Kill(second, 0) == nil; i++ {
			if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", second)); strings.Contains(string(text), ") Z ") {
				break // nobody has asked how it ended
			}
			if i == 6000 {
				t.Fatal("it goes on")
			}
			time.Sleep(10 * time.Millisecond)
		}
		d.start(t)
	}
}

// TestJobsWhileStopped: a jobeffd that is too busy to take a report, as one that stands still,
// shows jobs.
func TestJobsWhileStopped(t *testing.T) {
	d := newDaemon(t)
	d.start(t)
	if err := d.client().PostReport(ctx, mustJSON(t, report(7))); err != nil {
		t.Fatal(err)
	}
	stop(t, d.cmd.Process)
	list, err := d.client().Jobs(ctx, job.JobQuery{})
	if err != nil || len(list.Jobs) != 1 {
		t.Errorf("%v, %+v", err, list)
	}
	d.cmd.Process.Signal(syscall.SIGCONT)
}

// TestSecondIsNotNice: where the daemon was made nice and may change it, people are answered at
// the usual priority.
func TestSecondIsNotNice(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("an ordinary user's daemon may not change its priority")
	}
	d := newDaemon(t)
	d.program = append([]string{"nice", "-n", "10"}, d.program...)
	if self, err := os.Executable(); err != nil {
		t.Fatal(err)
	} else {
		d.program[3] = self // nice's own /proc/self/exe is nice
	}
	d.start(t)
	for pid, want := range map[int]int{d.cmd.Process.Pid: 10, d.second(t): 0} {
		if got, err := syscall.Getpriority(syscall.PRIO_PROCESS, pid); err != nil || 20-got != want {
			t.Errorf("nice %d, want %d, %v", 20-got, want, err)
		}
	}
}

// TestRefusalsOfBoth: the metrics count what the second process refused.
func TestRefusalsOfBoth(t *testing.T) {
	d := newDaemon(t)
	d.start(t)
	c := d.client()
	defer c.Close()
	_, err := c.Job(ctx, "77")
	if answer, ok := err.(*client.ServerError); !ok || answer.Status != http.StatusNotFound {
		t.Fatal(err)
	}
	over := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", d.socket)
	}}}
	defer over.CloseIdleConnections()
	var text []byte
	for range 3000 {
		resp, err := over.Get("http://jobeffd/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, _ = io.ReadAll(resp.Body)
		resp.Body.Close()
		if strings.Contains(string(text), `jobeff_requests_refused_total{reason="404"} 1`) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%s", text)
}

// TestConfigHandedOn: the second process gets the whole configuration, but for the places in the
// file that errors name.
func TestConfigHandedOn(t *testing.T) {
	cfg := etc.Default()
	cfg.Web.ProxyUsers, cfg.Digest.Accounts = []string{"www-data"}, map[string][]string{"pi@example.org": {"chem"}}
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	got := new(etc.Config)
	if err := json.Unmarshal(text, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cfg, got, cmpopts.IgnoreUnexported(etc.Rule{})); diff != "" {
		t.Error(diff)
	}
}

// TestConfigSpoilt: a file that was changed to nonsense harms nobody until jobeffd is started
// again, whatever becomes of its second process.
func TestConfigSpoilt(t *testing.T) {
	d := newDaemon(t)
	d.start(t)
	if err := os.WriteFile(filepath.Join(d.dir, "jobeff.toml"), []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(d.second(t), syscall.SIGKILL)
	if list, err := d.client().Jobs(ctx, job.JobQuery{}); err != nil {
		t.Errorf("%v, %+v", err, list)
	}
}

// TestAnswerByHand: what only jobeffd itself may do says so.
func TestAnswerByHand(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "--config", "/dev/null", "--answer", "r")
	cmd.Env = []string{"JOBEFFD_TEST=1"}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "--answer is for jobeffd itself, start it without") {
		t.Errorf("%v: %s", err, out)
	}
}
