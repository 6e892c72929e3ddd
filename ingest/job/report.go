// Package job defines what a node reports and what a job is: steps, executions, calls and sections,
// sums of them that may be made in any order, and which figures are possible. JobMetrics computes
// the POP metrics of METRICS 1.
//
// Before this package stands preload/record, which reads what a process leaves behind. Package node
// makes the reports, assemble makes a job of those of all nodes, client carries them, store and
// server keep them, and policy and report read them.
package job

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/slurmid"
	"jobeff/policy/doubt"
	"jobeff/policy/overhead"
)

// ReportVersion is the version of NodeReport that this build writes and takes.
const ReportVersion = 1

// FinalSequence is the Sequence of a report that a node makes when the job has ended. An interim
// report's is the node's CLOCK_MONOTONIC in ms. A nonce never outlives a boot, so these only grow.
const FinalSequence = 1<<53 - 1

// NodeReport is what one node says of one attempt of a job. The node writes it to the outbox while
// the job runs, now and then, and when the job ends. Everything outside Executions comes from root's own files.
// Executions were measured in the user's processes: only the job's owner can have falsified
// them.
type NodeReport struct {
	Version     int       `json:"version"`
	Cluster     string    `json:"cluster"`
	JobID       uint32    `json:"job_id"`   // raw id, SLURM_JOB_ID
	Nonce       string    `json:"nonce"`    // 32 hex digits, random, one per attempt on this node
	Sequence    int       `json:"sequence"` // a report with a higher one replaces that with a lower one as a whole; FinalSequence: the last
	SLUID       string    `json:"sluid,omitempty"`
	ArrayJobID  uint32    `json:"array_job_id,omitempty"`
	ArrayTaskID *uint32   `json:"array_task_id,omitempty"`
	HetJobID    uint32    `json:"het_job_id,omitempty"`
	UID         uint32    `json:"uid"`
	GID         uint32    `json:"gid"`
	User        string    `json:"user,omitempty"`
	Account     string    `json:"account,omitempty"`
	Partition   string    `json:"partition,omitempty"`
	NodeList    string    `json:"nodelist,omitempty"` // Slurm's hostlist expression
	NNodes      int       `json:"nnodes,omitempty"`   // of the job; 0 unknown
	Node        string    `json:"node"`
	BootID      string    `json:"boot_id"` // 32 hex digits; two nodes with the same one are one machine
	OnlineCPUs  int       `json:"online_cpus"`
	Start       time.Time `json:"start"` // of the job on this node, this node's CLOCK_REALTIME
	End         time.Time `json:"end"`   // of an interim report, when it was made
	// AsOf is the moment of an interim report's figures: ranks still ran. Zero: the job has ended.
	AsOf time.Time `json:"as_of,omitzero"`
	// Progress is part of an interim report; nil: the node is older, or did not look.
	Progress *hang.Progress `json:"progress,omitempty"`
	Still    *hang.Still    `json:"-"`        // what the server knows once it has counted the report
	Decision string         `json:"decision"` // "on" or "off REASON"
	Prolog   bool           `json:"prolog"`   // a prolog made the run directory

	Steps      []Step      `json:"steps,omitempty"`
	Executions []Execution `json:"executions,omitempty"`

	// Processes counts those that left a record, with or without a region.
	Processes int `json:"processes,omitempty"`

	LostFull   int             `json:"lost_full,omitempty"`   // processes that found no slot
	LostMemory int             `json:"lost_memory,omitempty"` // processes whose slot got no memory
	Cgroup     *Cgroup         `json:"cgroup,omitempty"`      // nil: nothing was read
	GPUs       []GPU           `json:"gpus,omitempty"`        // nil: the job had none on this node, was not measured, or runs
	Warnings   []doubt.Warning `json:"warnings,omitempty"`
}

// Step is one Slurm step as root saw it on one node.
type Step struct {
	ID    string    `json:"id"` // decimal, "batch", "extern" or "interactive"
	Tasks int       `json:"tasks"`
	Start time.Time `json:"start"`
	End   time.Time `json:"end"` // zero: its end was not seen
	Off   string    `json:"off,omitempty"`
	// Container: its command starts a container. A script may start others, which is not known.
	Container bool `json:"container,omitempty"`
	// Args is the hash of the batch script's arguments; "": it has none, or they are not known.
	Args string `json:"args,omitempty"`
	// Asked is how many tasks the batch script's user asked for; 0: not known.
	Asked int `json:"asked,omitempty"`
	// Exits counts the tasks' wait statuses: "0", "exit 3", "signal 9 (SIGKILL)".
	Exits map[string]int `json:"exits,omitempty"`
	// Peak is the most memory that its cgroup held on one node, file cache included, bytes; 0: not known.
	Peak int64 `json:"peak,omitempty"`
	// Kills counts its processes that were killed because there was no more memory.
	Kills int `json:"kills,omitempty"`
}

// Execution is one MPI world of a job, or the part of it that one node saw. Parts of one Key
// are merged into the whole, in any order (see Merge).
type Execution struct {
	Key     string    `json:"key" db:"key"`           // the same on every node
	KeyFrom string    `json:"key_from" db:"key_from"` // "pmix", "hydra", "pmi", or "start": step, size and start within 5 s
	Steps   []string  `json:"steps,omitempty"`
	Size    int       `json:"size" db:"size"` // of MPI_COMM_WORLD
	Spawned bool      `json:"spawned,omitempty"`
	Start   time.Time `json:"start" db:"start_us"` // first MPI_Init left
	End     time.Time `json:"end" db:"end_us"`     // last rank's end of the region

	MPI         string `json:"mpi,omitempty"`         // "Open MPI", "MPICH", …
	MPIVersion  string `json:"mpi_version,omitempty"` // first line of MPI_Get_library_version
	Executable  string `json:"executable,omitempty" db:"executable"`
	BuildID     string `json:"build_id,omitempty" db:"build_id"` // hex
	ThreadLevel string `json:"thread_level,omitempty"`
	CPUsPerTask int    `json:"cpus_per_task,omitempty"` // claimed by the environment
	OMPThreads  int    `json:"omp_threads,omitempty"`   // claimed by the environment

	// What names its workload, see WorkloadKey. Hashes are hex.
	ExecutableHash string   `json:"executable_hash,omitempty"` // if it has no BuildID
	ArgsHash       string   `json:"args_hash,omitempty"`       // of the arguments after the program's name
	Args           []string `json:"args,omitempty"`            // the arguments, if the site keeps them
	InputHash      string   `json:"input_hash,omitempty"`      // of the files that the arguments name; "": unknown
	Inputs         int      `json:"inputs,omitempty"`          // … how many files
	InputNote      string   `json:"input_note,omitempty"`      // why InputHash is unknown
	Workload       string   `json:"workload,omitempty"`        // --jobeff-workload of the step

	Nodes    []NodeShare `json:"nodes"`
	Sections []Section   `json:"sections,omitempty"` // without MPI_MAIN; see JobSections
	// Windows say why its ranks wait. Nil: none were sampled. If its ranks are on several nodes,
	// jobeffd writes it into the part of rank 0 (NodeLogs).
	Windows *Windows `json:"windows,omitempty"`
	// Timeline is nil if a part of the execution has none, and for all but the executions with the
	// most core time.
	Timeline *Timeline `json:"timeline,omitempty"`
	// Places is nil if the execution has no Timeline, or no library noted any.
	Places *Places `json:"places,omitempty"`

	Calls   []Call         `json:"calls,omitempty"`
	Classes []Call         `json:"classes,omitempty"`
	HistP2P []uint64       `json:"hist_p2p,omitempty"` // bin b: sizes in [2^(b-1), 2^b) bytes, bin 0: 0
	HistCol []uint64       `json:"hist_coll,omitempty"`
	Slowest []Rank         `json:"slowest,omitempty"` // most useful time first, at most SlowestKept
	Endings map[string]int `json:"endings"`           // ending → ranks

	Warnings []doubt.Warning `json:"warnings,omitempty"`

	// Folded says that this entry stands for several executions of one program; nil: for one. See
	// FoldWhole.
	Folded *Folded `json:"folded,omitempty"`
	// Costly says that others were folded, but this one was kept for its core time.
	Costly bool `json:"costly,omitempty"`

	// RankIDs (all recorded ranks, "0-3,8") and Metrics are filled in by assemble.Merger.Job, never
	// by a node. Metrics is nil without data.
	RankIDs string   `json:"rank_ids,omitempty"`
	Metrics *Metrics `json:"metrics,omitempty"`
}

// MPILibrary is the MPI library with its version, "Open MPI v4.1.4", without its package. It is
// only the name if nothing more is known.
func MPILibrary(e *Execution) string {
	name := overhead.LibraryName(e.MPIVersion)
	if !strings.HasPrefix(name, e.MPI) {
		name = strings.TrimSuffix(e.MPI+": "+name, ": ")
	}
	return name
}

// SlowestKept is how many ranks an Execution names.
const SlowestKept = 5

// NodeShare is what the POP metrics need of one node of an execution (METRICS 1).
type NodeShare struct {
	Node       string        `json:"node"`
	BootID     string        `json:"boot_id,omitempty"`
	OnlineCPUs int           `json:"online_cpus,omitempty"`
	CPUs       int           `json:"cpus,omitempty"` // most CPUs that one rank may run on
	Ranks      int           `json:"ranks"`          // recorded, k_j
	Useful     time.Duration `json:"useful_ns"`      // sum of U_i
	UsefulMax  time.Duration `json:"useful_max_ns"`
	MPI        time.Duration `json:"mpi_ns"`         // sum of notU_i without IO
	IO         time.Duration `json:"io_ns,omitzero"` // sum of time in MPI_File_*
	ElapsedMax time.Duration `json:"elapsed_max_ns"` // max of U_i + notU_i
	ElapsedSum time.Duration `json:"elapsed_sum_ns"`
	// Stuck is how long at the end all of the ranks were in MPI calls that they never left; 0 if
	// one was not.
	Stuck time.Duration `json:"stuck_ns,omitzero"`

	Counters *Counters `json:"counters,omitempty"` // nil: no rank had any
	Hardware *Hardware `json:"machine,omitempty"`  // nil: not known
	// ClockError bounds how far its CLOCK_REALTIME is from the true time; 0: not known.
	ClockError time.Duration `json:"clock_error_ns,omitempty"`
	Load       *Load         `json:"load,omitempty"` // nil: no library counted it
	// Threads is what its ranks did with OpenMP; nil: none of them used it.
	Threads *ThreadShare `json:"openmp,omitempty"`
	// Run is the instance of MPI_MAIN; nil: a rank did not come to its end, or there is one rank.
	Run *Instance `json:"run,omitempty"`

	// RankIDs lists the recorded ranks ("0-3,8"). UsefulShare and MPIShare hold one byte for
	// each, in that order: 255 * time / ElapsedMax of this node, rounded.
	RankIDs     string `json:"rank_ids"`
	UsefulShare []byte `json:"useful_share,omitempty"`
	MPIShare    []byte `json:"mpi_share,omitempty"`

	// Course is nil if the execution has no Timeline, and in a job for all but the execution with
	// the most core time.
	Course *Course `json:"course,omitempty"`
}

// Rank is one rank by name.
type Rank struct {
	Rank    int           `json:"rank"`
	Node    string        `json:"node"`
	PID     int           `json:"pid"`
	Elapsed time.Duration `json:"elapsed_ns"`
	Useful  time.Duration `json:"useful_ns"`
	MPI     time.Duration `json:"mpi_ns"`
	Ending  string        `json:"ending"`
	OpenMP  *OpenMP       `json:"openmp,omitempty"` // nil: it used no OpenMP
}

// Efficiencies are POP's, fractions: Parallel is the product of the others.
type Efficiencies struct {
	Parallel      float64 `json:"parallel_efficiency" db:"parallel_efficiency"`
	LoadBalance   float64 `json:"load_balance" db:"load_balance"`
	Communication float64 `json:"communication_efficiency" db:"communication_efficiency"`
}

// Balanced fills in LoadBalance from the other two.
func (e *Efficiencies) Balanced() { e.LoadBalance = fraction(e.Parallel, e.Communication) }

// BalancedOut fills in LoadBalanceOut from MPI's load balance and LoadBalanceIn.
func (m *Metrics) BalancedOut() { m.LoadBalanceOut = fraction(m.MPI.LoadBalance, m.LoadBalanceIn) }

// Metrics are the POP metrics of an execution or of a whole job. Efficiencies are fractions and
// never NaN: without data there is no Metrics.
type Metrics struct {
	Efficiencies                // of all threads (METRICS 2), if Hybrid is known; else of MPI
	MPI            Efficiencies `json:"mpi" db:"mpi_"`                          // of MPI alone (METRICS 1)
	LoadBalanceIn  float64      `json:"load_balance_in" db:"load_balance_in"`   // of MPI's load balance, inside the nodes
	LoadBalanceOut float64      `json:"load_balance_out" db:"load_balance_out"` // … between nodes
	Elapsed        float64      `json:"elapsed" db:"elapsed_s"`                 // s, E; for several executions their sum
	Useful         float64      `json:"useful" db:"useful_s"`                   // s, sum over ranks
	MPITime        float64      `json:"mpi_time" db:"mpi_time_s"`               // s, sum over ranks
	IOTime         float64      `json:"io_time" db:"io_time_s"`                 // s, in MPI_File_*: neither useful nor in MPITime
	WaitTime       float64      `json:"wait_time" db:"wait_time_s"`             // s, part of MPITime: in MPI_Wait*, blocking receives and probes
	Ranks          int          `json:"ranks" db:"ranks"`                       // recorded
	Nodes          int          `json:"nodes" db:"nodes"`
	Coverage       float64      `json:"coverage" db:"coverage"` // ranks recorded / ranks that ran
	// Hybrid is what the ranks' threads did. Nil: no rank has several, or it is not known
	// (ThreadsUnknown).
	Hybrid *Hybrid `json:"hybrid,omitempty"`
}

// Job is one attempt of a job as the database knows it: its nodes' merged reports, and what
// sacct says.
type Job struct {
	Cluster     string  `json:"cluster"`
	JobID       uint32  `json:"job_id"`
	Attempt     int     `json:"attempt"` // 1, 2 … for a requeued job or an id used again
	DisplayID   string  `json:"id"`      // 123, 123_4, 123+1
	ArrayJobID  uint32  `json:"array_job_id,omitempty" db:"array_job_id"`
	ArrayTaskID *uint32 `json:"array_task_id,omitempty" db:"array_task_id"`
	HetJobID    uint32  `json:"het_job_id,omitempty" db:"het_job_id"`
	HetOffset   *uint32 `json:"het_offset,omitempty" db:"het_offset"`

	UID       uint32 `json:"uid" db:"uid"`
	User      string `json:"user,omitempty" db:"user_name"`
	Account   string `json:"account,omitempty" db:"account"`
	Partition string `json:"partition,omitempty" db:"partition_name"`
	QOS       string `json:"qos,omitempty" db:"qos"`             // from sacct
	Name      string `json:"name,omitempty" db:"name"`           // from sacct; hostile text
	State     string `json:"state,omitempty" db:"state"`         // sacct's: COMPLETED, TIMEOUT, …; empty: not known yet
	ExitCode  string `json:"exit_code,omitempty" db:"exit_code"` // sacct's: "0:9"

	Submit    time.Time     `json:"submit,omitzero" db:"slurm_submit_us"` // from sacct
	Eligible  time.Time     `json:"eligible,omitzero" db:"eligible_us"`   // from sacct: when it could have started; not in a list
	TimeLimit time.Duration `json:"time_limit_ns,omitzero"`               // from sacct; 0: none, or not known; not in a list
	// Array sums up the tasks of its array; nil: it is in no array, tasks still run or wait, or the job is in a list.
	Array *Array `json:"array,omitempty"`
	// Program is the path of the program that took most core time; "": there is no record of one. Only tasks of
	// arrays have it, in lists for jobeff's own commands.
	Program string `json:"program,omitempty"`

	Start   time.Time     `json:"start,omitzero" db:"start_us"`
	End     time.Time     `json:"end,omitzero" db:"end_us"`
	Elapsed time.Duration `json:"elapsed_ns"`
	Nodes   int           `json:"nodes" db:"nodes"`            // of the job
	Reports int           `json:"nodes_reported" db:"reports"` // nodes whose report has arrived
	// AsOf is the moment of the oldest figures of nodes that have reported only while the job ran.
	// Zero: there is no such node.
	AsOf time.Time `json:"as_of,omitzero" db:"as_of_us"`
	// Together says that all nodes of a running job reported the same moment.
	Together bool `json:"together,omitempty"`
	// Interim is the time from one report of a running job to the next; 0: not known.
	Interim time.Duration `json:"-"`
	// Hung is nil unless the job runs, and nothing of it has moved for long.
	Hung *hang.Hung `json:"hung,omitempty"`
	// Stood is Hung of a job that has ended, as of its nodes' last reports before the end.
	Stood *hang.Hung `json:"stood,omitempty"`
	// Complete is IsComplete; the server fills it in.
	Complete bool `json:"complete"`
	// Unconfirmed says that Slurm has not confirmed this attempt: only root of the reporting nodes
	// says that there was one.
	Unconfirmed bool    `json:"unconfirmed,omitempty"`
	CPUs        int     `json:"alloc_cpus,omitempty" db:"alloc_cpus"` // AllocCPUS, from sacct
	GPUs        int     `json:"gpus,omitempty" db:"gpus"`             // of AllocTRES, from sacct; 0 too where Slurm does not track gres/gpu
	TRES        string  `json:"tres,omitempty" db:"tres"`             // AllocTRES itself: "cpu=4,gres/gpu=1,mem=8G,node=2"
	Usage       *Usage  `json:"usage,omitempty"`                      // what Slurm counted; nil: not known (yet)
	Cgroup      *Cgroup `json:"cgroup,omitempty"`                     // what the kernel counted; nil: no node knows
	GPUUse      *GPUUse `json:"gpu_use,omitempty"`                    // what its GPUs did; nil: no node said that it had one

	Decision   string      `json:"decision" db:"decision"`
	Steps      []Step      `json:"steps,omitempty"`             // merged over nodes
	NTasks     int         `json:"ntasks,omitempty" db:"tasks"` // tasks that it asked for, or that one of its steps had, whichever are more; 0: not known
	Executions []Execution `json:"executions,omitempty"`
	Metrics    *Metrics    `json:"metrics,omitempty"`                // nil: no data, NoData says why
	Threaded   bool        `json:"threaded,omitempty" db:"threaded"` // see ThreadsUnknown
	// Judged is the core time for which it is known whether it was lost, and Lost is what was lost, as the database
	// keeps them: policy.CoreHoursOf computes them from figures that no list holds. nil: not known, or not yet.
	Judged *CoreTime `json:"judged_us,omitempty" db:"judged_us"`
	Lost   *CoreTime `json:"lost_us,omitempty" db:"lost_us"`
	// Used is the core time of a job that was resized, whose CPUs are the most that it had; nil: see UsedTime.
	Used *CoreTime `json:"used_us,omitempty"`
	// GPUUsed is likewise its GPU time; nil: GPUs x Elapsed.
	GPUUsed *CoreTime     `json:"gpu_used_us,omitempty"`
	NoData  doubt.Warning `json:"no_data,omitzero"`
	// Covered is sum n_x E_x / (AllocCPUS * Elapsed), METRICS 1; nil: not known.
	Covered  *float64        `json:"covered,omitempty"`
	Warnings []doubt.Warning `json:"warnings,omitempty"`
	Flags    []string        `json:"flags"` // names of the rules that flag it, as jobeffd stored them; nil: not judged by the present rules

	// Overheads are the curves of its partition and MPIs, for Hidable; the store fills them in
	// where one job is read.
	Overheads []overhead.Curve `json:"overheads,omitempty"`

	// Alike are the newest jobs of its workload, which did the same work, with this one, oldest first. Filled
	// in like Overheads.
	Alike []Ran `json:"alike,omitempty"`
	// Room is the most that it could have asked for; nil: not known. Filled in like Overheads.
	Room *Room `json:"room,omitempty"`

	// Pending is what Slurm's queue holds of the job or of its array; nil: nothing, or it is not known. The server
	// fills it in where one job is read.
	Pending *slurmid.PendingList `json:"pending,omitempty"`
}

// Array sums up the completed tasks of an array that has ended. Of many tasks it covers the ArrayCounted ones with
// the highest numbers.
type Array struct {
	Tasks   int           `json:"tasks"`
	Elapsed time.Duration `json:"elapsed_ns"` // of all of these
}

// ArrayCounted bounds the tasks of an array that are looked at.
const ArrayCounted = 200

// StateWord is the job's state in one word, without what Slurm adds ("CANCELLED by 1000"); "": Slurm has not
// reported it.
func (j *Job) StateWord() string {
	word, _, _ := strings.Cut(j.State, " ")
	return word
}

// IsRunning says that the job runs, and its figures are those so far.
func (j *Job) IsRunning() bool { return !j.AsOf.IsZero() && j.End.IsZero() }

// ByScript says whether the job was a batch script, as far as is known.
func (j *Job) ByScript() bool {
	return len(j.Steps) == 0 || j.State == "" || slices.ContainsFunc(j.Steps, func(s Step) bool { return s.ID == "batch" })
}

// IsWhole says that the figures cover all of its ranks up to its end.
func (j *Job) IsWhole() bool {
	return j.Metrics != nil && j.Metrics.Coverage >= 1 && !j.End.IsZero() && j.AsOf.IsZero()
}

// IsComplete reports whether jobeffd waits for no more reports: all nodes have reported at the end, or the
// grace time after the job's end is over (0: it never ends). Later reports still count.
func (j *Job) IsComplete(now time.Time, grace time.Duration) bool {
	return j.AsOf.IsZero() && j.Nodes > 0 && j.Reports >= j.Nodes || grace > 0 && !j.End.IsZero() && now.Sub(j.End) > grace
}

// Usage is what Slurm's accounting counted in a job's steps (sacct's TotalCPU and
// TRESUsageInTot). It knows that cores were busy, not that they computed: a rank that waits in
// MPI is busy, too. See CPUEfficiency and MemoryEfficiency.
type Usage struct {
	TotalCPU    time.Duration `json:"total_cpu_ns"`                                     // user and system time, sum over steps
	Memory      int64         `json:"memory_bytes" db:"memory_b"`                       // most that steps held at once; a step's is the sum of its tasks' peaks
	LargestTask int64         `json:"largest_task_bytes,omitempty" db:"memory_task_b"`  // MaxRSS: the peak of one task
	Allocated   int64         `json:"memory_alloc_bytes,omitempty" db:"memory_alloc_b"` // mem of AllocTRES, all nodes; 0: unknown
	PartOfNodes bool          `json:"part_of_nodes,omitempty" db:"part_of_nodes"`       // steps ran on some of the job's nodes only
	// OutOfMemory names the steps that Slurm ended as OUT_OF_MEMORY, "0,batch", the first few
	// of many. The job itself may be COMPLETED or FAILED: its script goes on after such a step.
	OutOfMemory string `json:"out_of_memory,omitempty" db:"oom_steps"`
}

// Look is what the report says about whether its node stands still.
func (r *NodeReport) Look() hang.Look {
	return hang.Look{Sequence: r.Sequence, Last: r.AsOf.IsZero(), Progress: r.Progress, Still: r.Still}
}

// Measured says that the report holds measurements, which nobody else has.
func (r *NodeReport) Measured() bool {
	return len(r.Executions) > 0 || r.Processes > 0 || r.LostFull > 0 || r.LostMemory > 0
}

// AsksForThreads reports whether the environment claims several threads for a rank.
func (e *Execution) AsksForThreads() bool { return e.CPUsPerTask > 1 || e.OMPThreads > 1 }

// How ranks end, as in Execution.Endings. Others are "exit N without MPI_Finalize",
// "MPI_Abort N", "exit N" and "signal N (NAME)".
const (
	EndingFinalized = "finalized"
	EndingRunning   = "running"
	EndingAssumed   = "assumed" // nobody saw it
	EndingExec      = "exec of another program"
	EndingOther     = "other" // the rest, if there are too many different ones
)

// CameToEnd reports whether every rank ended by itself: it left MPI_Finalize or, without MPI, returned
// 0.
func (e *Execution) CameToEnd() bool {
	done := e.Endings[EndingFinalized]
	if e.MPI == "" {
		done += e.Endings["exit 0"]
	}
	return done >= e.Size
}

// Stuck is how long all ranks of an execution were, at its end, in MPI calls that they never left. It
// is 0 if one rank was not, or is not known.
func Stuck(e *Execution) time.Duration {
	ranks, least := 0, time.Duration(math.MaxInt64)
	for i := range e.Nodes {
		ranks += e.Nodes[i].Ranks
		least = min(least, e.Nodes[i].Stuck, e.Nodes[i].ElapsedMax)
	}
	if ranks < e.Size || ranks == 0 {
		return 0
	}
	return least
}

// mostEndings bounds Execution.Endings of one node.
const mostEndings = 32

// CutEndings moves the rarest endings into EndingOther if there are too many.
func CutEndings(all map[string]int) map[string]int {
	if len(all) <= mostEndings {
		return all
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b))
	})
	for _, name := range names[mostEndings-1:] {
		all[EndingOther] += all[name]
		delete(all, name)
	}
	return all
}

// DisplayID is the job's id as Slurm prints it: 123, 123_4 for a task of an array, 123+1 for a
// component of a het job. Until sacct shows the offset, it follows from the raw ids, which Slurm
// assigns in a row.
func DisplayID(j *Job) string {
	switch {
	case j.ArrayJobID != 0 && j.ArrayTaskID != nil:
		return fmt.Sprintf("%d_%d", j.ArrayJobID, *j.ArrayTaskID)
	case j.HetJobID != 0 && j.HetOffset != nil:
		return fmt.Sprintf("%d+%d", j.HetJobID, *j.HetOffset)
	case j.HetJobID != 0 && j.JobID >= j.HetJobID:
		return fmt.Sprintf("%d+%d", j.HetJobID, j.JobID-j.HetJobID)
	}
	return strconv.FormatUint(uint64(j.JobID), 10)
}
