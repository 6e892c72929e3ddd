package view

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/compare"
	"jobeff/report/words"
)

// Comparison is the view of a run against another one. Times are seconds; fields are only added.
type Comparison struct {
	Before    CompareSide    `json:"before"`
	After     CompareSide    `json:"after"`
	MedianOf  int            `json:"median_of"`      // earlier runs, of which before is the median; 0: it was named
	Rebuilt   bool           `json:"rebuilt"`        // these are of other builds of the program
	Different string         `json:"different_work"` // why they are not the same work, with --force; "": they are
	Longer    float64        `json:"longer"`         // by so much after took longer
	Usual     *float64       `json:"usual"`          // by which part such runs differ in 9 of 10 cases; null: not known
	UsualRuns int            `json:"usual_runs"`     // that it is known from
	Nothing   bool           `json:"nothing"`        // it differs no more than usual
	Parts     []ComparePart  `json:"parts"`          // they add up to longer
	ByNode    []CompareGrown `json:"nodes"`          // whose ranks computed much longer than those of the others
	ByRank    []CompareGrown `json:"ranks"`          // likewise
	Changed   []Changed      `json:"changed"`
	Calls     []CompareGrown `json:"calls"` // that changed most, mean time per rank
	Sections  []CompareGrown `json:"sections"`
	Places    []CompareGrown `json:"places"` // in the code, likewise
	Doubts    []string       `json:"doubts"`

	Words words.Comparison `json:"-"`
}

// CompareSide is one of the two jobs.
type CompareSide struct {
	ID      string    `json:"id"`
	Attempt int       `json:"attempt"`
	Start   time.Time `json:"start"`   // of its main program
	Time    float64   `json:"time"`    // of the job; elapsed where Slurm has not told it
	Elapsed float64   `json:"elapsed"` // of its main program, MPI_Init to MPI_Finalize
	Ranks   int       `json:"ranks"`
	Threads int       `json:"threads"` // of each rank
	Nodes   int       `json:"nodes"`
}

// ComparePart is what one factor added to the time.
type ComparePart struct {
	Code   string   `json:"code"`
	Before float64  `json:"before"` // of the factor
	After  float64  `json:"after"`
	Longer float64  `json:"longer"`
	Usual  *float64 `json:"usual"` // seconds; null: not known
}

// Changed is what is not the same on both sides.
type Changed struct {
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// CompareGrown is what took another time.
type CompareGrown struct {
	Name   string  `json:"name"`
	Was    string  `json:"was,omitempty"` // of a node: where the same ranks ran before, if elsewhere
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// NewComparison makes the view of a comparison. wide means that its reader sees characters outside ASCII.
func NewComparison(c *compare.Comparison, wide bool) *Comparison {
	d := &Comparison{Before: compareSide(&c.Before), After: compareSide(&c.After), MedianOf: c.Median, Rebuilt: c.Rebuilt, Different: c.Different, Longer: c.Longer(),
		UsualRuns: c.Usual.Runs, Nothing: c.Nothing(), Parts: []ComparePart{}, ByNode: compareGrown(c.Nodes), ByRank: compareGrown(c.Ranks), Changed: []Changed{},
		Calls: compareGrown(c.Calls), Sections: compareGrown(c.Sections), Places: compareGrown(c.Places), Doubts: append([]string{}, c.Doubts...), Words: words.OfComparison(c, wide)}
	if c.Usual.Known() {
		d.Usual = &c.Usual.Time
	}
	for _, p := range c.Parts {
		d.Parts = append(d.Parts, ComparePart{p.Code, p.Before, p.After, p.Seconds, p.Usual})
	}
	for _, one := range c.Changed {
		d.Changed = append(d.Changed, Changed(one))
	}
	return d
}

// NoComparison makes a view that says why a job cannot be compared. It has only words.
func NoComparison(j *job.Job, why string, wide bool) *Comparison {
	return &Comparison{Words: words.OfNoComparison(j, why, wide)}
}

func compareSide(s *compare.Side) CompareSide {
	return CompareSide{s.Job.DisplayID, s.Job.Attempt, s.Run.Start, s.Time, s.Elapsed, s.Run.Ranks, max(s.Run.Threads, 1), s.Run.Nodes}
}

func compareGrown(all []compare.Grown) []CompareGrown {
	out := []CompareGrown{}
	for _, g := range all {
		out = append(out, CompareGrown{g.Name, g.Was, g.Before, g.After})
	}
	return out
}
