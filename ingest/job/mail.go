package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"
)

// Letter is the content of a mail. To holds bare addresses; a subject holds no line breaks.
type Letter struct {
	To       []string  `json:"to"`
	Subject  string    `json:"subject"`
	Text     string    `json:"text"`
	HTML     string    `json:"html"` // shows its pictures with <img src="cid:NAME">
	Pictures []Picture `json:"pictures,omitempty"`
}

// Picture is a part of a mail that its HTML shows.
type Picture struct {
	Name string `json:"name"` // its content id: letters, digits, - and .
	PNG  []byte `json:"png"`
}

// Kinds of mails.
const (
	MailDigest = "digest"
	MailNotice = "notice"
)

// Mail is a mail that was decided. Its key makes sure that it is decided once.
type Mail struct {
	Key       string // digest:2026-11-16:ADDRESS, notice:2026-11-16:CLUSTER:UID
	MessageID string // without <>; the same each time it is sent
	Kind      string
	Cluster   string // whom a notice is for
	UID       uint32
	Shadow    bool // the admins get it, not the user
	Decided   time.Time
	NotBefore time.Time // it is not sent earlier
	Attempts  int       // tries that failed
	Letter    Letter
	Told      []Told // what the user was told, or would have been told without shadow
}

// Told is one line of the log of notices: what a user was told of a workload.
type Told struct {
	Cluster  string    `json:"cluster"`
	UID      uint32    `json:"uid"`
	User     string    `json:"user,omitempty"`
	At       time.Time `json:"at"`
	Subject  string    `json:"subject"` // what the cool-down counts: the workload's key, or else cluster, uid and program
	Workload string    `json:"workload,omitempty"`
	Name     string    `json:"name,omitempty"`
	Rule     string    `json:"rule"`
	Job      string    `json:"job"`               // the job that lost most
	Cores    int       `json:"cores"`             // that the job ran on
	Advised  int       `json:"advised,omitempty"` // cores; 0: no advice
	Jobs     int       `json:"jobs"`
	Lost     float64   `json:"lost"` // core-hours
	Shadow   bool      `json:"shadow,omitempty"`
	Muted    bool      `json:"muted,omitempty"`    // they were not told, since they had muted it
	Cleared  time.Time `json:"cleared,omitzero"`   // when they were told that it is better now
	Runs     []Run     `json:"runs,omitempty"`     // of the workload, if they were asked for
	UsefulAt float64   `json:"useful_at,omitzero"` // s, median total useful time of the runs that the notice is about
	HoursAt  float64   `json:"hours_at,omitzero"`  // median core-hours of such a run
}

// Lineage tells which executions may be compared although their executable changed. They have
// the same cluster and user, and either the same name from the user, or the same program,
// arguments and input. "" if these are unknown. If the input is known, the program may move:
// another version's module has it elsewhere. If not, its path must be the same too, since every
// folder may have an a.out.
func Lineage(cluster string, uid uint32, e *Execution) string {
	parts := []string{cluster, fmt.Sprint(uid), "name", e.Workload}
	if e.Workload == "" {
		if e.Executable == "" || e.ArgsHash == "" {
			return ""
		}
		program := e.Executable
		if e.InputHash != "" {
			program = filepath.Base(program)
		}
		parts = []string{cluster, fmt.Sprint(uid), "path", program, e.ArgsHash, e.InputHash}
	}
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}
