package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestBar: a short task shows nothing, and a long one how far it is. Without a terminal neither
// shows anything.
func TestBar(t *testing.T) {
	var soon, long bytes.Buffer
	b := barOn(&soon, "jobs", 0, time.Now().Add(time.Hour))
	b.Progress(3, 10)
	b.Done()
	if soon.Len() > 0 {
		t.Errorf("over soon: %q", &soon)
	}
	b = barOn(&long, "jobs", 10, time.Now())
	b.Progress(3, 10)
	if got := long.String(); !strings.Contains(got, "jobs") || !strings.Contains(got, "3/10") {
		t.Errorf("%q", got)
	}
	before := long.Len()
	b.Done()
	if after := long.String()[before:]; !strings.HasSuffix(after, "\r") || strings.Contains(strings.TrimSpace(after[strings.LastIndex(strings.TrimRight(after, "\r"), "\r")+1:]), "jobs") {
		t.Errorf("the bar stays: %q", after)
	}
	none := NewBar("jobs", -1) // a test's standard error is a pipe
	none.Set(1)
	none.Progress(1, 2)
	none.Done()
	if none.shown != nil {
		t.Error("a bar on what is no terminal")
	}
}
