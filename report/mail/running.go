package mail

import (
	"fmt"
	"html"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/notice"
	"jobeff/report/figure"
	"jobeff/report/view"
)

// Running is the letter to a user about a running job of theirs: what a rule says about it.
func Running(j *job.Job, v policy.Verdict, shadow bool, site view.Site) notice.Letter {
	name := ""
	if j.Name != "" {
		name = " (" + j.Name + ")"
	}
	paragraphs := []string{fmt.Sprintf("Your job %s%s runs on %s.", j.DisplayID, name, figure.Counted(j.Nodes, "node")), v.Text}
	if v.Link != "" {
		paragraphs = append(paragraphs, v.Link)
	}
	paragraphs = append(paragraphs, fmt.Sprintf("jobeff %s shows its figures so far. jobeff stops no job. This is told once for each job. Questions: %s.", j.DisplayID, site.Help))
	if link := site.WrongPage(j.DisplayID, v.Rule); link != "" {
		paragraphs = append(paragraphs, "This was wrong? Tell those who run the cluster: "+link)
	}
	if shadow {
		paragraphs = append([]string{"notice.shadow is set: user " + j.User + " would get this mail."}, paragraphs...)
	}
	return plain(fmt.Sprintf("jobeff: job %s%s: %s", j.DisplayID, name, v.Rule), paragraphs...)
}

// Stopped is the letter to those who run the cluster about jobs of several users that stopped together.
func Stopped(all []*job.Job, users int) notice.Letter {
	since, ids := figure.Minute(all[0].Hung.Since), ""
	if last := figure.Minute(all[len(all)-1].Hung.Since); last != since {
		since += ", the last of them since " + last
	}
	for i, j := range all[:min(len(all), mostStopped)] {
		if i > 0 {
			ids += ", "
		}
		ids += j.DisplayID
	}
	if len(all) > mostStopped {
		ids += " ..."
	}
	return plain("jobeff: jobs of several users stand still",
		fmt.Sprintf("Nothing has moved in %s of %s since %s: %s. A file system or a network may be the cause. Their owners are told nothing.",
			figure.Counted(len(all), "job"), figure.Counted(users, "user"), since, ids))
}

// mostStopped bounds the jobs that Stopped names.
const mostStopped = 20

// plain makes a letter of some paragraphs.
func plain(subject string, paragraphs ...string) notice.Letter {
	l := notice.Letter{Subject: oneLine(subject)}
	for _, s := range paragraphs {
		lines, _ := quote("", s)
		l.Text += lines + "\n\n"
		l.HTML += "<p>" + html.EscapeString(s) + "</p>\n"
	}
	return l
}
