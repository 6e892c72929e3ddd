package ingest

import (
	"fmt"
	"strconv"
	"strings"
)

// JobRef is a job, or a step of one, as people name it.
type JobRef struct {
	ID        uint32  // 123: the raw id, or the array's or het job's own
	ArrayTask *uint32 // 123_4
	HetOffset *uint32 // 123+1
	Step      string  // decimal, "batch", "extern" or "interactive"; "" the whole job
}

// ParseJobID reads 123, 123_4, 123+1 and each of them with a step: 123.0,
// 123.batch, 123_4.extern.
func ParseJobID(s string) (JobRef, error) {
	bad := func(why string) (JobRef, error) {
		return JobRef{}, fmt.Errorf("%s is not a job id (%s): give 123, 123_4 (a task of an array), 123+1 (a part of a het job), or a step, 123.0 or 123.batch", quoteShort(s), why)
	}
	var r JobRef
	job, step, hasStep := strings.Cut(strings.TrimSpace(s), ".")
	if hasStep {
		if r.Step = normalStep(step); r.Step == "" {
			return bad("after the point stands no step")
		}
	}
	job, sub, sep := cutAny(job, "_+")
	id, ok := parseID(job)
	if !ok || id == 0 {
		return bad("it begins with no number above 0")
	}
	r.ID = id
	if sep == 0 {
		return r, nil
	}
	n, ok := parseID(sub)
	if !ok {
		return bad(fmt.Sprintf("after %q stands no number", string(sep)))
	}
	if sep == '_' {
		r.ArrayTask = &n
	} else {
		r.HetOffset = &n
	}
	return r, nil
}

// String is the reference as ParseJobID reads it.
func (r JobRef) String() string {
	s := strconv.FormatUint(uint64(r.ID), 10)
	if r.ArrayTask != nil {
		s += "_" + strconv.FormatUint(uint64(*r.ArrayTask), 10)
	}
	if r.HetOffset != nil {
		s += "+" + strconv.FormatUint(uint64(*r.HetOffset), 10)
	}
	if r.Step != "" {
		s += "." + r.Step
	}
	return s
}

// normalStep returns the step's one spelling, "" if it is none.
func normalStep(s string) string {
	switch s {
	case "batch", "extern", "interactive":
		return s
	}
	n, ok := parseID(s)
	if !ok {
		return ""
	}
	return strconv.FormatUint(uint64(n), 10)
}

// parseID reads a decimal number of 32 bits without sign or blanks.
func parseID(s string) (uint32, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil
}

// cutAny cuts s at the first of the separators; sep is 0 where there is none.
func cutAny(s, separators string) (before, after string, sep byte) {
	i := strings.IndexAny(s, separators)
	if i < 0 {
		return s, "", 0
	}
	return s[:i], s[i+1:], s[i]
}

// quoteShort quotes what a person typed, shortened and inert.
func quoteShort(s string) string {
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return strconv.QuoteToASCII(s)
}
