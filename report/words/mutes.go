package words

import (
	"fmt"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Mutes are the words of a list of muted workloads: a table, empty where there is none, and what is said without or under it.
type Mutes struct {
	Table block.Table
	Notes []string
}

// OfMutes has a line for each muted workload.
func OfMutes(list *listing.WorkloadList, wide bool) Mutes {
	m := Mutes{Table: block.Table{Heads: []string{"<!Workload", "<!User", "<!Muted until", "<Reason"}}}
	for _, one := range list.Workloads {
		if one = inert.Copy(one, wide); one.Mute != nil {
			m.Table.Rows = append(m.Table.Rows, []string{one.Name, one.Newest.User, figure.Minute(one.Mute.Until), one.Mute.Reason})
		}
	}
	if len(m.Table.Rows) == 0 {
		m.Notes = []string{"no workload is muted"}
	}
	if list.More {
		m.Notes = append(m.Notes, "there are more that are not listed")
	}
	return m
}

// Muted says that a workload is muted now; "": it is not.
func Muted(workload *job.Workload, wide bool) string {
	if workload.Mute == nil {
		return ""
	}
	one := inert.Copy(workload, wide)
	return fmt.Sprintf("%s is muted until %s: no mail mentions it. jobeff still shows its figures. To get mails again: jobeff unmute %s", one.Name, figure.Minute(one.Mute.Until), one.Key)
}

// Unmuted says that a workload is no longer muted; its Mute is the one that ended.
func Unmuted(workload *job.Workload, wide bool) string {
	if workload.Mute == nil {
		return inert.Copy(workload, wide).Name + " was not muted"
	}
	return inert.Copy(workload, wide).Name + " is no longer muted"
}
