package words

import (
	"fmt"
	"io"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/text"
)

// Mutes writes a line for each muted workload.
func Mutes(w io.Writer, list *listing.WorkloadList, opts text.Options) error {
	p := text.NewPage(opts)
	t := block.Table{Heads: []string{"<!Workload", "<!User", "<!Muted until", "<Reason"}}
	for _, one := range list.Workloads {
		if one = inert.Copy(one, p.Unicode); one.Mute != nil {
			t.Rows = append(t.Rows, []string{one.Name, one.Newest.User, figure.Minute(one.Mute.Until), one.Mute.Reason})
		}
	}
	if len(t.Rows) == 0 {
		p.Line("no workload is muted")
	} else {
		p.Table(t, "")
	}
	if list.More {
		p.Line("there are more that are not listed")
	}
	return p.To(w)
}

// Muted writes that a workload is muted now.
func Muted(w io.Writer, workload *job.Workload, opts text.Options) error {
	p := text.NewPage(opts)
	one := inert.Copy(workload, p.Unicode)
	p.Paragraph("", "", fmt.Sprintf("%s is muted until %s: no mail mentions it. jobeff still shows its figures. To get mails again: jobeff unmute %s",
		one.Name, figure.Minute(one.Mute.Until), one.Key), nil)
	return p.To(w)
}

// Unmuted writes that a workload is no longer muted; its Mute is the one that ended.
func Unmuted(w io.Writer, workload *job.Workload, opts text.Options) error {
	p := text.NewPage(opts)
	one := inert.Copy(workload, p.Unicode)
	if one.Mute == nil {
		p.Line(one.Name + " was not muted")
	} else {
		p.Line(one.Name + " is no longer muted")
	}
	return p.To(w)
}
