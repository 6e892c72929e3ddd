package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"regexp"
	"slices"
	"strings"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/policy"
	"jobeff/policy/notice"
	"jobeff/policy/rule"
	"jobeff/policy/workload"
	"jobeff/report/view"
)

const (
	// noticePeriod is the least time between two notices to a user. It is a little less than
	// the week between two decisions, since daylight saving may shorten a week.
	noticePeriod = 6 * 24 * time.Hour
	// logRead is the age at which a notice in the log no longer counts.
	logRead = 365 * 24 * time.Hour
)

// notices decides once a week which users are told what.
func (n *Notifier) notices(ctx context.Context, now time.Time) error {
	if !n.cfg.Notice.Enabled || n.cfg.Notice.Shadow && len(n.cfg.Digest.To) == 0 {
		return nil
	}
	when := notice.Weekly{Day: etc.Weekday(n.cfg.Notice.Day), Hour: n.cfg.Notice.Hour, Zone: n.zone}
	last, err := n.lastTime(ctx, "notice")
	if err != nil {
		return err
	}
	for _, at := range when.Missed(last, now, 1) { // a missed week is not made up for
		w := n.week(at, now)
		w.key = when.Key(at)
		err := w.decide(ctx)
		if errors.As(err, new(*addressError)) && n.lateAddress(at, now) {
			n.log.Error().Err(err).Msg("these users are not told this week")
		} else if err != nil {
			return err
		}
		if err := n.store.SetMark(ctx, "notice", at); err != nil {
			return err
		}
	}
	return nil
}

// addressError says that mails could not be decided on, only because users' addresses are missing.
type addressError struct{ error }

func (e *addressError) Unwrap() error { return e.error }

// addressesFor is how long jobeffd goes on asking for a missing address. The site's directory
// may be away, or the user may have left.
const addressesFor = 24 * time.Hour

// lateAddress reports whether the missing addresses of a decision were asked for long enough.
func (n *Notifier) lateAddress(at, now time.Time) bool {
	if !n.addresses.at.Equal(at) {
		n.addresses.at, n.addresses.since = at, now
	}
	return now.Sub(n.addresses.since) >= addressesFor
}

// user is one of a cluster's users.
type user struct {
	cluster string
	uid     uint32
}

// week is one decision on notices.
type week struct {
	*Notifier
	at, now time.Time
	key     string
	studies *workload.Studies
	jobs    []notice.Judged
	log     []listing.Told
	mails   map[user]*view.NoticeFor
	told    map[user][]listing.Told
	asked   time.Duration // spent on addresses so far
}

func (n *Notifier) week(at, now time.Time) *week {
	return &week{Notifier: n, at: at, now: now, studies: workload.NewStudies(now), mails: map[user]*view.NoticeFor{}}
}

// Preview returns what users would be told now, and what is held back. It does so also while mails
// are switched off, and stores nothing.
func Preview(ctx context.Context, cfg *etc.Config, db *store.Store, now time.Time) (mails []view.NoticeFor, held []notice.Held, err error) {
	rules, err := rule.Compile(cfg.Rules)
	if err != nil {
		return nil, nil, err
	}
	db.TellApart(cfg.SeveralNames())
	n := &Notifier{store: db, cfg: cfg, rules: rules}
	w := n.week(now, now)
	if held, err = w.compose(ctx); err != nil {
		return nil, nil, err
	}
	for _, m := range w.mails {
		mails = append(mails, *m)
	}
	slices.SortFunc(mails, func(a, b view.NoticeFor) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.User, b.User))
	})
	return mails, held, nil
}

// notices returns whom to tell what, and what is held back and why.
func (w *week) notices(ctx context.Context) (due []notice.Notice, held []notice.Held, err error) {
	if w.log, err = w.store.Told(ctx, w.at.Add(-logRead)); err != nil {
		return nil, nil, err
	}
	if err := w.judge(ctx); err != nil {
		return nil, nil, err
	}
	settings := notice.SettingsOf(w.cfg)
	settings.Period = noticePeriod
	due, held = notice.Notices(w.jobs, notice.SentOf(w.log, w.cfg.Notice.Shadow), settings, w.at)
	return due, held, nil
}

// compose fills in what each user is told, and returns what is held back.
func (w *week) compose(ctx context.Context) ([]notice.Held, error) {
	due, held, err := w.notices(ctx)
	if err != nil {
		return nil, err
	}
	w.told = map[user][]listing.Told{}
	for i := range due {
		if err := w.tell(ctx, &due[i]); err != nil {
			return nil, err
		}
	}
	for _, t := range notice.AllClear(w.jobs, w.log, w.cfg.Notice.Shadow, w.at) {
		who := user{t.Cluster, t.UID}
		w.mailTo(who, t.User).Better = append(w.mailTo(who, t.User).Better, t)
		w.told[who] = append(w.told[who], t)
	}
	return held, nil
}

func (w *week) decide(ctx context.Context) error {
	held, err := w.compose(ctx)
	if err != nil {
		return err
	}
	w.Notifier.log.Info().Int("jobs", len(w.jobs)).Int("users", len(w.mails)).Int("held", len(held)).Bool("shadow", w.cfg.Notice.Shadow).Msg("notices are decided")
	var faults, unknown []error
	for who := range w.mails { // in any order, so that slow addresses are not always the first
		if w.asked > w.addressesIn {
			unknown = append(unknown, fmt.Errorf("addresses took longer than %v, and the rest is asked for later: why is mail.address_command slow?", w.addressesIn))
			break
		}
		if err := w.keep(ctx, who); errors.As(err, new(*addressError)) {
			unknown = append(unknown, err)
		} else if err != nil {
			faults = append(faults, err)
		}
	}
	if err := w.store.KeepMuted(ctx, notice.Muted(w.jobs, w.log, w.at)); err != nil {
		faults = append(faults, err)
	}
	if len(faults) == 0 && len(unknown) > 0 {
		return &addressError{errors.Join(unknown...)}
	}
	return errors.Join(faults...)
}

// judge asks the rules about the jobs that ended in the last weeks.
func (w *week) judge(ctx context.Context) error {
	q := listing.JobQuery{Start: w.at.Add(-notice.LookBack), Limit: store.MaxDetail, Detail: true}
	for {
		next, err := w.store.EachJob(ctx, store.Viewer{All: true}, q, nil, func(j *job.Job) error {
			if j.Unconfirmed || j.End.IsZero() || j.End.After(w.at) || j.End.Before(q.Start) {
				return nil
			}
			j.Complete = j.IsComplete(w.now, time.Duration(w.cfg.Server.Grace))
			study, err := w.study(ctx, j)
			if err == nil {
				err = w.add(ctx, j, study)
			}
			return err
		})
		if err != nil || next == "" {
			return err
		}
		q.After = next
	}
}

// add asks the rules about a job. If one flags it, add reads its steps and the jobs like it, on which
// a request is based, and asks the rules again.
func (w *week) add(ctx context.Context, j *job.Job, study *workload.Study) error {
	c := policy.Describe(j, study)
	verdicts := w.rules.JudgeCase(c)
	if slices.ContainsFunc(verdicts, func(v policy.Verdict) bool { return v.Outcome == policy.Flagged }) {
		if err := w.store.AddAsked(ctx, j); err != nil {
			return err
		}
		if study != nil {
			study = study.As(j) // j knows the jobs like it now
		}
		c = policy.Describe(j, study)
		verdicts = w.rules.JudgeCase(c)
	}
	w.jobs = append(w.jobs, notice.NewJudged(j, study, c, verdicts).Slim())
	return nil
}

// study returns the study of the job's workload, or nil.
func (w *week) study(ctx context.Context, j *job.Job) (*workload.Study, error) {
	return w.studies.Of(j, func() (*job.Workload, error) { return w.store.WorkloadOf(ctx, store.Viewer{All: true}, j) })
}

func (w *week) mailTo(who user, name string) *view.NoticeFor {
	if w.mails[who] == nil {
		w.mails[who] = &view.NoticeFor{User: name, Cluster: who.cluster, Shadow: w.cfg.Notice.Shadow}
	}
	return w.mails[who]
}

// tell puts a notice into its user's mail and log.
func (w *week) tell(ctx context.Context, n *notice.Notice) error {
	who := user{n.Cluster, n.UID}
	m := w.mailTo(who, n.User)
	m.Notice = n
	for i := range n.Items {
		item := &n.Items[i]
		t := item.Told(w.at)
		t.Shadow = w.cfg.Notice.Shadow
		w.told[who] = append(w.told[who], t)
	}
	return nil
}

// keep writes a user's letter and keeps it to be sent.
func (w *week) keep(ctx context.Context, who user) error {
	m := w.mails[who]
	to := w.cfg.Digest.To
	if !m.Shadow {
		begin := time.Now()
		address, err := w.address(ctx, m.User)
		w.asked += time.Since(begin)
		if err != nil {
			return &addressError{fmt.Errorf("the address of user %d (%q): %w", who.uid, m.User, err)}
		}
		to, m.Name = []string{address.Address}, address.Name
	}
	letter, err := w.templates.Notice(m, w.site(0))
	if err != nil {
		return err
	}
	letter.To = to
	notBefore := w.now
	if !m.Shadow {
		notBefore = w.quiet().After(w.now)
	}
	return w.Notifier.decide(ctx, &notice.Mail{Key: fmt.Sprintf("notice:%s:%s:%d", w.key, who.cluster, who.uid), Kind: notice.MailNotice, Cluster: who.cluster,
		UID: who.uid, Shadow: m.Shadow, Decided: w.now, NotBefore: notBefore, Letter: letter, Told: w.told[who]})
}

// userName matches names that are safe in an address and in a command.
var userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// address is a user's address, by the site's rule, and a name to greet by, if its command prints one.
func (n *Notifier) address(ctx context.Context, name string) (*netmail.Address, error) {
	if !userName.MatchString(name) {
		return nil, errors.New("it is no user's name")
	}
	argv := n.cfg.Mail.AddressCommand
	if len(argv) == 0 {
		return &netmail.Address{Address: strings.ReplaceAll(n.cfg.Mail.Address, "{user}", name)}, nil
	}
	args := make([]string, len(argv))
	for i, a := range argv {
		args[i] = strings.ReplaceAll(a, "{user}", name)
	}
	limited, cancel := context.WithTimeout(ctx, n.addressFor)
	defer cancel()
	out, err := command(limited, args, nil)
	if err != nil {
		return nil, fmt.Errorf("mail.address_command: %w", err)
	}
	a, err := netmail.ParseAddress(strings.TrimSpace(string(out)))
	if err != nil {
		return nil, fmt.Errorf("mail.address_command printed %.100q: %w", out, err)
	}
	return a, nil
}
