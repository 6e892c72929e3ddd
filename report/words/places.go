package words

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// listedPlaces bounds the places that a job's text and page name.
const listedPlaces = 5

// Places words the places at which a job called MPI.
type Places struct {
	None  string // why none are known; "": some are
	Parts []block.Part
}

// OfPlaces names all places at which an execution of a job called MPI, with the callers that are sure.
// wide: its reader sees characters outside ASCII.
func OfPlaces(of *job.Job, wide bool) Places {
	j := inert.Copy(of, wide)
	e := job.PlacedExecution(j.Executions)
	if e == nil {
		return Places{None: "no places are known of job " + j.DisplayID + ": " + whyNoPlaces(j)}
	}
	part := block.Part{Heading: "Where MPI was called in " + path.Base(e.Executable) + " (share of the time in MPI)", Items: placesItems(e), Notes: placesNotes(e, j)}
	return Places{Parts: []block.Part{part, linksPart(e.Windows)}}
}

// whyNoPlaces says why a job has no places.
func whyNoPlaces(j *job.Job) string {
	switch {
	case j.IsRunning():
		return "they are told when it has ended"
	case j.Metrics == nil:
		return "it has no figures"
	}
	return "its library noted none, or they were dropped for their age, or, of a job of more than " + figure.Count(job.MostPlaced) + " executions, others took more core time"
}

// amongNote says to which of a job's executions the places belong, and how to see those of others; "": there is
// only one.
func amongNote(e *job.Execution, j *job.Job) string {
	n := job.CountExecutions(j.Executions)
	if n < 2 {
		return ""
	}
	var all time.Duration
	var others []string
	for i := range j.Executions {
		x := &j.Executions[i]
		all = job.AddTime(all, job.PlacedTime(x.Classes))
		if x != e && x.Places != nil && len(x.Steps) > 0 && !slices.Contains(e.Steps, x.Steps[0]) && !slices.Contains(others, x.Steps[0]) {
			others = append(others, x.Steps[0])
		}
	}
	note := "all of these are of one of the job's " + figure.Counted(n, "execution")
	if len(e.Steps) > 0 {
		note += ", in step " + e.Steps[0]
	}
	if all > 0 {
		note += fmt.Sprintf(", with %s of their time in MPI", figure.Part(job.PlacedTime(e.Classes).Seconds(), all.Seconds()))
	}
	if len(others) > 0 && j.DisplayID != "" {
		note += fmt.Sprintf("; `jobeff where %s.%s` has those of step %s", j.DisplayID, others[0], others[0])
		if more := others[1:]; len(more) > 0 {
			note += ", and likewise of " + figure.And(more)
		}
	}
	return note
}

// spot is what was called at one line, whatever its callers were.
type spot struct {
	function, where  string
	time, sampled    time.Duration
	samples          uint64
	share, low, high float64
}

// placesPart lists the costliest places.
func placesPart(j *job.Job) block.Part {
	e := job.PlacedExecution(j.Executions)
	if e == nil {
		return block.Part{}
	}
	spots := spotsOf(e)
	part := block.Part{Heading: "Where in the code MPI took most of its time (share of the time in MPI)", Notes: placesNotes(e, j)}
	for _, s := range spots[:min(len(spots), listedPlaces)] {
		part.Items = append(part.Items, fmt.Sprintf("%s %s at %s", s.function, s.text(), s.where))
	}
	n := len(spots) - listedPlaces
	left := more(n, "place", "with less time")
	if n > 0 && j.DisplayID != "" { // a record by hand has no id to ask for
		left = fmt.Sprintf("and %s with less time; `jobeff where %s` has all", figure.Counted(n, "place"), j.DisplayID)
	}
	part.Notes = append(block.Notes(left), part.Notes...)
	return part
}

// spotsOf returns an execution's places, without their callers.
func spotsOf(e *job.Execution) (all []spot) {
	index, shares := map[[2]string]int{}, e.Places.Shares(e.Classes)
	for i := range e.Places.List {
		p := &e.Places.List[i]
		key := [2]string{p.Function, e.Places.FrameText(p, 0)}
		at, is := index[key]
		if !is {
			at = len(all)
			index[key] = at
			all = append(all, spot{function: key[0], where: key[1]})
		}
		all[at].time = job.AddTime(all[at].time, p.Time)
		all[at].sampled = job.AddTime(all[at].sampled, p.Sampled)
		all[at].samples = job.AddCount(all[at].samples, p.Samples)
		all[at].share = min(all[at].share+shares[i], 1)
	}
	for i := range all {
		all[i].within(job.PlacedTime(e.Classes))
	}
	slices.SortStableFunc(all, func(a, b spot) int { return cmp.Compare(b.time, a.time) })
	return all
}

// within fills in the share's interval, which follows from the number of samples. all is the time that it is a
// share of (METRICS 3).
func (s *spot) within(all time.Duration) {
	if all <= 0 {
		s.share, s.low, s.high = 0, 0, 0
		return
	}
	half := job.SampledWithin(s.sampled, s.samples).Seconds() / all.Seconds()
	s.low, s.high = max(s.share-half, 0), min(s.share+half, 1)
}

// text writes the share. If it is an estimate that is not sure to a percent, it adds the interval.
func (s *spot) text() string {
	if figure.Percent(s.low) == figure.Percent(s.high) {
		return figure.Percent(s.share)
	}
	return figure.Estimate(s.share, s.low, s.high, figure.Percent)
}

// placesNotes say how much of the time the places cover, and why names are missing.
func placesNotes(e *job.Execution, j *job.Job) []string {
	notes := block.Notes(amongNote(e, j))
	if share, known := e.Places.Share(e.Classes); known {
		notes = append(notes, "all places together: "+figure.Percent(share)+" of the time in MPI")
	}
	if !e.Places.Looked {
		return append(notes, "`jobeff where "+cmp.Or(j.DisplayID, "JOBID")+"` names functions, files and lines, where the program lies")
	}
	told := map[string]bool{}
	for _, p := range e.Places.List {
		for _, f := range p.Frames[:min(len(p.Frames), 1)] {
			name := path.Base(e.Places.Modules[f.Module].Path)
			if f.Why != "" && !told[name] {
				told[name] = true
				notes = append(notes, name+": "+f.Why)
			}
		}
	}
	return notes
}

// placesItems list the places with their callers.
func placesItems(e *job.Execution) (items []string) {
	all, shares, ranks := job.PlacedTime(e.Classes), e.Places.Shares(e.Classes), 0
	for i := range e.Nodes {
		ranks += e.Nodes[i].Ranks
	}
	for i := range e.Places.List {
		p := &e.Places.List[i]
		s := spot{time: p.Time, sampled: p.Sampled, samples: p.Samples, share: shares[i]}
		s.within(all)
		item := fmt.Sprintf("%s %s at %s", p.Function, s.text(), e.Places.FrameText(p, 0))
		for k := 1; e.Places.Looked && k < len(p.Frames); k++ {
			item += ", called from " + e.Places.FrameText(p, k)
		}
		about := ""
		if p.Samples > 0 {
			about = "about "
		}
		seconds := alike([]*job.Place{p}, func(p *job.Place) float64 { return p.Time.Seconds() })
		item += fmt.Sprintf(": %s%s, %s on %s of %s", about, figure.Counted(int(min(p.Calls, math.MaxInt)), "call"), seconds(p.Time.Seconds()), figure.Counted(p.Ranks, "rank"), figure.Count(ranks))
		if p.Ranks > 1 {
			item += ", " + figure.Interval(p.Least.Seconds(), p.Most.Seconds(), seconds) + " each"
		}
		items = append(items, item)
	}
	return items
}
