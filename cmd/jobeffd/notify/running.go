package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/notice"
	"jobeff/report/mail"
)

// running mails at once what rules say of running jobs, once per job and rule. If jobs of several users stopped
// together, only those who run the cluster get a mail about them.
func (n *Notifier) running(ctx context.Context, now time.Time) error {
	cfg := n.cfg.Notice
	if !cfg.Enabled || cfg.Shadow && len(n.cfg.Digest.To) == 0 {
		return nil
	}
	var flagged, hung []*job.Job
	err := n.store.EachFlaggedRunning(ctx, now, func(j *job.Job) {
		j.Interim = cmp.Or(j.Interim, time.Duration(n.cfg.Report.Interim)) // older nodes do not report theirs
		flagged = append(flagged, j)
		if j.Hung != nil {
			hung = append(hung, j)
		}
	})
	if err != nil {
		return err
	}
	var faults []error
	for _, group := range notice.StoppedTogether(hung) {
		faults = append(faults, n.stopped(ctx, now, group))
		flagged = slices.DeleteFunc(flagged, func(j *job.Job) bool { return slices.Contains(group, j) })
	}
	for _, j := range flagged {
		if now.Sub(j.AsOf) < j.Interim/2 {
			continue // reports on jobs of other users that stopped with it may be on their way
		}
		if muted, err := n.store.Muted(ctx, j); muted || err != nil {
			faults = append(faults, err)
			continue
		}
		for _, v := range n.rules.Judge(j, nil) {
			if v.Outcome == policy.Flagged && !v.Shadow {
				faults = append(faults, n.tellRunning(ctx, now, j, v))
			}
		}
	}
	return errors.Join(faults...)
}

// stopped mails those who run the cluster. If several groups of jobs stopped in the same hour, it mails only the first.
func (n *Notifier) stopped(ctx context.Context, now time.Time, group []*job.Job) error {
	letter := mail.Stopped(group, notice.Users(group))
	n.log.Warn().Int("jobs", len(group)).Time("since", group[0].Hung.Since).Msg("jobs of several users stand still")
	for _, address := range n.cfg.Digest.To {
		letter.To = []string{address}
		m := &notice.Mail{Key: fmt.Sprintf("stopped:%d:%s", group[0].Hung.Since.Truncate(time.Hour).Unix(), address), Kind: notice.MailAlarm, Decided: now, NotBefore: now, Letter: letter}
		if err := n.decide(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// tellRunning mails a rule's verdict to a job's owner, or in shadow to those who get the digest.
func (n *Notifier) tellRunning(ctx context.Context, now time.Time, j *job.Job, v policy.Verdict) error {
	shadow := n.cfg.Notice.Shadow
	to, notBefore := n.cfg.Digest.To, now
	if !shadow {
		address, err := n.address(ctx, j.User)
		if err != nil {
			return fmt.Errorf("the address of user %d (%q): %w", j.UID, j.User, err)
		}
		to, notBefore = []string{address.Address}, n.quiet().After(now)
	}
	letter := mail.Running(j, v, shadow, n.site(0))
	letter.To = to
	return n.decide(ctx, &notice.Mail{Key: fmt.Sprintf("running:%s:%d:%d:%s", j.Cluster, j.JobID, j.Attempt, v.Rule), Kind: notice.MailNotice, Cluster: j.Cluster, UID: j.UID,
		Shadow: shadow, Decided: now, NotBefore: notBefore, Letter: letter, Told: []listing.Told{{Cluster: j.Cluster, UID: j.UID, User: j.User, At: now,
			Subject: fmt.Sprintf("running:%d:%d:%s", j.JobID, j.Attempt, v.Rule), Name: j.Name, Rule: v.Rule, Job: j.DisplayID, Jobs: 1, Shadow: shadow, Running: true}}})
}
