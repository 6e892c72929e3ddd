// Package wire defines what travels between nodes, jobeffd and people: packed reports and logs, the
// bounds that make a hostile report harmless, and the words of HTTP that client and server share.
// Before it stands ingest/job, whose types check which figures are possible; node, client, store
// and server come after it.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"github.com/klauspost/compress/zstd"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
)

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

// unpacker reads what this program packed itself. The other two read what came from elsewhere, and
// bound it.
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

// TextSize bounds the text of a report that is size bytes long. If Compress made the report, its head
// names the bound.
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

// MaxLogsBytes bounds packed logs with their head, MaxLogsText the same unpacked, and mostHead the
// head alone.
const (
	MaxLogsBytes = 1<<20 + mostHead
	MaxLogsText  = 16<<20 + mostHead
	mostHead     = 4 * maxText
)

// Pack makes what travels, compressed: a line that says whose logs they are and how many entries they
// have, then the text. It returns nil if the line cannot be written.
func (l NodeLogs) Pack(text []byte, entries int) []byte {
	l.Version, l.Entries = logsVersion, entries
	head, err := json.Marshal(l)
	if err != nil { // a year beyond 9999
		return nil
	}
	return Compress(slices.Concat(head, []byte("\n"), text))
}

// DecodeLogs unpacks logs as they travel, and checks the head. replay.Check and replay.Unpack check
// the text.
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
	case l.Version < 1, l.JobID == 0, !IsHex32(l.Nonce), !slurmid.IsName(l.Node, job.MostName), !slurmid.IsName(l.Cluster, 64):
		return nil, errors.New("the logs do not say which job on which node they are of")
	case l.Size < 2, l.Ranks < 1, l.Ranks >= l.Size, l.Key == "", l.ClockError < 0:
		return nil, fmt.Errorf("the logs are of %d ranks of %d, of which no execution on several nodes is", l.Ranks, l.Size)
	case l.Entries < 0:
		return nil, fmt.Errorf("the logs say that they have %d entries", l.Entries)
	}
	l.Key, l.Text = CleanText(l.Key, job.MostName), text // as in the report
	return l, nil
}
