package mail

import (
	"fmt"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy/notice"
	"jobeff/policy/workload"
	"jobeff/report"
	"jobeff/report/figure"
)

// Notice is what notice.txt and notice.html are given. Texts are harmless and ready to be
// shown.
type Notice struct {
	User    string
	Shadow  string `doc:"whom it would have gone to; '': it goes to him"`
	Summary string `doc:"one sentence; '': there are no items"`
	Items   []Item
	Better  []string `doc:"workloads that got better, a sentence each"`
	Help    string   `doc:"whom to ask"`
	Link    string   `doc:"of jobeffd's pages; '': none"`
}

// Item is one workload that its user is told of.
type Item struct {
	Name    string
	Jobs    string   `doc:"'12 jobs'"`
	Lost    string   `doc:"'1,234 core-hours'; '': not known"`
	Job     string   `doc:"id of the one that lost most"`
	Ended   string   `doc:"… when"`
	Cores   int      `doc:"… on how many"`
	Texts   []string `doc:"what the rules say, for people"`
	Links   []string `doc:"where to read more"`
	Advice  string   `doc:"what fewer cores would have done; '': not known"`
	Sbatch  string   `doc:"the line for it"`
	Show    string   `doc:"the command that shows more"`
	Mute    string   `doc:"the command that ends such mails"`
	JobPage string   `doc:"'': there are no pages"`
}

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
	data := &Notice{User: inert(n.User), Help: site.Help, Link: site.Link}
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
			inert(t.Name), t.Rule, t.At.In(site.Zone).Format("2 January 2006")))
	}
	return data
}

func inert(s string) string { return report.Inert(s, true) }

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
	name := report.WorkloadWord(i.Name, i.Workload)
	d := Item{Name: inert(i.Name), Jobs: figure.Counted(i.Jobs, "job"), Job: inert(i.Job.DisplayID), Cores: i.Cores(), Show: "jobeff " + inert(i.Job.DisplayID),
		Ended: i.Job.End.In(site.Zone).Format("Monday, 2 January, 15:04")}
	if i.Lost > 0 {
		d.Lost = figure.Hours(i.Lost) + " core-hours"
	}
	for _, v := range i.Verdicts {
		d.Texts = append(d.Texts, strings.Join(strings.Fields(report.InertText(v.Text, true)), " "))
		if v.Link != "" {
			d.Links = append(d.Links, v.Link)
		}
	}
	if r := i.Advice(study); r != nil {
		d.Advice, d.Sbatch = "Instead of "+figure.Counted(d.Cores, "core")+": "+report.BetterText(r)+".", report.SbatchLine(int(r.Cores.Value), study)
	}
	if i.Workload != "" {
		d.Show, d.Mute = "jobeff workload "+name, "jobeff mute "+name
	}
	if site.Link != "" {
		d.JobPage = strings.TrimSuffix(site.Link, "/") + "/jobs/" + d.Job
	}
	return d
}
