package notice

import (
	"cmp"
	"slices"

	"jobeff/ingest/job"
)

// StoppedTogether groups hung jobs by when they stopped: in a group, each stopped at most one interval
// between reports after the one before it. Groups of a single user are left out: a user's jobs may all wait
// for the same thing.
func StoppedTogether(hung []*job.Job) (groups [][]*job.Job) {
	all := slices.Clone(hung)
	slices.SortFunc(all, func(a, b *job.Job) int {
		return cmp.Or(a.Hung.Since.Compare(b.Hung.Since), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.JobID, b.JobID))
	})
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].Hung.Since.Sub(all[to-1].Hung.Since) <= max(all[to].Interim, all[to-1].Interim) {
			to++
		}
		if Users(all[from:to]) > 1 {
			groups = append(groups, all[from:to])
		}
		from = to
	}
	return groups
}

// Users counts the owners of jobs.
func Users(all []*job.Job) int {
	type user struct {
		cluster string
		uid     uint32
	}
	owners := map[user]bool{}
	for _, j := range all {
		owners[user{j.Cluster, j.UID}] = true
	}
	return len(owners)
}
