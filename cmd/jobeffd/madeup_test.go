package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
)

// This file makes node reports and Slurm's word from a line of text. A line is some jobs:
//
//	256 t=5040,5100,5010 pe=.30 lb=.95
//
// has three jobs of 256 ranks. Each took a little more than the time t between MPI_Init and
// MPI_Finalize. Their ranks computed for 0.30 of it on the mean, the busiest one for 0.30/0.95.
// What a line leaves out is as usual: one user, program and input, nodes of 64 cores that
// are full, COMPLETED, CPUs that are busy as long as the ranks compute or wait in MPI.

// madeUp is a line that was taken apart.
type madeUp struct {
	t     testing.TB
	line  string
	ranks int
	set   map[string]string
	read  map[string]bool
}

// takeApart reads a line.
func takeApart(t testing.TB, line string) *madeUp {
	t.Helper()
	words := strings.Fields(line)
	m := &madeUp{t: t, line: line, set: map[string]string{}, read: map[string]bool{}}
	var err error
	if m.ranks, err = strconv.Atoi(words[0]); err != nil {
		t.Fatalf("%q begins with no number of ranks", line)
	}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		m.set[key] = value
	}
	return m
}

// text is the value of a key, or what is usual.
func (m *madeUp) text(key, usual string) string {
	m.read[key] = true
	if v, ok := m.set[key]; ok {
		return v
	}
	return usual
}

// number is the value of a key, or what is usual.
func (m *madeUp) number(key string, usual float64) float64 {
	text := m.text(key, "")
	if text == "" {
		return usual
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		m.t.Fatalf("%q: %s is no number", m.line, key)
	}
	return v
}

// count is the value of a key as a whole number, or what is usual.
func (m *madeUp) count(key string, usual int) int { return int(m.number(key, float64(usual))) }

// times are the elapsed times of its jobs, s.
func (m *madeUp) times() (all []float64) {
	for _, text := range strings.Split(m.text("t", "7200"), ",") {
		t, err := strconv.ParseFloat(text, 64)
		if err != nil {
			m.t.Fatalf("%q: t is no number", m.line)
		}
		all = append(all, t)
	}
	said := len(all)
	for len(all) < m.count("x", said) {
		all = append(all, all[len(all)-said])
	}
	return all
}

// allRead fails if a line has a key that nothing reads: a typing error.
func (m *madeUp) allRead() {
	for key := range m.set {
		if !m.read[key] {
			m.t.Fatalf("%q: nothing is made of %s", m.line, key)
		}
	}
}

// coresPerNode is what a made-up node has.
const coresPerNode = 64

// made is a job with what its nodes report and what Slurm says.
type made struct {
	reports [][]byte
	word    slurm.Job
	silent  bool // Slurm says nothing of it yet
}

// makeJobs makes the jobs of some lines, which ended in the week before a time. Their ids
// grow from first on. Lines with the same job= are executions of one job.
func makeJobs(t testing.TB, text string, first uint32, before time.Time) (all []made) {
	t.Helper()
	var jobs []*madeJob
	var lines []*madeUp
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		m := takeApart(t, line)
		name, array := m.text("job", ""), first+uint32(len(jobs))
		for load := range m.count("loads", 1) {
			for _, elapsed := range m.times() {
				if at := slices.IndexFunc(jobs, func(j *madeJob) bool { return name != "" && j.name == name }); at >= 0 {
					jobs[at].add(m, load, elapsed)
					continue
				}
				j := &madeJob{id: first + uint32(len(jobs)), name: name, array: array}
				j.begin(m, len(jobs), before)
				j.add(m, load, elapsed)
				jobs = append(jobs, j)
			}
		}
		lines = append(lines, m)
	}
	for _, j := range jobs {
		all = append(all, j.made(t))
	}
	for _, m := range lines {
		m.allRead()
	}
	return all
}

// madeJob is a job in the making.
type madeJob struct {
	id         uint32
	name       string
	array      uint32    // where the line is one: its first task
	of         *madeUp   // the line that it begins with
	start, now time.Time // now: when the next execution starts
	last       time.Time // when the last one ended
	user       string
	alloc      int // cores
	nodes      int
	executions int
	seen       [][]seenPart // by node
	cpu        float64      // s that the ranks kept their CPUs busy
}

// seenPart is what one node sees of an execution.
type seenPart struct {
	job.Execution
	beside map[string]any // what only the newest node programs report of the node's ranks
}

// begin places the job in the week before a time, the later ones later.
func (j *madeJob) begin(m *madeUp, at int, before time.Time) {
	j.of, j.user = m, m.text("user", "anna")
	ago := time.Duration(m.number("day", 6.5-float64(at%55)*.1) * 24 * float64(time.Hour))
	j.start = before.Add(-ago).Truncate(time.Second)
	j.now = j.start.Add(10 * time.Second)
	threads := m.count("cpt", 1)
	j.alloc = m.count("alloc", m.ranks*threads*m.count("copies", 1))
	j.nodes = m.count("nodes", (j.alloc+coresPerNode-1)/coresPerNode)
	j.seen = make([][]seenPart, j.nodes)
}

// add adds what a line says of one execution, or of several copies at the same time.
func (j *madeJob) add(m *madeUp, load int, elapsed float64) {
	copies := m.count("copies", 1)
	for copy := range copies {
		from, _, _ := strings.Cut(m.text("by", "pmix:"), ":") // how its launcher names it, as "pmix:slurm.pmix."
		e := job.Execution{Key: fmt.Sprintf("%s%d.%d", m.text("by", "pmix:"), j.id, j.executions), KeyFrom: from, Steps: []string{m.text("step", "0")}, Size: m.ranks, Start: j.now, End: j.now.Add(seconds(elapsed)),
			MPI: "Open MPI", MPIVersion: "Open MPI v4.1.4", ThreadLevel: "MPI_THREAD_SINGLE", CPUsPerTask: m.count("cpt", 1), OMPThreads: m.count("omp", 0)}
		input := m.text("input", "a")
		if m.text("inputs", "one") == "several" {
			input += fmt.Sprint(copy)
		}
		if m.text("mpi", "Open MPI") == "none" {
			e.MPI, e.MPIVersion, e.ThreadLevel = "", "", ""
		}
		identify(&e, m, load, input)
		if copies > 1 {
			e.Warnings = append(e.Warnings, doubt.NewWarning(doubt.WarnSingletons, 1))
		}
		j.run(m, e, elapsed)
		j.executions++
	}
	j.last = later(j.last, j.now.Add(seconds(elapsed)))
	if m.count("beside", 0) == 0 {
		j.now = j.last
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// identify fills in what identifies the workload.
func identify(e *job.Execution, m *madeUp, load int, input string) {
	program := m.text("prog", "solver")
	if load > 0 {
		program += fmt.Sprint(load)
	}
	e.Executable, e.BuildID = m.text("dir", "/apps/bin")+"/"+program, hash("build " + program + m.text("build", ""))[:40]
	e.ArgsHash, e.Workload = hash("args " + m.text("args", ""))[:32], m.text("name", "")
	if input == "-" {
		e.InputNote = "no argument names a file"
		return
	}
	e.InputHash, e.Inputs = hash("input " + input)[:32], 1
}

// hash is 64 hex digits.
func hash(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// usefulShares are the parts of the elapsed time that the ranks computed. The mean is pe, the
// busiest rank has pe/lb.
func (m *madeUp) usefulShares() []float64 {
	pe, lb := m.number("pe", .95), m.number("lb", .97)
	shares := make([]float64, m.ranks)
	most := pe / lb
	if m.ranks == 1 {
		most = pe
	}
	for r := range shares {
		tilt := 1 - 2*float64(r)/float64(max(m.ranks-1, 1))
		shares[r] = pe + (most-pe)*tilt
	}
	busy := 0 // ranks that do more than the others
	switch shape := m.text("slow", "none"); shape {
	case "none":
	case "rank":
		busy = 1
	case "node":
		busy = min(coresPerNode, m.ranks/2)
	default:
		m.t.Fatalf("%q: slow=rank or slow=node", m.line)
	}
	for r := range shares[:m.ranks*min(busy, 1)] {
		shares[r] = (pe*float64(m.ranks) - most*float64(busy)) / float64(m.ranks-busy)
		if r < busy {
			shares[r] = most
		}
	}
	for r := range m.count("idle", 0) {
		shares[m.ranks-1-r] = .005
	}
	if _, said := m.set["first"]; said {
		shares[0] = m.number("first", 0)
	}
	return shares
}

// stateOf is Slurm's state and how ranks end with it.
func (m *madeUp) stateOf() (state, ending string) {
	endings := map[string]string{"COMPLETED": job.EndingFinalized, "TIMEOUT": "signal 15 (SIGTERM)", "CANCELLED": "signal 15 (SIGTERM)",
		"OUT_OF_MEMORY": "signal 9 (SIGKILL)", "NODE_FAIL": job.EndingAssumed, "BOOT_FAIL": job.EndingAssumed, "FAILED": "exit 1 without MPI_Finalize", "PREEMPTED": "signal 15 (SIGTERM)",
		"DEADLINE": "signal 15 (SIGTERM)", "REQUEUED": "signal 15 (SIGTERM)"}
	state = m.text("state", "COMPLETED")
	ending, known := endings[state]
	if !known {
		m.t.Fatalf("%q: a job does not end as %s here", m.line, state)
	}
	ending = m.text("ending", ending)
	if ending == "killed" {
		ending = "signal 9 (SIGKILL)"
	}
	return state, ending
}

// run splits an execution among the job's nodes.
func (j *madeJob) run(m *madeUp, e job.Execution, elapsed float64) {
	if m.count("bare", 0) > 0 { // it leaves no record
		return
	}
	_, ending := m.stateOf()
	if e.MPI == "" && ending == job.EndingFinalized {
		ending = "exit 0"
	}
	shares := m.usefulShares()
	recorded := int(math.Round(m.number("cov", 1) * float64(m.ranks)))
	on := min(m.count("on", j.nodes), m.ranks)
	perNode := (m.ranks + on - 1) / on
	for node := 0; node*perNode < recorded; node++ {
		first := node * perNode
		useful := shares[first:min(first+perNode, recorded)]
		part := seenPart{Execution: e}
		part.Warnings, part.Endings = slices.Clone(e.Warnings), map[string]int{ending: len(useful)}
		if ending != job.EndingFinalized && ending != "exit 0" {
			part.Warnings = append(part.Warnings, doubt.NewWarning(doubt.WarnNoFinalize, len(useful)))
		}
		if code := m.text("warn", ""); code != "" {
			part.Warnings = append(part.Warnings, doubt.NewWarning(code, 1))
		}
		part.share(m, elapsed, first, useful)
		part.team(m)
		part.machine(m, node)
		j.cpu += part.kernel(m, elapsed)
		part.traffic(m)
		if share := m.number("section", 0); share > 0 {
			part.section(share, elapsed)
		}
		j.seen[node] = append(j.seen[node], part)
	}
}

// share fills in the node's ranks: from first on, with their useful shares.
func (p *seenPart) share(m *madeUp, elapsed float64, first int, useful []float64) {
	io := m.number("io", 0)
	k := len(useful)
	stuck := seconds(m.number("stuck", 0))
	n := job.NodeShare{OnlineCPUs: coresPerNode * m.count("smt", 1), CPUs: m.count("cpt", 1), Ranks: k, ElapsedMax: seconds(elapsed), ElapsedSum: seconds(elapsed * float64(k)), Stuck: stuck}
	var ids []int
	for r, share := range useful {
		waits := max(1-share-io, 0)
		one := job.Rank{Rank: first + r, PID: 1000 + r, Elapsed: seconds(elapsed), Useful: seconds(share * elapsed), MPI: seconds(waits * elapsed)}
		ids = append(ids, one.Rank)
		n.Useful, n.UsefulMax, n.MPI = n.Useful+one.Useful, max(n.UsefulMax, one.Useful), n.MPI+one.MPI
		n.IO += seconds(max(min(io, 1-share), 0) * elapsed)
		n.UsefulShare, n.MPIShare = append(n.UsefulShare, byte(math.Round(255*min(max(share, 0), 1)))), append(n.MPIShare, byte(math.Round(255*waits)))
		p.Slowest = append(p.Slowest, one)
	}
	p.Slowest, n.RankIDs = job.Slowest(p.Slowest), slurmid.FormatRanges(ids)
	p.Nodes = []job.NodeShare{n}
}

// team fills in what the ranks' threads did with OpenMP. Outside MPI, the threads other than the main one
// computed for a share of the time (works), and spent other shares in barriers and scheduling.
func (p *seenPart) team(m *madeUp) {
	threads := m.count("team", 1)
	works, barriers, scheduling := m.number("works", .95), m.number("barriers", 0), m.number("scheduling", 0)
	if threads > 1 {
		p.Execution = jobtest.Threaded(p.Execution, threads, works, barriers, scheduling)
	}
}

// kernel fills in what only the newest node programs report, and returns the CPU time of the node's
// ranks, s. Ranks that are killed were last read at a call: after a part of the time, or never.
func (p *seenPart) kernel(m *madeUp, elapsed float64) float64 {
	elapsed *= m.number("read", 1)
	k, threads, cpus := p.Nodes[0].Ranks, m.count("threads", m.count("team", m.count("cpt", 1))), m.count("mask", 0)
	span := elapsed * float64(k)
	busy, queue := m.number("busy", 1), m.number("queue", 0) // parts of the time that a rank had its CPU, and waited for one
	others := float64(threads-1) * span * m.number("other", .9)
	slept := max((1-busy-queue)*span-p.Nodes[0].MPI.Seconds()-p.Nodes[0].IO.Seconds(), m.number("slept", 0)*span) // outside MPI, at least
	if span == 0 {
		return 0
	}
	cpu := busy*span + others
	list := fmt.Sprintf("0-%d", max(cmp.Or(cpus, k*m.count("cpt", 1)), 1)-1)
	load := map[string]any{"ranks": k, "whole": k, "span_ns": seconds(span), "cpu_ns": seconds(cpu), "other_cpu_ns": seconds(others), "threads": threads,
		"threaded": k * min(threads-1, 1), "busy_threads": k * threads, "queue_ns": seconds(queue * span), "thread_span_ns": seconds(span * float64(threads)),
		"slept_ns": seconds(slept), "gpu_ranks": k * m.count("opened", 0), "cpu_list": list}
	if threads > 1 {
		load["busy_name"], load["busy_of_mpi"] = m.text("thread", "solver"), m.text("thread", "") != ""
	}
	if cpus > 0 && cpus < k*threads {
		load["crowd_ranks"], load["crowd_threads"], load["crowd_cpus"] = k, k*threads, list
	}
	if p.Nodes[0].Threads != nil {
		load["openmp"] = load["threaded"]
	}
	p.beside["load"] = load
	return cpu
}

// machine fills in the hardware of the job's node of that number.
func (p *seenPart) machine(m *madeUp, node int) {
	model := m.text("model", "AMD EPYC 7543")
	if node > 0 {
		model = m.text("model2", model)
	}
	p.beside = map[string]any{"machine": map[string]any{"model": model, "sockets": 2, "cores": coresPerNode, "threads_per_core": m.count("smt", 1),
		"max_mhz": m.count("mhz", 3700), "memory_mib": 256 << 10}}
}

// traffic fills in the calls: collective ones and waits, as many of each rank on any number
// of cores.
func (p *seenPart) traffic(m *madeUp) {
	n := &p.Nodes[0]
	calls := uint64(m.count("calls", 20_000)) * uint64(n.Ranks)
	name, part := m.text("in", "MPI_Allreduce"), .6
	if name != "MPI_Allreduce" {
		part = .99
	}
	in := job.Call{Name: name, Count: calls, Time: time.Duration(part * float64(n.MPI)), Sent: 8 * calls, Received: 8 * calls, Largest: 8}
	waits := job.Call{Name: "MPI_Waitall", Count: calls, Time: n.MPI - in.Time}
	if p.MPI == "" {
		return
	}
	p.Calls = []job.Call{in, waits}
	if n.IO > 0 {
		p.Calls = append(p.Calls, job.Call{Name: "MPI_File_write_all", Count: calls / 100, Time: n.IO})
	}
	job.SortCalls(p.Calls)
	in.Name, waits.Name = record.ClassColl.String(), record.ClassWait.String()
	p.Classes = []job.Call{in, waits}
}

// section names a part of the program that took a share of the time, most of it in MPI.
func (p *seenPart) section(share, elapsed float64) {
	k := p.Nodes[0].Ranks
	all, longest := elapsed*share*float64(k), elapsed*share
	p.Sections = []job.Section{{Label: "pack", Ranks: k, Count: uint64(k), Elapsed: seconds(all), ElapsedMax: seconds(longest), Useful: seconds(.2 * all),
		UsefulMax: seconds(.2 * longest), MPI: seconds(.8 * all), Own: seconds(all), OwnUseful: seconds(.2 * all), OwnMPI: seconds(.8 * all)}}
}

// clusterName is the made-up cluster's.
const clusterName = "cluster"

// uidOf is a user's number.
func uidOf(user string) uint32 { return 20_000 + uint32(user[0]) }

// made puts the job together.
func (j *madeJob) made(t testing.TB) made {
	m := j.of
	state, _ := m.stateOf()
	end := j.last.Add(10 * time.Second).Add(seconds(m.number("more", 0)))
	var names []string
	for n := range j.nodes {
		names = append(names, fmt.Sprintf("n%03d", 1+n+m.count("from", 0)))
	}
	nodelist := strings.Join(names, ",")
	w := slurm.Job{Cluster: clusterName, ID: fmt.Sprint(j.id), RawID: j.id, UID: uidOf(j.user), User: j.user, State: state, ExitCode: "0:0", Submit: j.start.Add(-time.Minute),
		Start: j.start, End: end, Elapsed: end.Sub(j.start) - seconds(m.number("suspended", 0)), Nodes: j.nodes, CPUs: j.alloc, GPUs: m.count("gpus", 0), NodeList: nodelist, Account: "proj", QOS: "normal",
		Partition: m.text("part", "main"), Name: "job", WithSteps: true}
	w.TRES = fmt.Sprintf("cpu=%d,mem=%dG,node=%d", j.alloc, 2*j.alloc, j.nodes)
	total := j.cpu + m.number("more", 0)*float64(j.alloc)*m.number("morebusy", 1)
	if _, said := m.set["totalcpu"]; said {
		total = m.number("totalcpu", 1) * w.Elapsed.Seconds() * float64(j.alloc)
	}
	w.Usage = &job.Usage{TotalCPU: seconds(total), Memory: 1 << 30, LargestTask: 1 << 26, Allocated: int64(2*j.alloc) << 30}
	if given := m.number("given", 0); given > 0 { // GiB of memory
		w.Usage.Memory, w.Usage.Allocated = int64(m.number("held", 1)*(1<<30)), int64(given)<<30
		w.TRES = fmt.Sprintf("cpu=%d,mem=%gG,node=%d", j.alloc, given, j.nodes)
	}
	if n := m.count("gpus", 0); n > 0 {
		w.TRES += fmt.Sprintf(",gres/gpu=%d", n)
	}
	w.Usage.PartOfNodes = m.count("partnodes", 0) > 0
	if part := m.number("resized", 0); part > 0 { // of the core time of its largest size
		used := policy.CoreTime(part * w.Elapsed.Seconds() * float64(j.alloc))
		w.Used = &used
	}
	w.TimeLimit, w.Name = seconds(m.number("limit", 0)), m.text("called", "job")
	w.Eligible = w.Submit
	if task := m.count("task", 0); task > 0 {
		n := j.id - j.array
		w.ID, w.ArrayJobID, w.ArrayTaskID = fmt.Sprintf("%d_%d", j.array, n), j.array, &n
	}
	w.Usage.OutOfMemory = m.text("oom", "")
	if m.text("usage", "known") == "unknown" {
		w.Usage = nil
	}
	return made{reports: j.reports(t, names, &w), word: w, silent: m.count("noslurm", 0) > 0}
}

// reports are the nodes' own words, as JSON.
func (j *madeJob) reports(t testing.TB, names []string, w *slurm.Job) (all [][]byte) {
	m := j.of
	for at, name := range names[:len(names)-m.count("missing", 0)] {
		r := &job.NodeReport{Version: job.ReportVersion, Sequence: 1, Cluster: clusterName, JobID: j.id, Nonce: hash(fmt.Sprint("nonce ", j.id, name))[:32], UID: w.UID, GID: w.UID, User: w.User,
			Account: w.Account, Partition: w.Partition, NodeList: w.NodeList, NNodes: j.nodes, Node: name, BootID: hash("boot " + name)[:32], OnlineCPUs: coresPerNode * m.count("smt", 1),
			Start: w.Start, End: w.End, Decision: "on", Prolog: true}
		if m.count("smt", 1) > 1 {
			r.Cgroup = &job.Cgroup{Nodes: 1, CPUs: r.OnlineCPUs, Cores: coresPerNode}
		}
		if kept := strings.Split(m.text("kept", ""), ","); kept[0] != "" { // GiB that each of its nodes needed, in turn for the jobs of the line
			gib, err := strconv.ParseFloat(kept[int(j.id-j.array)%len(kept)], 64)
			if err != nil {
				t.Fatalf("%q: kept is no number", m.line)
			}
			bytes := int64(gib * (1 << 30))
			r.Cgroup = &job.Cgroup{Nodes: 1, CPUs: r.OnlineCPUs, Cores: coresPerNode, Low: bytes, NodeLow: bytes, High: bytes, NodeHigh: bytes, Peaks: 1, Samples: 60, Events: 1, Full: m.count("full", 0)}
		}
		r.GPUs = m.gpus(w.Elapsed)
		var beside []map[string]any
		step := job.Step{ID: "0", Start: w.Start, End: w.End}
		for _, part := range j.seen[at] {
			part.Nodes[0].Node, part.Nodes[0].BootID = name, r.BootID
			r.Executions, beside = append(r.Executions, part.Execution), append(beside, part.beside)
			step.Tasks += part.Nodes[0].Ranks
		}
		r.Steps = []job.Step{step}
		if at == 0 && m.count("session", 0) == 0 {
			r.Steps = append(r.Steps, job.Step{ID: "batch", Tasks: 1, Start: w.Start, End: w.End})
		}
		for _, look := range j.looks(r) {
			all = append(all, mustJSON(t, look))
		}
		all = append(all, withNewest(t, r, beside))
	}
	return all
}

// gpus are a node's GPUs: of each the part of the time in which a kernel of its one process ran, "none" without a process,
// or "?" if that is not known.
func (m *madeUp) gpus(had time.Duration) (all []job.GPU) {
	for _, did := range strings.FieldsFunc(m.text("kernels", ""), func(r rune) bool { return r == ',' }) {
		one := job.GPU{UUID: fmt.Sprintf("GPU-%02d", len(all))}
		share, err := strconv.ParseFloat(did, 64)
		switch {
		case did == "?":
			one.Why = job.GPUNoAccounting
		case err == nil:
			one.Life, one.Busy, one.Processes, one.Memory = had, time.Duration(share*float64(had)), 1, 1<<30
		case did != "none":
			m.t.Fatalf("%q: a GPU did %q", m.line, did)
		}
		all = append(all, one)
	}
	return all
}

// looks are a node's interim reports of a job in which nothing moved for so many seconds, up to a minute before its end.
// It may have moved since.
func (j *madeJob) looks(last *job.NodeReport) (all []*job.NodeReport) {
	stood := seconds(j.of.number("stood", 0))
	if stood == 0 {
		return nil
	}
	last.Sequence = job.FinalSequence
	for i, ago := range []time.Duration{stood, time.Minute, time.Minute / 2}[:2+j.of.count("moved", 0)] {
		r := *last
		r.AsOf = r.End.Add(-ago)
		r.End, r.Sequence, r.Executions = r.AsOf, int(r.AsOf.Sub(r.Start)/time.Millisecond), nil
		out := j.of.count("outside", 0)
		calls := []hang.OpenCalls{{Execution: "k", Size: j.of.ranks, Function: j.of.text("in", "MPI_Allreduce"), Count: j.of.ranks - out, Ranks: fmt.Sprintf("%d-%d", out, j.of.ranks-1)},
			{Execution: "k", Size: j.of.ranks, Function: hang.OutsideMPI, Count: out, Ranks: "0", Some: []hang.RankNow{{Node: r.Node, PID: 4711, State: "S"}}}}
		r.Progress = &hang.Progress{Moment: r.AsOf, At: r.AsOf, AtMS: int64(r.Sequence), Read: r.AsOf, ReadMS: int64(r.Sequence), Mark: fmt.Sprint(i / 2), Calls: calls[:1+out]}
		all = append(all, &r)
	}
	return all
}

// withNewest returns a report's JSON with what only the newest node programs report of each
// execution: the node's hardware, and what the kernel counted.
func withNewest(t testing.TB, r *job.NodeReport, beside []map[string]any) []byte {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(mustJSON(t, r), &all); err != nil {
		t.Fatal(err)
	}
	executions, _ := all["executions"].([]any)
	for i, e := range executions {
		for _, share := range e.(map[string]any)["nodes"].([]any) {
			maps.Copy(share.(map[string]any), beside[i])
		}
	}
	return mustJSON(t, all)
}
