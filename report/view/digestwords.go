package view

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy/curve"
	"jobeff/policy/notice"
	"jobeff/policy/workload"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/words"
)

func digestWords(digest *notice.Digest, site Site) DigestWords {
	d := inert.Copy(*digest, true)
	data := DigestWords{Span: spanText(d.From, d.To, site.Zone), Accounts: ofWhich(&d), Link: site.Link, Help: site.Help,
		Headline: alarms(&d, site.Zone) + headline(&d), Facts: weekFacts(&d), Health: health(&d), Earlier: weekBefore(d.From, site.Zone)}
	data.Subject = digestSubject(&d, &data)
	if site.Late > time.Hour {
		data.Late = "This digest comes late: jobeffd was not running, or had no mail server, when it was due."
	}
	if n := days(&d); n != 7 {
		data.Part = fmt.Sprintf("This digest is of %s, not of a week: digest.day was changed.", figure.Counted(n, "day"))
	}
	if len(d.ByCluster) > 0 {
		data.Lists = []List{listOf("By cluster", "cluster", "jobs", d.ByCluster, 0)}
	}
	data.Lists = append(data.Lists,
		listOf("By account", "account", "jobs", d.ByAccount, d.MoreAccounts),
		listOf("By user", "user", "jobs", d.ByUser, d.MoreUsers),
		listOf("By application", "program", "runs", d.ByProgram, d.MorePrograms),
	)
	for i := range d.Savings {
		data.Savings = append(data.Savings, savingText(i+1, &d.Savings[i], site))
	}
	for i := range d.Losses {
		l := &d.Losses[i]
		data.Losses = append(data.Losses, fmt.Sprintf("%s of %s (%s): %s of %s", l.Name, l.User, l.Account, figure.Hours(l.Lost), lostText(l, l.Used)))
	}
	for i := range d.Changes {
		data.Changes = append(data.Changes, changeText(&d.Changes[i], site.Zone))
	}
	for i := range d.Steps {
		data.Changes = append(data.Changes, stepText(&d.Steps[i], site.Zone))
	}
	followed(&data, &d, site.Zone)
	for i := range d.Wrong {
		d.Wrong[i].Wrong = inert.Text(digest.Wrong[i].Wrong, true) // it is a sentence, not a name, so it is not cut to the length of one
		data.Wrong = append(data.Wrong, wrongText(&d.Wrong[i], site.Zone))
	}
	return data
}

// ofWhich names the cluster and the accounts of a digest; "": all.
func ofWhich(d *notice.Digest) string {
	of := d.Accounts
	if d.Cluster != "" {
		of = append([]string{"cluster " + d.Cluster}, of...)
	}
	return strings.Join(of, ", ")
}

func digestSubject(d *notice.Digest, data *DigestWords) string {
	subject := fmt.Sprintf("%s, %s of %s core-hours lost", data.Span, figure.Hours(d.Total.Lost), figure.Hours(d.Total.Judged))
	if data.Accounts != "" {
		subject = data.Accounts + ": " + subject
	}
	subject = "jobeff: " + subject
	if len(d.Alarms) > 0 {
		subject = "ALARM: " + subject
	}
	return subject
}

// wrongText says which notice a reader called wrong, who did, and with which words.
func wrongText(t *listing.Told, zone *time.Location) string {
	by, said := "", ""
	if t.WrongBy != t.UID {
		by = fmt.Sprintf(" (said by uid %d)", t.WrongBy)
	}
	if t.Wrong != "" {
		said = ": " + t.Wrong
	}
	return fmt.Sprintf("%s of job %s of %s (%s), told on %s%s%s", t.Rule, t.Job, t.User, cmp.Or(t.Name, "no name"), t.At.In(zone).Format("2 January"), by, said)
}

// weekBefore names the week that has most of the seven days before a time.
func weekBefore(from time.Time, zone *time.Location) string {
	year, week := from.In(zone).AddDate(0, 0, -4).ISOWeek()
	return fmt.Sprintf("%d-W%02d", year, week)
}

// days returns the length of a digest, in days.
func days(d *notice.Digest) int { return int(math.Round(d.To.Sub(d.From).Hours() / 24)) }

// during names the days of a digest, and the same number of days before.
func during(d *notice.Digest) (this, before string) {
	switch n := days(d); n {
	case 7:
		return "this week", "the week before"
	case 1:
		return "this day", "the day before"
	default:
		return "these " + figure.Counted(n, "day"), "the " + figure.Counted(n, "day") + " before"
	}
}

func headline(d *notice.Digest) string {
	this, before := during(d)
	if d.Total.Jobs == 0 {
		return "No job ended in " + this + "."
	}
	if d.Total.Judged == 0 {
		return fmt.Sprintf("%s ended and used %s core-hours; of none it is known what it lost.", figure.Counted(d.Total.Jobs, "job"), figure.Hours(d.Total.Used))
	}
	text := fmt.Sprintf("%s of %s judged core-hours were lost: %s", figure.Hours(d.Total.Lost), figure.Hours(d.Total.Judged), figure.Part(d.Total.Lost, d.Total.Judged))
	if d.Before.Judged > 0 {
		text += fmt.Sprintf(", after %s in %s", figure.Part(d.Before.Lost, d.Before.Judged), before)
	}
	if sum := d.SavingsSum; sum != nil {
		text += fmt.Sprintf(". The advice below would have saved %s of them (%s)", figure.Hours(sum.Value), intervalText(d.Savings[0].Advice.Level, *sum))
	}
	return text + "."
}

func weekFacts(d *notice.Digest) []string {
	facts := []string{
		fmt.Sprintf("%s ended and used %s core-hours. jobeff measured %s of them. Judged are %s core-hours (%s of those used): of jobs whose every rank was recorded and whose threads are known, without further hardware threads of their cores.",
			figure.Counted(d.Total.Jobs, "job"), figure.Hours(d.Total.Used), figure.Count(d.Total.Measured), figure.Hours(d.Total.Judged), figure.Part(d.Total.Judged, d.Total.Used)),
		"A core-hour is lost when the core did no computing for a program: its rank or thread waited in MPI, in OpenMP or for MPI-IO, the core had no rank, or no program with MPI or OpenMP ran.",
	}
	if d.Total.GPU > 0 {
		facts = append(facts, words.GPUHoursText("", d.Total)+idlest(d.IdleGPUs))
	}
	return facts
}

// idlest names the users on whose GPUs no kernel ran for most GPU-hours.
func idlest(users []listing.NamedHours) string {
	var all []string
	for _, u := range users {
		all = append(all, fmt.Sprintf("%s (%s of %s)", cmp.Or(u.Name, "(not known)"), figure.Hours(u.GPUIdle), figure.Hours(u.GPUKnown)))
	}
	if len(all) == 0 {
		return ""
	}
	return " Most of these without a kernel: " + strings.Join(all, ", ") + "."
}

// alarms words the alarms, which come before everything else.
func alarms(d *notice.Digest, zone *time.Location) (text string) {
	for i := range d.Alarms {
		text += "ALARM: " + words.AlarmText(&d.Alarms[i], zone) + " "
	}
	return text
}

func listOf(title, column, counted string, shares []notice.Share, more int) List {
	l := List{Title: title, Column: column, Counted: counted}
	longest := 0.0
	for _, s := range shares {
		longest = max(longest, s.Judged)
	}
	bar := func(hours float64) int { return int(math.Round(100 * hours / max(longest, 1e-9))) }
	for _, s := range shares {
		name := s.Name
		if name == "" || name == "." {
			name = "(not known)"
		}
		r := Row{Name: name, Jobs: figure.Count(s.Jobs), Used: figure.Hours(s.Used), Judged: figure.Hours(s.Judged), Lost: figure.Hours(s.Lost), Share: figure.Part(s.Lost, s.Judged)}
		if s.Before != nil && s.Before.Judged > 0 && s.Judged > 0 {
			r.Change = figure.Points(s.Lost/s.Judged - s.Before.Lost/s.Before.Judged)
		}
		r.LostBar = bar(s.Lost)
		r.RestBar = max(0, bar(s.Judged)-r.LostBar)
		l.Rows = append(l.Rows, r)
	}
	if more > 0 {
		l.More = "and " + figure.Count(more) + " more"
	}
	return l
}

func savingText(number int, s *notice.Saving, site Site) SavingWords {
	return SavingWords{Number: number, Name: s.Name, User: s.User, Account: s.Account, Job: s.Job, JobName: s.JobName, Page: site.jobPage(s.Job), Muted: s.Muted,
		Hours: fmt.Sprintf("%s core-hours (%s)", figure.Hours(s.Hours.Value), intervalText(s.Advice.Level, s.Hours)),
		Text:  fmt.Sprintf("Instead of %s: %s.", figure.Counted(s.Cores, "core"), words.BetterText(&s.Advice))}
}

// lostText says whose core-hours were lost, and to what.
func lostText(l *notice.Loss, hours float64) string {
	most := "job " + l.Job
	if l.JobName != "" {
		most += " (" + l.JobName + ")"
	}
	by, cores := most, figure.Counted(l.Cores, "core")
	if l.Jobs > 1 {
		by, cores = figure.Counted(l.Jobs, "job"), cores+", most by "+most
	}
	return fmt.Sprintf("%s core-hours lost by %s on %s. %s", figure.Hours(hours), by, cores, cmp.Or(l.Cause, "What it lost them to is not known."))
}

// intervalText writes an interval of hours: "90 %: 1,780 to 2,830".
func intervalText(level float64, e curve.Estimate) string {
	return figure.Percent(level) + ": " + figure.Interval(e.Low, e.High, figure.Hours)
}

func changeText(c *workload.Change, zone *time.Location) string {
	change := c.Factor.Value - 1
	text := fmt.Sprintf("%s of %s (jobeff %s) takes %s since its %s changed on %s (%s: %s; %s against %s)", c.Name, c.User, c.Job, figure.Change(change), changedWhat(c),
		c.Since.In(zone).Format("2 January"), figure.Percent(c.Level), figure.ChangeInterval(change, c.Factor.Low-1, c.Factor.High-1),
		figure.Counted(c.Runs, "run"), figure.Count(c.RunsBefore))
	switch {
	case c.Factor.Value < 1:
	case c.Useful > 1+(c.Factor.Value-1)/2:
		text += ": the computing itself takes longer"
	default:
		text += ": it is the communication that takes longer"
	}
	if c.ByCurve {
		text += "; runs on other core counts were compared with the old executable's curve"
	}
	text = fmt.Sprintf("%s. It made %s core-hours of difference.", text, figure.Hours(math.Abs(c.Hours)))
	if c.Beside != "" {
		text += " That need not be the cause: " + c.Beside + "."
	}
	return text
}

// stepText says since when the runs of a workload are slower, and which command shows why.
func stepText(s *workload.Step, zone *time.Location) string {
	change := s.Factor.Value - 1
	text := fmt.Sprintf("%s of %s takes %s on %s since %s (%s: %s; %s against %s), with the same executable and MPI library.",
		s.Name(), s.Last.User, figure.Change(change), figure.Counted(s.Last.Cores(), "core"), s.First.Start.In(zone).Format("2 January"), figure.Percent(s.Level),
		figure.ChangeInterval(change, s.Factor.Low-1, s.Factor.High-1), figure.Counted(s.Runs, "run"), figure.Count(s.Earlier))
	if s.Beside != "" {
		text += " But " + s.Beside + "."
	}
	return fmt.Sprintf("%s Why: jobeff compare %s %s", text, s.Before.DisplayID, s.Last.DisplayID)
}

// changedWhat names what changed: "executable", "MPI library (MPICH 4.0 to MPICH 4.1)".
func changedWhat(c *workload.Change) string {
	var parts []string
	if c.Old != c.New {
		parts = append(parts, "executable")
	}
	if c.OldMPI != c.NewMPI {
		parts = append(parts, fmt.Sprintf("MPI library (%s to %s)", c.OldMPI, c.NewMPI))
	}
	return strings.Join(parts, " and its ")
}

func followed(data *DigestWords, d *notice.Digest, zone *time.Location) {
	this, _ := during(d)
	for i := range d.Followed {
		f := &d.Followed[i]
		in := "in all"
		if f.Cut {
			in = "in its newest " + figure.Counted(f.Count, "run")
		}
		week, ever := words.SavedText(f.Week.Least(), f.Level), words.SavedText(f.Ever.Least(), f.Level)
		if f.Week.Mix == (curve.Estimate{}) {
			week = "no run"
		}
		data.Followed = append(data.Followed, fmt.Sprintf("%s of %s: advised %s instead of %s on %s, and took %s in %s of %s since: %s %s, %s %s.",
			f.Name, f.User, figure.Counted(f.Advised, "core"), figure.Count(f.Told.Cores), f.At.In(zone).Format("2 January 2006"), figure.Count(f.Cores), figure.Count(f.On), figure.Counted(f.Count, "run"),
			week, this, ever, in))
	}
	if len(d.Followed) > 0 {
		level := d.Followed[0].Level
		data.Saved = fmt.Sprintf("In sum: %s %s, %s since it was given.", words.SavedText(d.Saved, level), this, words.SavedText(d.SavedEver, level))
	}
	if d.MoreFollowed > 0 {
		data.FollowedMore = "and " + figure.Count(d.MoreFollowed) + " more"
	}
}

// health describes how jobeff itself is doing.
func health(d *notice.Digest) (all []Remark) {
	for _, r := range words.OfHealth(&d.Health, d.Comparison) {
		all = append(all, Remark{r.Text, r.Bad})
	}
	return all
}

// spanText names the days of a week: "9 to 15 November 2026". to is its end.
func spanText(from, to time.Time, zone *time.Location) string {
	first, last := from.In(zone), to.Add(-time.Second).In(zone)
	switch {
	case first.YearDay() == last.YearDay() && first.Year() == last.Year():
		return first.Format("2 January 2006")
	case first.Year() != last.Year():
		return first.Format("2 January 2006") + " to " + last.Format("2 January 2006")
	case first.Month() != last.Month():
		return first.Format("2 January") + " to " + last.Format("2 January 2006")
	}
	return first.Format("2") + " to " + last.Format("2 January 2006")
}
