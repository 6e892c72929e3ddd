// Package notify is the part of jobeffd that sends mail. Once a week it decides on a digest for
// those who run the cluster, and on notices to users. A mail is written to the database once,
// before it is sent. So a kill at any moment loses no mail. Only a mail that the server took in
// the moment before the kill is sent twice, with the same Message-ID. In the flow, policy, which
// decides, and report/mail, which writes, come before it.
package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"jobeff/etc"
	"jobeff/ingest/store"
	"jobeff/policy/harm"
	"jobeff/policy/notice"
	"jobeff/policy/rule"
	"jobeff/report/mail"
	"jobeff/report/view"
)

// Every is the interval at which Run checks whether something is due.
const Every = time.Minute

// mostLate bounds the missed digests that are sent after jobeffd was away.
const mostLate = 4

// Notifier decides and sends. New makes one.
type Notifier struct {
	store     *store.Store
	cfg       *etc.Config
	rules     *rule.Rules
	templates *mail.Templates
	log       zerolog.Logger
	zone      *time.Location
	now       func() time.Time
	retry     map[string]time.Time          // when a failed decision may be tried again
	addresses struct{ at, since time.Time } // the decision that lacks addresses, and since when
	// addressFor bounds the search for one address, addressesIn that for all addresses in one round.
	addressFor, addressesIn time.Duration
}

// New makes a Notifier, and checks what it needs to write mails. now is the clock. If the site sends
// no mail, New returns nil.
func New(cfg *etc.Config, db *store.Store, log zerolog.Logger, now func() time.Time) (*Notifier, error) {
	if !cfg.Mail.Sends() {
		return nil, nil
	}
	rules, err := rule.Compile(cfg.Rules)
	if err != nil {
		return nil, err
	}
	templates, err := mail.Load(cfg.Mail.Templates)
	if err != nil {
		return nil, err
	}
	n := &Notifier{store: db, cfg: cfg, rules: rules, templates: templates, log: log, zone: cfg.Digest.Location(), now: now,
		retry: map[string]time.Time{}, addressFor: 10 * time.Second, addressesIn: time.Minute}
	if _, err := n.password(); err != nil {
		return nil, err
	}
	return n, nil
}

// Run decides and sends until the context ends.
func (n *Notifier) Run(ctx context.Context) {
	for tick := time.NewTicker(Every); ctx.Err() == nil; {
		n.Tick(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// Tick decides on what is due now, and sends what waits. What fails is logged, and a later
// Tick tries it again. Notices come last, since users' addresses may take a while
// (addressesIn).
func (n *Notifier) Tick(ctx context.Context) {
	n.decideOn(ctx, "running", n.running)
	n.decideOn(ctx, notice.MailDigest, n.digests)
	n.send(ctx)
	n.decideOn(ctx, notice.MailNotice, n.notices)
	n.send(ctx)
}

func (n *Notifier) decideOn(ctx context.Context, kind string, decide func(context.Context, time.Time) error) {
	now := n.now()
	if now.Before(n.retry[kind]) {
		return
	}
	if err := decide(ctx, now); err != nil && ctx.Err() == nil {
		n.retry[kind] = now.Add(retryDecision)
		n.log.Error().Err(err).Str("kind", kind).Msg("deciding on mails; it is tried again")
	}
}

// retryDecision is the time after which a failed decision is tried again.
const retryDecision = 15 * time.Minute

// digests decides on the digests of all weeks that have ended since the last one.
func (n *Notifier) digests(ctx context.Context, now time.Time) error {
	if len(n.cfg.Digest.To) == 0 && len(n.cfg.Digest.Accounts) == 0 {
		return nil
	}
	when := notice.Weekly{Day: etc.Weekday(n.cfg.Digest.Day), Hour: n.cfg.Digest.Hour, Zone: n.zone}
	last, err := n.lastTime(ctx, "digest")
	if err != nil {
		return err
	}
	before, err := n.store.Mark(ctx, "digest")
	if err != nil {
		return err
	}
	for _, at := range when.Missed(last, now, mostLate) {
		is := issue{key: when.Key(at), at: at}
		is.from, is.end = when.SpanSince(at, before)
		for _, to := range n.audiences() {
			if is.from.Equal(is.end) {
				break // digest.hour was changed to a later one of the same day
			}
			if err := n.digest(ctx, is, now, to); err != nil {
				return err
			}
		}
		if err := n.store.SetMark(ctx, "digest", at); err != nil {
			return err
		}
		before = at
	}
	return nil
}

// lastTime returns when something was last decided. For a new database it returns when that was made.
func (n *Notifier) lastTime(ctx context.Context, mark string) (time.Time, error) {
	last, err := n.store.Mark(ctx, mark)
	if err == nil && last.IsZero() {
		last = n.store.Began()
	}
	return last, err
}

// audience are the people who get a digest of the same accounts.
type audience struct {
	addresses []string
	accounts  []string // empty: all
}

func (n *Notifier) audiences() []audience {
	var all []audience
	if len(n.cfg.Digest.To) > 0 {
		all = append(all, audience{addresses: n.cfg.Digest.To})
	}
	for address, accounts := range n.cfg.Digest.Accounts {
		all = append(all, audience{[]string{address}, accounts})
	}
	return all
}

// issue is a digest: when it is due, and the days that it covers.
type issue struct {
	key           string
	at, from, end time.Time
}

// digest decides on a digest. Each address gets a mail of its own, so that a bad address harms
// no other.
func (n *Notifier) digest(ctx context.Context, is issue, now time.Time, to audience) error {
	both, err := n.store.TwoWeeks(ctx, store.Viewer{All: true}, is.from, is.end, to.accounts)
	if err != nil {
		return err
	}
	letter, err := n.templates.Digest(view.NewDigest(notice.NewDigest(both), n.site(now.Sub(is.at))))
	if err != nil {
		return err
	}
	for _, address := range to.addresses {
		letter.To = []string{address}
		m := &notice.Mail{Key: "digest:" + is.key + ":" + address, Kind: notice.MailDigest, Decided: now, NotBefore: now, Letter: letter}
		if err := n.decide(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// Alarm mails an alarm, once, to those who get the digest.
func (n *Notifier) Alarm(ctx context.Context, a *harm.Alarm) error {
	letter := mail.Alarm(a, n.site(0))
	for _, address := range n.cfg.Digest.To {
		letter.To = []string{address}
		m := &notice.Mail{Key: fmt.Sprintf("alarm:%s:%d:%s", a.Kind, a.From.Unix(), address), Kind: notice.MailAlarm, Decided: n.now(), NotBefore: n.now(), Letter: letter}
		if err := n.decide(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (n *Notifier) site(late time.Duration) view.Site {
	return view.Site{Zone: n.zone, Help: n.cfg.Mail.Help, Link: n.cfg.Mail.Link, Late: late}
}

// decide keeps a mail to be sent. It is no error if that was done before.
func (n *Notifier) decide(ctx context.Context, m *notice.Mail) error {
	m.MessageID = n.messageID(m)
	decided, err := n.store.DecideMail(ctx, m)
	if err == nil && decided {
		n.log.Info().Str("mail", m.Key).Strs("to", m.Letter.To).Str("id", m.MessageID).Msg("decided")
	}
	return err
}

// messageID follows from the mail's key and time, so every daemon makes the same one.
func (n *Notifier) messageID(m *notice.Mail) string {
	domain := "localhost"
	if from, err := netmail.ParseAddress(n.cfg.Mail.From); err == nil {
		_, domain, _ = strings.Cut(from.Address, "@")
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", m.Key, m.Decided.UnixMicro()))
	return "jobeff." + hex.EncodeToString(sum[:12]) + "@" + domain
}

// These bound how long sending a mail may take, and how often it is tried.
const (
	lease      = 5 * time.Minute // after this, another daemon may send the mail
	sendFor    = 2 * time.Minute // one attempt
	firstRetry = time.Minute
	longRetry  = 4 * time.Hour
	giveUp     = 5 * 24 * time.Hour // after the decision
	mostAtOnce = 500
)

// send sends what is due. A server that cannot be reached ends the round.
func (n *Notifier) send(ctx context.Context) {
	now := n.now()
	keys, err := n.store.DueMails(ctx, now, !n.quiet().After(now).Equal(now), mostAtOnce)
	if err != nil {
		n.log.Error().Err(err).Msg("reading which mails are due")
		return
	}
	for _, key := range keys {
		if ctx.Err() != nil || !n.sendOne(ctx, key) {
			return
		}
	}
}

// quiet are the hours at which users get no mail, not even one that was decided on earlier.
func (n *Notifier) quiet() notice.Quiet {
	return notice.Quiet{From: n.cfg.Notice.QuietFrom, To: n.cfg.Notice.QuietTo, Zone: n.zone}
}

// sendOne sends one mail, unless another daemon is sending it. False means that the server is
// away, and the next mail would fail, too.
func (n *Notifier) sendOne(ctx context.Context, key string) (goOn bool) {
	m, err := n.store.ClaimMail(ctx, key, n.now(), lease)
	if err != nil || m == nil {
		if err != nil {
			n.log.Error().Err(err).Str("mail", key).Msg("claiming")
		}
		return err == nil
	}
	limited, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	err = n.deliver(limited, m)
	if err == nil {
		if err = n.store.MailSent(ctx, key, n.now()); err != nil {
			n.log.Error().Err(err).Str("mail", key).Str("id", m.MessageID).Msg("sent, but that could not be noted: it may be sent again")
			return false
		}
		n.log.Info().Str("mail", key).Str("id", m.MessageID).Msg("sent")
		return true
	}
	return n.failed(ctx, m, err)
}

// failed notes when a mail is tried again, if ever.
func (n *Notifier) failed(ctx context.Context, m *notice.Mail, why error) (goOn bool) {
	var refused *refusedError
	now := n.now()
	wait := min(firstRetry<<min(m.Attempts, 16), longRetry)
	next := now.Add(wait)
	if errors.As(why, &refused) || now.Sub(m.Decided) > giveUp {
		next = time.Time{}
	}
	n.log.Warn().Err(why).Str("mail", m.Key).Strs("to", m.Letter.To).Bool("again", !next.IsZero()).Msg("a mail could not be sent")
	if err := n.store.MailFailed(ctx, m.Key, now, next, why.Error()); err != nil {
		n.log.Error().Err(err).Str("mail", m.Key).Msg("noting that it was not sent")
	}
	return refused != nil
}

// refusedError says that a server did not take this mail and never will.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }
