package view

import (
	"math"
	"sync"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/words"
)

// Job is the view of a job: figures, which are its JSON, the same for every program that prints one, and words.
// Times are seconds (moments RFC 3339), sizes bytes, efficiencies fractions, null
// where there is no data. What most kinds of job cannot have is absent then, not null. Fields are only ever added.
type Job struct {
	Cluster     string  `json:"cluster,omitempty"`
	ID          string  `json:"id,omitempty"` // 123, 123_4, 123+1
	JobID       uint32  `json:"job_id,omitempty"`
	Attempt     int     `json:"attempt,omitempty"`
	ArrayJobID  uint32  `json:"array_job_id,omitempty"`
	ArrayTaskID *uint32 `json:"array_task_id,omitempty"`
	HetJobID    uint32  `json:"het_job_id,omitempty"`
	HetOffset   *uint32 `json:"het_offset,omitempty"`
	UID         uint32  `json:"uid"`
	User        string  `json:"user,omitempty"`
	Account     string  `json:"account,omitempty"`
	Partition   string  `json:"partition,omitempty"`
	QOS         string  `json:"qos,omitempty"`
	Name        string  `json:"name,omitempty"`
	State       string  `json:"state,omitempty"`
	Unconfirmed bool    `json:"unconfirmed,omitempty"` // Slurm has not told of this attempt: only nodes do
	ExitCode    string  `json:"exit_code,omitempty"`

	Submit         time.Time  `json:"submit,omitzero"`
	QueueTime      *float64   `json:"queue_time"`      // s, from when it could have started to its start; null in a list
	TimeLimit      *float64   `json:"time_limit"`      // s; null: none, not known, or in a list
	TimeEfficiency *float64   `json:"time_efficiency"` // job_elapsed / time_limit
	Start          time.Time  `json:"start,omitzero"`
	End            time.Time  `json:"end,omitzero"`
	Running        bool       `json:"running,omitempty"` // the figures are those so far
	AsOf           time.Time  `json:"as_of,omitzero"`    // of when they are; after the end: those of nodes that were lost
	Hung           *hang.Hung `json:"hung,omitempty"`    // nothing of it has moved for long; absent: it moves, has ended, or that is not known
	JobElapsed     float64    `json:"job_elapsed"`       // s, Slurm's Elapsed
	AllocNodes     int        `json:"alloc_nodes,omitempty"`
	NodesReported  int        `json:"nodes_reported"`
	AllocCPUs      int        `json:"alloc_cpus,omitempty"`
	Usage
	CoreHours          // null where they are not known; a list has the lost ones, without their parts, once jobeffd has worked them out
	Decision  string   `json:"decision,omitempty"`
	NoData    string   `json:"no_data,omitempty"`
	NoDataIs  string   `json:"no_data_code,omitempty"` // for programs; the text may change
	Covered   *float64 `json:"covered"`                // part of AllocCPUS x Elapsed that the figures cover

	Figures
	Hidable    *Hidable             `json:"overlap,omitempty"` // absent without a curve of its partition and MPI, and in a list
	Endings    map[string]int       `json:"endings"`
	Steps      []Step               `json:"steps"`
	Executions []Execution          `json:"executions"`
	Warnings   []doubt.Doubt        `json:"warnings"`
	Workload   *Place               `json:"workload"` // null where it is not known, in a list and for a step
	Cause      *string              `json:"cause"`    // code of what cost most of the lost time, or why that cannot be said; null where there is nothing to explain, and in a list
	CauseText  *string              `json:"cause_text"`
	Request    *Request             `json:"request"`           // null in a list and for a step
	Array      *Array               `json:"array,omitempty"`   // what its tasks say together, where the id of an array was asked for; else absent
	Verdicts   []Verdict            `json:"verdicts"`          // of the rules; null where they were not asked: by hand, in a list and for a step
	Pending    *slurmid.PendingList `json:"pending,omitempty"` // what of it, or of its array, waits; absent: nothing, that is not known, or in a list
	Flags      []string             `json:"flags"`             // names of the rules that flag it, without those in shadow; null where they were not asked, in a list where the present rules have not judged it yet

	// Words are made when they are first asked for: most of who asks wants the figures.
	Words func() *words.Job `json:"-"`
}

// Figures are POP's, with the same names for a job and for an execution.
type Figures struct {
	Efficiencies
	LoadBalanceIn      *float64 `json:"load_balance_in"`               // of MPI's load balance, inside the nodes
	LoadBalanceOut     *float64 `json:"load_balance_out"`              // likewise, between nodes
	Elapsed            *float64 `json:"elapsed"`                       // s, MPI_Init to MPI_Finalize; of a job the sum over executions
	Useful             *float64 `json:"useful"`                        // s, sum over all threads where these are known, else over ranks
	MPITime            *float64 `json:"mpi_time"`                      // s, sum over ranks
	IOTime             *float64 `json:"io_time"`                       // s, likewise, in MPI_File_*
	WaitTime           *float64 `json:"wait_time"`                     // s, of mpi_time: MPI_Wait*, blocking receives and probes
	UsefulInstructions *uint64  `json:"useful_instructions,omitempty"` // sum over ranks, user mode; absent unless all had counters
	UsefulCycles       *uint64  `json:"useful_cycles,omitempty"`
	UsefulIPC          *float64 `json:"useful_ipc,omitempty"`
	UsefulFrequency    *float64 `json:"useful_frequency,omitempty"` // Hz, cycles per useful second
	Ranks              int      `json:"ranks"`                      // recorded
	Nodes              int      `json:"nodes"`                      // that ranks were recorded on
	Coverage           *float64 `json:"coverage"`                   // ranks recorded / ranks that ran
	Load
	Waiting
	Threading
	Calls    []Call    `json:"calls"`
	Classes  []Call    `json:"classes"` // of calls: "collective", "wait", "file" …
	Sections []Section `json:"sections"`
}

// Efficiencies are POP's: those of all threads where these are known, else of MPI; and those of MPI
// alone.
type Efficiencies struct {
	ParallelEfficiency      *float64 `json:"parallel_efficiency"`
	LoadBalance             *float64 `json:"load_balance"`
	CommunicationEfficiency *float64 `json:"communication_efficiency"`

	MPIParallelEfficiency      *float64 `json:"mpi_parallel_efficiency"`
	MPILoadBalance             *float64 `json:"mpi_load_balance"`
	MPICommunicationEfficiency *float64 `json:"mpi_communication_efficiency"`
}

func efficiencies(m *job.Metrics) Efficiencies {
	return Efficiencies{&m.Parallel, &m.LoadBalance, &m.Communication, &m.MPI.Parallel, &m.MPI.LoadBalance, &m.MPI.Communication}
}

// Call is one MPI function, or one class of them, summed over ranks, under its C name.
type Call struct {
	Name     string  `json:"name"`
	Count    uint64  `json:"count"`
	Time     float64 `json:"time"`  // s
	Bytes    uint64  `json:"bytes"` // sent + received
	Sent     uint64  `json:"sent"`
	Received uint64  `json:"received"`
	Largest  uint64  `json:"largest"` // of one call
}

// Step is a Slurm step.
type Step struct {
	ID        string         `json:"id"`
	Tasks     int            `json:"tasks"`
	Start     time.Time      `json:"start,omitzero"`
	End       time.Time      `json:"end,omitzero"`
	Off       string         `json:"off,omitempty"`
	Container bool           `json:"container,omitempty"`
	Args      string         `json:"args,omitempty"`  // hash of the batch script's arguments
	Asked     int            `json:"asked,omitempty"` // tasks that the batch script's user asked for
	Exits     map[string]int `json:"exits,omitempty"`
	Peak      int64          `json:"peak,omitempty"`  // most memory of its cgroup on a node, bytes
	Kills     int            `json:"kills,omitempty"` // processes killed for want of memory
}

// Execution is one MPI world of the job.
type Execution struct {
	Key         string    `json:"key"`
	KeyFrom     string    `json:"key_from"`
	Steps       []string  `json:"steps,omitempty"`
	Size        int       `json:"size"` // of MPI_COMM_WORLD
	Spawned     bool      `json:"spawned,omitempty"`
	Start       time.Time `json:"start,omitzero"`
	End         time.Time `json:"end,omitzero"`
	MPI         string    `json:"mpi,omitempty"`
	MPIVersion  string    `json:"mpi_version,omitempty"`
	Executable  string    `json:"executable,omitempty"`
	BuildID     string    `json:"build_id,omitempty"`
	ThreadLevel string    `json:"thread_level,omitempty"`
	CPUsPerTask int       `json:"cpus_per_task,omitempty"`
	OMPThreads  int       `json:"omp_threads,omitempty"`

	ExecutableHash string   `json:"executable_hash,omitempty"` // hex, where there is no build-id
	ArgsHash       string   `json:"args_hash,omitempty"`
	Args           []string `json:"args,omitempty"` // where the site keeps them
	InputHash      string   `json:"input_hash,omitempty"`
	Inputs         int      `json:"inputs,omitempty"`     // files that it is of
	InputNote      string   `json:"input_note,omitempty"` // why there is no input_hash
	Workload       string   `json:"workload,omitempty"`   // the name that its user gave

	Folded int `json:"folded,omitempty"` // so many executions of one program, whose times are summed up here; absent: one

	Figures
	// Timeline is how the efficiencies went, in buckets of one length; absent where that is not known.
	Timeline    []Bucket       `json:"timeline,omitempty"`
	Places      []CallPlace    `json:"places,omitempty"`       // most time first; absent: not known
	PlacesShare *float64       `json:"places_share,omitempty"` // of the time in MPI
	NodeList    []Node         `json:"node_list"`
	Slowest     []Rank         `json:"slowest"` // most useful time first
	RankIDs     string         `json:"rank_ids"`
	HistP2P     []uint64       `json:"hist_p2p,omitempty"` // bin b: sizes in [2^(b-1), 2^b), bin 0: 0
	HistCol     []uint64       `json:"hist_coll,omitempty"`
	SizesNote   string         `json:"sizes_note,omitempty"` // what is in no size, in words
	Endings     map[string]int `json:"endings"`
	Warnings    []doubt.Doubt  `json:"warnings"`
}

// Bucket is a part of an execution's time.
type Bucket struct {
	From          time.Time `json:"from"`
	To            time.Time `json:"to"`
	Parallel      float64   `json:"parallel_efficiency"` // of all threads, where these are known
	LoadBalance   float64   `json:"load_balance"`        // of ranks
	Communication float64   `json:"communication_efficiency"`
	Files         float64   `json:"io_share"` // of the ranks' time
}

// Node is one node's part of an execution.
type Node struct {
	Node       string  `json:"node"`
	Ranks      int     `json:"ranks"`
	CPUs       int     `json:"cpus,omitempty"`
	OnlineCPUs int     `json:"online_cpus,omitempty"`
	Useful     float64 `json:"useful"` // s, sum over its ranks
	UsefulMax  float64 `json:"useful_max"`
	MPITime    float64 `json:"mpi_time"`
	IOTime     float64 `json:"io_time"`
	ElapsedMax float64 `json:"elapsed_max"`
	// Its ranks, and what part of elapsed_max each was useful and in MPI, as the record keeps it:
	// in steps of 1/255. Null where these were dropped for their age.
	RankIDs     string    `json:"rank_ids"`
	UsefulShare []float64 `json:"useful_share"`
	MPIShare    []float64 `json:"mpi_share"`
}

// shares converts parts of 255 to shares, with the digits that are known.
func shares(all []byte) (out []float64) {
	for _, share := range job.Shares(all) {
		out = append(out, math.Round(share*1000)/1000)
	}
	return out
}

// Rank is one rank.
type Rank struct {
	Rank    int     `json:"rank"`
	Node    string  `json:"node"`
	PID     int     `json:"pid"`
	Elapsed float64 `json:"elapsed"`
	Useful  float64 `json:"useful"`
	MPITime float64 `json:"mpi_time"`
	Ending  string  `json:"ending"`
	OpenMP  *OpenMP `json:"openmp,omitempty"` // absent: it used no OpenMP
}

// OpenMP is what a rank's threads did in its parallel regions. Times are s, sums over threads.
type OpenMP struct {
	Threads    int     `json:"threads"`
	Why        string  `json:"why,omitempty"`
	Regions    uint64  `json:"regions"`
	Nested     uint64  `json:"nested"`
	Others     uint64  `json:"others"`
	Tasks      uint64  `json:"tasks"`
	InRegions  float64 `json:"in_regions"`
	Team       float64 `json:"team"`
	Useful     float64 `json:"useful"`
	UsefulMain float64 `json:"useful_main"`
	UsefulMost float64 `json:"useful_most"`
	MPITime    float64 `json:"mpi_time"`
	MPIMain    float64 `json:"mpi_main"`
	IOTime     float64 `json:"io_time"`
	Imbalance  float64 `json:"imbalance"`
	Scheduling float64 `json:"scheduling"`
	Locked     float64 `json:"locked"`
}

// NewJob makes the view of a job, with its array, the runs of its workload, and the verdicts of the rules.
// study and verdicts are nil if nobody asked for them. wide means that the reader sees characters outside
// ASCII.
func NewJob(found *listing.JobAndWorkload, study *workload.Study, verdicts []policy.Verdict, wide bool) *Job {
	r := policy.RequestFor(study, found.Job)
	d := whole(found.Job, study, verdicts, r)
	d.Array = arrayFigures(found)
	d.Words = sync.OnceValue(func() *words.Job {
		w := words.OfJob(found, study, verdicts, r, wide)
		return &w
	})
	return &d
}

func whole(j *job.Job, study *workload.Study, verdicts []policy.Verdict, r *policy.Request) Job {
	d := figuresOf(j)
	d.CoreHours = coreHours(policy.CoreHoursOf(j))
	d.Workload, d.Request = placeOf(study, j, r), requestOf(r)
	if queue := j.QueueTime().Seconds(); !j.Eligible.IsZero() && !j.Start.IsZero() {
		d.QueueTime = &queue
	}
	d.Hidable = hidableOf(j)
	cause := policy.CauseOf(j)
	d.Cause, d.CauseText = said(cause.Code), said(cause.String())
	d.Verdicts = verdictsOf(verdicts)
	if d.Flags = nil; verdicts != nil {
		d.Flags = policy.Flags(verdicts)
	}
	return d
}

// Listed is the Job of a job in a list. Lists are read without steps, and unless detail is set also without
// executions: fields that were not read are null. It has no words.
func Listed(j *job.Job, detail bool) Job {
	one := figuresOf(j)
	one.CoreHours = coreHours(policy.CoreHoursListed(j))
	if one.Steps = nil; !detail {
		one.Endings, one.Executions, one.Calls, one.Classes, one.Sections = nil, nil, nil, nil, nil
	}
	return one
}

// figuresOf makes the figures that jobs in lists have, too.
func figuresOf(j *job.Job) Job {
	d := Job{
		Cluster: j.Cluster, ID: j.DisplayID, JobID: j.JobID, Attempt: j.Attempt,
		ArrayJobID: j.ArrayJobID, ArrayTaskID: j.ArrayTaskID, HetJobID: j.HetJobID, HetOffset: j.HetOffset,
		UID: j.UID, User: j.User, Account: j.Account, Partition: j.Partition, QOS: j.QOS, Name: j.Name,
		State: j.State, Unconfirmed: j.Unconfirmed, ExitCode: j.ExitCode, Submit: j.Submit, Start: j.Start, End: j.End,
		Running: j.IsRunning(), AsOf: j.AsOf, Hung: j.Hung, JobElapsed: j.Elapsed.Seconds(), AllocNodes: j.Nodes, NodesReported: j.Reports, AllocCPUs: j.CPUs, Usage: usageOf(j),
		TimeLimit: known(j.TimeLimit.Seconds()), TimeEfficiency: j.TimeEfficiency(),
		Decision: j.Decision, NoData: doubt.Text(j.NoData), NoDataIs: j.NoData.Code, Covered: j.Covered,
		Figures: figures(j.Metrics, words.Calls(j.Executions), j.Executions),
		Endings: map[string]int{}, Steps: []Step{}, Executions: []Execution{},
		Warnings: doubt.All(j.Warnings), Flags: j.Flags, Pending: j.Pending,
	}
	if j.NeverMet() {
		d.Efficiencies, d.LoadBalanceIn, d.LoadBalanceOut = Efficiencies{}, nil, nil
	}
	d.Threaded = d.Threaded || j.Threaded || j.Metrics != nil && j.Metrics.Hybrid != nil
	if !j.AsOf.IsZero() { // calls are reported at the end
		d.WaitTime = nil
	}
	for _, s := range j.Steps {
		d.Steps = append(d.Steps, Step(s))
	}
	for i := range j.Executions {
		e := &j.Executions[i]
		d.Executions = append(d.Executions, executionOf(e))
		for ending, n := range e.Endings {
			d.Endings[ending] += n
		}
	}
	return d
}

func executionOf(e *job.Execution) Execution {
	d := Execution{
		Key: e.Key, KeyFrom: e.KeyFrom, Steps: e.Steps, Size: e.Size, Spawned: e.Spawned, Start: e.Start, End: e.End,
		MPI: e.MPI, MPIVersion: e.MPIVersion, Executable: e.Executable, BuildID: e.BuildID,
		ThreadLevel: e.ThreadLevel, CPUsPerTask: e.CPUsPerTask, OMPThreads: e.OMPThreads,
		ExecutableHash: e.ExecutableHash, ArgsHash: e.ArgsHash, Args: e.Args,
		InputHash: e.InputHash, Inputs: e.Inputs, InputNote: e.InputNote, Workload: e.Workload, Folded: foldedIn(e),
		Figures: figures(job.ExecutionMetrics(e), e.Calls, []job.Execution{*e}), NodeList: []Node{}, Slowest: []Rank{},
		RankIDs: e.RankIDs, HistP2P: e.HistP2P, HistCol: e.HistCol, SizesNote: words.SizesNote([]job.Execution{*e}),
		Endings: e.Endings, Warnings: doubt.All(e.Warnings),
	}
	if e.Endings[job.EndingRunning] > 0 && len(e.Classes) == 0 {
		d.WaitTime = nil
	}
	for _, n := range e.Nodes {
		d.NodeList = append(d.NodeList, Node{
			Node: n.Node, Ranks: n.Ranks, CPUs: n.CPUs, OnlineCPUs: n.OnlineCPUs, Useful: n.Useful.Seconds(),
			UsefulMax: n.UsefulMax.Seconds(), MPITime: n.MPI.Seconds(), IOTime: n.IO.Seconds(), ElapsedMax: n.ElapsedMax.Seconds(),
			RankIDs: n.RankIDs, UsefulShare: shares(n.UsefulShare), MPIShare: shares(n.MPIShare),
		})
	}
	if e.Timeline != nil {
		for _, b := range e.Timeline.Buckets() {
			d.Timeline = append(d.Timeline, Bucket(b))
		}
	}
	d.Places, d.PlacesShare = places(e)
	for _, r := range e.Slowest {
		d.Slowest = append(d.Slowest, Rank{
			Rank: r.Rank, Node: r.Node, PID: r.PID, Elapsed: r.Elapsed.Seconds(),
			Useful: r.Useful.Seconds(), MPITime: r.MPI.Seconds(), Ending: r.Ending, OpenMP: openMP(r.OpenMP),
		})
	}
	return d
}

func openMP(o *job.OpenMP) *OpenMP {
	if o == nil {
		return nil
	}
	return &OpenMP{
		Threads: o.Threads, Why: o.Why, Regions: o.Regions, Nested: o.Nested, Others: o.Others, Tasks: o.Tasks,
		InRegions: o.InRegions.Seconds(), Team: o.Team.Seconds(), Useful: o.Useful.Seconds(),
		UsefulMain: o.UsefulMain.Seconds(), UsefulMost: o.UsefulMost.Seconds(),
		MPITime: o.MPI.Seconds(), MPIMain: o.MPIMain.Seconds(), IOTime: o.IO.Seconds(),
		Imbalance: o.Imbalance.Seconds(), Scheduling: o.Scheduling.Seconds(), Locked: o.Locked.Seconds(),
	}
}

// foldedIn returns how many executions an entry sums up; 0: it is a single one.
func foldedIn(e *job.Execution) int {
	if e.Folded == nil {
		return 0
	}
	return e.Folded.Count
}

func callsOf(calls []job.Call) []Call {
	out := []Call{}
	for _, c := range calls {
		out = append(out, Call{
			Name: c.Name, Count: c.Count, Time: c.Time.Seconds(), Bytes: job.AddCount(c.Sent, c.Received),
			Sent: c.Sent, Received: c.Received, Largest: c.Largest,
		})
	}
	return out
}

func figures(m *job.Metrics, calls []job.Call, executions []job.Execution) Figures {
	f := Figures{Calls: callsOf(calls), Classes: callsOf(words.Classes(executions)), Sections: sectionsOf(executions), Load: loadOf(executions)}
	if m == nil {
		return f
	}
	v := *m
	f.Efficiencies, f.Coverage = efficiencies(&v), &v.Coverage
	f.LoadBalanceIn, f.LoadBalanceOut = &v.LoadBalanceIn, &v.LoadBalanceOut
	useful := v.RealUseful()
	f.Elapsed, f.Useful, f.MPITime = &v.Elapsed, &useful, &v.MPITime
	f.IOTime, f.WaitTime = &v.IOTime, &v.WaitTime
	f.Ranks, f.Nodes = v.Ranks, v.Nodes
	f.Waiting, f.Threading = waiting(executions), threading(m)
	if c := job.UsefulCounters(executions); c != nil {
		f.UsefulInstructions, f.UsefulCycles = &c.Instructions, &c.Cycles
		f.UsefulIPC, f.UsefulFrequency = c.IPC(), c.Frequency()
	}
	return f
}
