package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"github.com/klauspost/compress/zstd"

	"jobeff/ingest/slurmid"
)

// AuthScheme is the word before the credential in the Authorization header.
const AuthScheme = "Munge"

// ChallengeForm is WWW-Authenticate of a 401, with the challenge of the process that sends it.
const ChallengeForm = AuthScheme + ` challenge="%s"`

// AuthPayload is what a credential on TCP carries. It binds the viewer or node, whom munge
// names, to this one request. body is what goes over the wire, compressed or not. Behind the nonce of a
// question stand, after a blank, the challenges of those who may answer it, "A,B".
func AuthPayload(method, uri string, body []byte, nonce string) []byte {
	sum := sha256.Sum256(body)
	return fmt.Append(nil, AuthPrefix(method, uri), hex.EncodeToString(sum[:]), " ", nonce)
}

// AuthPrefix is the beginning of AuthPayload, which the header of a request tells. Then comes the body's
// sum, of AuthSumSize characters.
func AuthPrefix(method, uri string) string { return "jobeff1 " + method + " " + uri + " " }

// AuthSumSize is the length of the body's sum in AuthPayload.
const AuthSumSize = 2 * sha256.Size

// Problem is what every answer says that is not 200 (RFC 9457). Pages answer people in plain text.
type Problem struct {
	Type   string `json:"type,omitempty"`   // ProblemType and its name
	Title  string `json:"title,omitempty"`  // the same words for each problem of the type
	Status int    `json:"status"`           // of HTTP
	Detail string `json:"detail,omitempty"` // what is wrong with this request
	Hint   string `json:"hint,omitempty"`   // what to do next
}

// ProblemType is how the type of every problem of jobeffd begins. So nobody takes another server's for one.
const ProblemType = "urn:jobeff:"

// BatchAnswer is the answer to one line of a batch: the status 200, or the problem that this report
// alone would have.
type BatchAnswer struct {
	New bool `json:"new,omitempty"`
	Problem
}

// ErrNewer marks what a later version wrote. It is not wrong: keep it until the server is
// upgraded.
var ErrNewer = errors.New("the report is of a later version of jobeff: upgrade jobeffd first")

// MaxReportBytes bounds a report, as JSON.
const MaxReportBytes = 32 << 20

// Limits of a batch, checked by client and server.
const (
	MaxBatchBytes = 1 << 20
	MaxBatchLines = 4096
)

// ErrTooLarge says that a report decompresses to more than MaxReportBytes.
var ErrTooLarge = fmt.Errorf("the report is larger than %d MiB", MaxReportBytes>>20)

// packer makes zstd at its fastest. A short process has a few hundred KiB for it.
var packer = sync.OnceValue(func() *zstd.Encoder {
	z, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)) // valid options
	return z
})

// Compress makes the form in which reports wait in outboxes, travel, and lie in the database.
func Compress(text []byte) []byte { return packer().EncodeAll(text, nil) }

// unpackers read zstd: one this program's own data, the other data from elsewhere.
var (
	unpacker       = sync.OnceValue(func() *zstd.Decoder { return newUnpacker(math.MaxInt64) })
	reportUnpacker = sync.OnceValue(func() *zstd.Decoder { return newUnpacker(MaxReportBytes) })
	logsUnpacker   = sync.OnceValue(func() *zstd.Decoder { return newUnpacker(MaxLogsText) })
)

func newUnpacker(most uint64) *zstd.Decoder {
	z, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(most)) // valid options
	return z
}

// Decompress reads what Compress made.
func Decompress(packed []byte) ([]byte, error) { return decompress(nil, packed, unpacker) }

// DecompressReport reads a report from elsewhere, of at most TextSize. It uses the memory of text
// if that suffices.
func DecompressReport(text, packed []byte) ([]byte, error) {
	text, err := decompress(text, packed, reportUnpacker)
	if err == nil && int64(len(text)) > TextSize(packed, int64(len(packed))) {
		err = errors.New("it unpacks to more than it says")
	}
	return text, err
}

// decompressLogs reads logs from elsewhere.
func decompressLogs(packed []byte) ([]byte, error) {
	if Encoding(packed) == "" {
		return nil, errors.New("the logs are not zstd")
	}
	return decompress(nil, packed, logsUnpacker)
}

// TextSizeHead is how much of a report TextSize looks at, bytes.
const TextSizeHead = zstd.HeaderMaxSize

// TextSize is how large the text of a report of size bytes may be. Its head says that, if Compress
// made it.
func TextSize(head []byte, size int64) int64 {
	most := size
	if Encoding(head) != "" {
		var h zstd.Header
		if most = MaxReportBytes; h.Decode(head[:min(len(head), TextSizeHead)]) == nil && h.HasFCS && h.FrameContentSize < MaxReportBytes {
			most = int64(h.FrameContentSize)
		}
	}
	return min(max(most, size), MaxReportBytes)
}

func decompress(into, packed []byte, unpacker func() *zstd.Decoder) ([]byte, error) {
	text, err := unpacker().DecodeAll(packed, into[:0])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = ErrTooLarge
	}
	return text, err
}

// Encoding is HTTP's word for the compression of b; "" if there is none. It looks at the first
// bytes (RFC 8878, 3.1.1); no JSON begins with these.
func Encoding(b []byte) string {
	if bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return "zstd"
	}
	return ""
}

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
	case l.Version < 1, l.JobID == 0, !IsHex32(l.Nonce), !slurmid.IsName(l.Node, mostName), !slurmid.IsName(l.Cluster, 64):
		return nil, errors.New("the logs do not say which job on which node they are of")
	case l.Size < 2, l.Ranks < 1, l.Ranks >= l.Size, l.Key == "", l.ClockError < 0:
		return nil, fmt.Errorf("the logs are of %d ranks of %d, of which no execution on several nodes is", l.Ranks, l.Size)
	case l.Entries < 0:
		return nil, fmt.Errorf("the logs say that they have %d entries", l.Entries)
	}
	l.Key, l.Text = CleanText(l.Key, mostName), text // as in the report
	return l, nil
}

// OutboxState is what a node's spool holds. The sender tells it to jobeffd.
type OutboxState struct {
	Waiting int           `json:"waiting"`
	Oldest  time.Duration `json:"oldest_ns"` // age of the oldest waiting report; 0: none waits
	Refused int           `json:"refused"`   // set aside for good
	Cut     int           `json:"cut"`       // reports that were dropped and of which a line says so, since full.log began
	Lost    int           `json:"lost"`      // … and reports that were lost entirely
}

// OutboxHeader is the request header in which OutboxState travels beside a report.
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

// AlarmHeader says in jobeffd's answer to a report whether an alarm is up: AlarmUp or AlarmDown.
const (
	AlarmHeader = "Jobeff-Alarm"
	AlarmUp     = "up"
	AlarmDown   = "down"
)
