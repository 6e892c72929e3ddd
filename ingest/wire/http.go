package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// AuthScheme is the word before the credential in the Authorization header.
const AuthScheme = "Munge"

// ChallengeForm is WWW-Authenticate of a 401, with the challenge of the process that sends it.
const ChallengeForm = AuthScheme + ` challenge="%s"`

// ClusterHeader names the cluster whose key made a request's credential, where one jobeffd serves several.
// Nothing covers it: under another cluster's key, the credential is not valid.
const ClusterHeader = "Jobeff-Cluster"

// AuthPayload is what a credential on TCP carries. It binds the viewer or node, whom munge names, to
// this one request. body is what goes over the wire, compressed or not. In a question a blank and the
// challenges of those who may answer it, "A,B", follow the nonce.
func AuthPayload(method, uri string, body []byte, nonce string) []byte {
	sum := sha256.Sum256(body)
	return fmt.Append(nil, AuthPrefix(method, uri), hex.EncodeToString(sum[:]), " ", nonce)
}

// AuthPrefix is the beginning of AuthPayload. It can be checked before the request's body has come.
// The body's sum follows it, AuthSumSize characters long.
func AuthPrefix(method, uri string) string { return "jobeff1 " + method + " " + uri + " " }

// AuthSumSize is the length of the body's sum in AuthPayload.
const AuthSumSize = 2 * sha256.Size

// Problem is the body of every answer that is not 200 (RFC 9457). Pages answer people in plain text.
type Problem struct {
	Type   string `json:"type,omitempty"`   // ProblemType and its name
	Title  string `json:"title,omitempty"`  // the same words for each problem of the type
	Status int    `json:"status"`           // of HTTP
	Detail string `json:"detail,omitempty"` // what is wrong with this request
	Hint   string `json:"hint,omitempty"`   // what to do next
}

// ProblemType begins the type of every problem of jobeffd, so nobody takes another server's for one.
const ProblemType = "urn:jobeff:"

// BatchAnswer is the answer to one line of a batch: the status 200, or the problem that this report
// alone would have.
type BatchAnswer struct {
	New bool `json:"new,omitempty"`
	Problem
}

// AlarmHeader says in jobeffd's answer to a report whether an alarm is up: AlarmUp or AlarmDown.
const (
	AlarmHeader = "Jobeff-Alarm"
	AlarmUp     = "up"
	AlarmDown   = "down"
)

// OutboxState is what a node's spool holds. Reports carry it to jobeffd.
type OutboxState struct {
	Waiting int           `json:"waiting"`   // reports that are not sent yet
	Oldest  time.Duration `json:"oldest_ns"` // age of the oldest waiting report; 0: none waits
	Refused int           `json:"refused"`   // set aside for good
	Cut     int           `json:"cut"`       // reports that were cut to a line, since full.log began
	Lost    int           `json:"lost"`      // … and reports that were lost entirely
}

// OutboxHeader is the request header in which OutboxState travels with a report.
const OutboxHeader = "Jobeff-Outbox"

const outboxForm = "waiting=%d oldest=%d refused=%d cut=%d lost=%d"

// String is the header's value; the age is in seconds.
func (s OutboxState) String() string {
	return fmt.Sprintf(outboxForm, s.Waiting, int64(s.Oldest.Seconds()), s.Refused, s.Cut, s.Lost)
}

// ParseOutboxState reads what String wrote; ok is false for anything else.
func ParseOutboxState(text string) (s OutboxState, ok bool) {
	var seconds int64
	n, err := fmt.Sscanf(text, outboxForm, &s.Waiting, &seconds, &s.Refused, &s.Cut, &s.Lost)
	const decade = 10 * 366 * 24 * 3600
	if err != nil || n != 5 || s.Waiting < 0 || seconds < 0 || seconds > decade || s.Refused < 0 || s.Cut < 0 || s.Lost < 0 {
		return OutboxState{}, false
	}
	s.Oldest = time.Duration(seconds) * time.Second
	return s, true
}
