package store

import (
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/notice"
)

// This file says which tables hold which rows. A field's tag names its column, see columnsOf. A new column needs a
// tag, a migration, and code that fills the field; one of attempts also a place in writers.

// mpiLoadBalance has no column: it follows from MPI's other efficiencies.
const mpiLoadBalance = "mpi_load_balance"

// attemptKey names an attempt of a job.
type attemptKey struct {
	cluster string `db:"cluster"`
	jobID   uint32 `db:"job_id"`
	attempt int64  `db:"attempt"` // 1, 2 … in the order of arrival
}

func (k attemptKey) args() []any { return []any{k.cluster, k.jobID, k.attempt} }

// attemptRow is a row of attempts: a job.Job, and the raw values that it is made from.
type attemptRow struct {
	attemptKey
	job         job.Job       `db:""`
	unmerged    int64         `db:"unmerged"` // see the schema
	changed     time.Time     `db:"changed_us"`
	sender      string        `db:"sender"` // see the schema
	sluid       string        `db:"sluid"`
	nodelist    string        `db:"nodelist"`
	cancelledBy *uint32       `db:"cancelled_by"`
	slurmStart  time.Time     `db:"slurm_start_us"`
	slurmEnd    time.Time     `db:"slurm_end_us"`
	nodesStart  time.Time     `db:"node_start_us"`
	nodesEnd    time.Time     `db:"node_end_us"`
	elapsed     int64         `db:"slurm_elapsed_s" known:"timed"`
	timed       bool          // elapsed is known
	limit       int64         `db:"time_limit_s"`
	rankSeconds float64       `db:"rank_seconds" known:"ranked"`
	ranked      bool          // rankSeconds is known
	usedTime    *job.CoreTime `db:"used_us"`
	gpuTime     job.GPUTime   `db:""`
	lostText    string        // see lostOfAttempt
	steps       string        `db:"steps_json"`
	warnings    string        `db:"warnings_json"`
	scriptArgs  string        `db:"script_args"`                                    // see the schema
	noData      string        `db:"no_data"`                                        // likewise; "": there is data
	cgroup      string        `db:"cgroup_json"`                                    // likewise; "": nothing is known
	gpus        string        `db:"gpus_json"`                                      // likewise
	metrics     job.Metrics   `db:"" known:"measured" renamed:"nodes metric_nodes"` // of the nodes that took part, job.Nodes are the job's own
	measured    bool          // metrics are known
	hybrid      job.Hybrid    `db:"" known:"threaded"`
	threaded    bool          // hybrid is known
	usage       job.Usage     `db:"" known:"used"`
	totalCPU    int64         `db:"total_cpu_us" known:"used"`
	used        bool          // usage and totalCPU are known
	usageRead   bool          `db:"usage_read"` // sacct was asked for them
	trimmed     bool          `db:"trimmed"`
	judgedBy    int64         `db:"judged_by"` // see the schema
	flags       string        `db:"flags"`     // names, with a comma between
	isJudged    bool          // … by the present rules
}

// source says what makes the store write a row of attempts. Several sources may write at once.
type source int

const (
	opening    source = iota // an attempt is new
	arrival                  // reports came
	merging                  // all reports were merged
	accounting               // sacct lists the job
	usage                    // … with what its steps used
	sources
)

// rule says what happens to the old value when a source writes.
type rule int

const (
	stays    rule = iota
	replaced      // the new value wins
	larger        // the larger one wins; neither may be NULL
	given         // the new value wins, unless it is NULL
	missing       // the new value wins if the old one is NULL
	empty         // the new value wins if the old one is ''
)

// by is the rule for each source.
type by [sources]rule

// writers says who writes which columns of attempts. The database computes start_us and end_us; what trims attempts
// and what judges them write trimmed and flags. judged_us and lost_us are unknown, and
// gpu_known_us and gpu_idle_us 0, until the rules are asked.
var writers = []struct {
	by      by
	columns string
}{
	{by{opening: replaced}, "cluster job_id attempt sender uid"},
	{by{opening: replaced, accounting: replaced}, "nodelist"},
	{by{opening: replaced, arrival: replaced}, "changed_us"},
	{by{arrival: replaced}, "sluid node_start_us node_end_us reports"},
	{by{arrival: replaced, merging: replaced}, "as_of_us unmerged"},
	{by{arrival: replaced, merging: larger, accounting: larger}, "nodes"},
	{by{merging: larger, accounting: replaced}, "array_job_id het_job_id"},
	{by{merging: missing, accounting: replaced}, "array_task_id"},
	{by{merging: empty, accounting: replaced}, "user_name account partition_name"},
	{by{accounting: given}, "het_offset"},
	{by{accounting: replaced}, `qos name state cancelled_by exit_code alloc_cpus gpus tres slurm_submit_us eligible_us time_limit_s
		slurm_start_us slurm_end_us slurm_elapsed_s used_us gpu_us`},
	{by{merging: replaced}, `judged_by decision no_data threaded steps_json script_args tasks warnings_json cgroup_json gpus_json rank_seconds judged_us lost_us gpu_known_us gpu_idle_us
		parallel_efficiency load_balance communication_efficiency mpi_parallel_efficiency mpi_communication_efficiency load_balance_in load_balance_out
		elapsed_s useful_s mpi_time_s io_time_s wait_time_s ranks metric_nodes coverage
		all_threads thread_useful_s thread_mpi_s thread_io_s imbalance_s scheduling_s serial_s`},
	{by{usage: replaced}, "usage_read total_cpu_us memory_b memory_task_b memory_alloc_b part_of_nodes oom_steps"},
}

// unread are the columns that no view of an attempt reads. Only conditions in SQL use them, readSteps,
// readAsked or executions. Load balances follow from the other efficiencies, the warning WarnInterim
// holds as_of_us, lostOfAttempt selects used_us, gpu_us, judged_us and lost_us, and what is
// known of gpu_us follows from gpus_json.
var unread = strings.Fields(`sender sluid nodelist eligible_us time_limit_s slurm_start_us slurm_end_us node_start_us node_end_us as_of_us changed_us trimmed
	judged_by flags steps_json script_args tasks used_us judged_us lost_us gpu_us gpu_known_us gpu_idle_us usage_read load_balance load_balance_out`)

// attemptColumn is a column of attempts.
type attemptColumn struct {
	column[attemptRow]
	by by
}

// columnsOfAttempt are the columns of attempts. thread_span_s is not one of them, since rank_seconds is the same:
// SQLite 3.53 sorts all attempts for a list that selects 61 columns or more.
var columnsOfAttempt = except(columnsOf[attemptRow](), mpiLoadBalance, "thread_span_s")

// attemptColumns are these with who writes them.
var attemptColumns = func() (all []attemptColumn) {
	for _, c := range columnsOfAttempt {
		all = append(all, attemptColumn{c, writersOf(c.name)})
	}
	return all
}()

func writersOf(column string) by {
	for _, w := range writers {
		if slices.Contains(strings.Fields(w.columns), column) {
			return w.by
		}
	}
	return by{}
}

// executionRow is a row of executions.
type executionRow struct {
	attemptKey
	execution int `db:"execution"`
	*job.Execution
	mpi      string      `db:"mpi"`     // with its version
	count    int         `db:"count"`   // executions that it stands for
	threads  int         `db:"threads"` // of each rank, as job.RunOf has them
	metrics  job.Metrics `db:"" known:"measured"`
	measured bool
	hybrid   job.Hybrid `db:"" known:"threaded"`
	threaded bool       // hybrid is known
	detail   []byte     `db:"detail"` // job.Execution, packed
}

var executionTable = newTable("executions", except(columnsOf[executionRow](), mpiLoadBalance))

// workloadRun is a row of workload_runs: a run, and what names its workload.
type workloadRun struct {
	job.Run
	key          string    `db:"workload_key"`
	name         string    `db:"workload_name"`
	lineage      string    `db:"lineage"`
	inputNote    string    `db:"input_note"`
	start        int64     `db:"start_us"` // 0: unknown
	cores        int       `db:"cores"`
	sections     string    `db:"sections_json"`
	counters     string    `db:"counters_json"`
	conditions   string    `db:"conditions_json"`
	used         float64   `db:"used_core_hours"`
	lost         float64   `db:"lost_core_hours"`
	arrayJobID   uint32    `db:"array_job_id"` // of its job, like the rest
	arrayTask    *uint32   `db:"array_task_id"`
	hetJobID     uint32    `db:"het_job_id"`
	hetOffset    *uint32   `db:"het_offset"`
	slurmStart   time.Time `db:"slurm_start_us"`
	slurmEnd     time.Time `db:"slurm_end_us"`
	slurmElapsed int64     `db:"slurm_elapsed_s"`
	outOfMemory  string    `db:"oom_steps"`
	qos          string    `db:"qos"`
}

// With a run, its job is read from attempts, and the MPI of its execution.
var (
	ofJobOfRun = []string{"user_name", "account", "partition_name", "gpus", "alloc_cpus", "state", "array_job_id", "array_task_id", "het_job_id", "het_offset",
		"slurm_start_us", "slurm_end_us", "slurm_elapsed_s", "oom_steps", "qos"}
	jobOfRun      = only(columnsOf[workloadRun](), ofJobOfRun...)
	mpiOfRun      = only(columnsOf[workloadRun](), "mpi")
	workloadTable = newTable("workload_runs", except(columnsOf[workloadRun](), append(ofJobOfRun, "mpi")...))
)

// reportRow is a row of reports.
type reportRow struct {
	cluster  string    `db:"cluster"`
	jobID    uint32    `db:"job_id"`
	node     string    `db:"node"`
	nonce    string    `db:"nonce"` // the node's own
	sequence int       `db:"sequence"`
	attempt  int64     `db:"attempt"`
	received time.Time `db:"received_us"`
	still    string    `db:"still_json"`
	body     []byte    `db:"body"` // as it came, packed
}

var reportTable = newTable("reports", columnsOf[reportRow]())

// Month is what stays of pruned jobs: sums for one month, user, account and workload. The fields from Jobs on
// add up.
type Month struct {
	Cluster      string  `db:"cluster"`
	Month        int     `db:"month"` // 202611, UTC
	UID          uint32  `db:"uid"`
	Account      string  `db:"account"`
	WorkloadKey  string  `db:"workload_key"`
	User         string  `db:"user_name"`
	WorkloadName string  `db:"workload_name"`
	Jobs         int64   `db:"jobs"`
	Completed    int64   `db:"completed"`
	Measured     int64   `db:"measured"`
	CoreSeconds  float64 `db:"core_s"`     // allocated
	CPUSeconds   float64 `db:"cpu_s"`      // sacct's TotalCPU
	RankSeconds  float64 `db:"rank_s"`     // sum of n E, threads counted where they are measured
	Useful       float64 `db:"useful_s"`   // s
	MPITime      float64 `db:"mpi_time_s"` // s
}

// A month's columns: its key, what the last job says, and what adds up.
var (
	monthTable = newTable("rollup_months", columnsOf[Month]())
	monthKey   = monthTable.columns[:5]
	monthNames = monthTable.columns[5:7]
	monthSums  = monthTable.columns[7:]
)

// noticeRow is a row of notices.
type noticeRow struct {
	listing.Told
	mailKey string `db:"mail_key"` // "": no mail, since the user had muted the workload
}

var noticeTable = newTable("notices", columnsOf[noticeRow]())

// mailRow is a row of mails, without the columns that its delivery fills in.
type mailRow struct {
	*notice.Mail
	letter []byte `db:"letter"` // notice.Letter, packed
}

var mailTable = newTable("mails", columnsOf[mailRow]())
