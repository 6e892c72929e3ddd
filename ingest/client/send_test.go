package client

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/listing"
	"jobeff/ingest/node"
	"jobeff/ingest/wire"
)

// taken is jobeffd's answer to a report that it has.
const taken = `{"new":true}`

// fakeMunge makes a credential of its payload, and believes each.
type fakeMunge struct{}

func (fakeMunge) Sign(payload []byte) (string, error) { return hex.EncodeToString(payload), nil }

func (fakeMunge) Cluster() string { return "" }

func (fakeMunge) Payload(cred string) ([]byte, error) { return hex.DecodeString(cred) }

// noMunge is a machine without munge.
type noMunge struct{ fakeMunge }

func (noMunge) Sign([]byte) (string, error) { return "", errors.New("no munge") }

// fakeServer is jobeffd as scripted by a test, on a real unix socket.
type fakeServer struct {
	mu     sync.Mutex
	got    []uint32 // job ids of the reports
	posts  int
	answer func(job uint32) (status int, body string)
	retry  string            // Retry-After of every answer
	look   func(http.Header) // at a request's header; may be nil
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") == "zstd" {
		text, err = wire.DecompressReport(nil, text)
	}
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.posts++
	if f.look != nil {
		f.look(r.Header)
	}
	w.Header().Set("Retry-After", f.retry)
	switch batch := r.URL.Path == "/v1/reports/batch"; {
	case !batch:
		status, text := f.take(text)
		w.WriteHeader(status)
		io.WriteString(w, text)
	default:
		var answers []wire.BatchAnswer
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			var a wire.BatchAnswer
			status, text := f.take(line)
			json.Unmarshal([]byte(text), &a)
			a.Status = status
			answers = append(answers, a)
		}
		json.NewEncoder(w).Encode(map[string]any{"answers": answers})
	}
}

// take takes one report.
func (f *fakeServer) take(text []byte) (status int, answer string) {
	var report job.NodeReport
	json.Unmarshal(text, &report)
	f.got = append(f.got, report.JobID)
	return f.answer(report.JobID)
}

func (f *fakeServer) start(t *testing.T) (addr string) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: f}}
	s.Start()
	t.Cleanup(s.Close)
	return "unix:" + path
}

// send empties the spool into it.
func send(t *testing.T, f *fakeServer, spool string) SendResult {
	t.Helper()
	res, err := (&Sender{Spool: spool, Client: NewClient(f.start(t), 10*time.Second, nil)}).Send(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func fill(t *testing.T, spool string, jobs ...uint32) {
	for _, j := range jobs {
		if _, err := (node.Outbox{Spool: spool}).Write(jobtest.Report(j, "n1", fmt.Sprintf("%032x", j))); err != nil {
			t.Fatal(err)
		}
	}
}

// names lists the files of a folder, without hidden ones.
func names(t *testing.T, dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	return out
}

// refused is the name of a job's file, or of its line's where that is refused.
func refused(j uint32) string { return fmt.Sprintf("1001.test-%d-%032x.json.zst", j, j) }

func TestSend(t *testing.T) {
	said := func(word string) string { return `{"type":"urn:jobeff:x","detail":"` + word + `","hint":"h"}` }
	for _, c := range []struct {
		name         string
		status       int
		body         string
		kept, setOff bool
		problem      string
	}{
		{"taken", 200, taken, false, false, ""},
		{"bad", 400, said("bad"), false, true, "bad: h"},
		{"forbidden", 403, said("no"), false, true, "no: h"},
		{"too large", 413, said("large"), false, true, "large: h"},
		{"unauthorized", 401, said("old"), true, false, "old: h"},
		{"too many", 429, said("many"), true, false, "many: h"},
		{"packed otherwise than it says", 415, said("what"), true, false, "what: h"},
		{"unavailable", 503, said("busy"), true, false, "busy: h"},
		{"failed", 500, said("bug"), true, false, "bug: h"},
		{"another server", 404, "<html>", true, false, "is not jobeffd"},
		{"moved", 301, "", true, false, "is not jobeffd"},
		{"a page to log in", 200, "<html>", true, false, "is not jobeffd"},
		{"a problem of another program", 404, `{"type":"about:blank","title":"Not Found","status":404,"detail":"no such path"}`, true, false, "is not jobeffd"},
		{"an empty answer", 200, "", true, false, "is not jobeffd"},
		{"another program's", 200, "{}", true, false, "is not jobeffd"},
		{"hostile text", 400, `{"type":"urn:jobeff:x","detail":"b\u001b[2J\nad","hint":"h"}`, false, true, "b?[2J?ad: h"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Job 5 gets the answer, all others are taken.
			f := &fakeServer{answer: func(j uint32) (int, string) {
				if j == 5 {
					return c.status, c.body
				}
				return 200, taken
			}}
			spool := t.TempDir()
			fill(t, spool, 1, 2, 3, 4, 5, 6, 7, 8, 9)
			client := NewClient(f.start(t), time.Second, nil)
			res, err := (&Sender{Spool: spool, Client: client}).Send(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if slices.Sort(f.got); !slices.Equal(f.got, []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
				t.Errorf("posted %v", f.got)
			}
			want := SendResult{Sent: 9}
			left, aside := []string{}, []string{}
			if c.kept {
				want = SendResult{Sent: 8, Kept: 1}
				left = []string{refused(5)}
			}
			if c.setOff {
				want = SendResult{Sent: 8, Refused: 1}
				aside = []string{refused(5), refused(5) + ".reason"}
			}
			checkProblem(t, res.Problems, c.problem)
			res.Problems = nil
			if d := cmp.Diff(want, res); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(left, names(t, node.OutboxDir(spool))); d != "" {
				t.Error("outbox", d)
			}
			if d := cmp.Diff(aside, names(t, node.RefusedDir(spool))); d != "" {
				t.Error("refused", d)
			}
			if c.setOff {
				reason, _ := os.ReadFile(filepath.Join(node.RefusedDir(spool), refused(5)+".reason"))
				if !strings.HasSuffix(string(reason), c.problem+"\n") {
					t.Errorf("reason %q", reason)
				}
			}
		})
	}
}

func checkProblem(t *testing.T, got []error, want string) {
	t.Helper()
	switch {
	case want == "" && len(got) == 0:
	case len(got) != 1 || want == "" || !strings.Contains(got[0].Error(), want) || !strings.HasPrefix(got[0].Error(), refused(5)):
		t.Errorf("problems %v, want %q", got, want)
	}
}

// TestImpostors: something else listens at jobeffd's address. It is sent nothing twice, it leads
// nobody elsewhere, it fills no memory, and the reports stay.
func TestImpostors(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	endless := func(w http.ResponseWriter, status int) (written int) {
		w.WriteHeader(status)
		io.WriteString(w, `{"type":"urn:jobeff:x","detail":"`)
		for some := bytes.Repeat([]byte("x"), 1<<20); written < 64<<20; written += len(some) {
			if _, err := w.Write(some); err != nil {
				break
			}
		}
		return written
	}
	for name, answer := range map[string]http.HandlerFunc{
		"302": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
		"307": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"a page that says OK":  func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<p>OK</p>") },
		"another service's OK": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"status":"ok"}`) },
		"an endless OK":        func(w http.ResponseWriter, _ *http.Request) { wantCut(t, endless(w, http.StatusOK)) },
		"an endless 400":       func(w http.ResponseWriter, _ *http.Request) { wantCut(t, endless(w, http.StatusBadRequest)) },
	} {
		s := httptest.NewServer(answer)
		l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Fatal(err)
		}
		socket := &httptest.Server{Listener: l, Config: &http.Server{Handler: answer}}
		socket.Start()
		for at, want := range map[string]string{s.URL: "does not prove that it is jobeffd", "unix:" + l.Addr().String(): "is not jobeffd"} {
			spool := t.TempDir()
			fill(t, spool, 1)
			res, err := (&Sender{Spool: spool, Client: NewClient(at, 10*time.Second, fakeMunge{})}).Send(context.Background())
			if err != nil || res.Kept != 1 || !strings.Contains(fmt.Sprint(res.Problems), want) {
				t.Errorf("%s: %v, %+v", name, err, res)
			}
		}
		s.Close()
		socket.Close()
	}
}

// wantCut checks that a client read only the beginning of an answer of 64 MiB.
func wantCut(t *testing.T, written int) {
	if written > 32<<20 {
		t.Errorf("%d bytes of an answer to a report were read", written)
	}
}

// TestSendPoison puts what is no report into the outbox.
func TestSendPoison(t *testing.T) {
	f := &fakeServer{answer: func(uint32) (int, string) { return 200, taken }}
	spool := t.TempDir()
	fill(t, spool, 1)
	box := node.OutboxDir(spool)
	os.Mkdir(filepath.Join(box, "folder.json"), 0o700)
	os.Symlink("/etc/passwd", filepath.Join(box, "link.json"))
	huge, _ := os.Create(filepath.Join(box, "huge.json"))
	huge.Truncate(1 << 40)
	huge.Close()
	os.WriteFile(filepath.Join(box, "note.txt"), nil, 0o600)
	dead, alive := filepath.Join(box, ".x.json.1"), filepath.Join(box, ".x.json.2")
	os.WriteFile(dead, nil, 0o600)
	os.WriteFile(alive, nil, 0o600)
	long := time.Now().Add(-2 * staleTemp)
	os.Chtimes(dead, long, long)

	res, err := (&Sender{Spool: spool, Client: NewClient(f.start(t), time.Second, nil)}).Send(context.Background())
	if err != nil || res.Sent != 1 || res.Refused != 3 || res.Kept != 0 {
		t.Errorf("%v, %+v", err, res)
	}
	if d := cmp.Diff([]uint32{1}, f.got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"note.txt"}, names(t, box)); d != "" {
		t.Error(d)
	}
	if _, err := os.Stat(dead); err == nil {
		t.Error("a dead writer's file is still there")
	}
	if _, err := os.Stat(alive); err != nil {
		t.Error("a living writer's file is gone")
	}
	want := []string{"folder.json", "folder.json.reason", "link.json", "link.json.reason"} // huge.json is beyond the bound
	if d := cmp.Diff(want, names(t, node.RefusedDir(spool))); d != "" {
		t.Error(d)
	}
}

// TestSendAway: with no server, or one that takes connections and never answers,
// a round ends after givesUp tries and keeps everything.
func TestSendAway(t *testing.T) {
	hole, err := net.Listen("unix", filepath.Join(t.TempDir(), "hole"))
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	for _, c := range []struct{ name, addr, problem string }{
		{"none", "unix:" + filepath.Join(t.TempDir(), "none"), "cannot be reached"},
		{"black hole", "unix:" + hole.Addr().String(), "does not answer in time"},
		{"closed port", "http://127.0.0.1:1", "cannot be reached"},
	} {
		spool := t.TempDir()
		fill(t, spool, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		client := NewClient(c.addr, 100*time.Millisecond, fakeMunge{})
		res, err := (&Sender{Spool: spool, Client: client}).Send(context.Background())
		if err != nil || res.Sent != 0 || res.Kept != 9 || res.Refused != 0 || len(res.Problems) != givesUp {
			t.Errorf("%s: %v, %+v", c.name, err, res)
			continue
		}
		if !strings.Contains(res.Problems[0].Error(), c.problem) {
			t.Errorf("%s: %v", c.name, res.Problems[0])
		}
		if got := names(t, node.OutboxDir(spool)); len(got) != 9 {
			t.Errorf("%s: %d files left", c.name, len(got))
		}
	}
}

// TestSendNoCredential: without munge nothing is sent and nothing is lost.
func TestSendNoCredential(t *testing.T) {
	spool := t.TempDir()
	fill(t, spool, 1)
	client := NewClient("http://127.0.0.1:1", time.Second, noMunge{})
	res, err := (&Sender{Spool: spool, Client: client}).Send(context.Background())
	if err != nil || res.Kept != 1 || !strings.Contains(fmt.Sprint(res.Problems), "no munge") {
		t.Errorf("%v, %+v", err, res)
	}
}

// TestSendTogether starts many senders while reports arrive: each report is
// posted once, and none is left when the last sender has ended.
func TestSendTogether(t *testing.T) {
	f := &fakeServer{answer: func(uint32) (int, string) { time.Sleep(2 * time.Millisecond); return 200, taken }}
	addr := f.start(t)
	spool := t.TempDir()
	var wg sync.WaitGroup
	for j := uint32(1); j <= 40; j++ {
		wg.Go(func() {
			if _, err := (node.Outbox{Spool: spool}).Write(jobtest.Report(j, "n1", fmt.Sprintf("%032x", j))); err != nil {
				t.Error(err)
			}
			s := &Sender{Spool: spool, Client: NewClient(addr, 5*time.Second, nil), Jitter: 5 * time.Millisecond}
			if _, err := s.Send(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	slices.Sort(f.got)
	if got := slices.Compact(slices.Clone(f.got)); len(got) != 40 || len(f.got) != 40 {
		t.Errorf("%d posts of %d jobs", len(f.got), len(got))
	}
	if left := names(t, node.OutboxDir(spool)); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// TestAskPatiently: the server tells the client to wait. It asks again, and in the end says so.
func TestAskPatiently(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits six times for a second")
	}
	for _, c := range []struct{ busy, asked int }{{1, 2}, {100, 1 + mostWaits}} {
		asked := 0
		f := &fakeServer{retry: "1", answer: func(uint32) (int, string) {
			if asked++; asked <= c.busy {
				return 429, `{"type":"urn:jobeff:x","detail":"busy","hint":"wait"}`
			}
			return 200, `{"workloads":[]}`
		}}
		client := NewClient(f.start(t), 5*time.Second, nil)
		_, err := client.Workloads(context.Background(), listing.WorkloadQuery{})
		if asked != c.asked || (err != nil) != (c.busy > mostWaits) {
			t.Errorf("busy %d times: asked %d times, %v", c.busy, asked, err)
		}
	}
}
