package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"jobeff/ingest/job"
)

// DecideMail keeps a mail and what it tells, so that it will be sent. Decided is false
// where one of its key was decided before: then nothing changes.
func (s *Store) DecideMail(ctx context.Context, m *job.Mail) (decided bool, err error) {
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

func (w *writer) decideMail(m *job.Mail, letter []byte) (bool, error) {
	var key string
	err := w.one(`INSERT INTO mails (mail_key, message_id, kind, cluster, uid, shadow, decided_us, next_us, letter)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (mail_key) DO NOTHING RETURNING mail_key`,
		[]any{m.Key, m.MessageID, m.Kind, m.Cluster, m.UID, bit(m.Shadow), m.Decided.UnixMicro(), m.NotBefore.UnixMicro(), letter}, []any{&key})
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

// keepTold writes a line of the log; one that says that all is well closes the lines
// before it.
func (w *writer) keepTold(t *job.Told, key string) error {
	if !t.Cleared.IsZero() {
		return w.exec("UPDATE notices SET cleared_us = ? WHERE cluster = ? AND uid = ? AND subject = ? AND cleared_us IS NULL",
			t.Cleared.UnixMicro(), t.Cluster, t.UID, t.Subject)
	}
	return w.exec(`INSERT INTO notices (cluster, uid, subject, at_us, mail_key, shadow, user_name, workload_key, name, rule, job, cores, advised,
		jobs, lost_h, useful_s, hours) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (cluster, uid, subject, at_us) DO NOTHING`,
		t.Cluster, t.UID, t.Subject, t.At.UnixMicro(), key, bit(t.Shadow), clean(t.User), t.Workload, clean(t.Name), t.Rule, t.Job, t.Cores, t.Advised,
		t.Jobs, t.Lost, t.UsefulAt, t.HoursAt)
}

// KeepMuted notes what users would have been told had they not muted it, so that an
// all-clear can follow.
func (s *Store) KeepMuted(ctx context.Context, told []job.Told) error {
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
func (s *Store) Told(ctx context.Context, since time.Time) (all []job.Told, err error) {
	err = s.eachRow(ctx, `SELECT cluster, uid, subject, at_us, mail_key, shadow, user_name, workload_key, name, rule, job, cores, advised, jobs,
		lost_h, useful_s, hours, cleared_us FROM notices WHERE at_us >= ? ORDER BY at_us, cluster, uid, subject`,
		[]any{since.UnixMicro()}, func(rows *sql.Rows) error {
			var t job.Told
			var at int64
			var shadow int
			var key string
			var cleared sql.NullInt64
			err := rows.Scan(&t.Cluster, &t.UID, &t.Subject, &at, &key, &shadow, &t.User, &t.Workload, &t.Name, &t.Rule, &t.Job, &t.Cores, &t.Advised, &t.Jobs,
				&t.Lost, &t.UsefulAt, &t.HoursAt, &cleared)
			t.At, t.Shadow, t.Muted, t.Cleared = time.UnixMicro(at).UTC(), shadow != 0, key == "", fromMicro(cleared)
			all = append(all, t)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("store: notices: %w", unavailable(err))
	}
	return all, nil
}

const dueMails = `SELECT mail_key FROM mails WHERE sent_us IS NULL AND failed_us IS NULL AND next_us <= ? AND lease_us <= ?
		AND (kind <> ? OR shadow = 1) ORDER BY next_us, mail_key LIMIT ?`

// DueMails lists the keys of mails that are to be sent now and that nobody is sending; at
// night without those that go to users.
func (s *Store) DueMails(ctx context.Context, now time.Time, night bool, most int) (keys []string, err error) {
	but := ""
	if night {
		but = job.MailNotice
	}
	err = s.eachRow(ctx, dueMails, []any{now.UnixMicro(), now.UnixMicro(), but, most}, func(rows *sql.Rows) error {
		var key string
		err := rows.Scan(&key)
		keys = append(keys, key)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store: mails: %w", unavailable(err))
	}
	return keys, nil
}

// ClaimMail takes a due mail for the time of a lease, so that no other daemon sends it.
// Nil: somebody else has it, or it is no longer due.
func (s *Store) ClaimMail(ctx context.Context, key string, now time.Time, lease time.Duration) (*job.Mail, error) {
	var m *job.Mail
	var letter []byte
	err := s.do(ctx, func(w *writer) error {
		m = &job.Mail{Key: key}
		var decided int64
		err := w.one(`UPDATE mails SET lease_us = ? WHERE mail_key = ? AND sent_us IS NULL AND failed_us IS NULL AND next_us <= ? AND lease_us <= ?
			RETURNING message_id, kind, cluster, uid, attempts, decided_us, letter`,
			[]any{now.Add(lease).UnixMicro(), key, now.UnixMicro(), now.UnixMicro()},
			[]any{&m.MessageID, &m.Kind, &m.Cluster, &m.UID, &m.Attempts, &decided, &letter})
		if errors.Is(err, sql.ErrNoRows) {
			m = nil
			return nil
		}
		m.Decided = time.UnixMicro(decided).UTC()
		return err
	})
	if err != nil || m == nil {
		return nil, wrapMail(key, err)
	}
	return m, wrapMail(key, unpack(letter, &m.Letter))
}

func wrapMail(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store: mail %s: %w", key, err)
}

// MailSent notes that a server has taken the mail.
func (s *Store) MailSent(ctx context.Context, key string, at time.Time) error {
	return wrapMail(key, s.do(ctx, func(w *writer) error {
		return w.exec("UPDATE mails SET sent_us = ?, lease_us = 0, error = '' WHERE mail_key = ? AND sent_us IS NULL", at.UnixMicro(), key)
	}))
}

// MailFailed notes that an attempt failed. It is tried again at next; where that is the
// zero time it is given up at now.
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
