package report

import (
	"bytes"
	"testing"

	"jobeff/report/words"
)

func arrayHTML(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := words.ArrayHTML(&b, arrayTasks(), true, siteLinks); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
