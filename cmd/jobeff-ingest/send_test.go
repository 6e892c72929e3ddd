package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/ingest/wire"
)

// TestSend runs the subcommand against a server that refuses job 2 for good and
// job 3 for now.
func TestSend(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		packed, _ := io.ReadAll(r.Body)
		body, err := wire.DecompressReport(nil, packed)
		if err != nil {
			t.Error(err)
		}
		switch {
		case bytes.Contains(body, []byte(`"job_id":2,`)):
			w.WriteHeader(400)
			io.WriteString(w, `{"type":"urn:jobeff:x","detail":"bad\u001b[31m","hint":"look"}`)
		case bytes.Contains(body, []byte(`"job_id":3,`)):
			w.WriteHeader(503)
			io.WriteString(w, `{"type":"urn:jobeff:x","detail":"busy"}`)
		default:
			io.WriteString(w, `{"new":true}`)
		}
	})}
	go srv.Serve(l)
	defer srv.Close()
	config := filepath.Join(dir, "jobeff.toml")
	newer, unknown := filepath.Join(dir, "newer"), fmt.Sprintf("test-7-%032x.json.xz", 7)
	if err := node.WriteDurable(makeOutbox(t, newer), unknown, []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name         string // "…: to X" and "…: spool Y" send elsewhere
		jobs         []uint32
		args         []string
		code         int
		out, problem string
	}{
		{"nothing", nil, nil, 0, "0 sent, 0 kept for the next time, 0 refused\n", ""},
		{"one", []uint32{1}, nil, 0, "1 sent, 0 kept for the next time, 0 refused\n", ""},
		{"quiet", []uint32{1, 3}, []string{"--quiet", "--jitter", "10ms"}, 0, "", ""},
		{"kept", nil, nil, 1, "0 sent, 1 kept for the next time, 0 refused\n", "busy\njobeff-ingest: 1 report kept in " + dir + "/spool/outbox\n"},
		{"refused", []uint32{1, 2}, nil, 1, "1 sent, 1 kept for the next time, 1 refused\n",
			"jobeff-ingest: jobeffd refused 1 report: the reports and the reasons are in " + dir + "/spool/refused\n"},
		{"refused, quiet", []uint32{2}, []string{"-q"}, 1, "", "jobeffd refused 1 report"},
		{"nobody there: to unix:" + dir + "/none", nil, nil, 1, "0 sent, 1 kept for the next time, 0 refused\n", "cannot be reached at unix:" + dir + "/none"},
		{"another: spool " + dir + "/other", nil, nil, 0, "0 sent, 0 kept for the next time, 0 refused\n", ""},
		{"bad address: to head:1", nil, nil, 1, "", "report.to: \"head:1\" is not an address of jobeffd"},
		{"a newer report: spool " + newer, nil, nil, 1, "0 sent, 1 kept for the next time, 0 refused\n",
			"jobeff-ingest: " + unknown + ": this jobeff-ingest does not know such a file: a newer one wrote it; install that version again\n"},
		{"an argument", nil, []string{"x"}, 1, "", "unknown command \"x\""},
	} {
		for _, j := range c.jobs {
			r := &job.NodeReport{Version: 1, Sequence: 1, Cluster: "test", JobID: j, Nonce: fmt.Sprintf("%032x", j), Node: "n1", Start: time.Now(), End: time.Now(), Processes: 1}
			if _, err := (node.Outbox{Spool: filepath.Join(dir, "spool")}).Write(r); err != nil {
				t.Fatal(err)
			}
		}
		to, spool := "unix:"+socket, dir+"/spool"
		if _, other, is := strings.Cut(c.name, ": to "); is {
			to = other
		} else if _, other, is := strings.Cut(c.name, ": spool "); is {
			spool = other
		}
		os.WriteFile(config, fmt.Appendf(nil, "[report]\nto = %q\nspool = %q\ntimeout = \"2s\"\n", to, spool), 0o644)
		var out, errOut bytes.Buffer
		code := run(append([]string{"send", "--config", config}, c.args...), os.Getenv, &out, &errOut)
		if code != c.code || out.String() != c.out || !strings.Contains(errOut.String(), c.problem) || (c.problem == "") != (errOut.Len() == 0) {
			t.Errorf("%s: exit %d, out %q, err %q", c.name, code, &out, &errOut)
		}
		if strings.Contains(errOut.String(), "\x1b") {
			t.Errorf("%s: a terminal's escape in %q", c.name, &errOut)
		}
	}
}

// makeOutbox makes a spool's outbox.
func makeOutbox(t *testing.T, spool string) (dir string) {
	t.Helper()
	dir = node.OutboxDir(spool)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
