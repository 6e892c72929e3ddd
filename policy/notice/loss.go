package notice

import (
	"cmp"
	"slices"

	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/report/figure"
)

// Loss is what a workload's jobs on one core count lost without advice that would have saved it.
type Loss struct {
	Name, Key, User, Account string
	Jobs, Cores              int
	Used                     float64 // core-hours; 0: not summed up
	Lost                     float64 // core-hours
	Job, JobName             string  // the one that lost most
	Cause                    string  // what cost most, in sentences; "": not known
	most                     float64 // core-hours that job Job lost
}

// The numbers of losses that are told.
const (
	digestLosses = 5
	mailLosses   = 3
)

// lossesOf returns the largest losses of a week that no saving covers.
func lossesOf(heavy []listing.HeavyWorkload, savings []Saving) (all []Loss) {
	for i := range heavy {
		h := &heavy[i]
		advised := slices.ContainsFunc(savings, func(s Saving) bool { return s.Key == h.Workload.Key && s.Job == h.Job.DisplayID })
		if advised || h.Lost <= (1-figure.Line)*h.Used {
			continue
		}
		all = append(all, Loss{Name: h.Workload.Name, Key: h.Workload.Key, User: cmp.Or(h.Job.User, h.Workload.User), Account: h.Job.Account, Jobs: h.Jobs, Cores: policy.CoresOf(h.Job),
			Used: h.Used, Lost: h.Lost, Job: h.Job.DisplayID, JobName: h.Job.Name, Cause: policy.CauseOf(h.Job).Text})
	}
	return largest(all, digestLosses)
}

func largest(all []Loss, most int) []Loss {
	slices.SortStableFunc(all, func(a, b Loss) int { return cmp.Compare(b.Lost, a.Lost) })
	return all[:min(len(all), most)]
}

// lose adds a job without a line to the losses of its workload and core count.
func (d *draft) lose(j *Judged, v *policy.Verdict) {
	if v.Hours.Lost == nil || d.tooSoon(j.subject()) != "" {
		return
	}
	lost := v.Hours.Lost.Hours()
	at := slices.IndexFunc(d.losses, func(l Loss) bool { return l.Key == j.subject() && l.Cores == j.cores })
	if at < 0 {
		at = len(d.losses)
		d.losses = append(d.losses, Loss{Name: cmp.Or(j.Name, j.Program), Key: j.subject(), Cores: j.cores, Account: j.Job.Account, User: j.Job.User})
	}
	l := &d.losses[at]
	l.Jobs, l.Lost = l.Jobs+1, l.Lost+lost
	if lost >= l.most {
		l.most, l.Job, l.JobName, l.Cause = lost, j.Job.DisplayID, j.Job.Name, policy.CauseOf(j.Job).Text
	}
}

// large returns the largest losses, if they are worth a sentence in a mail about something else.
func (d *draft) large() []Loss {
	return largest(slices.DeleteFunc(d.losses, func(l Loss) bool { return l.Cause == "" || l.Lost < d.LeastShare*d.used }), mailLosses)
}
