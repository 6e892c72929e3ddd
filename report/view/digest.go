// Package view has one struct for each thing that people look at: its figures, which are its JSON, and the words that
// go with them. One function makes it of what the domain knows; package report and report/mail write it and compute
// nothing. Before it in the flow comes report/words; after it package report and report/mail.
package view

import (
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy/harm"
	"jobeff/policy/notice"
	"jobeff/policy/workload"
)

// Digest is the view of a week's digest: figures, which are its JSON, and words. Hours are core-hours.
type Digest struct {
	From      time.Time     `json:"from"`
	To        time.Time     `json:"to"`
	Cluster   string        `json:"cluster,omitempty"` // absent: all
	Accounts  []string      `json:"accounts"`          // empty: all
	Total     listing.Hours `json:"total"`
	Before    listing.Hours `json:"before"`               // of the week before
	ByCluster []Share       `json:"by_cluster,omitempty"` // only where jobeffd tells several apart, of all of them
	ByAccount []Share       `json:"by_account"`
	ByUser    []Share       `json:"by_user"`
	ByProgram []Share       `json:"by_program"`
	// IdleGPUs are the users with most GPU-hours in which no kernel ran; absent: there are none.
	IdleGPUs []listing.NamedHours `json:"idle_gpus,omitempty"`
	Savings  []Saving             `json:"savings"` // the biggest
	Losses   []Loss               `json:"losses"`  // the largest without advice
	Changes  []Change             `json:"changes"` // of executables and MPI libraries
	Steps    []Slower             `json:"steps"`   // of workloads whose runs became slower
	Followed []Followed           `json:"followed"`
	Alarms   []harm.Alarm         `json:"alarms"` // that were up: measured jobs ended worse than others
	Wrong    []Wrong              `json:"wrong"`  // notices of which somebody who got them said so

	Words DigestWords `json:"-"`
}

// Wrong is a notice that somebody who got it said was wrong.
type Wrong struct {
	Job   string    `json:"id"`    // of the job
	Name  string    `json:"name"`  // of its workload
	UID   uint32    `json:"uid"`   // of its owner
	User  string    `json:"user"`  // its owner
	Rule  string    `json:"rule"`  // that was told
	Told  time.Time `json:"told"`  // when it was
	At    time.Time `json:"at"`    // when it was said to be wrong
	By    uint32    `json:"by"`    // uid
	Words string    `json:"words"` // "": they gave none
}

// Share is the part of one account, user or program.
type Share struct {
	listing.NamedHours
	Before *listing.Hours `json:"before"` // null: nothing
}

// Saving is what a workload's jobs on one core count would have saved on another.
type Saving struct {
	Name        string           `json:"name"`
	Key         string           `json:"key"`
	User        string           `json:"user"`
	Account     string           `json:"account"`
	Jobs        int              `json:"jobs"`
	Lost        float64          `json:"lost"`
	Job         string           `json:"id"` // of the job that lost most
	Cores       int              `json:"cores"`
	Saved       float64          `json:"saved_core_hours"`
	SavedLow    float64          `json:"saved_core_hours_low"`
	SavedHigh   float64          `json:"saved_core_hours_high"`
	Recommended []Recommendation `json:"recommended"`
	Muted       bool             `json:"muted"`
}

// Loss is what a workload's jobs on one core count lost without advice.
type Loss struct {
	Name    string  `json:"name"`
	Key     string  `json:"key"`
	User    string  `json:"user"`
	Account string  `json:"account"`
	Jobs    int     `json:"jobs"`
	Cores   int     `json:"cores"`
	Used    float64 `json:"used"`
	Lost    float64 `json:"lost"`
	Job     string  `json:"id"`         // of the job that lost most
	Cause   string  `json:"cause_text"` // what it lost most to; "": not known
}

// Change is how a run time changed with an executable or an MPI library.
type Change struct {
	Name       string    `json:"name"`
	User       string    `json:"user"`
	Account    string    `json:"account"`
	Job        string    `json:"id"` // of the newest run
	OldBuild   string    `json:"build_id_before"`
	Build      string    `json:"build_id"`
	OldMPI     string    `json:"mpi_before"`
	MPI        string    `json:"mpi"`
	Since      time.Time `json:"since"`
	Runs       int       `json:"runs"`
	RunsBefore int       `json:"runs_before"`
	Level      float64   `json:"level"`
	Time       float64   `json:"time"` // new run time / old one - 1
	TimeLow    float64   `json:"time_low"`
	TimeHigh   float64   `json:"time_high"`
	Hours      float64   `json:"core_hours"` // that the new runs took more
	Beside     string    `json:"beside"`     // what else differs, or may; "": nothing
}

// Slower is since when the runs of a workload on one core count are slower.
type Slower struct {
	Name       string    `json:"name"`
	User       string    `json:"user"`
	Account    string    `json:"account"`
	Cores      int       `json:"cores"`
	Since      time.Time `json:"since"`
	Runs       int       `json:"runs"`
	RunsBefore int       `json:"runs_before"`
	Level      float64   `json:"level"`
	Time       float64   `json:"time"` // since / before - 1
	TimeLow    float64   `json:"time_low"`
	TimeHigh   float64   `json:"time_high"`
	Before     string    `json:"id_before"` // of the median run before
	Job        string    `json:"id"`        // of that by which it was sure
	Beside     string    `json:"beside"`    // what else differs, or may; "": nothing
}

// Followed is what advice saved: against the runs before it, and against those since on the cores of
// before.
type Followed struct {
	Name    string    `json:"name"`
	Key     string    `json:"key"`
	User    string    `json:"user"`
	At      time.Time `json:"at"`
	Before  int       `json:"cores_before"`
	Advised int       `json:"cores_advised"`
	Cores   int       `json:"cores"` // that the runs since took most often
	On      int       `json:"runs_on_cores"`
	Runs    int       `json:"runs"`
	Cut     bool      `json:"cut"` // older runs since are not counted
	Level   float64   `json:"level"`
	Week    Saved     `json:"week"`
	Ever    Saved     `json:"ever"`
}

// Saved are core-hours; negative: more were used.
type Saved struct {
	Mix     float64  `json:"against_before"`
	MixLow  float64  `json:"against_before_low"`
	MixHigh float64  `json:"against_before_high"`
	Old     *float64 `json:"against_old_cores"` // null: nothing ran to its end on them since
	OldLow  *float64 `json:"against_old_cores_low"`
	OldHigh *float64 `json:"against_old_cores_high"`
}

// NewDigest makes the view of a digest.
func NewDigest(d *notice.Digest, site Site) *Digest {
	out := &Digest{From: d.From, To: d.To, Cluster: d.Cluster, Accounts: append([]string{}, d.Accounts...), Total: d.Total, Before: d.Before, ByAccount: sharesOf(d.ByAccount), ByUser: sharesOf(d.ByUser),
		ByProgram: sharesOf(d.ByProgram), IdleGPUs: d.IdleGPUs, Savings: []Saving{}, Losses: []Loss{}, Changes: []Change{}, Steps: []Slower{}, Followed: []Followed{}, Alarms: append([]harm.Alarm{}, d.Alarms...), Wrong: []Wrong{},
		Words: digestWords(d, site)}
	if len(d.ByCluster) > 0 {
		out.ByCluster = sharesOf(d.ByCluster)
	}
	for i := range d.Savings {
		s := &d.Savings[i]
		out.Savings = append(out.Savings, Saving{Name: s.Name, Key: s.Key, User: s.User, Account: s.Account, Jobs: s.Jobs, Lost: s.Lost, Job: s.Job, Cores: s.Cores,
			Saved: s.Hours.Value, SavedLow: s.Hours.Low, SavedHigh: s.Hours.High, Recommended: recommended(&s.Advice), Muted: s.Muted})
	}
	for _, l := range d.Losses {
		out.Losses = append(out.Losses, Loss{l.Name, l.Key, l.User, l.Account, l.Jobs, l.Cores, l.Used, l.Lost, l.Job, l.Cause})
	}
	for i := range d.Changes {
		c := &d.Changes[i]
		out.Changes = append(out.Changes, Change{Name: c.Name, User: c.User, Account: c.Account, Job: c.Job, OldBuild: c.Old, Build: c.New, OldMPI: c.OldMPI, MPI: c.NewMPI, Since: c.Since,
			Runs: c.Runs, RunsBefore: c.RunsBefore, Level: c.Level, Time: c.Factor.Value - 1, TimeLow: c.Factor.Low - 1, TimeHigh: c.Factor.High - 1, Hours: c.Hours, Beside: c.Beside})
	}
	for i := range d.Steps {
		s := &d.Steps[i]
		out.Steps = append(out.Steps, Slower{Name: s.Name(), User: s.Last.User, Account: s.Last.Account, Cores: s.Last.Cores(), Since: s.First.Start, Runs: s.Runs, RunsBefore: s.Earlier,
			Level: s.Level, Time: s.Factor.Value - 1, TimeLow: s.Factor.Low - 1, TimeHigh: s.Factor.High - 1, Before: s.Before.DisplayID, Job: s.Last.DisplayID, Beside: s.Beside})
	}
	for i := range d.Followed {
		f := &d.Followed[i]
		out.Followed = append(out.Followed, Followed{Name: f.Name, Key: f.Workload, User: f.User, At: f.At, Before: f.Told.Cores, Advised: f.Advised, Cores: f.Cores, On: f.On, Runs: f.Count,
			Cut: f.Cut, Level: f.Level, Week: saved(f.Week), Ever: saved(f.Ever)})
	}
	for _, t := range d.Wrong {
		out.Wrong = append(out.Wrong, Wrong{Job: t.Job, Name: t.Name, UID: t.UID, User: t.User, Rule: t.Rule, Told: t.At, At: t.WrongAt, By: t.WrongBy, Words: t.Wrong})
	}
	return out
}

func sharesOf(all []notice.Share) []Share {
	out := []Share{}
	for _, s := range all {
		out = append(out, Share(s))
	}
	return out
}

func saved(s workload.Saved) (d Saved) {
	d.Mix, d.MixLow, d.MixHigh = s.Mix.Value, s.Mix.Low, s.Mix.High
	d.Old, d.OldLow, d.OldHigh = ends(s.Old)
	return d
}
