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

// ErrTooLarge is that a report unfolds to more than MaxReportBytes.
var ErrTooLarge = fmt.Errorf("the report is larger than %d MiB", MaxReportBytes>>20)

// packer makes zstd, as fast as it goes: it takes a little less time than the fastest gzip,
// and half of gzip's to read, which jobeffd does with every report. A short process has a few
// hundred KiB of memory for it.
var packer = sync.OnceValue(func() *zstd.Encoder {
	z, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)) // valid options
	return z
})

// Compress is the form in which reports stand in outboxes, go over the wire and lie in the
// database.
func Compress(text []byte) []byte { return packer().EncodeAll(text, nil) }

// unpackers read zstd: what this program wrote itself, and what comes from elsewhere.
var (
	unpacker       = sync.OnceValue(func() *zstd.Decoder { return newUnpacker(math.MaxInt64) })
	reportUnpacker = sync.OnceValue(func() *zstd.Decoder { return newUnpacker(MaxReportBytes) })
)

func newUnpacker(most uint64) *zstd.Decoder {
	z, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(most)) // valid options
	return z
}

// Decompress reads what Compress made, or gzip, which it made once.
func Decompress(packed []byte) ([]byte, error) {
	return decompress(nil, packed, unpacker, math.MaxInt64-1)
}

// DecompressReport does so with what came from elsewhere, into the memory of text where it
// suffices.
func DecompressReport(text, packed []byte) ([]byte, error) {
	return decompress(text, packed, reportUnpacker, MaxReportBytes)
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

// Encoding is HTTP's word for how something is packed, "" where it is not: it tells by the
// first bytes (RFC 8878, 3.1.1; RFC 1952, 2.3.1), with which no JSON begins.
func Encoding(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "zstd"
	case bytes.HasPrefix(b, []byte{0x1f, 0x8b}):
		return "gzip"
	}
	return ""
}
