package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"
)

// Letter is what a mail says. To are bare addresses; a subject holds no line breaks.
type Letter struct {
	To       []string  `json:"to"`
	Subject  string    `json:"subject"`
	Text     string    `json:"text"`
	HTML     string    `json:"html"` // its pictures are <img src="cid:NAME">
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

// Mail is a mail that was decided on. Its key makes it be decided once.
type Mail struct {
	Key       string // digest:2026-11-16:ADDRESS, notice:2026-11-16:CLUSTER:UID
	MessageID string // without <>; the same each time that it is sent
	Kind      string
	Cluster   string // whom a notice is for
	UID       uint32
	Shadow    bool // it goes to the admins instead of the user
	Decided   time.Time
	NotBefore time.Time // it is not sent earlier
	Attempts  int       // that failed
	Letter    Letter
	Told      []Told // what the user was told, or would have been were it not for shadow
}

// Told is one line of the log of notices: what a user was told of a workload.
type Told struct {
	Cluster  string    `json:"cluster"`
	UID      uint32    `json:"uid"`
	User     string    `json:"user,omitempty"`
	At       time.Time `json:"at"`
	Subject  string    `json:"subject"` // what the cool-down counts: the workload's key, else cluster, uid and program
	Workload string    `json:"workload,omitempty"`
	Name     string    `json:"name,omitempty"`
	Rule     string    `json:"rule"`
	Job      string    `json:"job"`               // the one that lost most
	Cores    int       `json:"cores"`             // that it ran on
	Advised  int       `json:"advised,omitempty"` // cores; 0: none were
	Jobs     int       `json:"jobs"`
	Lost     float64   `json:"lost"` // core-hours
	Shadow   bool      `json:"shadow,omitempty"`
	Muted    bool      `json:"muted,omitempty"`    // he was not told: he had muted it
	Cleared  time.Time `json:"cleared,omitzero"`   // when he was told that it is better now
	Runs     []Run     `json:"runs,omitempty"`     // of the workload, where they were asked for
	UsefulAt float64   `json:"useful_at,omitzero"` // s, total useful time of the runs that he was told of, median
	HoursAt  float64   `json:"hours_at,omitzero"`  // core-hours of such a run, median
}

// Lineage tells which executions may be compared although their executable changed: of
// one cluster and user, and either of the name that the user gave, or of one program,
// arguments and input. "" where these are not known. With an input a program is the same
// wherever its file lies, as another version's module has it elsewhere; without one only
// where its path is the same, since every folder may have an a.out.
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
