package slurm

import (
	"strings"
	"time"
)

// Parse reads sacct's parsable output. A line without the delimiter belongs to the name of the
// line before it. A line with too few fields goes on in the next one: an account's name may have line
// breaks, too. Lines of steps follow their job's. bad counts lines that are no job. Attempts
// that have not started are left out, and are not bad.
func Parse(out []byte, delimiter string) (jobs []Job, bad int) {
	open := false    // the line before was a job, and its name may go on
	var steps []step // of the last job
	ended := func() {
		if len(steps) > 0 {
			jobs[len(jobs)-1].setUsage(steps)
			steps = nil
		}
	}
	last := uint32(0) // raw id of the job that steps may follow; 0: none
	begun := ""       // a line with too few fields
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		parts := strings.Split(line, delimiter)
		if begun != "" {
			if whole := strings.Split(begun+"\n"+line, delimiter); len(whole) <= len(fields) {
				line, parts = begun+"\n"+line, whole
			} else {
				bad++
			}
			begun = ""
		}
		if len(parts) > 1 && len(parts) < len(fields) {
			begun = line
			continue
		}
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
		case ok && j.ran():
			jobs, last, open = append(jobs, j), j.RawID, true
		case !ok:
			bad++
		}
	}
	ended()
	if begun != "" {
		bad++
	}
	return jobs, bad
}

// parseJob reads the fields of one line.
func parseJob(p []string) (Job, bool) {
	if len(p) != len(fields) {
		return Job{}, false
	}
	j := Job{Cluster: p[0], ID: p[1], User: p[4], ExitCode: p[6], NodeList: p[13], Account: p[14], QOS: p[15], Partition: p[16],
		TRES: p[17], GPUs: gpus(p[17]), TimeLimit: parseLimit(p[22]), Name: p[23]}
	var ok [10]bool
	j.RawID, ok[0] = parse32(p[2])
	j.UID, ok[1] = parse32(p[3])
	j.Submit, ok[2] = parseTime(p[7])
	j.Start, ok[3] = parseTime(p[8])
	j.End, ok[4] = parseTime(p[9])
	j.Elapsed, ok[5] = parseSeconds(p[10])
	j.Nodes, ok[6] = parseCount(p[11])
	j.CPUs, ok[7] = parseCount(p[12])
	ok[8] = j.setID()
	j.Eligible, ok[9] = parseTime(p[21])
	j.setState(p[5])
	for _, o := range ok {
		if !o {
			return Job{}, false
		}
	}
	if j.UID == 0 && j.User != "" && j.User != "root" {
		// slurmdbd learns of a job in pieces; a later look finds the whole line.
		j.Start, j.End = time.Time{}, time.Time{}
	}
	j.setEnd()
	return j, j.RawID != 0 && j.Cluster != "" && j.State != ""
}

// stepOf recognizes a step's line: it returns its raw job id and the step's id.
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
	s = step{id: id, state: p[5], nodeList: p[13], counted: p[20] != ""}
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
