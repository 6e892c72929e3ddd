package slurm

import (
	"strconv"
	"strings"
	"time"
)

// Parse reads sacct's answer. Lines without the delimiter belong to the name of
// the line before them. Bad counts the lines that are no job; a run that has not
// started yet is left out and not bad.
func Parse(out []byte, delimiter string) (jobs []Job, bad int) {
	open := false // the line before was a job, whose name may go on
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		parts := strings.Split(line, delimiter)
		if len(parts) == 1 && open {
			jobs[len(jobs)-1].Name += "\n" + line
			continue
		}
		j, ok := parseJob(parts)
		open = ok && !j.Start.IsZero()
		switch {
		case open:
			jobs = append(jobs, j)
		case !ok && len(parts) > 1:
			bad++
		}
	}
	return jobs, bad
}

// parseJob reads the fields of one line.
func parseJob(p []string) (Job, bool) {
	if len(p) != len(fields) {
		return Job{}, false
	}
	j := Job{Cluster: p[0], ID: p[1], User: p[4], ExitCode: p[6], NodeList: p[13], Account: p[14], QOS: p[15], Partition: p[16], Name: p[17]}
	var ok [9]bool
	j.RawID, ok[0] = parse32(p[2])
	j.UID, ok[1] = parse32(p[3])
	j.Submit, ok[2] = parseTime(p[7])
	j.Start, ok[3] = parseTime(p[8])
	j.End, ok[4] = parseTime(p[9])
	j.Elapsed, ok[5] = parseSeconds(p[10])
	j.Nodes, ok[6] = parseCount(p[11])
	j.CPUs, ok[7] = parseCount(p[12])
	ok[8] = j.setID()
	j.setState(p[5])
	for _, o := range ok {
		if !o {
			return Job{}, false
		}
	}
	if j.UID == 0 && j.User != "" && j.User != "root" {
		// slurmdbd learns of a job in pieces; such a line is whole at a later look.
		j.Start = time.Time{}
	}
	if j.End.Before(j.Start) { // also where it still runs: End is unknown
		j.End = time.Time{}
	}
	return j, j.RawID != 0 && j.Cluster != "" && j.State != ""
}

// setID takes the array's and het job's ids out of the display id.
func (j *Job) setID() bool {
	if main, task, is := strings.Cut(j.ID, "_"); is {
		id, ok := parse32(main)
		if strings.HasPrefix(task, "[") {
			return ok // tasks that have not started: 123_[4-9]
		}
		n, ok2 := parse32(task)
		j.ArrayJobID, j.ArrayTaskID = id, &n
		return ok && ok2
	}
	if main, offset, is := strings.Cut(j.ID, "+"); is {
		id, ok := parse32(main)
		n, ok2 := parse32(offset)
		j.HetJobID, j.HetOffset = id, &n
		return ok && ok2
	}
	_, ok := parse32(j.ID)
	return ok
}

// setState splits "CANCELLED by 1001".
func (j *Job) setState(s string) {
	word, rest, _ := strings.Cut(s, " ")
	j.State = strings.TrimSuffix(word, "+")
	if by, ok := parse32(strings.TrimPrefix(rest, "by ")); ok {
		j.CancelledBy = &by
	}
}

func parse32(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil
}

// parseCount reads a number that sacct may shorten (1K, 2M) or leave empty.
func parseCount(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	unit := 1.0
	if i := strings.IndexByte("KMG", s[len(s)-1]); i >= 0 {
		unit = []float64{1 << 10, 1 << 20, 1 << 30}[i]
		s = s[:len(s)-1]
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v*unit < 1<<31) {
		return 0, false
	}
	return int(v * unit), true
}

func parseSeconds(s string) (time.Duration, bool) {
	if s == "" {
		return 0, true
	}
	n, ok := parse32(s)
	return time.Duration(n) * time.Second, ok
}

// parseTime reads a time in UTC; what sacct says for an unknown one is zero.
func parseTime(s string) (time.Time, bool) {
	switch s {
	case "Unknown", "None", "N/A", "":
		return time.Time{}, true
	}
	t, err := time.Parse(sacctTime, s)
	return t, err == nil
}
