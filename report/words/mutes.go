package words

import (
	"fmt"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// OfMutes lists the muted workloads, a line for each.
func OfMutes(list *listing.WorkloadList, wide bool) (b block.Part) {
	t := block.Table{Heads: []string{"<!Workload", "<!User", "<!Muted until", "<Reason"}}
	for _, one := range list.Workloads {
		if one = inert.Copy(one, wide); one.Mute != nil {
			t.Rows = append(t.Rows, []string{one.Name, one.Newest.User, figure.Minute(one.Mute.Until), one.Mute.Reason})
		}
	}
	if b.Tables = []block.Table{t}; len(t.Rows) == 0 {
		b.Tables, b.Notes = nil, []string{"no workload is muted"}
	}
	if list.More {
		b.Notes = append(b.Notes, "there are more that are not listed")
	}
	return b
}

// Muted says that a workload is muted now, if it is.
func Muted(workload *job.Workload, wide bool) (b block.Part) {
	if one := inert.Copy(workload, wide); one.Mute != nil {
		b.Notes = []string{fmt.Sprintf("%s is muted until %s: no mail mentions it. jobeff still shows its figures. To get mails again: jobeff unmute %s", one.Name, figure.Minute(one.Mute.Until), one.Key)}
	}
	return b
}

// Unmuted says that a workload is no longer muted; its Mute is the one that ended.
func Unmuted(workload *job.Workload, wide bool) string {
	if workload.Mute == nil {
		return inert.Copy(workload, wide).Name + " was not muted"
	}
	return inert.Copy(workload, wide).Name + " is no longer muted"
}
