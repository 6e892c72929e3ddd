package view

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/notice"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/shell"
	"jobeff/report/words"
)

// NoticeFor is what a notice is made of.
type NoticeFor struct {
	User    string
	Name    string // to greet by; "": User
	Cluster string
	Notice  *notice.Notice // nil: only what got better
	Better  []listing.Told
	Shadow  bool
}

// Words makes the words of the letter.
func (n *NoticeFor) Words(site Site) *NoticeWords {
	data := n.words(site)
	subject := "jobeff: " + data.Summary
	if data.Summary == "" {
		subject = "jobeff: " + data.Better[0]
	}
	if data.Shadow != "" {
		subject = "[shadow, for " + data.Shadow + "] " + subject
	}
	data.Subject = strings.TrimSuffix(subject, ".")
	return data
}

func (n *NoticeFor) words(site Site) *NoticeWords {
	data := &NoticeWords{User: harmless(n.User), Name: harmless(strings.TrimSpace(cmp.Or(n.Name, n.User))), Cluster: harmless(n.Cluster), Help: site.Help, Link: site.Link}
	if n.Shadow {
		data.Shadow = data.User
	}
	if n.Notice != nil {
		data.Summary = summary(n.Notice)
		for i := range n.Notice.Items {
			item := &n.Notice.Items[i]
			data.Items = append(data.Items, itemData(item, site))
		}
	}
	if n.Notice != nil {
		for _, l := range inert.Copy(n.Notice.Losses, true) {
			data.Losses = append(data.Losses, fmt.Sprintf("%s: %s", l.Name, lostText(&l, l.Lost)))
		}
	}
	if n.Notice != nil && n.Notice.More > 0 {
		data.More = fmt.Sprintf("%s of yours could do better, too. This lists all your jobs of that time:", figure.Counted(n.Notice.More, "more workload"))
		data.List = "jobeff -u me -S " + n.Notice.Since.In(site.Zone).Format(time.DateOnly)
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
	of := fmt.Sprintf("%s of yours on %s", figure.Counted(jobs, "job"), harmless(n.Cluster))
	if lost < 0.05 {
		return of + " could use fewer core-hours."
	}
	return fmt.Sprintf("%s lost %s core-hours.", of, figure.Hours(lost))
}

func itemData(i *notice.NoticeItem, site Site) Item {
	name := shell.Workload(i.Name, i.Workload)
	d := Item{Name: harmless(i.Name), Jobs: figure.Counted(i.Jobs, "job"), Job: harmless(i.Job.DisplayID), Cores: i.Cores(), Show: "jobeff " + harmless(i.Job.DisplayID),
		Ended: i.Job.End.In(site.Zone).Format("Monday, 2 January, 15:04")}
	d.JobName = harmless(i.Job.Name)
	if i.Lost > 0 {
		d.Lost = figure.Hours(i.Lost) + " core-hours"
	}
	for _, v := range i.Verdicts {
		d.Texts = append(d.Texts, strings.Join(strings.Fields(inert.Text(v.Text, true)), " "))
		if v.Link != "" {
			d.Links = append(d.Links, v.Link)
		}
	}
	if text := words.GPUHoursText("job "+d.Job, policy.HoursOf([]job.Job{*i.Job})); text != "" {
		d.Texts = append(d.Texts, text)
	}
	if i.Try != nil && i.Try.Kind == policy.AskTogether {
		d.Cores = i.Job.CPUs // the cores of all copies
	}
	if i.Try != nil {
		d.Advice, d.Sbatch = words.RequestText(i.Try, true), shell.Request(i.Try)
	}
	if i.Workload != "" {
		d.Show, d.Mute = "jobeff workload "+name, "jobeff mute "+name
	}
	if site.Link != "" {
		d.JobPage, d.Wrong = site.jobPage(d.Job), site.WrongPage(d.Job, i.Verdicts[0].Rule)
	}
	return d
}

// jobPage returns the address of a job's page; "": the site has no pages.
func (site Site) jobPage(id string) string {
	if site.Link == "" {
		return ""
	}
	return strings.TrimSuffix(site.Link, "/") + "/jobs/" + id
}

// WrongPage returns the address of the page on which somebody who got a notice about a job by a rule can say
// that it was wrong; "": the site has no pages.
func (site Site) WrongPage(id, rule string) string {
	if site.Link == "" {
		return ""
	}
	return site.jobPage(id) + "/wrong?rule=" + url.QueryEscape(rule)
}
