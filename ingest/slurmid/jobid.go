package slurmid

import (
	"fmt"
	"strconv"
	"strings"
)

// Ref is a job, or a step of one, as people name it.
type Ref struct {
	Cluster   string  // carbon:123, where there are several clusters; "": not said
	ID        uint32  // 123: the raw id, or the array's or het job's own
	ArrayTask *uint32 // 123_4
	HetOffset *uint32 // 123+1
	Step      string  // decimal, "batch", "extern" or "interactive"; "" the whole job
}

// Parse reads 123, 123_4 or 123+1, and each of them with a step: 123.0, 123.batch,
// 123_4.extern. The name of a cluster may stand in front: carbon:123.
func Parse(s string) (Ref, error) {
	bad := func(why string) (Ref, error) {
		return Ref{}, fmt.Errorf("%s is not a job id (%s): give 123, 123_4 (a task of an array), 123+1 (a part of a het job), or a step, 123.0 or 123.batch", quoteShort(s), why)
	}
	var r Ref
	job := strings.TrimSpace(s)
	if cluster, of, named := strings.Cut(job, ":"); named {
		if r.Cluster, job = cluster, of; !IsName(cluster, 64) {
			return bad("before the colon stands no cluster's name")
		}
	}
	job, step, hasStep := strings.Cut(job, ".")
	if hasStep {
		if r.Step = NormalStep(step); r.Step == "" {
			return bad("after the point stands no step")
		}
	}
	job, sub, sep := cutAny(job, "_+")
	id, ok := parseID(job)
	if number := job[:len(job)-len(strings.TrimLeft(job, "0123456789"))]; !ok && number != "" && number != job {
		return bad(fmt.Sprintf("after %s stands %s", quoteShort(number), quoteShort(job[len(number):])))
	}
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

// Of is an id with the name of its cluster in front; "": it needs none.
func Of(cluster, id string) string {
	if cluster == "" {
		return id
	}
	return cluster + ":" + id
}

// String is the reference as Parse reads it.
func (r Ref) String() string {
	s := Of(r.Cluster, strconv.FormatUint(uint64(r.ID), 10))
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

// Set selects jobs as people name them: one, all of an array or a het job, or a range of an
// array's tasks.
type Set struct {
	Ref
	Tasks []TaskRange // of 123_[1-3,7]; empty: as Ref says
}

// TaskRange is first, first+step … up to last.
type TaskRange struct{ First, Last, Step uint32 }

// mostSets bounds a selection.
const mostSets = 1000

// ParseSets reads a list of jobs, "123,124_4,125_[1-3,7],126+0", as sacct does. A step in
// the list is an error.
func ParseSets(s string) ([]Set, error) {
	var all []Set
	for _, item := range splitOutside(s, ',') {
		set, err := parseSet(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		if len(all) > 0 && all[0].Cluster != set.Cluster {
			return nil, fmt.Errorf("%s and %s are not of the same cluster: ask for each cluster's jobs by themselves", all[0].Ref, set.Ref)
		}
		if all = append(all, set); len(all) > mostSets {
			return nil, fmt.Errorf("more than %d jobs are named: ask for them in parts", mostSets)
		}
	}
	return all, nil
}

// ClusterOf is the cluster that sets name, as ParseSets reads them; "": none.
func ClusterOf(sets []Set) string {
	if len(sets) == 0 {
		return ""
	}
	return sets[0].Cluster
}

// Single reports whether s names one job or step.
func Single(s string) bool { return !strings.ContainsAny(s, ",[") }

func parseSet(s string) (Set, error) {
	job, tasks, ranges := strings.Cut(s, "_[")
	if !ranges {
		ref, err := Parse(s)
		if err == nil && ref.Step != "" {
			err = fmt.Errorf("%s is a step: a list shows whole jobs, ask for the step alone", quoteShort(s))
		}
		return Set{Ref: ref}, err
	}
	ref, err := Parse(job)
	tasks, closed := strings.CutSuffix(tasks, "]")
	tasks, _, _ = strings.Cut(tasks, "%") // sbatch's limit of tasks at once
	if err != nil || !closed || ref.ArrayTask != nil || ref.HetOffset != nil || ref.Step != "" {
		return Set{}, fmt.Errorf("%s is no range of an array's tasks: write it like 123_[1-3,7]", quoteShort(s))
	}
	set := Set{Ref: ref}
	for item := range strings.SplitSeq(tasks, ",") {
		r, ok := parseTaskRange(item)
		if !ok || len(set.Tasks) >= mostSets {
			return Set{}, fmt.Errorf("%s is no range of an array's tasks: write it like 123_[1-3,7]", quoteShort(s))
		}
		set.Tasks = append(set.Tasks, r)
	}
	return set, nil
}

// parseTaskRange reads 7, 1-3 or 0-15:4.
func parseTaskRange(s string) (r TaskRange, ok bool) {
	span, step, stepped := strings.Cut(s, ":")
	first, last, isSpan := strings.Cut(span, "-")
	if !isSpan {
		last = first
	}
	var ok1, ok2 bool
	r.First, ok1 = parseID(first)
	r.Last, ok2 = parseID(last)
	r.Step, ok = 1, true
	if stepped {
		r.Step, ok = parseID(step)
	}
	return r, ok && ok1 && ok2 && r.Step > 0 && r.First <= r.Last
}

// splitOutside splits s at separators outside of brackets.
func splitOutside(s string, separator byte) []string {
	var parts []string
	from, depth := 0, 0
	for i := range len(s) {
		switch {
		case s[i] == '[':
			depth++
		case s[i] == ']':
			depth--
		case s[i] == separator && depth <= 0:
			parts = append(parts, s[from:i])
			from = i + 1
		}
	}
	return append(parts, s[from:])
}

// NormalStep returns the canonical spelling of a step; "" if s names none.
func NormalStep(s string) string {
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

// cutAny cuts s at the first of the separators; sep is 0 if there is none.
func cutAny(s, separators string) (before, after string, sep byte) {
	i := strings.IndexAny(s, separators)
	if i < 0 {
		return s, "", 0
	}
	return s[:i], s[i+1:], s[i]
}

// quoteShort quotes what a person typed, shortened and harmless.
func quoteShort(s string) string {
	if len(s) > 40 {
		s = s[:40] + "..."
	}
	return strconv.QuoteToASCII(s)
}
