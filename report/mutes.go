package report

import (
	"fmt"
	"io"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// Mutes writes a line per workload that is muted.
func Mutes(w io.Writer, list *job.WorkloadList, opts Options) error {
	p := newPage(opts)
	t := table{heads: []string{"<!Workload", "<!User", "<!Muted until", "<Reason"}}
	for _, one := range list.Workloads {
		if one = Inert(one, p.unicode); one.Mute != nil {
			t.rows = append(t.rows, []string{one.Name, one.Newest.User, figure.Minute(one.Mute.Until), one.Mute.Reason})
		}
	}
	if len(t.rows) == 0 {
		p.line("no workload is muted")
	} else {
		p.table(t, "")
	}
	if list.More {
		p.line("there are more that are not listed")
	}
	return p.to(w)
}

// Muted writes that a workload is muted now.
func Muted(w io.Writer, workload *job.Workload, opts Options) error {
	p := newPage(opts)
	one := Inert(workload, p.unicode)
	p.paragraph("", "", fmt.Sprintf("%s is muted until %s: no mail speaks of it, jobeff still shows its figures. jobeff unmute %s ends that.",
		one.Name, figure.Minute(one.Mute.Until), one.Key), nil)
	return p.to(w)
}

// Unmuted writes that a workload is muted no longer; Mute is what it was.
func Unmuted(w io.Writer, workload *job.Workload, opts Options) error {
	p := newPage(opts)
	one := Inert(workload, p.unicode)
	if one.Mute == nil {
		p.line(one.Name + " was not muted")
	} else {
		p.line(one.Name + " is muted no longer")
	}
	return p.to(w)
}
