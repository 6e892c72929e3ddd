package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/server"
	"jobeff/test/trial"
)

// listed is the number of jobs in TestListsWhileJobsEnd's lists. One answer does not hold so many.
const listed = 2500

// busySite is a jobeffd with jobs 1 to listed: the highest is the newest, and 200 are tasks of an array. Before each question but
// the first it gets a further job, which began before many of them.
func busySite(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	socket, asked := filepath.Join(dir, "s"), filepath.Join(dir, "asked")
	stop, err := startServer(filepath.Join(dir, "db"), socket, os.DevNull)
	t.Cleanup(stop)
	if err != nil {
		t.Fatal(err)
	}
	db := serverAt(socket)
	begin := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	add := func(ids ...uint32) {
		var all []*job.Job
		for _, id := range ids {
			start := begin.Add(time.Duration(id%10_000) * time.Second)
			j := &job.Job{Cluster: "test", JobID: id, Attempt: 1, UID: 20001, User: "u20001", State: "COMPLETED", Name: "x", CPUs: int(id % 10_000), Nodes: 1, Submit: start, Start: start, End: start.Add(time.Hour), Elapsed: time.Hour,
				Usage: &job.Usage{TotalCPU: time.Duration(id%10_000) * time.Minute}}
			if number := id / 5; id%5 == 0 && id >= 1000 && id < 2000 { // they lie far apart
				j.ArrayJobID, j.ArrayTaskID = 1000, &number
			}
			all = append(all, j)
		}
		if err := db.AddJobs(context.Background(), all); err != nil {
			t.Error(err)
		}
	}
	var ids []uint32
	for id := range uint32(listed) {
		ids = append(ids, 1+id)
	}
	add(ids...)
	questions := uint32(0)
	proxy := trial.ProxyTo(socket)
	l, err := server.ListenUnix(asked)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if questions++; questions > 1 {
			add(100_000*questions + 2400)
		}
		proxy.ServeHTTP(w, r)
	})}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	config := filepath.Join(dir, "jobeff.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "[client]\nto = %q\n", "unix:"+asked), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JOBEFF_CONFIG", config)
}

func jobeffOf(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	program := exec.Command("jobeff", args...)
	program.Stdout, program.Stderr = &stdout, &stderr
	if err := program.Run(); err != nil {
		t.Fatalf("%q: %v: %s", args, err, stderr.String())
	}
	return stdout.String()
}

// TestListsWhileJobsEnd: jobs end between the answers of which a list is made. The list still has each job once. A sorted one
// begins with the first of all jobs, and an array is whole, wherever its tasks lie.
func TestListsWhileJobsEnd(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root sees the jobs of all")
	}
	busySite(t)
	once := func(what string, ids []string) {
		t.Helper()
		seen := map[string]int{}
		for _, id := range ids {
			seen[id]++
		}
		for id := range listed {
			if number := 1 + id; seen[fmt.Sprint(number)] != 1 && (number < 1000 || number >= 2000) {
				t.Fatalf("%s: job %d is there %d times", what, number, seen[fmt.Sprint(number)])
			}
		}
		if tasks := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasPrefix(id, "1000_") }); len(tasks) != 200 {
			t.Errorf("%s: %d tasks", what, len(tasks))
		}
	}
	var answer struct {
		Jobs []struct{ ID string }
		More bool
	}
	if err := json.Unmarshal([]byte(jobeffOf(t, "-a", "-S", "-3days", "--json")), &answer); err != nil || answer.More {
		t.Fatal(err, answer.More)
	}
	var ids []string
	for _, j := range answer.Jobs {
		ids = append(ids, j.ID)
	}
	once("--json", ids)
	if first, last := slices.Index(ids, "1"), slices.Index(ids, fmt.Sprint(listed)); first < 0 || last < first {
		t.Errorf("job 1 stands at %d, the newest at %d", first, last)
	}
	lines := func(args ...string) []string {
		return strings.Split(strings.TrimSpace(jobeffOf(t, append([]string{"-a", "-S", "-3days", "-n", "-o", "jobid"}, args...)...)), "\n")
	}
	once("-P", lines("-P"))
	once("-P, sorted by jobeffd", lines("-P", "--sort", "-cores"))
	once("-P, sorted by jobeff", lines("-P", "--sort", "totalcpu"))
	for want, args := range map[string][]string{
		"1000":      {"--sort", "corehours", "--limit", "1"}, // the array, of all its tasks
		"1,2,3":     {"--sort", "-alloccpus", "--limit", "3"},
		"1,2":       {"-P", "--sort", "-cores", "--limit", "2"},
		"1":         {"-P", "--sort", "-totalcpu", "--limit", "1"},
		"2499,2500": {"--limit", "2"},
	} {
		var got []string
		for _, line := range lines(args...) {
			if !strings.HasPrefix(line, "and ") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%q: %q, want %s", args, got, want)
		}
	}
	text := jobeffOf(t, "-a", "-S", "-3days", "--sort", "corehours", "--limit", "1", "-o", "jobid,state,corehours")
	if !strings.Contains(text, "200 COMPLETED") || !strings.Contains(text, "and ") || !strings.Contains(text, "most core-hours first") {
		t.Errorf("the array is not whole:\n%s", text)
	}
}
