package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// NodeLogs is what the ranks of one execution logged on one node, while other ranks of it are on
// other nodes. It travels after the node's report, and only until jobeffd has replayed it.
type NodeLogs struct {
	Version int    `json:"version"`
	Cluster string `json:"cluster"`
	JobID   uint32 `json:"job_id"`
	Nonce   string `json:"nonce"` // of the node's report
	Node    string `json:"node"`

	// Of the node's part of the execution, as in the report.
	Key   string    `json:"key"`
	Size  int       `json:"size"`
	Ranks int       `json:"ranks"` // that logged on this node
	Start time.Time `json:"start"`
	// Entries is how many the text has. It is not taken where it has more, or fewer.
	Entries int `json:"entries"`
	// ClockError bounds how far the node's CLOCK_REALTIME is from the true time; 0: not known.
	ClockError time.Duration `json:"clock_error_ns,omitempty"`

	Text []byte `json:"-"` // what replay.Pack wrote, not compressed
}

// logsVersion is the version of NodeLogs that this build writes.
const logsVersion = 1

// MaxLogsBytes bounds packed logs, with their head, MaxLogsText the same once they are not
// compressed; mostHead bounds the head.
const (
	MaxLogsBytes = 1<<20 + mostHead
	MaxLogsText  = 16<<20 + mostHead
	mostHead     = 4 * maxText
)

// Pack is what travels: a line that says whose logs they are and what the text holds, then the
// text, compressed. It is nil if the line cannot be written.
func (l NodeLogs) Pack(text []byte, entries int) []byte {
	l.Version, l.Entries = logsVersion, entries
	head, err := json.Marshal(l)
	if err != nil { // a year beyond 9999
		return nil
	}
	return Compress(slices.Concat(head, []byte("\n"), text))
}

// DecodeLogs unpacks logs as they travel, and checks the head. What the text holds, replay.Check
// and replay.Unpack tell.
func DecodeLogs(packed []byte) (*NodeLogs, error) {
	body, err := decompressLogs(packed)
	if err != nil {
		return nil, err
	}
	head, text, ok := bytes.Cut(body, []byte("\n"))
	l := new(NodeLogs)
	if !ok || len(head) > mostHead || json.Unmarshal(head, l) != nil {
		return nil, errors.New("the logs do not begin with a line of JSON")
	}
	if l.Version > logsVersion {
		return nil, ErrNewer
	}
	switch {
	case l.Version < 1, l.JobID == 0, !IsHex32(l.Nonce), !isName(l.Node, 255), !isName(l.Cluster, 64):
		return nil, errors.New("the logs do not say which job on which node they are of")
	case l.Size < 2, l.Ranks < 1, l.Ranks >= l.Size, l.Key == "", l.ClockError < 0:
		return nil, fmt.Errorf("the logs are of %d ranks of %d, of which no execution on several nodes is", l.Ranks, l.Size)
	case l.Entries < 0:
		return nil, fmt.Errorf("the logs say that they have %d entries", l.Entries)
	}
	l.Key, l.Text = CleanText(l.Key, maxText), text // as in the report
	return l, nil
}
