package node

import (
	"cmp"
	"slices"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// mostInstances bounds the sampled instances in a report: half a MiB of JSON.
const mostInstances = 5_000

// instances are those of one rank that it kept of a label; nil if none are known. Ranks of one
// clock are converted alike, so that their moments differ by what the clock says.
func (w *world) instances(p *process, count uint64, kept *record.Instances) *job.Instances {
	if kept == nil {
		return nil
	}
	line := p.line
	first := w.procs[0]
	if first.slot.Clock == p.slot.Clock {
		line = first.line
	}
	moment := func(ticks uint64) int64 {
		mono := min(max(line.mono(ticks), p.start), p.end)
		return max(int64(first.line.at.Real)+int64(mono)-int64(first.line.at.Mono), 0)
	}
	out := &job.Instances{Least: count, Most: count}
	for _, one := range kept.Kept {
		out.Kept = append(out.Kept, job.Instance{Number: one.Number, In: moment(one.In), Out: moment(one.Out)})
	}
	slices.SortFunc(out.Kept, func(a, b job.Instance) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// run is the instance of MPI_MAIN of a node's ranks; nil if one did not come to its end, or the
// world has one rank.
func (w *world) run(procs []*process) *job.Instance {
	var sum job.Section
	for _, p := range procs {
		if p.ending != job.EndingFinalized || w.size < 2 {
			return nil
		}
		whole := record.Instance{Number: 1, In: p.slot.InitLeft, Out: p.slot.FiniEnter}
		sum.Add(&job.Section{Ranks: 1, Instances: w.instances(p, 1, &record.Instances{Kept: []record.Instance{whole}})})
	}
	return &sum.Instances.Kept[0]
}

// boundInstances leaves out the instances of the later sections of a report that has too many.
func (f *folder) boundInstances(sections []job.Section) {
	for i := range sections {
		s := &sections[i]
		if s.Instances == nil {
			continue
		}
		if len(s.Instances.Kept) == 0 || f.instances+len(s.Instances.Kept) > mostInstances {
			s.Instances = nil
			continue
		}
		f.instances += len(s.Instances.Kept)
	}
}
