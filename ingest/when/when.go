// Package when compares times whose zero means unknown, and joins spans of time. Nothing of jobeff
// stands before it; the parts of a job are joined with it.
package when

import (
	"slices"
	"time"
)

// First is the earlier of two times; zero means unknown.
func First(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Last is the later of two times; zero means unknown.
func Last(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Span is a time in which something ran.
type Span struct{ From, To time.Time }

// Union sorts spans and joins those that overlap.
func Union(spans []Span) (joined []Span) {
	slices.SortFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	for _, s := range spans {
		if last := len(joined) - 1; last >= 0 && !s.From.After(joined[last].To) {
			joined[last].To = Last(joined[last].To, s.To)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}
