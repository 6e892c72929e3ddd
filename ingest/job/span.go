package job

import (
	"slices"
	"time"
)

// Span is a time in which an execution ran.
type Span struct{ From, To time.Time }

// Spans are the times in which it ran, one after the other.
func (e *Execution) Spans() []Span {
	if e.Folded == nil {
		return []Span{{e.Start, e.Start.Add(elapsedOf(e))}}
	}
	var all []Span
	at := e.Start
	for i := 0; i+1 < len(e.Folded.Spans); i += 2 {
		from := at.Add(e.Folded.Spans[i])
		at = from.Add(e.Folded.Spans[i+1])
		all = append(all, Span{from, at})
	}
	return all
}

// Union sorts spans and joins those that overlap.
func Union(spans []Span) (joined []Span) {
	slices.SortFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	for _, s := range spans {
		if last := len(joined) - 1; last >= 0 && !s.From.After(joined[last].To) {
			joined[last].To = LastTime(joined[last].To, s.To)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}
