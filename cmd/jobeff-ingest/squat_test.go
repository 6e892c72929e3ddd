package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/node"
	"jobeff/ingest/wire"
	"jobeff/test/mungetest"
)

// squatter answers at jobeffd's port as jobeffd would: that it took all reports, or that it will never take them.
func squatter(w http.ResponseWriter, r *http.Request, refuses bool) {
	text, _ := io.ReadAll(r.Body)
	if r.Header.Get("Content-Encoding") == "zstd" {
		text, _ = wire.DecompressReport(nil, text)
	}
	w.Header().Set(wire.AlarmHeader, wire.AlarmUp)
	switch _, credential, _ := strings.Cut(r.Header.Get("Authorization"), " "); {
	case refuses:
		w.Header().Set("Jobeff-Proof", credential) // root's, and of this request
		w.WriteHeader(http.StatusGone)
		io.WriteString(w, `{"type":"urn:jobeff:gone","detail":"the job is old","status":410}`)
	case strings.HasSuffix(r.URL.Path, "batch"):
		var answers []wire.BatchAnswer
		for range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
			answers = append(answers, wire.BatchAnswer{New: true, Problem: wire.Problem{Status: http.StatusOK}})
		}
		json.NewEncoder(w).Encode(map[string]any{"answers": answers})
	default:
		io.WriteString(w, `{"new":true}`)
	}
}

// TestSquatter: somebody else listens at jobeffd's port while it is away. The node keeps its reports, sets none
// aside, and hears of no alarm.
func TestSquatter(t *testing.T) {
	socket := mungetest.Start(t)
	for name, refuses := range map[string]bool{"takes all": false, "refuses all": true} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { squatter(w, r, refuses) }))
			defer s.Close()
			spool, config := t.TempDir(), filepath.Join(t.TempDir(), "jobeff.toml")
			for id := range uint32(3) {
				if _, err := (node.Outbox{Spool: spool}).Write(jobtest.Report(1+id, "n1", fmt.Sprintf("%032x", id))); err != nil {
					t.Fatal(err)
				}
			}
			before, _, err := node.ReportsIn(node.OutboxDir(spool))
			os.WriteFile(config, fmt.Appendf(nil, "[report]\nto = %q\nspool = %q\n[munge]\nsocket = %q\n", s.URL, spool, socket), 0o644)
			cmd := sendCommand()
			cmd.SetArgs([]string{"--config", config})
			cmd.SetOut(io.Discard)
			cmd.SetErr(io.Discard)
			if cmd.Execute() == nil {
				t.Error("send says that all were sent")
			}
			kept, _, _ := node.ReportsIn(node.OutboxDir(spool))
			if err != nil || before == 0 || kept != before {
				t.Errorf("%d of %d reports are kept, %v", kept, before, err)
			}
			if set, _ := filepath.Glob(filepath.Join(node.RefusedDir(spool), "*")); len(set) > 0 {
				t.Errorf("set aside: %v", set)
			}
			if node.Alarm(spool) {
				t.Error("an alarm is up")
			}
		})
	}
}
