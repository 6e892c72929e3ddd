package mail

import (
	"fmt"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy/notice"
	"jobeff/policy/workload"
	"jobeff/report"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/shell"
)

// NoticeFor is what a notice is made of.
type NoticeFor struct {
	User    string
	Notice  *notice.Notice             // nil: only what got better
	Studies map[string]*workload.Study // by workload key
	Better  []job.Told
	Shadow  bool
}

// Notice makes a user's letter, without recipients.
func (t *Templates) Notice(n NoticeFor, site Site) (job.Letter, error) {
	data := noticeData(n, site)
	subject := "jobeff: " + data.Summary
	if data.Summary == "" {
		subject = "jobeff: " + data.Better[0]
	}
	if data.Shadow != "" {
		subject = "[shadow, for " + data.Shadow + "] " + subject
	}
	return t.letter("notice", strings.TrimSuffix(subject, "."), data)
}

func noticeData(n NoticeFor, site Site) *Notice {
	data := &Notice{User: harmless(n.User), Help: site.Help, Link: site.Link}
	if n.Shadow {
		data.Shadow = data.User
	}
	if n.Notice != nil {
		data.Summary = summary(n.Notice)
		for i := range n.Notice.Items {
			item := &n.Notice.Items[i]
			data.Items = append(data.Items, itemData(item, n.Studies[item.Workload], site))
		}
	}
	for _, t := range n.Better {
		data.Better = append(data.Better, fmt.Sprintf("%s is better now: its last jobs pass the rule %s, which had flagged it on %s. Thank you!",
			harmless(t.Name), t.Rule, t.At.In(site.Zone).Format("2 January 2006")))
	}
	return data
}

func harmless(s string) string { return inert.Copy(s, true) }

// summary says in one sentence what the notice is about.
func summary(n *notice.Notice) string {
	jobs, lost := 0, 0.0
	for _, i := range n.Items {
		jobs, lost = jobs+i.Jobs, lost+i.Lost
	}
	if lost < 0.05 {
		return fmt.Sprintf("%s of yours could use the cluster better.", figure.Counted(jobs, "job"))
	}
	return fmt.Sprintf("%s of yours lost %s core-hours.", figure.Counted(jobs, "job"), figure.Hours(lost))
}

func itemData(i *notice.NoticeItem, study *workload.Study, site Site) Item {
	name := shell.Workload(i.Name, i.Workload)
	d := Item{Name: harmless(i.Name), Jobs: figure.Counted(i.Jobs, "job"), Job: harmless(i.Job.DisplayID), Cores: i.Cores(), Show: "jobeff " + harmless(i.Job.DisplayID),
		Ended: i.Job.End.In(site.Zone).Format("Monday, 2 January, 15:04")}
	if i.Lost > 0 {
		d.Lost = figure.Hours(i.Lost) + " core-hours"
	}
	for _, v := range i.Verdicts {
		d.Texts = append(d.Texts, strings.Join(strings.Fields(inert.Text(v.Text, true)), " "))
		if v.Link != "" {
			d.Links = append(d.Links, v.Link)
		}
	}
	if r := i.Advice(study); r != nil {
		d.Advice, d.Sbatch = "Instead of "+figure.Counted(d.Cores, "core")+": "+report.BetterText(r)+".", shell.Sbatch(int(r.Cores.Value), study)
	}
	if i.Workload != "" {
		d.Show, d.Mute = "jobeff workload "+name, "jobeff mute "+name
	}
	if site.Link != "" {
		d.JobPage = strings.TrimSuffix(site.Link, "/") + "/jobs/" + d.Job
	}
	return d
}
