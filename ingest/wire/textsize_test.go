package wire

import (
	"bytes"
	"errors"
	"testing"
)

// TestTextSize: what Compress makes says the size of its text, and what says too little is refused.
func TestTextSize(t *testing.T) {
	for _, size := range []int{256, 1000, 70_000, 1 << 20, 1<<20 + 1, MaxReportBytes} {
		text := bytes.Repeat([]byte("7"), size)
		packed := Compress(text)
		if got := TextSize(packed[:min(len(packed), TextSizeHead)], int64(len(packed))); got != int64(max(size, len(packed))) {
			t.Errorf("%d bytes: TextSize is %d", size, got)
		}
		if got, err := DecompressReport(nil, packed); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	small, large := Compress(bytes.Repeat([]byte(" "), 300)), Compress(bytes.Repeat([]byte(" "), 1<<20))
	if _, err := DecompressReport(nil, append(small, large...)); err == nil || errors.Is(err, ErrTooLarge) {
		t.Errorf("a second frame: %v", err)
	}
	for name, c := range map[string]struct {
		packed []byte
		want   int64
	}{
		"text":                {[]byte(`{"version":1}`), 13},
		"zstd without a size": {[]byte("\x28\xb5\x2f\xfd\x00\x58"), MaxReportBytes},
		"zstd that says 2^63": {[]byte("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x80"), MaxReportBytes},
		"cut":                 {[]byte("\x28\xb5\x2f\xfd"), MaxReportBytes},
	} {
		if got := TextSize(c.packed, int64(len(c.packed))); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
