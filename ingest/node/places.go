package node

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// placesOf joins the places where the processes of a world called MPI. It is nil if no process noted
// any, or if one still runs: its calls are of another moment.
func placesOf(procs []*process) *job.Places {
	var sums job.PlaceSums
	for _, p := range procs {
		if p.live {
			return nil
		}
		if own := p.places(); own != nil {
			sums.Add(own)
		}
	}
	return sums.Places(job.MostPlaces)
}

// places joins the places of all threads of one process.
func (p *process) places() *job.Places {
	var sums job.PlaceSums
	for _, s := range append([]*record.Slot{p.slot}, p.threads...) {
		if s.Places != nil {
			sums.Add(p.placesIn(s))
		}
	}
	own := sums.Places(job.MostPlaces)
	if own != nil {
		for i := range own.List {
			one := &own.List[i]
			one.Ranks, one.Most, one.Least = 1, one.Time, one.Time
		}
	}
	return own
}

func (p *process) placesIn(s *record.Slot) *job.Places {
	of := func(ticks uint64) time.Duration { return time.Duration(p.line.of(ticks)) }
	out := &job.Places{Dropped: of(s.Places.DroppedTicks)}
	for _, m := range s.Places.Modules {
		out.Modules = append(out.Modules, p.module(m))
	}
	for _, at := range s.Places.List {
		one := job.Place{Function: record.FuncName(at.Function), Calls: at.Calls + at.ShortCalls, Samples: at.Samples,
			Sampled: of(at.Samples * s.Places.Every), Longest: of(at.Longest)}
		one.Time = job.AddTime(of(at.Ticks), one.Sampled)
		for _, f := range at.Frames {
			one.Frames = append(one.Frames, job.Frame{Module: f.Module, Offset: f.Offset})
		}
		out.List = append(out.List, one)
	}
	if s == p.slot && s.Places.Open != nil && s.OpenCall >= 0 && s.FiniEnter == 0 && record.FuncClass(s.OpenCall) != record.ClassIO {
		open := p.openTime() // of the call that it never left
		out.List = append(out.List, job.Place{Function: record.FuncName(s.OpenCall), Calls: 1, Time: open, Longest: open,
			Frames: []job.Frame{{Module: s.Places.Open.Module, Offset: s.Places.Open.Offset}}})
	}
	return out
}

func (p *process) module(m record.Module) job.Module {
	if m.Program {
		m.Path = p.slot.Exe
	}
	return job.Module{Path: m.Path, BuildID: m.BuildID}
}
