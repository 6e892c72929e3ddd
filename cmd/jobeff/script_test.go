package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/cmd/jobeffd/admin"
	"jobeff/cmd/source"
	"jobeff/etc"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/server"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
	"jobeff/ingest/store/storetest"
	"jobeff/policy"
	"jobeff/policy/rule"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"jobeff": main, source.Reader: main, "jobeffd": jobeffd})
}

// jobeffd is the part of the daemon's program to which jobeff hands commands on; cmd/jobeffd tests the rest.
func jobeffd() {
	root := &cobra.Command{Use: "jobeffd", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(admin.Command())
	err := root.Execute()
	if err != nil {
		cli.Complain(os.Stderr, "jobeffd", err.Error())
	}
	os.Exit(cli.ExitCode(err))
}

// TestScripts runs the sessions in testdata/script, each with a jobeffd of its own
// that root's reports are posted to.
func TestScripts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may report to jobeffd")
	}
	root := t.TempDir()
	for p := root; strings.HasPrefix(p, os.TempDir()+"/"); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil { // another user's jobeff runs here too
			t.Fatal(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		WorkdirRoot:   root,
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			socket := filepath.Join(env.WorkDir, "s")
			env.Setenv("SOCKET", socket)
			env.Setenv("REPORTS", filepath.Join(here, "testdata/reports"))
			env.Setenv("PACKAGING", filepath.Join(here, "../../packaging"))
			env.Setenv("TZ", "UTC")
			config := filepath.Join(env.WorkDir, "jobeff.toml")
			env.Setenv("JOBEFF_CONFIG", config)
			if err := os.WriteFile(config, fmt.Appendf(nil, "[report]\nto = \"unix:%s\"\n", socket), 0o644); err != nil {
				return err
			}
			if err := os.Chmod(env.WorkDir, 0o755); err != nil {
				return err
			}
			env.Setenv("RULES", filepath.Join(env.WorkDir, "jobeffd.toml"))
			if err := os.WriteFile(env.Getenv("RULES"), nil, 0o644); err != nil {
				return err
			}
			env.Defer(func() {
				if s, is := testServers.Load(socket); is {
					s.(testServer).stop()
				}
			})
			_, err := startServer(filepath.Join(env.WorkDir, "jobeff.db"), socket, env.Getenv("RULES"))
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"post": post, "ran": ran, "many": many, "recent": recent, "tasks": tasks, "restart": restart, "as": as},
	})
}

// testServer is a jobeffd in this process.
type testServer struct {
	*store.Store
	rules *rule.Rules
	stop  func()
}

// testServers holds them by their sockets.
var testServers sync.Map

// serverAt is the last one that was started on a socket.
func serverAt(socket string) testServer {
	s, _ := testServers.Load(socket)
	return s.(testServer)
}

// figures merges and judges the reports that came, as jobeffd does over time.
func (s testServer) figures() error {
	if err := storetest.Merge(context.Background(), s.Store); err != nil {
		return err
	}
	for {
		n, err := s.Judge(context.Background(), store.Judging{Rules: s.rules.Mark(), Ask: func(found *listing.JobAndWorkload) []string {
			_, verdicts := s.rules.JudgeFound(found, time.Now())
			return policy.Flags(verdicts)
		}}, time.Now())
		if n == 0 || err != nil {
			return err
		}
	}
}

// startServer runs jobeffd in this process, as root's. rules is its configuration.
func startServer(database, socket, rules string) (stop func(), err error) {
	s := testServer{stop: func() {}}
	cfg, err := etc.Load(rules)
	if err != nil {
		return s.stop, err
	}
	if s.rules, err = rule.Compile(cfg.Rules); err != nil {
		return s.stop, err
	}
	if s.Store, err = store.Open(database); err != nil {
		return s.stop, err
	}
	l, err := server.ListenUnix(socket)
	if err == nil {
		err = s.JudgeBy(context.Background(), s.rules.Mark())
	}
	if err != nil {
		s.Close()
		return s.stop, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- server.New(server.Options{Store: s.Store, Log: zerolog.Nop(), Rules: s.rules}).Serve(ctx, l)
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		<-done
		s.Close()
	})
	testServers.Store(socket, s)
	return s.stop, nil
}

// restart starts the script's jobeffd again, with the rules in $RULES: restart.
func restart(ts *testscript.TestScript, neg bool, args []string) {
	serverAt(ts.Getenv("SOCKET")).stop()
	_, err := startServer(ts.MkAbs("jobeff.db"), ts.Getenv("SOCKET"), ts.Getenv("RULES"))
	ts.Check(err)
}

// post sends node reports from testdata/reports as root.
func post(ts *testscript.TestScript, neg bool, names []string) {
	c := client.NewClient("unix:"+ts.Getenv("SOCKET"), 10*time.Second, nil)
	defer c.Close()
	for _, name := range names {
		body, err := os.ReadFile(filepath.Join(ts.Getenv("REPORTS"), name+".json"))
		ts.Check(err)
		ts.Check(c.PostReport(context.Background(), body))
	}
	ts.Check(serverAt(ts.Getenv("SOCKET")).figures())
}

// ran sends what root would report of a job that ran on one node from 12:00 on:
// ran JOB UID WORKLOAD RANKS ELAPSED USEFUL [THREADS], times in seconds, USEFUL summed
// over the ranks.
func ran(ts *testscript.TestScript, neg bool, args []string) {
	n := func(i int) int {
		if i >= len(args) {
			return 0
		}
		v, err := strconv.Atoi(args[i])
		ts.Check(err)
		return v
	}
	begin := time.Date(2026, 11, 20, 12, n(0)%60, 0, 0, time.UTC)
	sendRun(ts, n, args, begin)
	elapsed := time.Duration(n(4)+1) * time.Second
	tell(ts, slurm.Job{Cluster: "test", ID: args[0], RawID: uint32(n(0)), UID: uint32(n(1)), User: "u" + args[1], Account: "chem", Partition: "main",
		State: "COMPLETED", ExitCode: "0:0", Submit: begin, Start: begin, End: begin.Add(elapsed), Elapsed: elapsed, Nodes: 1, NodeList: "n1"})
}

// tell adds what sacct would print about jobs.
func tell(ts *testscript.TestScript, lines ...slurm.Job) {
	s := serverAt(ts.Getenv("SOCKET"))
	_, err := s.AddSlurm(context.Background(), lines)
	ts.Check(err)
	ts.Check(s.figures())
}

// many is ran for N workloads of a user, many-0, many-1 and so on, with one job each: many N UID.
func many(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	for i := range n {
		ran(ts, neg, []string{strconv.Itoa(300 + i), args[1], fmt.Sprint("many-", i), "2", "60", "100"})
	}
}

// recent is ran for a job that began an hour ago, and adds what sacct would print about it:
// recent JOB UID WORKLOAD RANKS ELAPSED USEFUL THREADS NAME CPUS.
func recent(ts *testscript.TestScript, neg bool, args []string) {
	n := func(i int) int {
		v, err := strconv.Atoi(args[i])
		ts.Check(err)
		return v
	}
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	sendRun(ts, n, args, begin)
	elapsed := time.Duration(n(4)) * time.Second
	line := slurm.Job{Cluster: "test", ID: args[0], RawID: uint32(n(0)), UID: uint32(n(1)), User: "u" + args[1], State: "COMPLETED", ExitCode: "0:0",
		Submit: begin, Start: begin, End: begin.Add(elapsed), Elapsed: elapsed, Nodes: 1, CPUs: n(8), GPUs: 1, TRES: "cpu=" + args[8] + ",gres/gpu=1,mem=1G",
		Account: "chem", Partition: "big", QOS: "normal", Name: args[7], WithSteps: true,
		Usage: &job.Usage{TotalCPU: elapsed * time.Duration(n(8)) / 2, Memory: 768 << 20, LargestTask: 256 << 20, Allocated: 1 << 30}}
	tell(ts, line)
}

// tasks makes an array: tasks ARRAY UID TASKS. Every third task runs another program than the others, and the
// second task fails. As in Slurm, the last task has the array's number.
func tasks(ts *testscript.TestScript, neg bool, args []string) {
	var of [3]int
	for i := range of {
		var err error
		of[i], err = strconv.Atoi(args[i])
		ts.Check(err)
	}
	var lines []slurm.Job
	for task := 1; task <= of[2]; task++ {
		id, program, state, elapsed := of[0]+task%of[2], "/opt/solve", "COMPLETED", time.Duration(100+task)*time.Second
		if task%3 == 0 {
			program, elapsed = "/opt/prepare", elapsed/10
		}
		begin := time.Now().Add(-59 * time.Minute).Truncate(time.Second)
		values := []int{id, of[1], 0, 2, int(elapsed.Seconds()), int(elapsed.Seconds())}
		r := runReport(func(i int) int { return values[i%len(values)] }, []string{strconv.Itoa(id), args[1], ""}, begin)
		number := uint32(task)
		r.ArrayJobID, r.ArrayTaskID, r.Executions[0].Executable, r.Executions[0].OMPThreads = uint32(of[0]), &number, program, 0
		send(ts, r)
		if task == 2 {
			state = "FAILED"
		}
		lines = append(lines, slurm.Job{Cluster: "test", ID: fmt.Sprintf("%d_%d", of[0], task), RawID: uint32(id), ArrayJobID: uint32(of[0]), ArrayTaskID: &number, UID: uint32(of[1]), User: "u" + args[1],
			State: state, ExitCode: "0:0", Submit: begin, Start: begin, End: begin.Add(elapsed), Elapsed: elapsed, Nodes: 1, NodeList: "n1", CPUs: 2, TRES: "cpu=2,mem=2G", Account: "chem", Partition: "main", Name: "sweep",
			WithSteps: true, Usage: &job.Usage{TotalCPU: elapsed, Memory: 512 << 20, LargestTask: 256 << 20, Allocated: 2 << 30}})
	}
	tell(ts, lines...)
}

// sendRun posts the report of a job that ran on one node from begin on.
func sendRun(ts *testscript.TestScript, n func(int) int, args []string, begin time.Time) {
	send(ts, runReport(n, args, begin))
}

func runReport(n func(int) int, args []string, begin time.Time) *job.NodeReport {
	ranks, elapsed, useful := n(3), time.Duration(n(4))*time.Second, time.Duration(n(5))*time.Second
	return &job.NodeReport{Version: 1, Sequence: 1, Cluster: "test", JobID: uint32(n(0)), Nonce: fmt.Sprintf("%032x", n(0)), UID: uint32(n(1)), User: "u" + args[1],
		Account: "chem", Partition: "main", Node: "n1", NNodes: 1, OnlineCPUs: 64, Start: begin, End: begin.Add(elapsed + time.Second), Decision: "on", Prolog: true,
		Executions: []job.Execution{{Key: "k", KeyFrom: "pmix", Steps: []string{"0"}, Size: ranks, Start: begin, End: begin.Add(elapsed), MPI: "Open MPI",
			Executable: "/opt/melt", BuildID: "b1d0", ArgsHash: strings.Repeat("a1", 16), InputHash: strings.Repeat("b1", 16), Workload: args[2], OMPThreads: n(6), Endings: map[string]int{job.EndingFinalized: ranks},
			Classes: []job.Call{{Name: "collective", Count: uint64(1000 * ranks), Time: time.Duration(ranks)*elapsed - useful}},
			Nodes: []job.NodeShare{{Node: "n1", Ranks: ranks, Useful: useful, UsefulMax: useful / time.Duration(ranks), MPI: time.Duration(ranks)*elapsed - useful,
				ElapsedMax: elapsed, ElapsedSum: time.Duration(ranks) * elapsed, RankIDs: fmt.Sprintf("0-%d", ranks-1)}}}}}
}

func send(ts *testscript.TestScript, r *job.NodeReport) {
	body, err := json.Marshal(r)
	ts.Check(err)
	c := client.NewClient("unix:"+ts.Getenv("SOCKET"), 10*time.Second, nil)
	defer c.Close()
	ts.Check(c.PostReport(context.Background(), body))
}

// as runs a command as another uid: as UID COMMAND ARG…
func as(ts *testscript.TestScript, neg bool, args []string) {
	uid, err := strconv.Atoi(args[0])
	ts.Check(err)
	bin := strings.Split(ts.Getenv("PATH"), ":")[0]
	for _, dir := range []string{bin, filepath.Dir(bin)} {
		ts.Check(os.Chmod(dir, 0o755))
	}
	cmd := exec.Command(filepath.Join(bin, args[1]), args[2:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	cmd.Env = []string{"JOBEFF_CONFIG=" + ts.Getenv("JOBEFF_CONFIG"), "PATH=" + ts.Getenv("PATH"), "TZ=UTC"}
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	if err := cmd.Run(); (err != nil) != neg {
		ts.Fatalf("as %s: %v", strings.Join(args, " "), err)
	}
}
