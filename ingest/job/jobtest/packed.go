package jobtest

import (
	"os"
	"testing"

	"jobeff/ingest/wire"
)

// PackedText is the JSON that a packed file holds.
func PackedText(t *testing.T, path string) []byte {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := wire.DecompressReport(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
