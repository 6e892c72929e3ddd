package job

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// ErrTooLarge says that a report decompresses to more than MaxReportBytes.
var ErrTooLarge = fmt.Errorf("the report is larger than %d MiB", MaxReportBytes>>20)

// packer makes zstd at its fastest. That takes a little less time than the fastest gzip, and
// half of gzip's time to read, which jobeffd does with every report. A short process has a few
// hundred KiB for it.
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

// Decompress reads what Compress made, or the gzip that it made in earlier versions.
func Decompress(packed []byte) ([]byte, error) {
	return decompress(nil, packed, unpacker, math.MaxInt64-1)
}

// DecompressReport reads a report from elsewhere, of at most TextSize. It uses the memory of text
// if that suffices.
func DecompressReport(text, packed []byte) ([]byte, error) {
	text, err := decompress(text, packed, reportUnpacker, MaxReportBytes)
	if err == nil && int64(len(text)) > TextSize(packed, int64(len(packed))) {
		err = errors.New("it unpacks to more than it says")
	}
	return text, err
}

// decompressLogs reads logs from elsewhere. No node makes gzip of them.
func decompressLogs(packed []byte) ([]byte, error) {
	if Encoding(packed) != "zstd" {
		return nil, errors.New("the logs are not zstd")
	}
	return decompress(nil, packed, logsUnpacker, MaxLogsText)
}

// TextSizeHead is how much of a report TextSize looks at, bytes.
const TextSizeHead = zstd.HeaderMaxSize

// TextSize is how large the text of a report of size bytes may be. Its head says that, if Compress
// made it.
func TextSize(head []byte, size int64) int64 {
	const gzipMost = 1032 // times its size (zlib's own documentation)
	most := size
	switch Encoding(head) {
	case "gzip":
		most = gzipMost * size
	case "zstd":
		var h zstd.Header
		if most = MaxReportBytes; h.Decode(head[:min(len(head), TextSizeHead)]) == nil && h.HasFCS && h.FrameContentSize < MaxReportBytes {
			most = int64(h.FrameContentSize)
		}
	}
	return min(max(most, size), MaxReportBytes)
}

func decompress(into, packed []byte, unpacker func() *zstd.Decoder, limit int64) ([]byte, error) {
	if Encoding(packed) == "gzip" {
		return gunzip(into, packed, limit)
	}
	text, err := unpacker().DecodeAll(packed, into[:0])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = ErrTooLarge
	}
	return text, err
}

var gunzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

func gunzip(into, packed []byte, limit int64) ([]byte, error) {
	z := gunzippers.Get().(*gzip.Reader)
	defer gunzippers.Put(z)
	if err := z.Reset(bytes.NewReader(packed)); err != nil {
		return nil, err
	}
	text := bytes.NewBuffer(into[:0])
	n, err := text.ReadFrom(io.LimitReader(z, limit+1))
	if n > limit {
		err = ErrTooLarge
	}
	return text.Bytes(), err
}

// Encoding is HTTP's word for the compression of b; "" if there is none. It looks at the first
// bytes (RFC 8878, 3.1.1; RFC 1952, 2.3.1); no JSON begins with these.
func Encoding(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "zstd"
	case bytes.HasPrefix(b, []byte{0x1f, 0x8b}):
		return "gzip"
	}
	return ""
}
