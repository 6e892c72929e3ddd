package view

import (
	"encoding/json"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/shell"
	"jobeff/report/words"
)

// Workload is the view of a workload. Times are seconds, efficiencies
// fractions. Fields are only added.
type Workload struct {
	Key           string    `json:"key"`
	Name          string    `json:"name"`
	Cluster       string    `json:"cluster"`
	UID           uint32    `json:"uid"`
	User          string    `json:"user,omitempty"`
	Executable    string    `json:"executable,omitempty"`
	InputNote     string    `json:"input_note,omitempty"`
	Mute          *job.Mute `json:"mute"` // null: not muted
	AllRuns       int       `json:"all_runs"`
	UsedCoreHours float64   `json:"used_core_hours"` // of all runs
	LostCoreHours *float64  `json:"lost_core_hours"` // of those of which it is known; null: of none

	Request *Request `json:"request"` // for a job like its newest; null in a list

	Scaling     string           `json:"scaling"` // strong, weak, unclear
	ScalingNote string           `json:"scaling_note"`
	Reference   int              `json:"reference_cores"` // what comp_s and bounds compare with
	Fastest     int              `json:"fastest_cores"`
	Counts      []Count          `json:"counts"`
	Curve       Curve            `json:"curve"`
	Advice      []Recommendation `json:"recommended"` // against runs on as many cores as the job that was asked for had, or else the newest that is compared
	Options     []Option         `json:"options"`     // to choose from
	Sections    []Bounds         `json:"section_bounds"`
	Inflexions  []Inflexion      `json:"section_inflexions"`
	Runs        []job.Run        `json:"runs"` // that share the curve
	Splits      []Split          `json:"splits"`
	Left        []Left           `json:"left_out"`
	Warnings    []doubt.Doubt    `json:"warnings"`

	Words words.Workload `json:"-"`
}

// Count is what was measured on one core count.
type Count struct {
	N         int      `json:"n"`
	Nodes     []int    `json:"nodes"`
	Runs      int      `json:"runs"`
	T         float64  `json:"t"` // median
	Shortest  float64  `json:"t_shortest"`
	Longest   float64  `json:"t_longest"`
	Tau       float64  `json:"tau"`
	PE        float64  `json:"pe"`
	CompS     float64  `json:"comp_s"`
	InsS      *float64 `json:"ins_s"` // null without counters
	IPCS      *float64 `json:"ipc_s"`
	FreqS     *float64 `json:"freq_s"`
	GE        float64  `json:"ge"`
	CoreHours float64  `json:"core_hours"`
	Weak      *float64 `json:"weak_efficiency"` // null unless it scales weakly
	WeakLow   *float64 `json:"weak_efficiency_low"`
	WeakHigh  *float64 `json:"weak_efficiency_high"`
}

// Bounds are the partial speedup bounds on one core count, the tightest first.
type Bounds struct {
	N          int     `json:"n"`
	RelativeTo int     `json:"relative_to"`
	Bounds     []Bound `json:"bounds"`
}

// Bound is one section's bound.
type Bound struct {
	Label   string  `json:"label"`
	Speedup float64 `json:"speedup"`
	Share   float64 `json:"share"` // of the run's time there that is the section's own
}

// Inflexion is the core count from which a section's time stops falling.
type Inflexion struct {
	Label string   `json:"label"`
	N     *float64 `json:"n"` // null: note says why
	Low   *float64 `json:"n_low"`
	High  *float64 `json:"n_high"`
	Note  *string  `json:"note"`
}

// Split is runs that cannot share the curve.
type Split struct {
	Why  string    `json:"why"`
	Runs []job.Run `json:"runs"`
}

// Left is a run that is no point.
type Left struct {
	Why string  `json:"why"`
	Run job.Run `json:"run"`
}

// NewWorkload makes the view of a workload. wide means that its reader sees characters outside ASCII.
func NewWorkload(s *workload.Study, wide bool) *Workload {
	r := policy.RequestOf(s)
	d := workloadFigures(s, r)
	d.Words = words.OfWorkload(s, r, wide)
	return &d
}

func workloadFigures(s *workload.Study, request *policy.Request) Workload {
	w, sum := s.Workload, s.Workload.Sum()
	d := Workload{
		AllRuns: sum.Runs, UsedCoreHours: sum.Used, LostCoreHours: sum.KnownLost(),
		Key: w.Key, Name: w.Name, Cluster: w.Cluster, UID: w.UID, User: w.User, Executable: w.Executable, InputNote: w.InputNote, Mute: s.Muted,
		Scaling: string(s.Scaling), ScalingNote: s.Why, Reference: s.Reference, Fastest: s.Fastest, Counts: []Count{},
		Curve: curveFigures(s.Curve, nil), Advice: recommended(request.Best), Options: optionsOf(policy.Options(policy.AsLast(s))), Sections: []Bounds{},
		Inflexions: []Inflexion{}, Runs: append([]job.Run{}, s.Runs...), Splits: []Split{}, Left: []Left{},
		Warnings: append([]doubt.Doubt{}, s.Warnings...),
	}
	if len(w.Jobs) > 0 {
		d.Request = requestOf(request)
	}
	if d.Curve.Next != nil {
		d.Curve.Next.Sbatch = said(shell.Plan(s))
	}
	for _, c := range s.Counts {
		d.Counts = append(d.Counts, countOf(c))
	}
	for _, b := range s.Sections {
		one := Bounds{b.N, b.RelativeTo, []Bound{}}
		for _, bound := range b.Bounds {
			one.Bounds = append(one.Bounds, Bound(bound))
		}
		d.Sections = append(d.Sections, one)
	}
	for _, i := range s.Inflexions {
		one := Inflexion{Label: i.Label, Note: said(i.At.Note)}
		one.N, one.Low, one.High = ends(i.At.Estimate)
		d.Inflexions = append(d.Inflexions, one)
	}
	for _, split := range s.Splits {
		d.Splits = append(d.Splits, Split{split.Why, split.Runs})
	}
	for _, l := range s.Left {
		d.Left = append(d.Left, Left{l.Why, l.Run})
	}
	return d
}

func countOf(c workload.Count) Count {
	d := Count{N: c.N, Nodes: c.Nodes, Runs: c.Runs, T: c.T, Shortest: c.Shortest, Longest: c.Longest, Tau: c.Tau, PE: c.PE,
		CompS: c.Scaling.CompS, InsS: c.Scaling.InsS, IPCS: c.Scaling.IPCS, FreqS: c.Scaling.FreqS, GE: c.GE, CoreHours: c.CoreHours}
	d.Weak, d.WeakLow, d.WeakHigh = ends(c.Weak)
	return d
}

// ListedWorkload is the Workload of one in a list. It has no request and no words.
func ListedWorkload(s *workload.Study) Workload { return workloadFigures(s, policy.RequestOf(s)) }

// Workloads is the view of a list of workloads.
type Workloads struct {
	Workloads []json.RawMessage `json:"workloads"` // as jobeffd answers them, each a Workload
	Named     []json.RawMessage `json:"named"`     // likewise each a Named, of jobs that left no record of a program
	More      bool              `json:"more"`

	Words words.Workloads `json:"-"`
}

// Named is a workload of jobs that left no record of a program, in a list: they share a user and a name.
type Named struct {
	Key           string    `json:"key"`             // names it for programs
	Name          string    `json:"name"`            // of the jobs
	Cluster       string    `json:"cluster"`         // Slurm's name of it
	UID           uint32    `json:"uid"`             // of its user
	User          string    `json:"user,omitempty"`  // its user's name
	Jobs          int       `json:"jobs"`            // how many
	FewestCPUs    int       `json:"fewest_cpus"`     // of its jobs
	MostCPUs      int       `json:"most_cpus"`       // of its jobs
	UsedCoreHours float64   `json:"used_core_hours"` // of all its jobs
	Newest        time.Time `json:"newest"`          // when the newest began
}

// NamedOf is the Named of a workload in a list.
func NamedOf(n *listing.WorkloadSummary) Named {
	return Named{n.Key, n.Name, n.Newest.Cluster, n.Newest.UID, n.Newest.User, n.Runs, n.FewestCores, n.MostCores, n.CoreHours, n.Newest.Start}
}

// NewWorkloads makes the view of a list of workloads, for people and for programs that do not read JSON.
func NewWorkloads(studies []*workload.Study, named []listing.WorkloadSummary, opts words.ListOptions, wide bool) *Workloads {
	return &Workloads{More: opts.More, Words: words.OfWorkloads(studies, named, opts, wide)}
}

// NamedJobs is the view of a workload of jobs that left no record of a program.
type NamedJobs struct {
	Key     string    `json:"key"`            // names it for programs
	Name    string    `json:"name"`           // of the jobs
	Cluster string    `json:"cluster"`        // Slurm's name of it
	UID     uint32    `json:"uid"`            // of its user
	User    string    `json:"user,omitempty"` // its user's name
	Request *Request  `json:"request"`        // for a job like its newest
	Jobs    []job.Ran `json:"jobs"`           // the newest, oldest first

	Words words.NamedJobs `json:"-"`
}

// NewNamedJobs makes the view of a workload of such jobs.
func NewNamedJobs(w *job.Workload, wide bool) *NamedJobs {
	return &NamedJobs{w.Key, w.Name, w.Cluster, w.UID, w.User, requestOf(policy.RequestOf(&workload.Study{Workload: w})), w.Jobs, words.OfNamedJobs(w, wide)}
}
