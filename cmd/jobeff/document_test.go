package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/ingest/assemble"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/node"
	"jobeff/ingest/store"
	"jobeff/ingest/store/storetest"
	"jobeff/ingest/wire"
	"jobeff/report/figure"
	"jobeff/report/view"
)

// ofJobeffd are the fields of a job's document that a node alone does not know. ofSlurm are those that come
// from Slurm: a record made by hand has the times of its ranks instead.
var (
	ofJobeffd = []string{"verdicts", "flags", "workload", "unconfirmed", "attempt"}
	ofSlurm   = []string{"cluster", "id", "job_id", "start", "end", "job_elapsed"}
)

// daemon is a jobeffd in this process, which commands of this process ask.
type daemon struct {
	*client.Client
	db *store.Store
}

func startDaemon(t *testing.T) daemon {
	if os.Getuid() != 0 {
		t.Skip("reports are root's")
	}
	dir := t.TempDir()
	socket, config := filepath.Join(dir, "s"), filepath.Join(dir, "jobeff.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "[report]\nto = \"unix:%s\"\n", socket), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JOBEFF_CONFIG", config)
	stop, err := startServer(filepath.Join(dir, "jobeff.db"), socket, config)
	t.Cleanup(stop)
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient("unix:"+socket, 10*time.Second, nil)
	t.Cleanup(c.Close)
	return daemon{c, serverAt(socket).Store}
}

// TestOneDocument: jobeffd's document of a job is the one that the command prints. Field by field it is what
// jobeff-ingest --print makes of the same reports, and the text and the page show its figures.
func TestOneDocument(t *testing.T) {
	d := startDaemon(t)
	for what, names := range map[string][]string{"MPI": {"bad-n1", "bad-n2"}, "threads": {"bad-n1", "bad-n2"}, "five programs": {"five"}, "no data": {"nompi"}, "killed": {"killed-n1"}} {
		t.Run(what, func(t *testing.T) {
			var merger assemble.Merger
			var reports [][]byte
			for _, name := range names {
				text, err := os.ReadFile(filepath.Join("testdata/reports", name+".json"))
				if err != nil {
					t.Fatal(err)
				}
				if what == "threads" {
					text = withThreads(t, text)
				}
				r, err := wire.DecodeReport(text)
				if err != nil {
					t.Fatal(err)
				}
				merger.Add(r)
				reports = append(reports, text)
			}
			var printed bytes.Buffer
			if err := view.Write(&printed, view.NewJob(&listing.JobAndWorkload{Job: merger.Job()}, nil, nil, true)); err != nil {
				t.Fatal(err)
			}
			answered := d.sameEverywhere(t, fmt.Sprint(merger.Job().JobID), reports, fields(t, printed.Bytes()), ofJobeffd)
			pe, measured := answered["parallel_efficiency"].(float64)
			if mpi := answered["mpi_parallel_efficiency"]; measured && (what == "threads") != (mpi.(float64) > pe) {
				t.Errorf("parallel efficiency %v, of MPI %v", pe, mpi)
			}
		})
	}
}

// TestOneDocumentOfARecord is TestOneDocument for a real program with MPI and OpenMP. jobeff-ingest --print
// reads its record, and jobeffd gets a node's report of it.
func TestOneDocumentOfARecord(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs an MPI program")
	}
	d := startDaemon(t)
	dir, err := os.MkdirTemp("", "r") // Open MPI's session needs a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	output := func(command ...string) []byte {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", command, err, &stderr)
		}
		return out
	}
	library, err := filepath.Abs("../../build/test/libjobeff-clock.so") // two folds of the processor's clock differ by ns
	if err != nil {
		t.Fatal(err)
	}
	output("make", "-s", "-C", "../..", "build/test/libjobeff-clock.so", "build/jobeff-ingest")
	for i, mpi := range []struct {
		cc     string
		launch []string
	}{{"mpicc.openmpi", []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}}, {"mpicc.mpich", []string{"mpirun.mpich"}}} {
		t.Run(mpi.cc, func(t *testing.T) {
			program, clock, record := filepath.Join(dir, "vectors"), filepath.Join(dir, "clock.so"), filepath.Join(dir, mpi.cc)
			output(mpi.cc, "-O1", "-shared", "-fPIC", "-pthread", "-o", clock, "../../test/apps/virtualclock.c")
			output(mpi.cc, "-fopenmp", "-O1", "-o", program, "../../test/apps/vectors.c")
			output(append(mpi.launch, "-n", "3", "env", "LD_PRELOAD="+library+":"+clock, "JOBEFF_RECORD="+record, "OMP_WAIT_POLICY=passive", program, "multiplicative", "30")...)
			r, err := node.FoldFile(record, node.ThisMachine())
			if err != nil {
				t.Fatal(err)
			}
			r.Cluster, r.JobID, r.Nonce = "test", uint32(1000+i), fmt.Sprintf("%032x", i)
			report, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			printed := fields(t, output("../../build/jobeff-ingest", "--print", "--json", record))
			if d.sameEverywhere(t, fmt.Sprint(r.JobID), [][]byte{report}, printed, slices.Concat(ofJobeffd, ofSlurm))["openmp_parallel_efficiency"] == nil {
				t.Error("its threads are not known")
			}
		})
	}
}

// sameEverywhere posts a job's reports. Then jobeffd and the command must give the fields in printed, except
// those in without, and the text and the page must show the same figures. Sums may differ in their last
// digits. It returns jobeffd's answer.
func (d daemon) sameEverywhere(t *testing.T, id string, reports [][]byte, printed map[string]any, without []string) map[string]any {
	t.Helper()
	for _, r := range reports {
		if err := d.PostReport(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := storetest.Merge(context.Background(), d.db); err != nil {
		t.Fatal(err)
	}
	served, err := d.JobDocument(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	answered := fields(t, served)
	if d := cmp.Diff(answered, fields(t, ofCommand(t, "--json", id))); d != "" {
		t.Errorf("jobeff --json:\n%s", d)
	}
	for _, name := range without {
		delete(printed, name)
		delete(answered, name)
	}
	if d := cmp.Diff(printed, answered, cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Errorf("jobeffd:\n%s", d)
	}
	text, page := string(ofCommand(t, "--full", id)), string(ofCommand(t, "report", id, "--html", "-"))
	_, page, _ = strings.Cut(page, "<body")
	page = html.UnescapeString(regexp.MustCompile(`(?s)<style.*?</style>|<[^>]*>`).ReplaceAllString(page, " "))
	for where, said := range map[string]string{"text": text, "page": page} {
		rest := strings.Join(strings.Fields(said), " ")
		for _, one := range shown(answered) {
			_, after, found := strings.Cut(rest, " "+one+" ")
			if !found {
				t.Errorf("the %s does not say %q behind what came before:\n%s", where, one, said)
				break
			}
			rest = " " + after
		}
		for _, row := range rowsShown(answered) {
			if !strings.Contains(strings.Join(strings.Fields(said), " "), row) {
				t.Errorf("the %s does not say %q:\n%s", where, row, said)
			}
		}
		if answered["parallel_efficiency"] == nil && strings.Contains(said, "Parallel efficiency 0") {
			t.Errorf("the %s knows a parallel efficiency:\n%s", where, said)
		}
	}
	return answered
}

// shown are the figures of a job's document that its text and its page show, in this order.
func shown(answered map[string]any) (all []string) {
	of := func(name string) float64 { return answered[name].(float64) }
	efficiency := func(label, name string) { all = append(all, label+" "+figure.Efficiency(of(name))) }
	if answered["parallel_efficiency"] == nil {
		return nil
	}
	if answered["openmp_parallel_efficiency"] != nil {
		efficiency("Parallel efficiency", "parallel_efficiency")
		efficiency("MPI parallel efficiency", "mpi_parallel_efficiency")
	} else {
		efficiency("Parallel efficiency", "mpi_parallel_efficiency")
	}
	efficiency("Load balance", "mpi_load_balance")
	efficiency("Inside the nodes", "load_balance_in")
	efficiency("Between nodes", "load_balance_out")
	efficiency("Communication efficiency", "mpi_communication_efficiency")
	if answered["openmp_parallel_efficiency"] != nil {
		efficiency("OpenMP parallel efficiency", "openmp_pop_parallel_efficiency")
		efficiency("Load balance", "openmp_pop_load_balance")
		efficiency("Communication efficiency", "openmp_pop_communication_efficiency")
		efficiency("In regions: load balance", "openmp_load_balance")
		efficiency("In regions: scheduling", "openmp_scheduling_efficiency")
		efficiency("In regions: serialisation", "openmp_serialisation_efficiency")
	}
	return all
}

// rowsShown are the table rows that text and page show: the executions if there are several, the ranks if there
// is one, and the MPI functions.
func rowsShown(answered map[string]any) (all []string) {
	executions := answered["executions"].([]any)
	for _, e := range executions {
		e := e.(map[string]any)
		if of := func(name string) string { return figure.Efficiency(e[name].(float64)) }; len(executions) > 1 {
			all = append(all, of("parallel_efficiency")+" "+of("load_balance")+" "+of("communication_efficiency"))
			continue
		}
		for _, r := range e["slowest"].([]any) {
			r := r.(map[string]any)
			of := func(name string) string { return figure.Seconds(r[name].(float64)) }
			all = append(all, fmt.Sprintf("%v %v %s %s %s %v", r["rank"], r["node"], of("useful"), of("mpi_time"), of("elapsed"), r["ending"]))
		}
	}
	for _, c := range answered["calls"].([]any) {
		c := c.(map[string]any)
		all = append(all, fmt.Sprintf("%v %s %s", c["name"], figure.Count(int(c["count"].(float64))), figure.Seconds(c["time"].(float64))))
	}
	return all
}

// withThreads gives each rank of a report two threads, of which one computes, and gives the report
// another job id.
func withThreads(t *testing.T, text []byte) []byte {
	var r job.NodeReport
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	r.JobID += 50
	for i := range r.Executions[0].Nodes {
		n := &r.Executions[0].Nodes[i]
		idle := n.Useful + n.MPI + n.IO
		n.Threads = &job.ThreadShare{Ranks: n.Ranks, Threads: 2 * n.Ranks, ThreadsMax: 2, Useful: n.Useful, UsefulMax: n.UsefulMax * 9 / 10,
			MPI: n.MPI, IO: n.IO + idle/32, Imbalance: idle / 16, Scheduling: idle / 8, Serial: idle - idle/32 - idle/16 - idle/8}
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// answers: each command prints with --json, byte for byte, what jobeffd answers over HTTP.
func (s *sums) answers(socket string) {
	s.t.Helper()
	browser := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	compared := 0
	same := func(answer any, args ...string) {
		s.t.Helper()
		var want bytes.Buffer
		if err := view.Write(&want, answer); err != nil {
			s.t.Fatal(err)
		}
		if d := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(s.jobeff(args...), "\n")); d != "" {
			s.t.Errorf("jobeff %v (-answered +printed):\n%s", args, d)
		}
		compared++
	}
	get := func(path string) (status int, text json.RawMessage) {
		s.t.Helper()
		resp, err := browser.Get("http://jobeffd" + path)
		if err != nil {
			s.t.Fatal(err)
		}
		defer resp.Body.Close()
		if text, err = io.ReadAll(resp.Body); err != nil {
			s.t.Fatal(err)
		}
		return resp.StatusCode, text
	}
	one := func(path string, args ...string) {
		s.t.Helper()
		if status, text := get(path); status != http.StatusOK {
			s.t.Errorf("%s: %d %s", path, status, text)
		} else {
			same(text, args...)
		}
	}
	list := func(path string, into any) {
		s.t.Helper()
		if status, text := get(path); json.Unmarshal(text, into) != nil {
			s.t.Fatalf("%s: %d %s", path, status, text)
		}
	}
	const since = "2026-11-10"
	var jobs view.Jobs
	list("/v1/jobs?limit=5&start="+since, &jobs)
	list("/v1/pending", &jobs.Pending)
	slices.Reverse(jobs.Jobs)
	same(jobs, "-a", "--json", "-S", since, "--limit", "5")
	var all, named view.Workloads
	list("/v1/workloads?limit=8&since="+since, &all)
	list("/v1/workloads?named=1&limit=8&since="+since, &named)
	slices.Reverse(all.Workloads)
	slices.Reverse(named.Named)
	same(view.Workloads{Workloads: all.Workloads, Named: named.Named, More: all.More || named.More}, "workload", "-a", "--json", "-S", since, "--limit", "8")
	one("/v1/digest?week=2026-W46", "digest", "--json", "--week", "2026-W46")
	one("/v1/digest?week=2026-W46&account=physics", "digest", "--json", "--week", "2026-W46", "-A", "physics")
	one("/v1/coverage?start="+since+"&end=2026-11-21", "admin", "coverage", "--json", "-S", since, "-E", "2026-11-21")
	for _, text := range named.Named[:2] {
		var n view.Named
		if err := json.Unmarshal(text, &n); err != nil {
			s.t.Fatal(err)
		}
		one(fmt.Sprintf("/v1/workloads/%s?user=%d", url.PathEscape(n.Name), n.UID), "workload", "--json", "-u", fmt.Sprint(n.UID), n.Name)
	}
	pairs, medians := 0, 0
	for _, text := range all.Workloads {
		var w view.Workload
		if err := json.Unmarshal(text, &w); err != nil {
			s.t.Fatal(err)
		}
		one("/v1/workloads/"+w.Key, "workload", "--json", w.Key)
		one("/v1/workloads/"+w.Key+"?predict=3,64", "workload", "--json", "--predict", "3,64", w.Key)
		if len(w.Runs) < 2 {
			continue
		}
		first, last := w.Runs[0].DisplayID, w.Runs[len(w.Runs)-1].DisplayID
		one("/v1/jobs/"+last, "--json", last)
		one("/v1/workloads/"+last, "workload", "--json", last)
		if status, text := get("/v1/jobs/" + first + "/compare/" + last + "?force=1"); status == http.StatusOK {
			same(text, "compare", "--json", "--force", first, last)
			pairs++
		}
		if status, text := get("/v1/jobs/" + last + "/compare"); status == http.StatusOK {
			same(text, "compare", "--json", last)
			medians++
		}
	}
	if compared < 30 || pairs == 0 || medians == 0 {
		s.t.Errorf("%d documents, of them %d of two jobs and %d of a job and earlier ones", compared, pairs, medians)
	}
}

// ofCommand is what a command of jobeff prints.
func ofCommand(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(args, os.Getenv, &stdout, &stderr); code != 0 {
		t.Fatalf("jobeff %v: %d, %s", args, code, stderr.String())
	}
	return stdout.Bytes()
}

func fields(t *testing.T, text []byte) (of map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &of); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return of
}
