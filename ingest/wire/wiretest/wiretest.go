// Package wiretest reads packed files for tests: of the node's outbox before it, of the client that sends
// them after it.
package wiretest

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
