package notice

import (
	"time"

	"jobeff/ingest/listing"
)

// Letter is the content of a mail. To holds bare addresses; a subject holds no line breaks.
type Letter struct {
	To      []string `json:"to"`
	Subject string   `json:"subject"`
	Text    string   `json:"text"`
	HTML    string   `json:"html"`
}

// Kinds of mails.
const (
	MailDigest = "digest"
	MailNotice = "notice"
	MailAlarm  = "alarm"
)

// Mail is a mail that was decided. Its unique key prevents a second decision.
type Mail struct {
	Key       string    `db:"mail_key"`   // digest:2026-11-16:ADDRESS, notice:2026-11-16:CLUSTER:UID, alarm:KIND:TIME:ADDRESS
	MessageID string    `db:"message_id"` // without <>; the same each time it is sent
	Kind      string    `db:"kind"`
	Cluster   string    `db:"cluster"` // with UID, the user whom a notice is for
	UID       uint32    `db:"uid"`
	Shadow    bool      `db:"shadow"` // it goes to the admins instead of the user
	Decided   time.Time `db:"decided_us"`
	NotBefore time.Time `db:"next_us"`  // it is not sent earlier
	Attempts  int       `db:"attempts"` // tries that failed
	Letter    Letter
	Told      []listing.Told // what it tells the user, or would without shadow
}
