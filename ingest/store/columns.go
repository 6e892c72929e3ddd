package store

import (
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/facts"
	"jobeff/policy/notice"
)

// This file says which field stands in which column of which table. A new column needs one
// line here, one in a migration, and code that fills the row's field.

// metricColumns are the metrics of an execution or of a whole job.
var metricColumns = []column[job.Metrics]{
	{"parallel_efficiency", func(m *job.Metrics) any { return &m.Parallel }},
	{"load_balance", func(m *job.Metrics) any { return &m.LoadBalance }},
	{"communication_efficiency", func(m *job.Metrics) any { return &m.Communication }},
	{"mpi_parallel_efficiency", func(m *job.Metrics) any { return &m.MPI.Parallel }},
	{"mpi_communication_efficiency", func(m *job.Metrics) any { return &m.MPI.Communication }},
	{"load_balance_in", func(m *job.Metrics) any { return &m.LoadBalanceIn }},
	{"load_balance_out", func(m *job.Metrics) any { return &m.LoadBalanceOut }},
	{"elapsed_s", func(m *job.Metrics) any { return &m.Elapsed }},
	{"useful_s", func(m *job.Metrics) any { return &m.Useful }},
	{"mpi_time_s", func(m *job.Metrics) any { return &m.MPITime }},
	{"io_time_s", func(m *job.Metrics) any { return &m.IOTime }},
	{"wait_time_s", func(m *job.Metrics) any { return &m.WaitTime }},
	{"ranks", func(m *job.Metrics) any { return &m.Ranks }},
	{"nodes", func(m *job.Metrics) any { return &m.Nodes }},
	{"coverage", func(m *job.Metrics) any { return &m.Coverage }},
}

// threadColumns are what the threads of ranks did, NULL where none has several. The efficiencies of
// METRICS 2 follow from them and from those above.
var threadColumns = []column[job.Hybrid]{
	{"all_threads", func(h *job.Hybrid) any { return &h.Threads }},
	{"thread_useful_s", func(h *job.Hybrid) any { return &h.Useful }},
	{"thread_mpi_s", func(h *job.Hybrid) any { return &h.MPITime }},
	{"thread_io_s", func(h *job.Hybrid) any { return &h.IOTime }},
	{"imbalance_s", func(h *job.Hybrid) any { return &h.Imbalance }},
	{"scheduling_s", func(h *job.Hybrid) any { return &h.Scheduling }},
	{"serial_s", func(h *job.Hybrid) any { return &h.Serial }},
}

// threadColumnsOfExecution is what rows of attempts do without: there, rank_seconds is the span.
// SQLite 3.53 sorts all attempts for a list that selects 61 columns or more.
var threadColumnsOfExecution = []column[job.Hybrid]{
	{"thread_span_s", func(h *job.Hybrid) any { return &h.Span }},
}

// optionally makes the columns of a part of a row that may be unknown.
func optionally[T, P any](columns []column[P], part func(*T) (*P, *bool)) (all []column[T]) {
	for _, c := range columns {
		all = append(all, column[T]{c.name, func(row *T) any {
			p, known := part(row)
			return unknown{c.field(p), known}
		}})
	}
	return all
}

// attemptKey names an attempt of a job.
type attemptKey struct {
	cluster string
	jobID   uint32
	attempt int64 // 1, 2 … in the order of arrival
}

func (k attemptKey) args() []any { return []any{k.cluster, k.jobID, k.attempt} }

// keyColumns are the key that begins every row of an attempt.
func keyColumns[T any](key func(*T) *attemptKey) []column[T] {
	return []column[T]{
		{"cluster", func(r *T) any { return &key(r).cluster }},
		{"job_id", func(r *T) any { return &key(r).jobID }},
		{"attempt", func(r *T) any { return &key(r).attempt }},
	}
}

// attemptRow is a row of attempts: a job.Job, and the raw values that it is made from.
type attemptRow struct {
	attemptKey
	job                  job.Job
	unmerged             int64 // see the schema
	changed              time.Time
	sender               string // see the schema
	sluid, nodelist      string
	cancelledBy          *uint32
	slurmStart, slurmEnd time.Time
	nodesStart, nodesEnd time.Time
	elapsed, limit       int64 // s
	rankSeconds          float64
	timed, ranked        bool // these two are known
	usedTime             *job.CoreTime
	lostText             string // see lostOfAttempt
	steps, warnings      string // JSON
	scriptArgs           string // see the schema
	noData               string // likewise; "": there is data
	cgroup               string // likewise; "": nothing is known
	metrics              job.Metrics
	measured             bool // metrics are known
	hybrid               job.Hybrid
	threaded             bool // hybrid is known
	usage                job.Usage
	totalCPU             int64 // us
	used                 bool  // usage and totalCPU are known
	usageRead            bool  // sacct was asked for them
	trimmed              bool
	judgedBy             int64  // see the schema
	flags                string // names, with a comma between
	isJudged             bool   // … by the present rules
}

// source says who writes a row of attempts. Several sources may write at once.
type source int

const (
	opening    source = iota // of a new attempt
	arrival                  // of reports
	merging                  // of all reports
	accounting               // sacct tells of the job
	usage                    // … and of what its steps used
	sources
)

// rule says what happens to the old value when a source writes.
type rule int

const (
	stays    rule = iota
	replaced      // the new value wins
	larger        // the larger one wins; neither may be NULL
	given         // the new value wins, unless it is NULL
	missing       // the new value wins where the old one is NULL
	empty         // the new value wins where the old one is ''
)

// attemptColumn is a column of attempts.
type attemptColumn struct {
	name   string
	field  func(*attemptRow) any
	by     by
	unread bool // only SQL conditions use it, readSteps or executions
}

// by is the rule for each source.
type by [sources]rule

// attemptColumns are the columns of attempts.
var attemptColumns = slices.Concat([]attemptColumn{
	{"cluster", func(r *attemptRow) any { return &r.cluster }, by{opening: replaced}, false},
	{"job_id", func(r *attemptRow) any { return &r.jobID }, by{opening: replaced}, false},
	{"attempt", func(r *attemptRow) any { return &r.attempt }, by{opening: replaced}, false},
	{"sender", func(r *attemptRow) any { return &r.sender }, by{opening: replaced}, true},
	{"array_job_id", func(r *attemptRow) any { return &r.job.ArrayJobID }, by{merging: larger, accounting: replaced}, false},
	{"array_task_id", func(r *attemptRow) any { return &r.job.ArrayTaskID }, by{merging: missing, accounting: replaced}, false},
	{"het_job_id", func(r *attemptRow) any { return &r.job.HetJobID }, by{merging: larger, accounting: replaced}, false},
	{"het_offset", func(r *attemptRow) any { return &r.job.HetOffset }, by{accounting: given}, false},
	{"sluid", func(r *attemptRow) any { return &r.sluid }, by{arrival: replaced}, true},
	{"uid", func(r *attemptRow) any { return &r.job.UID }, by{opening: replaced}, false},
	{"user_name", func(r *attemptRow) any { return &r.job.User }, by{merging: empty, accounting: replaced}, false},
	{"account", func(r *attemptRow) any { return &r.job.Account }, by{merging: empty, accounting: replaced}, false},
	{"partition_name", func(r *attemptRow) any { return &r.job.Partition }, by{merging: empty, accounting: replaced}, false},
	{"qos", func(r *attemptRow) any { return &r.job.QOS }, by{accounting: replaced}, false},
	{"name", func(r *attemptRow) any { return &r.job.Name }, by{accounting: replaced}, false},
	{"state", func(r *attemptRow) any { return &r.job.State }, by{accounting: replaced}, false},
	{"cancelled_by", func(r *attemptRow) any { return &r.cancelledBy }, by{accounting: replaced}, false},
	{"exit_code", func(r *attemptRow) any { return &r.job.ExitCode }, by{accounting: replaced}, false},
	{"nodelist", func(r *attemptRow) any { return &r.nodelist }, by{opening: replaced, accounting: replaced}, true},
	{"nodes", func(r *attemptRow) any { return &r.job.Nodes }, by{arrival: replaced, merging: larger, accounting: larger}, false},
	{"alloc_cpus", func(r *attemptRow) any { return &r.job.CPUs }, by{accounting: replaced}, false},
	{"gpus", func(r *attemptRow) any { return &r.job.GPUs }, by{accounting: replaced}, false},
	{"tres", func(r *attemptRow) any { return &r.job.TRES }, by{accounting: replaced}, false},
	{"slurm_submit_us", func(r *attemptRow) any { return &r.job.Submit }, by{accounting: replaced}, false},
	{"eligible_us", func(r *attemptRow) any { return &r.job.Eligible }, by{accounting: replaced}, true}, // readAsked reads it, and the next one
	{"time_limit_s", func(r *attemptRow) any { return &r.limit }, by{accounting: replaced}, true},
	{"slurm_start_us", func(r *attemptRow) any { return &r.slurmStart }, by{accounting: replaced}, true},
	{"slurm_end_us", func(r *attemptRow) any { return &r.slurmEnd }, by{accounting: replaced}, true},
	{"slurm_elapsed_s", func(r *attemptRow) any { return unknown{&r.elapsed, &r.timed} }, by{accounting: replaced}, false},
	{"node_start_us", func(r *attemptRow) any { return &r.nodesStart }, by{arrival: replaced}, true},
	{"node_end_us", func(r *attemptRow) any { return &r.nodesEnd }, by{arrival: replaced}, true},
	{"as_of_us", func(r *attemptRow) any { return &r.job.AsOf }, by{arrival: replaced, merging: replaced}, true}, // the warning WarnInterim tells it
	{"start_us", func(r *attemptRow) any { return &r.job.Start }, by{}, false},
	{"end_us", func(r *attemptRow) any { return &r.job.End }, by{}, false},
	{"reports", func(r *attemptRow) any { return &r.job.Reports }, by{arrival: replaced}, false},
	{"changed_us", func(r *attemptRow) any { return &r.changed }, by{opening: replaced, arrival: replaced}, true},
	{"unmerged", func(r *attemptRow) any { return &r.unmerged }, by{arrival: replaced, merging: replaced}, false},
	{"trimmed", func(r *attemptRow) any { return &r.trimmed }, by{}, true},
	{"judged_by", func(r *attemptRow) any { return &r.judgedBy }, by{merging: replaced}, true},
	{"flags", func(r *attemptRow) any { return &r.flags }, by{}, true},
	{"decision", func(r *attemptRow) any { return &r.job.Decision }, by{merging: replaced}, false},
	{"no_data", func(r *attemptRow) any { return &r.noData }, by{merging: replaced}, false},
	{"threaded", func(r *attemptRow) any { return &r.job.Threaded }, by{merging: replaced}, false},
	{"steps_json", func(r *attemptRow) any { return &r.steps }, by{merging: replaced}, true},
	{"script_args", func(r *attemptRow) any { return &r.scriptArgs }, by{merging: replaced}, true},
	{"tasks", func(r *attemptRow) any { return &r.job.NTasks }, by{merging: replaced}, true},
	{"warnings_json", func(r *attemptRow) any { return &r.warnings }, by{merging: replaced}, false},
	{"cgroup_json", func(r *attemptRow) any { return &r.cgroup }, by{merging: replaced}, false},
	{"rank_seconds", func(r *attemptRow) any { return unknown{&r.rankSeconds, &r.ranked} }, by{merging: replaced}, false},
	{"used_us", func(r *attemptRow) any { return &r.usedTime }, by{accounting: replaced}, true},
	{"judged_us", func(r *attemptRow) any { return &r.job.Judged }, by{merging: replaced}, true}, // unknown until the rules are asked, like the next one; lostOfAttempt reads both
	{"lost_us", func(r *attemptRow) any { return &r.job.Lost }, by{merging: replaced}, true},
	{"usage_read", func(r *attemptRow) any { return &r.usageRead }, by{usage: replaced}, true},
	{"total_cpu_us", func(r *attemptRow) any { return unknown{&r.totalCPU, &r.used} }, by{usage: replaced}, false},
	{"memory_b", func(r *attemptRow) any { return unknown{&r.usage.Memory, &r.used} }, by{usage: replaced}, false},
	{"memory_task_b", func(r *attemptRow) any { return unknown{&r.usage.LargestTask, &r.used} }, by{usage: replaced}, false},
	{"memory_alloc_b", func(r *attemptRow) any { return unknown{&r.usage.Allocated, &r.used} }, by{usage: replaced}, false},
	{"part_of_nodes", func(r *attemptRow) any { return &r.usage.PartOfNodes }, by{usage: replaced}, false},
	{"oom_steps", func(r *attemptRow) any { return &r.usage.OutOfMemory }, by{usage: replaced}, false},
}, metricsOfAttempt())

// metricsOfAttempt are the columns of an attempt's metrics. Their nodes are those that took
// part; the job's own count of nodes stands above.
func metricsOfAttempt() (all []attemptColumn) {
	for _, c := range optionally(metricColumns, func(r *attemptRow) (*job.Metrics, *bool) { return &r.metrics, &r.measured }) {
		if c.name == "nodes" {
			c.name = "metric_nodes"
		}
		follows := c.name == "load_balance" || c.name == "load_balance_out" // from the other efficiencies
		all = append(all, attemptColumn{c.name, c.field, by{merging: replaced}, follows})
	}
	for _, c := range optionally(threadColumns, func(r *attemptRow) (*job.Hybrid, *bool) { return &r.hybrid, &r.threaded }) {
		all = append(all, attemptColumn{c.name, c.field, by{merging: replaced}, false})
	}
	return all
}

// executionRow is a row of executions.
type executionRow struct {
	attemptKey
	execution int
	*job.Execution
	mpi      string // with its version
	count    int    // executions that it stands for
	threads  int    // of each rank, as job.RunOf has them
	metrics  job.Metrics
	measured bool
	hybrid   job.Hybrid
	threaded bool   // hybrid is known
	detail   []byte // job.Execution, packed
}

var executionTable = newTable("executions",
	keyColumns(func(r *executionRow) *attemptKey { return &r.attemptKey }),
	[]column[executionRow]{
		{"execution", func(r *executionRow) any { return &r.execution }},
		{"key", func(r *executionRow) any { return &r.Key }},
		{"key_from", func(r *executionRow) any { return &r.KeyFrom }},
		{"size", func(r *executionRow) any { return &r.Size }},
		{"start_us", func(r *executionRow) any { return &r.Start }},
		{"end_us", func(r *executionRow) any { return &r.End }},
		{"mpi", func(r *executionRow) any { return &r.mpi }},
		{"executable", func(r *executionRow) any { return &r.Executable }},
		{"build_id", func(r *executionRow) any { return &r.BuildID }},
		{"count", func(r *executionRow) any { return &r.count }},
		{"threads", func(r *executionRow) any { return &r.threads }},
	},
	optionally(metricColumns, func(r *executionRow) (*job.Metrics, *bool) { return &r.metrics, &r.measured }),
	optionally(slices.Concat(threadColumns, threadColumnsOfExecution), func(r *executionRow) (*job.Hybrid, *bool) { return &r.hybrid, &r.threaded }),
	[]column[executionRow]{{"detail", func(r *executionRow) any { return &r.detail }}})

// workloadRun is a row of workload_runs: a run, and what names its workload.
type workloadRun struct {
	job.Run
	key, name, lineage   string
	inputNote            string
	start                int64 // us; 0: unknown
	cores                int
	sections, counters   string // JSON
	conditions           string // likewise
	used, lost           float64
	arrayJobID, hetJobID uint32 // of its job, like the next two
	arrayTask, hetOffset *uint32
	slurmStart, slurmEnd time.Time // likewise
	slurmElapsed         int64     // likewise, s
}

var workloadTable = newTable("workload_runs", []column[workloadRun]{
	{"cluster", func(r *workloadRun) any { return &r.Cluster }},
	{"job_id", func(r *workloadRun) any { return &r.JobID }},
	{"attempt", func(r *workloadRun) any { return &r.Attempt }},
	{"execution", func(r *workloadRun) any { return &r.Execution }},
	{"uid", func(r *workloadRun) any { return &r.UID }},
	{"workload_key", func(r *workloadRun) any { return &r.key }},
	{"workload_name", func(r *workloadRun) any { return &r.name }},
	{"start_us", func(r *workloadRun) any { return &r.start }},
	{"ranks", func(r *workloadRun) any { return &r.Ranks }},
	{"threads", func(r *workloadRun) any { return &r.Threads }},
	{"cores", func(r *workloadRun) any { return &r.cores }},
	{"nodes", func(r *workloadRun) any { return &r.Nodes }},
	{"ended", func(r *workloadRun) any { return &r.Ended }},
	{"coverage", func(r *workloadRun) any { return &r.Coverage }},
	{"elapsed_s", func(r *workloadRun) any { return &r.Elapsed }},
	{"useful_s", func(r *workloadRun) any { return &r.Useful }},
	{"mpi_time_s", func(r *workloadRun) any { return &r.MPITime }},
	{"collectives", func(r *workloadRun) any { return &r.Collectives }},
	{"executable", func(r *workloadRun) any { return &r.Executable }},
	{"build_id", func(r *workloadRun) any { return &r.BuildID }},
	{"input_note", func(r *workloadRun) any { return &r.inputNote }},
	{"sections_json", func(r *workloadRun) any { return &r.sections }},
	{"counters_json", func(r *workloadRun) any { return &r.counters }},
	{"used_core_hours", func(r *workloadRun) any { return &r.used }},
	{"lost_core_hours", func(r *workloadRun) any { return &r.lost }},
	{"lineage", func(r *workloadRun) any { return &r.lineage }},
	{"conditions_json", func(r *workloadRun) any { return &r.conditions }},
})

// jobOfRun are columns of attempts that are read beside a run.
var jobOfRun = []column[workloadRun]{
	{"user_name", func(r *workloadRun) any { return &r.User }},
	{"account", func(r *workloadRun) any { return &r.Account }},
	{"partition_name", func(r *workloadRun) any { return &r.Partition }},
	{"gpus", func(r *workloadRun) any { return &r.GPUs }},
	{"alloc_cpus", func(r *workloadRun) any { return &r.AllocCPUs }},
	{"state", func(r *workloadRun) any { return &r.State }},
	{"array_job_id", func(r *workloadRun) any { return &r.arrayJobID }},
	{"array_task_id", func(r *workloadRun) any { return &r.arrayTask }},
	{"het_job_id", func(r *workloadRun) any { return &r.hetJobID }},
	{"het_offset", func(r *workloadRun) any { return &r.hetOffset }},
	{"slurm_start_us", func(r *workloadRun) any { return &r.slurmStart }},
	{"slurm_end_us", func(r *workloadRun) any { return &r.slurmEnd }},
	{"slurm_elapsed_s", func(r *workloadRun) any { return &r.slurmElapsed }},
}

// mpiOfRun is the one column of executions that is read beside a run.
var mpiOfRun = []column[workloadRun]{{"mpi", func(r *workloadRun) any { return &r.MPI }}}

// reportRow is a row of reports.
type reportRow struct {
	cluster  string
	jobID    uint32
	node     string
	nonce    string // the node's own
	sequence int
	attempt  int64
	received time.Time
	still    string // JSON
	body     []byte // as it came, packed
}

var reportTable = newTable("reports", []column[reportRow]{
	{"cluster", func(r *reportRow) any { return &r.cluster }},
	{"job_id", func(r *reportRow) any { return &r.jobID }},
	{"node", func(r *reportRow) any { return &r.node }},
	{"nonce", func(r *reportRow) any { return &r.nonce }},
	{"sequence", func(r *reportRow) any { return &r.sequence }},
	{"attempt", func(r *reportRow) any { return &r.attempt }},
	{"received_us", func(r *reportRow) any { return &r.received }},
	{"still_json", func(r *reportRow) any { return &r.still }},
	{"body", func(r *reportRow) any { return &r.body }},
})

// Month is what stays of pruned jobs: sums for one month, user, account and workload.
type Month struct {
	Cluster      string  `json:"cluster"`
	Month        int     `json:"month"` // 202611, UTC
	UID          uint32  `json:"uid"`
	Account      string  `json:"account"`
	WorkloadKey  string  `json:"workload_key"`
	User         string  `json:"user"`
	WorkloadName string  `json:"workload"`
	Jobs         int64   `json:"jobs"`
	Completed    int64   `json:"completed"`
	Measured     int64   `json:"measured"`
	CoreSeconds  float64 `json:"core_seconds"` // allocated
	CPUSeconds   float64 `json:"cpu_seconds"`  // sacct's TotalCPU
	RankSeconds  float64 `json:"rank_seconds"` // sum of n E, threads counted where they are measured
	Useful       float64 `json:"useful"`       // s
	MPITime      float64 `json:"mpi_time"`     // s
}

// A month's columns: its key, what the last job says, and what adds up.
var (
	monthKey = []column[Month]{
		{"cluster", func(m *Month) any { return &m.Cluster }},
		{"month", func(m *Month) any { return &m.Month }},
		{"uid", func(m *Month) any { return &m.UID }},
		{"account", func(m *Month) any { return &m.Account }},
		{"workload_key", func(m *Month) any { return &m.WorkloadKey }},
	}
	monthNames = []column[Month]{
		{"user_name", func(m *Month) any { return &m.User }},
		{"workload_name", func(m *Month) any { return &m.WorkloadName }},
	}
	monthSums = []column[Month]{
		{"jobs", func(m *Month) any { return &m.Jobs }},
		{"completed", func(m *Month) any { return &m.Completed }},
		{"measured", func(m *Month) any { return &m.Measured }},
		{"core_s", func(m *Month) any { return &m.CoreSeconds }},
		{"cpu_s", func(m *Month) any { return &m.CPUSeconds }},
		{"rank_s", func(m *Month) any { return &m.RankSeconds }},
		{"useful_s", func(m *Month) any { return &m.Useful }},
		{"mpi_time_s", func(m *Month) any { return &m.MPITime }},
	}
	monthTable = newTable("rollup_months", monthKey, monthNames, monthSums)
)

// noticeRow is a row of notices.
type noticeRow struct {
	facts.Told
	mailKey string // "": no mail, since the user had muted the workload
}

var noticeTable = newTable("notices", []column[noticeRow]{
	{"cluster", func(r *noticeRow) any { return &r.Cluster }},
	{"uid", func(r *noticeRow) any { return &r.UID }},
	{"subject", func(r *noticeRow) any { return &r.Subject }},
	{"at_us", func(r *noticeRow) any { return &r.At }},
	{"mail_key", func(r *noticeRow) any { return &r.mailKey }},
	{"shadow", func(r *noticeRow) any { return &r.Shadow }},
	{"user_name", func(r *noticeRow) any { return &r.User }},
	{"workload_key", func(r *noticeRow) any { return &r.Workload }},
	{"name", func(r *noticeRow) any { return &r.Name }},
	{"rule", func(r *noticeRow) any { return &r.Rule }},
	{"job", func(r *noticeRow) any { return &r.Job }},
	{"cores", func(r *noticeRow) any { return &r.Cores }},
	{"advised", func(r *noticeRow) any { return &r.Advised }},
	{"jobs", func(r *noticeRow) any { return &r.Jobs }},
	{"lost_h", func(r *noticeRow) any { return &r.Lost }},
	{"cleared_us", func(r *noticeRow) any { return &r.Cleared }},
	{"running", func(r *noticeRow) any { return &r.Running }},
	{"wrong_us", func(r *noticeRow) any { return &r.WrongAt }},
	{"wrong_by", func(r *noticeRow) any { return &r.WrongBy }},
	{"wrong", func(r *noticeRow) any { return &r.Wrong }},
})

// mailRow is a row of mails, without the columns that its delivery fills in.
type mailRow struct {
	*notice.Mail
	letter []byte // notice.Letter, packed
}

var mailTable = newTable("mails", []column[mailRow]{
	{"mail_key", func(r *mailRow) any { return &r.Key }},
	{"message_id", func(r *mailRow) any { return &r.MessageID }},
	{"kind", func(r *mailRow) any { return &r.Kind }},
	{"cluster", func(r *mailRow) any { return &r.Cluster }},
	{"uid", func(r *mailRow) any { return &r.UID }},
	{"shadow", func(r *mailRow) any { return &r.Shadow }},
	{"decided_us", func(r *mailRow) any { return &r.Decided }},
	{"next_us", func(r *mailRow) any { return &r.NotBefore }},
	{"attempts", func(r *mailRow) any { return &r.Attempts }},
	{"letter", func(r *mailRow) any { return &r.letter }},
})
