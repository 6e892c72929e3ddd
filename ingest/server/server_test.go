package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/rs/zerolog"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/munge"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
	"jobeff/test/mungetest"
)

var ctx = context.Background()

const (
	alice = 61001
	bob   = 61002
)

// TestMain lets the test's own program make requests as another user: only the kernel and munge
// say who asks.
func TestMain(m *testing.M) {
	if text := os.Getenv("JOBEFF_TEST_REQUEST"); text != "" {
		var r request
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			panic(err)
		}
		json.NewEncoder(os.Stdout).Encode(r.do())
		os.Exit(0)
	}
	if text := os.Getenv("JOBEFF_TEST_HOG"); text != "" {
		hold(text)
	}
	os.Exit(m.Run())
}

// request is what a client asks; Cred replaces the credential of a good client.
type request struct {
	Addr, Method, Path, Munge, Cred string
	Body                            []byte
	Header                          map[string]string
	UID                             int
}

type response struct {
	Status int
	Text   string
	Header http.Header
}

// do makes the request from the current process, and again where the credential must hold a challenge.
func (r request) do() response {
	got := r.once(nonce())
	if _, challenge, ok := strings.Cut(got.Header.Get("WWW-Authenticate"), `challenge="`); ok && r.Munge != "" && r.Cred == "" && got.Status == 401 {
		return r.once(nonce() + " " + strings.TrimSuffix(challenge, `"`))
	}
	return got
}

func (r request) once(nonces string) response {
	tr := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	base := r.Addr
	if path, ok := strings.CutPrefix(r.Addr, "unix:"); ok {
		base = "http://jobeffd"
		tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	req, err := http.NewRequest(r.Method, base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return response{Text: err.Error()}
	}
	for k, v := range r.Header {
		req.Header.Set(k, v)
	}
	if r.Munge != "" && r.Cred == "" {
		r.Cred, err = munge.Encode(r.Munge, wire.AuthPayload(r.Method, req.URL.RequestURI(), r.Body, nonces), 0)
		if err != nil {
			return response{Text: err.Error()}
		}
	}
	if r.Cred != "" {
		req.Header.Set("Authorization", "Munge "+r.Cred)
	}
	resp, err := (&http.Client{Transport: tr, Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		return response{Text: err.Error()}
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return response{resp.StatusCode, strings.TrimSpace(string(text)), resp.Header}
}

// textOf is the JSON that a node would send.
func textOf(r *job.NodeReport) []byte {
	text, _ := json.Marshal(r)
	return text
}

// keep adds a report to the store.
func keep(db *store.Store, r *job.NodeReport) (added bool, err error) {
	text := textOf(r)
	if added, err = db.AddReport(ctx, store.Sender{}, r, wire.Compress(text)); err == nil {
		_, err = db.Merge(ctx)
	}
	return added, err
}

// merged makes the figures of jobs all of whose nodes have reported.
func (s *testServer) merged(t *testing.T) {
	t.Helper()
	if _, err := s.store.Merge(ctx); err != nil {
		t.Fatal(err)
	}
}

// as makes the request as another user, in a process of its own.
func (r request) as(t *testing.T, uid int) response {
	t.Helper()
	r.UID = uid
	text, _ := json.Marshal(r)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"JOBEFF_TEST_REQUEST=" + string(text)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got response
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func nonce() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// testServer is a server on a unix socket and on TCP, with a munged.
type testServer struct {
	unix, tcp, munge string
	server           *Server
	store            *store.Store
	log              *lockedBuffer
	reported         atomic.Int32
}

// shared is a directory that other users can reach; they cannot reach t.TempDir.
func shared(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jobeffd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func start(t testing.TB, change ...func(*Options)) *testServer {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("requests as several users need root")
	}
	dir := shared(t)
	var err error
	s := &testServer{munge: mungetest.Start(t), log: new(lockedBuffer)}
	if s.store, err = store.Open(filepath.Join(dir, "db", "jobeff.db")); err != nil {
		t.Fatal(err)
	}
	l, err := ListenUnix(filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := ListenTCP("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.unix, s.tcp = "unix:"+l.Addr().String(), "http://"+tcp.Addr().String()
	o := Options{Store: s.store, Log: zerolog.New(s.log), Operators: []uint32{bob}, MungeSocket: s.munge,
		Reported: func(string) { s.reported.Add(1) }}
	for _, f := range change {
		f(&o)
	}
	t.Cleanup(func() { s.store.Close() })
	s.server = serve(t, o, l, tcp)
	return s
}

// serve runs a server until the test ends.
func serve(t testing.TB, o Options, listeners ...net.Listener) *Server {
	t.Helper()
	s := New(o)
	run, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- s.Serve(run, listeners...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func report(id uint32, uid uint32) *job.NodeReport {
	begin := time.Now().Add(-time.Minute).UTC()
	return &job.NodeReport{Version: 1, Sequence: 1, Cluster: "test", JobID: id, Nonce: fmt.Sprintf("%032x", id), UID: uid, Node: "n1", NNodes: 1,
		Start: begin, End: begin.Add(20 * time.Second), Decision: "on",
		Executions: []job.Execution{{Key: "k", KeyFrom: "pmix", Size: 1, Start: begin, End: begin.Add(time.Second), Endings: map[string]int{"finalized": 1},
			Nodes: []job.NodeShare{{Node: "n1", Ranks: 1, Useful: time.Second, UsefulMax: time.Second, ElapsedMax: time.Second, RankIDs: "0"}}}}}
}

func body(t testing.TB, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// zstdStream is zstd that does not state the size of its content.
func zstdStream(t *testing.T, text []byte) []byte {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	z.Write(text[:len(text)/2])
	z.Flush()
	z.Write(text[len(text)/2:])
	z.Close()
	return b.Bytes()
}

// rows counts the jobs that root sees.
func (s *testServer) rows(t *testing.T) int {
	t.Helper()
	list, err := s.store.Jobs(ctx, store.Viewer{All: true}, listing.JobQuery{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Jobs)
}

func (s *testServer) check(t *testing.T, name string, got response, status int, text string) {
	t.Helper()
	if got.Status != status || !strings.Contains(got.Text, text) {
		t.Errorf("%s: got %d %s, want %d %s", name, got.Status, got.Text, status, text)
	}
}

// TestWhoMay: only root reports. Jobs are for their owners and for operators. The socket and
// munge behave alike.
func TestWhoMay(t *testing.T) {
	s := start(t)
	for i, addr := range []string{s.unix, s.tcp} {
		number := uint32(100 + i)
		id := fmt.Sprint(number)
		req := func(method, path string, body []byte) request {
			r := request{Addr: addr, Method: method, Path: path, Body: body}
			if addr == s.tcp {
				r.Munge = s.munge
			}
			return r
		}
		post := req("POST", "/v1/reports", body(t, report(number, alice)))
		s.check(t, "a user posts", post.as(t, alice), 403, `"detail":"uid 61001 may not report"`)
		s.check(t, "an operator posts", post.as(t, bob), 403, "may not report")
		s.check(t, "root posts", post.do(), 200, `{"new":true}`)
		s.check(t, "root posts again", post.do(), 200, `{"new":false}`)
		s.merged(t)
		get := req("GET", "/v1/jobs/"+id, nil)
		s.check(t, "the owner reads", get.as(t, alice), 200, `"job_id":`+id)
		s.check(t, "an operator reads", get.as(t, bob), 200, `"job_id":`+id)
		s.check(t, "root reads", get.do(), 200, `"parallel_efficiency":1`)
		others := get.as(t, 61003)
		nothing := req("GET", "/v1/jobs/999", nil).as(t, 61003)
		s.check(t, "another reads", others, 404, "was not found")
		if d := cmp.Diff(strings.ReplaceAll(others.Text, id, "N"), strings.ReplaceAll(nothing.Text, "999", "N")); d != "" {
			t.Errorf("another's job and no job differ: %s", d)
		}
		list := req("GET", "/v1/jobs", nil)
		s.check(t, "another lists", list.as(t, 61003), 200, `{"jobs":[]}`)
		s.check(t, "another lists the owner's", req("GET", "/v1/jobs?user=61001", nil).as(t, 61003), 200, `{"jobs":[]}`)
		s.check(t, "the owner lists", list.as(t, alice), 200, `"job_id":`+id)
		s.check(t, "an operator lists the owner's", req("GET", "/v1/jobs?user=61001", nil).as(t, bob), 200, `"job_id":`+id)
		s.check(t, "an operator lists their own", req("GET", "/v1/jobs?user=61002", nil).as(t, bob), 200, `{"jobs":[]}`)
	}
	if n := s.rows(t); n != 2 || s.reported.Load() != 2 {
		t.Errorf("%d rows, %d new reports", n, s.reported.Load())
	}
	if text := s.log.String(); strings.Contains(text, "MUNGE:") {
		t.Error("a credential is in the log")
	}
}

// TestCredentials: every fault of a credential on TCP is refused, and nothing is kept.
func TestCredentials(t *testing.T) {
	s := start(t)
	text := body(t, report(7, alice))
	encode := func(socket string, payload []byte, ttl time.Duration) string {
		cred, err := munge.Encode(socket, payload, ttl)
		if err != nil {
			t.Fatal(err)
		}
		return cred
	}
	good := wire.AuthPayload("POST", "/v1/reports", text, nonce())
	expired := encode(mungetest.Skewed(t, s.munge, "-1h"), good, time.Second)
	same := nonce()
	for _, c := range []struct{ name, cred, want string }{
		{"none", "", "the request has no munge credential"},
		{"garbage", "hello", "the munge credential is not valid"},
		{"expired", expired, "the munge credential has expired"},
		{"another key", encode(mungetest.Start(t), good, 0), "the munge credential is not valid"},
		{"for another body", encode(s.munge, wire.AuthPayload("POST", "/v1/reports", append(text, ' '), nonce()), 0), "made for another request"},
		{"for another path", encode(s.munge, wire.AuthPayload("POST", "/v1/reports?x", text, nonce()), 0), "made for another request"},
		{"for another method", encode(s.munge, wire.AuthPayload("GET", "/v1/reports", text, nonce()), 0), "made for another request"},
		{"for something else", encode(s.munge, []byte("job credential"), 0), "was not made for jobeffd"},
		{"no nonce", encode(s.munge, []byte("jobeff1 POST /v1/reports x y"), 0), "made for another request"},
		{"short nonce", encode(s.munge, wire.AuthPayload("POST", "/v1/reports", text, "0123"), 0), "was used before"},
		{"lives too long", encode(s.munge, good, time.Hour), "lives too long"},
	} {
		got := request{Addr: s.tcp, Method: "POST", Path: "/v1/reports", Body: text, Cred: c.cred}.do()
		s.check(t, c.name, got, 401, c.want)
	}
	if n := s.rows(t); n != 0 {
		t.Fatalf("%d rows", n)
	}
	// The same credential twice; then another credential with the nonce of the first.
	req := request{Addr: s.tcp, Method: "POST", Path: "/v1/reports", Body: text, Cred: encode(s.munge, wire.AuthPayload("POST", "/v1/reports", text, same), 0)}
	s.check(t, "first", req.do(), 200, `{"new":true}`)
	s.check(t, "replayed", req.do(), 401, "was used before")
	req.Cred = encode(s.munge, wire.AuthPayload("POST", "/v1/reports", text, same), 0)
	s.check(t, "nonce again", req.do(), 401, "the credential was used before")
	req.Cred, req.Munge = "", s.munge
	s.check(t, "a fresh one", req.do(), 200, `{"new":false}`)
	if n := s.rows(t); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestMungeAway(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	s := New(Options{Store: openStore(t), Log: zerolog.Nop(), MungeSocket: filepath.Join(t.TempDir(), "none")})
	l, err := ListenTCP("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run, cancel := context.WithCancel(ctx)
	go s.Serve(run, l)
	defer cancel()
	got := request{Addr: "http://" + l.Addr().String(), Method: "GET", Path: "/v1/jobs/1", Cred: "MUNGE:AAAA:"}.do()
	if got.Status != 503 || got.Header.Get("Retry-After") != "5" {
		t.Errorf("got %d %s %v", got.Status, got.Text, got.Header)
	}
}

// TestClient: the client's methods against the real server.
func TestClient(t *testing.T) {
	s := start(t)
	for i, addr := range []string{s.unix, s.tcp} {
		c := client.NewClient(addr, 10*time.Second, munge.Site{Socket: s.munge})
		defer c.Close()
		r := report(uint32(7+i), alice)
		for range 20 { // above packFrom
			r.Executions = append(r.Executions, r.Executions[0])
			r.Executions[len(r.Executions)-1].Key = fmt.Sprint("k", len(r.Executions))
		}
		if err := c.PostReport(ctx, body(t, r)); err != nil {
			t.Fatal(err)
		}
		s.merged(t)
		j, err := c.Job(ctx, fmt.Sprint(r.JobID))
		if err != nil || j.JobID != r.JobID || j.Metrics.Parallel != 1 {
			t.Fatalf("%v, %+v", err, j)
		}
		list, err := c.Jobs(ctx, listing.JobQuery{User: "61001", Start: time.Now().Add(-time.Hour), End: time.Now(), Limit: 5, Detail: true})
		if err != nil || len(list.Jobs) != i+1 {
			t.Errorf("%v, %+v", err, list)
		}
		if _, err := c.Healthy(ctx); err != nil {
			t.Error(err)
		}
		_, err = c.Job(ctx, "99")
		e, ok := err.(*client.ServerError)
		if !ok || e.Status != 404 || e.Message != "job 99 was not found" || !strings.Contains(e.Hint, "your own jobs") || e.Foreign {
			t.Errorf("got %#v", err)
		}
	}
}

func TestListenUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "sock")
	l, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o666 {
		t.Errorf("mode %v", info.Mode())
	}
	if _, err := ListenUnix(path); err == nil || !strings.Contains(err.Error(), "another jobeffd answers at "+path) {
		t.Errorf("twice: %v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // as after a kill
	l.Close()
	again, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	os.WriteFile(path, nil, 0o600)
	if _, err := ListenUnix(path); err == nil || !strings.Contains(err.Error(), "is in the way and not a socket") {
		t.Errorf("a file: %v", err)
	}
}
