package slurm

import (
	"strconv"
	"strings"
	"time"
)

// Parse reads sacct's answer. Lines without the delimiter belong to the name of
// the line before them; those of steps follow their job's. Bad counts the lines
// that are no job; a run that has not started yet is left out and not bad.
func Parse(out []byte, delimiter string) (jobs []Job, bad int) {
	open := false    // the line before was a job, whose name may go on
	var steps []step // of the last job
	ended := func() {
		if len(steps) > 0 {
			jobs[len(jobs)-1].setUsage(steps)
			steps = nil
		}
	}
	last := uint32(0) // raw id of the job that steps may follow; 0: none
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		parts := strings.Split(line, delimiter)
		if len(parts) == 1 {
			if open {
				jobs[len(jobs)-1].Name += "\n" + line
			}
			continue
		}
		open = false
		if raw, id, is := stepOf(parts); is {
			if s, ok := parseStep(parts, id); ok && raw == last && last != 0 {
				steps = append(steps, s)
			} else if !ok {
				bad++
			}
			continue
		}
		ended()
		last = 0
		j, ok := parseJob(parts)
		switch {
		case ok && !j.Start.IsZero():
			jobs, last, open = append(jobs, j), j.RawID, true
		case !ok:
			bad++
		}
	}
	ended()
	return jobs, bad
}

// parseJob reads the fields of one line.
func parseJob(p []string) (Job, bool) {
	if len(p) != len(fields) {
		return Job{}, false
	}
	j := Job{Cluster: p[0], ID: p[1], User: p[4], ExitCode: p[6], NodeList: p[13], Account: p[14], QOS: p[15], Partition: p[16],
		TRES: p[17], GPUs: gpus(p[17]), Name: p[21]}
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
	j.setEnd()
	return j, j.RawID != 0 && j.Cluster != "" && j.State != ""
}

// setEnd drops an end that cannot be, also where the run goes on.
func (j *Job) setEnd() {
	if j.End.Before(j.Start) {
		j.End = time.Time{}
	}
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

// stepOf tells a step's line: its raw job id and its own.
func stepOf(p []string) (raw uint32, id string, is bool) {
	if len(p) < 3 {
		return 0, "", false
	}
	job, id, is := strings.Cut(p[2], ".")
	raw, _ = parse32(job)
	return raw, id, is
}

// parseStep reads the fields of a step's line.
func parseStep(p []string, id string) (s step, ok bool) {
	if len(p) != len(fields) {
		return step{}, false
	}
	s = step{id: id, nodeList: p[13], counted: p[20] != ""}
	var oks [6]bool
	s.start, oks[0] = parseTime(p[8])
	s.end, oks[1] = parseTime(p[9])
	s.nodes, oks[2] = parseCount(p[11])
	s.cpu, oks[3] = parseCPUTime(p[18])
	s.largest, oks[4] = parseBytes(p[19], 1)
	s.memory, oks[5] = tresBytes(p[20], 1)
	for _, o := range oks {
		if !o {
			return step{}, false
		}
	}
	return s, true
}

func parse32(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil
}

// parseCount reads a number that sacct may shorten (1K, 2M) or leave empty.
func parseCount(s string) (int, bool) {
	n, ok := parseBytes(s, 1)
	return int(n), ok && n < 1<<31
}

// parseBytes reads a number in units, as 187.50G or 4036K, or a plain one times
// unit; empty is 0.
func parseBytes(s string, unit float64) (int64, bool) {
	if s == "" {
		return 0, true
	}
	if i := strings.IndexByte("KMGTPE", s[len(s)-1]); i >= 0 {
		unit = float64(int64(1) << (10 * (i + 1)))
		s = s[:len(s)-1]
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v*unit < 1<<62) {
		return 0, false
	}
	return int64(v * unit), true
}

func parseSeconds(s string) (time.Duration, bool) {
	if s == "" {
		return 0, true
	}
	n, ok := parse32(s)
	return time.Duration(n) * time.Second, ok
}

// parseCPUTime reads [DAYS-[HOURS:]]MINUTES:SECONDS[.FRACTION].
func parseCPUTime(s string) (time.Duration, bool) {
	if s == "" || s == "INVALID" { // sacct's word for counters that ran backwards
		return 0, true
	}
	days, clock, is := strings.Cut(s, "-")
	if !is {
		days, clock = "0", s
	}
	d, ok := parse32(days)
	parts := strings.Split(clock, ":")
	if !ok || len(parts) > 3 || d > 100_000 {
		return 0, false
	}
	var whole uint64
	for _, p := range parts[:len(parts)-1] {
		n, ok := parse32(p)
		if !ok {
			return 0, false
		}
		whole = whole*60 + uint64(n)
	}
	seconds, err := strconv.ParseFloat(parts[len(parts)-1], 64)
	if err != nil || !(seconds >= 0 && seconds < 1e6) || whole > 1e9 {
		return 0, false
	}
	return time.Duration(d)*24*time.Hour + time.Duration(whole)*time.Minute + time.Duration(seconds*float64(time.Second)+0.5), true
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
