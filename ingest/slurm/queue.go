package slurm

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"jobeff/ingest/slurmid"
	"jobeff/ingest/wire"
)

// queueFields are asked of squeue in this order. Slurm 22.05 and later have all of them.
var queueFields = []string{"JobID", "JobArrayID", "ArrayJobID", "HetJobID", "UserID", "UserName", "Account", "Partition", "QOS", "NumNodes", "NumCPUs",
	"tres-alloc", "TimeLimit", "SubmitTime", "EligibleTime", "StartTime", "Reason", "Name"}

// ReadCluster asks slurmctld for the name of its cluster. squeue shows it only if something waits.
func (c Commands) ReadCluster(ctx context.Context) (string, error) {
	out, err := c.output(ctx, maxConfig, "scontrol", "show", "config")
	if err != nil {
		return "", err
	}
	if name := settingsOf(out)["ClusterName"]; name != "" {
		return name, nil
	}
	return "", errNoCluster
}

const maxConfig = 1 << 20

// ReadQueue asks slurmctld which jobs of this cluster wait: those of the highest priority, `most`
// lines at most. left counts the other lines, also those that cannot be read. sacct shows neither why
// a job waits nor when it may start. It also shows jobs that slurmctld has forgotten, and asks
// slurmdbd for all of them.
func (c Commands) ReadQueue(ctx context.Context, cluster string, most int) (jobs []slurmid.Pending, left int, err error) {
	delimiter := newDelimiter()
	out, err := c.output(ctx, maxOutput, "squeue", "--noheader", "--local", "--all", "--states=PENDING", "--sort=-p",
		"--Format="+strings.Join(queueFields, ":"+delimiter+",")+":"+delimiter)
	if err != nil {
		return nil, 0, err
	}
	return parseQueue(out, delimiter, cluster, most)
}

// parseQueue reads what squeue printed. A line that cannot be read is left out.
func parseQueue(out []byte, delimiter, cluster string, most int) (jobs []slurmid.Pending, left int, err error) {
	wrong := fmt.Errorf("slurm: squeue's answer does not have the expected form: %.200q", out)
	fields := make([][]byte, len(queueFields))
	for len(out) > 0 {
		for i := range fields {
			var is bool
			if fields[i], out, is = bytes.Cut(out, []byte(delimiter)); !is {
				return nil, 0, wrong
			}
		}
		out = bytes.TrimPrefix(out, []byte("\n"))
		p := slurmid.Pending{Cluster: cluster}
		if !parsePending(&p, fields) || len(jobs) == most {
			left++
			continue
		}
		jobs = append(jobs, p)
	}
	if len(jobs) == 0 && left > 0 {
		return nil, 0, wrong
	}
	return jobs, left, nil
}

// parsePending reads the fields of one line. A job may ask for a range of nodes, 2-4, or for a list of
// partitions.
func parsePending(p *slurmid.Pending, of [][]byte) bool {
	text := make([]string, len(of))
	for i := range of {
		text[i] = strings.TrimSpace(string(of[i]))
	}
	var ok [9]bool
	p.ID, p.User, p.Account, p.Partition, p.QOS, p.Reason = text[1], text[5], text[6], text[7], text[8], text[16]
	p.Name = string(of[17])
	p.JobID, ok[0] = parse32(text[0])
	p.UID, ok[1] = parse32(text[4])
	nodes, _, _ := strings.Cut(text[9], "-")
	p.Nodes, ok[2] = parseCount(nodes)
	p.CPUs, ok[3] = parseCount(text[10])
	p.Memory, ok[4] = tresBytes(text[11], 1<<20)
	p.Submit, ok[5] = parseTime(text[13])
	p.Eligible, ok[6] = parseTime(text[14])
	p.Expected, ok[7] = parseTime(text[15])
	p.GPUs = gpus(text[11])
	limit, _ := parseCPUTime(text[12]) // UNLIMITED, NOT_SET and other words mean no limit
	p.TimeLimit = int64(limitOf(int64(limit.Minutes())).Seconds())
	_, ok[8] = parse32(idOf(p.ID))
	if strings.Contains(p.ID, "_") { // else it is the job's own
		p.ArrayJobID, _ = parse32(text[2])
	}
	p.HetJobID, _ = parse32(text[3]) // N/A: none
	for _, o := range ok {
		if !o {
			return false
		}
	}
	p.ID = wire.CleanText(p.ID, mostText+bitstrLen)
	for _, s := range []*string{&p.User, &p.Account, &p.Partition, &p.QOS, &p.Reason, &p.Name} {
		*s = wire.CleanText(*s, mostText)
	}
	p.Start(nil)
	return p.JobID != 0 && !p.Submit.IsZero()
}

// mostText bounds a text of a line, bytes. bitstrLen is how many bytes Slurm writes of the list of an array's tasks.
const (
	mostText  = 1024
	bitstrLen = 1024
)

// idOf is the number in front of an id: 8 of 8_[3-60%4] and of 8+1.
func idOf(id string) string {
	if at := strings.IndexAny(id, "_+"); at >= 0 {
		return id[:at]
	}
	return id
}
