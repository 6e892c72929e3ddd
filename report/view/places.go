package view

import (
	"jobeff/ingest/job"
	"jobeff/report/words"
)

// CallPlace is where in the code an execution's ranks called one function of MPI. What looks into the program's
// files, `jobeff where`, also names the instruction, and the callers that are sure.
type CallPlace struct {
	Function string  `json:"function"` // C name
	Code             // of the call
	Callers  []Code  `json:"callers,omitempty"` // the innermost first
	Calls    uint64  `json:"calls"`             // sum over ranks
	Time     float64 `json:"time"`              // s, likewise
	Samples  uint64  `json:"samples"`           // that stand for calls shorter than 20 µs; 0: each call was counted
	Sampled  float64 `json:"sampled"`           // s, the part of time for which they stand
	Share    float64 `json:"share"`             // of the time in MPI
	Ranks    int     `json:"ranks"`             // that called here
	Most     float64 `json:"most"`              // s, of one rank
	Least    float64 `json:"least"`             // s, of one of these ranks
	Longest  float64 `json:"longest"`           // s, of one call that was seen
}

// Code is an instruction.
type Code struct {
	Module  string  `json:"module"`
	BuildID string  `json:"build_id"`
	Offset  *uint64 `json:"offset"` // address in the file; null: it is not known whose code it is
	Symbol  string  `json:"symbol,omitempty"`
	File    string  `json:"file,omitempty"`
	Line    int     `json:"line,omitempty"`
	Why     string  `json:"why,omitempty"` // there is no line
}

// Places is the view of where a job called MPI: figures, which are its JSON, and words.
type Places struct {
	ID     string      `json:"id"`
	Places []CallPlace `json:"places"`
	Share  *float64    `json:"places_share"` // of the time in MPI; null: not known
	Links  []WaitLink  `json:"links"`        // the waits that make other ranks late, most time first

	Words words.Places `json:"-"`
}

// NewPlaces makes the view of the places of a job. wide: its reader sees characters outside ASCII.
func NewPlaces(j *job.Job, wide bool) *Places {
	out := &Places{ID: j.DisplayID, Places: []CallPlace{}, Links: []WaitLink{}, Words: words.OfPlaces(j, wide)}
	e := job.PlacedExecution(j.Executions)
	if e != nil {
		out.Places, out.Share = places(e)
	}
	for i := range j.Executions {
		x := &j.Executions[i]
		if w := x.Windows; w != nil && w.Path != nil && (e == nil || x == e) {
			out.Links = waitLinks(w.Path)
		}
	}
	return out
}

func places(e *job.Execution) (out []CallPlace, share *float64) {
	if e.Places == nil {
		return nil, nil
	}
	if s, known := e.Places.Share(e.Classes); known {
		share = &s
	}
	known := job.PlacedTime(e.Classes) > 0
	shares := e.Places.Shares(e.Classes)
	out = []CallPlace{}
	for k, p := range e.Places.List {
		one := CallPlace{Function: p.Function, Calls: p.Calls, Time: p.Time.Seconds(), Samples: p.Samples, Sampled: p.Sampled.Seconds(), Ranks: p.Ranks,
			Most: p.Most.Seconds(), Least: p.Least.Seconds(), Longest: p.Longest.Seconds()}
		if known {
			one.Share = shares[k]
		}
		for i, f := range p.Frames {
			c := codeAt(e.Places.Modules, f)
			if i == 0 {
				one.Code = c
			} else if e.Places.Looked {
				one.Callers = append(one.Callers, c)
			}
		}
		out = append(out, one)
	}
	return out, share
}

func codeAt(modules []job.Module, f job.Frame) Code {
	return Code{modules[f.Module].Path, modules[f.Module].BuildID, &f.Offset, f.Symbol, f.File, f.Line, f.Why}
}
