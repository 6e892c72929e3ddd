package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy/notice"
)

// DecideMail stores a mail, with what it tells, to be sent later. If a mail with its key was
// decided before, nothing changes and decided is false.
func (s *Store) DecideMail(ctx context.Context, m *notice.Mail) (decided bool, err error) {
	letter, err := pack(&m.Letter)
	if err != nil {
		return false, fmt.Errorf("store: mail %s: %w", m.Key, err)
	}
	err = s.do(ctx, func(w *writer) error {
		decided, err = w.decideMail(m, letter)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("store: mail %s: %w", m.Key, err)
	}
	return decided, nil
}

func (w *writer) decideMail(m *notice.Mail, letter []byte) (bool, error) {
	var key string
	err := w.one("INSERT INTO "+mailTable.into+" VALUES ("+places(len(mailTable.columns))+") ON CONFLICT (mail_key) DO NOTHING RETURNING mail_key",
		appendValues(nil, mailTable.columns, &mailRow{m, letter}), []any{&key})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i := range m.Told {
		if err := w.keepTold(&m.Told[i], m.Key); err != nil {
			return false, err
		}
	}
	return true, nil
}

// keepTold writes a line of the log. An all-clear closes the lines before it.
func (w *writer) keepTold(t *listing.Told, key string) error {
	if !t.Cleared.IsZero() {
		return w.exec("UPDATE notices SET cleared_us = ? WHERE cluster = ? AND uid = ? AND subject = ? AND cleared_us IS NULL",
			t.Cleared.UnixMicro(), t.Cluster, t.UID, t.Subject)
	}
	row := &noticeRow{*t, key}
	row.User, row.Name = clean(t.User), clean(t.Name)
	return w.insertRows(noticeTable.into, appendValues(nil, noticeTable.columns, row))
}

// KeepMuted notes what users would have been told without their mute, so that an all-clear
// can follow.
func (s *Store) KeepMuted(ctx context.Context, told []listing.Told) error {
	err := s.do(ctx, func(w *writer) error {
		for i := range told {
			if err := w.keepTold(&told[i], ""); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store: muted notices: %w", err)
	}
	return nil
}

// Told reads the log of notices since a time, oldest first.
func (s *Store) Told(ctx context.Context, since time.Time) ([]listing.Told, error) {
	return s.told(ctx, "WHERE at_us >= ? ORDER BY at_us, cluster, uid, subject", []any{since.UnixMicro()})
}

// told reads lines of the log; the query goes on after its table.
func (s *Store) told(ctx context.Context, query string, args []any) (all []listing.Told, err error) {
	notices := newReader(noticeTable.columns)
	err = s.eachRow(ctx, "SELECT "+names(noticeTable.columns)+" FROM notices n "+query, args, func(rows *sql.Rows) error {
		n, err := notices.read(rows)
		n.Muted = n.mailKey == ""
		all = append(all, n.Told)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store: notices: %w", unavailable(err))
	}
	return all, nil
}

// NoticeOf is the newest notice of a job and rule that the viewer got: the job's owner, and operators,
// who get it in shadow.
func (s *Store) NoticeOf(ctx context.Context, v Viewer, id, rule string) (*listing.Told, error) {
	query, args := "WHERE job = ? AND rule = ? AND mail_key <> ''", []any{id, rule}
	if !v.Operates() {
		where, cluster := ofCluster("n", v.Cluster)
		query, args = query+" AND uid = ? AND shadow = 0"+where, append(append(args, v.UID), cluster...)
	}
	all, err := s.told(ctx, query+" ORDER BY at_us DESC LIMIT 1", args)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, ErrNotFound
	}
	return &all[0], nil
}

// SayWrong notes that what a notice told was wrong, by whom, when and in which words; said is false if
// somebody did so before.
func (s *Store) SayWrong(ctx context.Context, t *listing.Told) (said bool, err error) {
	err = s.do(ctx, func(w *writer) error {
		var id string
		err := w.one("UPDATE notices SET wrong_us = ?, wrong_by = ?, wrong = ? WHERE cluster = ? AND uid = ? AND subject = ? AND at_us = ? AND wrong_us IS NULL RETURNING job",
			[]any{t.WrongAt.UnixMicro(), t.WrongBy, clean(t.Wrong), t.Cluster, t.UID, t.Subject, t.At.UnixMicro()}, []any{&id})
		said = err == nil
		return orNoRow(err)
	})
	if err != nil {
		return false, fmt.Errorf("store: notice of job %s: %w", t.Job, err)
	}
	return said, nil
}

// mostWrong bounds the notices of a digest that somebody called wrong. They are among the first
// wrongLooked.
const (
	mostWrong   = 100
	wrongLooked = 1000
)

// wrong reads the notices that somebody called wrong in the span, in the order in which they did so:
// all of them, or those whose job ran under one of the accounts. Coordinators get none that was told
// in shadow.
func (s *Store) wrong(ctx context.Context, p span, f *listing.Facts) error {
	all, err := s.told(ctx, "WHERE wrong_us >= ? AND wrong_us < ? ORDER BY wrong_us, cluster, uid, subject LIMIT ?", append(p.times(), wrongLooked))
	for _, t := range all {
		if len(f.Wrong) == mostWrong || err != nil {
			break
		}
		if p.cluster != "" && t.Cluster != p.cluster {
			continue
		}
		if len(p.accounts) > 0 {
			if t.Shadow || t.Job == "" {
				continue
			}
			t.Jobs, t.Lost = 0, 0 // the notice was of all that the user ran
			var ran *listing.JobList
			ran, err = s.Jobs(ctx, p.viewer(), listing.JobQuery{Jobs: t.Job, Cluster: t.Cluster, End: t.At, Limit: 1}, []uint32{t.UID})
			if wrong := new(SelectionError); errors.As(err, &wrong) {
				err = nil
				continue
			} else if err != nil || len(ran.Jobs) == 0 {
				continue
			}
		}
		f.Wrong = append(f.Wrong, t)
	}
	return err
}

const dueMails = `SELECT mail_key FROM mails WHERE sent_us IS NULL AND failed_us IS NULL AND next_us <= ? AND lease_us <= ?
		AND (kind <> ? OR shadow = 1) ORDER BY next_us, mail_key LIMIT ?`

// DueMails lists the keys of mails that are due and that nobody is sending. At night it
// leaves out mails to users.
func (s *Store) DueMails(ctx context.Context, now time.Time, night bool, most int) (keys []string, err error) {
	but := ""
	if night {
		but = notice.MailNotice
	}
	keys, err = onlyColumn[string](s.read.QueryContext(ctx, dueMails, now.UnixMicro(), now.UnixMicro(), but, most))
	if err != nil {
		return nil, fmt.Errorf("store: mails: %w", unavailable(err))
	}
	return keys, nil
}

// ClaimMail reserves a due mail for the time of a lease, so that no other daemon sends it.
// It returns nil if another daemon has it, or if it is no longer due.
func (s *Store) ClaimMail(ctx context.Context, key string, now time.Time, lease time.Duration) (*notice.Mail, error) {
	m := &mailRow{}
	err := s.do(ctx, func(w *writer) error {
		m = &mailRow{Mail: new(notice.Mail)}
		err := w.one("UPDATE mails SET lease_us = ? WHERE mail_key = ? AND sent_us IS NULL AND failed_us IS NULL AND next_us <= ? AND lease_us <= ? RETURNING "+
			names(mailTable.columns),
			[]any{now.Add(lease).UnixMicro(), key, now.UnixMicro(), now.UnixMicro()}, cells(mailTable.columns, m))
		if errors.Is(err, sql.ErrNoRows) {
			m.Mail = nil
			return nil
		}
		return err
	})
	if err != nil || m.Mail == nil {
		return nil, wrapMail(key, err)
	}
	return m.Mail, wrapMail(key, unpack(m.letter, &m.Letter))
}

func wrapMail(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store: mail %s: %w", key, err)
}

// MailSent notes that a mail server accepted the mail.
func (s *Store) MailSent(ctx context.Context, key string, at time.Time) error {
	return wrapMail(key, s.do(ctx, func(w *writer) error {
		return w.exec("UPDATE mails SET sent_us = ?, lease_us = 0, error = '' WHERE mail_key = ? AND sent_us IS NULL", at.UnixMicro(), key)
	}))
}

// MailFailed notes that sending failed. The mail is tried again at next; if next is the zero
// time, it is given up now.
func (s *Store) MailFailed(ctx context.Context, key string, now, next time.Time, why string) error {
	return wrapMail(key, s.do(ctx, func(w *writer) error {
		if next.IsZero() {
			return w.exec("UPDATE mails SET failed_us = ?, lease_us = 0, attempts = attempts + 1, error = ? WHERE mail_key = ? AND sent_us IS NULL",
				now.UnixMicro(), clean(why), key)
		}
		return w.exec("UPDATE mails SET next_us = ?, lease_us = 0, attempts = attempts + 1, error = ? WHERE mail_key = ? AND sent_us IS NULL",
			next.UnixMicro(), clean(why), key)
	}))
}
