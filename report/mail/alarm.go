package mail

import (
	"html"

	"jobeff/ingest/job"
	"jobeff/report"
)

// Alarm is the letter of an alarm, without recipients. A site's templates have no part in it.
func Alarm(a *job.Alarm, site Site) job.Letter {
	l := job.Letter{Subject: "jobeff: ALARM: measured jobs end worse than others"}
	for _, s := range []string{report.AlarmText(a, site.Zone), report.AlarmHelp} {
		lines, _ := quote("", s)
		l.Text += lines + "\n\n"
		l.HTML += "<p>" + html.EscapeString(s) + "</p>\n"
	}
	return l
}
