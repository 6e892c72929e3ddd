package job

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jobeff/policy/doubt"
	"jobeff/preload/record"
)

// Run is one execution as an overhead curve needs it (METRICS 4): n = Cores, t_n = Elapsed,
// tau_n = Elapsed - Useful/Ranks. Runs of one WorkloadKey may share a curve. policy checks that:
// strong scaling leaves some quantities unchanged.
type Run struct {
	Cluster   string `json:"cluster" db:"cluster"`
	JobID     uint32 `json:"job_id" db:"job_id"` // raw id
	Attempt   int    `json:"attempt" db:"attempt"`
	Execution int    `json:"execution" db:"execution"` // 0, 1 … by start
	DisplayID string `json:"id"`                       // of the job: 123, 123_4, 123+1
	UID       uint32 `json:"uid" db:"uid"`
	User      string `json:"user,omitempty" db:"user_name"`
	Account   string `json:"account,omitempty" db:"account"`

	Start     time.Time `json:"start"`
	Ranks     int       `json:"ranks" db:"ranks"` // size of the world
	Threads   int       `json:"threads" db:"threads"`
	Nodes     int       `json:"nodes" db:"nodes"`
	GPUs      int       `json:"gpus,omitempty" db:"gpus"`             // of the job
	AllocCPUs int       `json:"alloc_cpus,omitempty" db:"alloc_cpus"` // of the job, AllocCPUS; 0: not known
	// Ended says that every rank left MPI_Finalize. Otherwise Elapsed is not the time of the
	// whole work.
	Ended    bool    `json:"ended" db:"ended"`
	Coverage float64 `json:"coverage" db:"coverage"`

	Elapsed float64 `json:"elapsed" db:"elapsed_s"`   // s, E
	Useful  float64 `json:"useful" db:"useful_s"`     // s, sum over ranks, and over their threads where these are measured
	MPITime float64 `json:"mpi_time" db:"mpi_time_s"` // s, sum over ranks

	// Collectives is the number of collective calls per rank, which strong scaling leaves
	// unchanged.
	Collectives float64      `json:"collectives" db:"collectives"`
	Sections    []RunSection `json:"sections,omitempty"`
	Counters    *Counters    `json:"counters,omitempty"`
	Conditions  *Conditions  `json:"conditions,omitempty"`                    // nil: no times of it are known
	State       string       `json:"state,omitempty" db:"state"`              // of the job, sacct's, or OUT_OF_MEMORY if a step ran out of memory and this run did not end; "": not known
	Partition   string       `json:"partition,omitempty" db:"partition_name"` // of the job
	Suspended   float64      `json:"suspended,omitempty"`                     // s, of the job, see Job.Suspended; its runs' times may contain it

	Executable string `json:"executable,omitempty" db:"executable"`
	BuildID    string `json:"build_id,omitempty" db:"build_id"` // or the file's hash
	MPI        string `json:"mpi,omitempty" db:"mpi"`           // MPILibrary; "": not asked for
}

// Cores is n of METRICS 4: ranks x threads.
func (r *Run) Cores() int { return r.Ranks * max(1, r.Threads) }

// Conditions describe what a run ran on: its machine, and what its ranks got of it. They are not
// part of its work. Times are s.
type Conditions struct {
	Machine   *Hardware `json:"machine,omitempty"` // nil: not known of every node
	Input     string    `json:"input,omitempty"`   // InputHash of its execution; "": not known
	UsefulMax float64   `json:"useful_max"`        // of the busiest rank, or its busiest thread where these are measured
	IOTime    float64   `json:"io_time"`           // sum over ranks, in MPI_File_*
	Threaded  bool      `json:"threaded"`          // ThreadsUnknown: threads computed, and it was not measured what
	OpenMP    float64   `json:"openmp"`            // time that OpenMP lost, sum over threads; 0 too if no rank has several

	// What follows is known if Counted is true: the kernel was asked in every rank.
	Counted     bool    `json:"counted"`
	CPUTime     float64 `json:"cpu_time"`
	Span        float64 `json:"span"`           // time in which CPUTime was used, sum over ranks
	QueueWait   float64 `json:"run_queue_wait"` // of all threads, for a CPU
	BusyThreads int     `json:"busy_threads"`
	CPUsAllowed int     `json:"cpus_allowed"` // 0: not known
	Contended   bool    `json:"contended"`    // busy threads lacked CPUs
	Asleep      bool    `json:"asleep"`       // ranks often neither ran nor waited for a CPU outside MPI
	GPU         bool    `json:"gpu"`          // a rank had a GPU's device file open
}

// RunSection is what one section took in a run.
type RunSection struct {
	Label string  `json:"label"`
	Own   float64 `json:"own"` // s, mean per rank, without the sections inside it
}

// Workload holds the runs of one WorkloadKey, oldest first.
type Workload struct {
	Key        string `json:"key"`
	Name       string `json:"name"` // from the user, or else made of program and key
	Cluster    string `json:"cluster"`
	UID        uint32 `json:"uid"`
	User       string `json:"user,omitempty"`
	Executable string `json:"executable,omitempty"` // of the newest run
	InputNote  string `json:"input_note,omitempty"` // why the input is unknown; "": it is known
	Mute       *Mute  `json:"mute,omitempty"`       // nil: not muted
	Runs       []Run  `json:"runs"`
	// Rebuilt are the newest earlier runs of the same Lineage on as many cores, but of other builds, newest
	// first. They are filled in where a job is asked for and the workload has no earlier runs.
	Rebuilt []Run `json:"rebuilt,omitempty"`
	// All sums up all its runs; nil: Runs are all of them.
	All *RunSum `json:"all,omitempty"`
	// Jobs are the newest jobs that had these runs, oldest first. They are filled in where one workload
	// is asked for. A workload of jobs that left no record of a program has only Jobs.
	Jobs []Ran `json:"jobs,omitempty"`
	// Last is the job of its newest run that was completed, or ran out of memory or time; nil: not read.
	Last *Job `json:"last,omitempty"`
	// Room is the most that its next job can ask for where its newest one ran; nil: not known.
	Room *Room `json:"room,omitempty"`
}

// RunSum sums up runs. Core-hours are Cores x Elapsed.
type RunSum struct {
	Runs  int     `json:"runs"`
	Used  float64 `json:"used"`  // core-hours
	Known float64 `json:"known"` // … of the runs whose loss is known
	Lost  float64 `json:"lost"`  // of these, those that were not useful
}

// KnownLost is Lost; nil: of no run it is known.
func (s RunSum) KnownLost() *float64 {
	if s.Known == 0 {
		return nil
	}
	return &s.Lost
}

// Sum sums up all runs of the workload.
func (w *Workload) Sum() RunSum {
	if w.All != nil {
		return *w.All
	}
	sum := RunSum{Runs: len(w.Runs)}
	for i := range w.Runs {
		used, lost := w.Runs[i].CoreHours()
		if sum.Used += used; lost >= 0 {
			sum.Known, sum.Lost = sum.Known+used, sum.Lost+lost
		}
	}
	return sum
}

// longestRun bounds the time of a run, s.
const longestRun = 1e10

// CoreHours returns the core-hours that a run used, 0 if its times are impossible, and how many of
// them were not useful, -1 if that is not known.
func (r *Run) CoreHours() (used, lost float64) {
	if r.Check() != nil || r.Ranks < 1 || !(r.Elapsed < longestRun) {
		return 0, -1
	}
	used = float64(r.Cores()) * r.Elapsed / 3600
	if !(r.Coverage >= 1) || r.Threads > 1 && (r.Conditions == nil || r.Conditions.Threaded) {
		return used, -1
	}
	return used, max(used-r.Useful/3600, 0)
}

// Mute is a user's wish to get no more notices about a workload.
type Mute struct {
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"` // their own words; hostile text
}

// Named says whether its user gave it its name. Then the name alone brought the runs
// together, whatever their program, arguments and input.
func (w *Workload) Named() bool {
	return !strings.HasSuffix(w.Name, fmt.Sprintf("-%.6s", w.Key))
}

// ByHand reports whether its runs were made without Slurm, so that no line for sbatch fits.
func (w *Workload) ByHand() bool { return w.Cluster == "" }

// WorkloadKey is the same for executions that may share a curve. They have the same cluster and
// user, and either the same name from the user, or the same executable, arguments and input. It is
// 20 hex digits. It is "" if there is no name and the executable or its arguments are unknown: such
// runs belong to no workload.
func WorkloadKey(cluster string, uid uint32, e *Execution) string {
	program := e.BuildID
	if program == "" {
		program = e.ExecutableHash
	}
	parts := []string{cluster, fmt.Sprint(uid), "name", e.Workload}
	if e.Workload == "" {
		if program == "" || e.ArgsHash == "" {
			return ""
		}
		parts = []string{cluster, fmt.Sprint(uid), "program", program, e.ArgsHash, e.InputHash}
	}
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}

// WorkloadName is what people call a workload: the user's name for it, or else the program and
// the key's first digits, as in "lmp-3fa2c1".
func WorkloadName(key string, e *Execution) string {
	if e.Workload != "" {
		return e.Workload
	}
	return fmt.Sprintf("%s-%.6s", filepath.Base(e.Executable), key)
}

// runSections bounds Run.Sections; the shorter sections are added up.
const runSections = 100

// RunOf is what a curve needs of a whole execution. It leaves empty what the job knows: ids,
// user, account, GPUs.
func RunOf(e *Execution) Run {
	r := Run{Start: e.Start, Ranks: e.Size, Threads: e.Threads(), Executable: e.Executable,
		BuildID: e.BuildID, Counters: UsefulCounters([]Execution{*e})}
	if r.BuildID == "" {
		r.BuildID = e.ExecutableHash
	}
	m := ExecutionMetrics(e)
	if m == nil {
		return r
	}
	r.Ended = e.CameToEnd()
	r.Nodes, r.Coverage = m.Nodes, m.Coverage
	r.Elapsed, r.Useful, r.MPITime = m.Elapsed, m.Useful, m.MPITime
	r.Conditions = conditionsOf(e, m)
	r.Threads = max(r.Threads, threadsOf(e).ThreadsMax)
	if h := m.Hybrid; h != nil {
		r.Useful, r.Conditions.OpenMP = h.Useful, h.OpenMPTime()
		r.Conditions.UsefulMax = m.Communication * m.Elapsed
	}
	for _, c := range e.Classes {
		if c.Name == record.ClassColl.String() {
			r.Collectives = float64(c.Count) / float64(m.Ranks)
		}
	}
	if len(e.Sections) > 0 {
		r.Sections = sectionsOfRun(e, m.Ranks)
	}
	return r
}

// RunOfJob is the run of a job's execution, as the database keeps it.
func RunOfJob(j *Job, execution int) Run {
	r := RunOf(&j.Executions[execution])
	r.Cluster, r.JobID, r.Attempt, r.Execution, r.DisplayID = j.Cluster, j.JobID, j.Attempt, execution, j.DisplayID
	r.UID, r.User, r.Account, r.Partition, r.GPUs, r.State, r.Suspended = j.UID, j.User, j.Account, j.Partition, j.GPUs, j.State, j.Suspended().Seconds()
	r.MPI = MPILibrary(&j.Executions[execution])
	return r
}

// Threads is how many cores each rank was meant to use.
func (e *Execution) Threads() int { return max(1, e.CPUsPerTask, e.OMPThreads) }

func conditionsOf(e *Execution, m *Metrics) *Conditions {
	c := &Conditions{Machine: HardwareOf(e), Input: e.InputHash, IOTime: m.IOTime, Threaded: e.threadsUnknown(), CPUsAllowed: CPUsAllowed(e)}
	for i := range e.Nodes {
		c.UsefulMax = max(c.UsefulMax, e.Nodes[i].UsefulMax.Seconds())
	}
	l := LoadOf([]Execution{*e})
	if l == nil {
		return c
	}
	c.GPU = l.GPURanks > 0
	if l.Whole < m.Ranks {
		return c
	}
	c.Counted, c.Contended, c.Asleep, c.BusyThreads = true, l.Contended(), l.IsAsleep(), l.Busy
	c.CPUTime, c.Span, c.QueueWait = l.CPU.Seconds(), l.Span.Seconds(), l.Queue.Seconds()
	return c
}

// sectionsOfRun lists the sections with the most time of their own. Together they are the whole
// run.
func sectionsOfRun(e *Execution, ranks int) []RunSection {
	var all []RunSection
	for _, s := range JobSections([]Execution{*e}) {
		all = append(all, RunSection{Label: s.Label, Own: s.Own / float64(ranks)})
	}
	slices.SortStableFunc(all, func(a, b RunSection) int { return cmp.Compare(b.Own, a.Own) })
	if len(all) <= runSections {
		return all
	}
	rest := RunSection{Label: record.OtherSections}
	kept := slices.DeleteFunc(slices.Clone(all[:runSections-1]), func(s RunSection) bool {
		if s.Label == rest.Label {
			rest.Own += s.Own
		}
		return s.Label == rest.Label
	})
	for _, s := range all[runSections-1:] {
		rest.Own += s.Own
	}
	return append(kept, rest)
}

// MainExecution is the index of the execution whose ranks took the most time. Advice on a job is
// about it. It is not a folded one: others took more. -1 if there is none.
func MainExecution(executions []Execution) int {
	at, most := -1, -1.0
	for i := range executions {
		if t := RankSeconds(executions[i : i+1]); t > most && executions[i].Folded == nil {
			at, most = i, t
		}
	}
	if at < 0 && len(executions) > 0 { // no node folds all
		return 0
	}
	return at
}

// WorkloadOf is the key of the workload of a job's main execution; "" if it belongs to none.
func WorkloadOf(j *Job) string {
	main := MainExecution(j.Executions)
	if main < 0 {
		return ""
	}
	return WorkloadKey(j.Cluster, j.UID, &j.Executions[main])
}

// WhyNoWorkload says why a job belongs to no workload, and what to do next.
func WhyNoWorkload(j *Job) string {
	switch {
	case len(j.Executions) == 0:
		return cmp.Or(doubt.Text(j.NoData), "nothing was measured in it")
	case WorkloadOf(j) == "":
		return "its program or its arguments are not known; sbatch --jobeff-workload=NAME names the workload of the next job"
	}
	return "its figures are not there yet; ask again in a few seconds"
}

// Lineage is the same for executions that may be compared although their executable changed. They
// have the same cluster and user, and either the same name from the user, or the same program,
// arguments and input. "" if these are unknown. If the input is known, the program may move:
// another version's module has it elsewhere. If not, its path must be the same too, since every
// folder may have an a.out.
func Lineage(cluster string, uid uint32, e *Execution) string {
	parts := []string{cluster, fmt.Sprint(uid), "name", e.Workload}
	if e.Workload == "" {
		if e.Executable == "" || e.ArgsHash == "" {
			return ""
		}
		program := e.Executable
		if e.InputHash != "" {
			program = filepath.Base(program)
		}
		parts = []string{cluster, fmt.Sprint(uid), "path", program, e.ArgsHash, e.InputHash}
	}
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}
