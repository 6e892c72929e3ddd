package listing

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// The classes of jobs by what is known of them, the most first.
const (
	ClassThreads = "threads" // figures of ranks and of their threads
	ClassRanks   = "ranks"   // figures of ranks
	ClassMemory  = "memory"  // no figures, but memory and CPU time as Slurm or the kernel counted them
	ClassSlurm   = "slurm"   // only Slurm's times
	ClassRemoved = "removed" // retention dropped them: only the sums of their months are kept
)

// Ledger is the core time of all jobs that ended in a span, as sacct has it, by what is known of them.
type Ledger struct {
	Cluster string    `json:"cluster,omitempty"` // "": of all
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	// Read is up to when sacct was read; zero: it never was.
	Read  time.Time    `json:"sacct_read,omitzero"`
	Lines []LedgerLine `json:"lines"`
	GPUs  *GPULedger   `json:"gpus,omitempty"` // nil: none of the jobs had any
	// Cut says that the span cuts a month of which retention removed jobs: those of that month are left out.
	Cut bool `json:"cut"`
}

// GPULedger is the GPU time of the same jobs. Known and all of Unknown add up to Used.
type GPULedger struct {
	Used    job.CoreTime            `json:"gpu_microseconds"`         // allocated GPUs x elapsed
	Known   job.CoreTime            `json:"known_gpu_microseconds"`   // the part of GPUs of which it is known what they did
	Idle    job.CoreTime            `json:"idle_gpu_microseconds"`    // the part of the known ones in which no kernel ran, at least
	Unknown map[string]job.CoreTime `json:"unknown_gpu_microseconds"` // the rest, by the code of the reason; "": no node spoke of these GPUs; removed: retention dropped the jobs
}

// Add adds up the GPU time of a job, or of several.
func (l *GPULedger) Add(t job.GPUTime, unknown map[string]job.CoreTime) {
	l.Used, l.Known, l.Idle = job.AddCoreTime(l.Used, t.Used), job.AddCoreTime(l.Known, t.Known), job.AddCoreTime(l.Idle, t.Idle)
	for why, part := range unknown {
		if part > 0 {
			l.Unknown[why] = job.AddCoreTime(l.Unknown[why], part)
		}
	}
}

// LedgerLine sums up the jobs of one class and reason.
type LedgerLine struct {
	Month     time.Time    `json:"month"`             // in which they ended: its begin, UTC
	Partition string       `json:"partition"`         // Slurm's
	Class     string       `json:"class"`             // what is known of them: threads, ranks, memory, slurm or removed
	Reason    string       `json:"reason"`            // why they have no figures, the code of a warning or of a reason; "": they have some, or none was recorded
	Kind      string       `json:"kind"`              // tells reasons of one code apart
	Hole      bool         `json:"hole"`              // those who run the site can mend it
	Jobs      int64        `json:"jobs"`              // attempts
	Used      job.CoreTime `json:"core_microseconds"` // their core time, allocated CPUs x elapsed
}

// NewLedgerLine is an empty line.
func NewLedgerLine(month time.Time, partition, class string, why doubt.Warning) LedgerLine {
	reason := doubt.Reason(why)
	return LedgerLine{Month: month, Partition: partition, Class: class, Reason: reason.Code, Kind: reason.Args.Kind, Hole: doubt.Hole(reason)}
}

// Why is the line's reason.
func (l *LedgerLine) Why() doubt.Warning {
	return doubt.Warning{Code: l.Reason, Args: doubt.Arguments{Kind: l.Kind}}
}

// Measured says that the line's jobs have figures.
func (l *LedgerLine) Measured() bool { return l.Class == ClassThreads || l.Class == ClassRanks }

// ClassTimes is the core time of some lines by class, us. As long as whole numbers can be, they add up without rounding.
type ClassTimes map[string]float64

// ByClass sums up lines.
func ByClass(lines []LedgerLine) ClassTimes {
	t := ClassTimes{}
	for i := range lines {
		t[lines[i].Class] += float64(lines[i].Used)
	}
	return t
}

// Of is the core-hours of some classes.
func (t ClassTimes) Of(classes ...string) float64 {
	var sum float64
	for _, c := range classes {
		sum += t[c]
	}
	return sum / job.CoreHour
}

// Measured is the core-hours of jobs with figures.
func (t ClassTimes) Measured() float64 { return t.Of(ClassThreads, ClassRanks) }

// Total is the core-hours of all classes.
func (t ClassTimes) Total() float64 {
	return t.Of(ClassThreads, ClassRanks, ClassMemory, ClassSlurm, ClassRemoved)
}
