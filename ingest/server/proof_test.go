package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/listing"
	"jobeff/ingest/munge"
	"jobeff/ingest/wire"
	"jobeff/test/mungetest"
)

// passed is an answer on its way, with its trailer in the header.
type passed struct {
	status int
	header http.Header
	body   []byte
	stream bool // the proof was in a trailer
}

func pass(t *testing.T, to string, r *http.Request, body []byte) (p passed) {
	t.Helper()
	on, _ := http.NewRequest(r.Method, to+r.URL.RequestURI(), bytes.NewReader(body))
	on.Header = r.Header.Clone()
	got, err := http.DefaultTransport.RoundTrip(on)
	if err != nil {
		t.Error(err)
		return passed{status: 502}
	}
	defer got.Body.Close()
	p.body, _ = io.ReadAll(got.Body)
	p.status, p.header = got.StatusCode, got.Header
	if proof := got.Trailer.Get(wire.ProofHeader); proof != "" {
		p.header.Set(wire.ProofHeader, proof)
		p.header.Del("Trailer")
		p.stream = true
	}
	p.header.Del("Content-Length")
	return p
}

// between listens where a client looks for jobeffd, and does what it wants with requests and answers.
func between(t *testing.T, do func(r *http.Request, body []byte) passed) (addr string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p := do(r, body)
		for k, v := range p.header {
			w.Header()[k] = v
		}
		w.WriteHeader(p.status)
		w.Write(p.body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// signedBy is munge's credential of a user.
func signedBy(t *testing.T, uid uint32, socket string, payload []byte) string {
	t.Helper()
	cmd := exec.Command("munge", "--socket", socket, "--input", "-")
	cmd.Stdin = bytes.NewReader(payload)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.Output()
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(string(out))
}

// forged is an answer that nobody asked jobeffd for, with the proof of a user.
func (s *testServer) forged(t *testing.T, uid uint32, r *http.Request, label string) passed {
	_, credential, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	seen, err := munge.Decode(s.munge, credential)
	if err != nil {
		t.Error(err)
		return passed{status: 502}
	}
	p := passed{status: 200, header: http.Header{wire.AlarmHeader: {wire.AlarmUp}}, body: []byte(`{"new":true}`)}
	proof := wire.NewProof(credential, strings.Fields(string(seen.Payload))[4], p.header.Get)
	proof.Write(p.body)
	payload := bytes.Replace(proof.Payload(200), []byte("jobeff1-answer "), []byte(label), 1)
	p.header.Set(wire.ProofHeader, signedBy(t, uid, s.munge, payload))
	return p
}

// TestAnswerIsProven: a node believes an answer over TCP only as jobeffd gave it, to this request.
func TestAnswerIsProven(t *testing.T) {
	s := start(t)
	up := wire.AlarmUp
	s.server.alarm.Store(&up)
	var earlier atomic.Pointer[string]
	change := func(f func(p *passed)) func(*http.Request, []byte) passed {
		return func(r *http.Request, body []byte) passed {
			p := pass(t, s.tcp, r, body)
			f(&p)
			return p
		}
	}
	for _, c := range []struct {
		name    string
		servers []string
		do      func(*http.Request, []byte) passed
		why     string // "": it is believed
	}{
		{"as it is", nil, change(func(p *passed) { proof := p.header.Get(wire.ProofHeader); earlier.Store(&proof) }), ""},
		{"an earlier answer's proof", nil, change(func(p *passed) { p.header.Set(wire.ProofHeader, *earlier.Load()) }), "used before"},
		{"none", nil, change(func(p *passed) { p.header.Del(wire.ProofHeader) }), "it signed nothing"},
		{"garbage", nil, change(func(p *passed) { p.header.Set(wire.ProofHeader, "MUNGE:AAAA:") }), "not valid"},
		{"another status", nil, change(func(p *passed) { p.status = 410 }), "something else"},
		{"another body", nil, change(func(p *passed) { p.body = append([]byte(" "), p.body...) }), "something else"},
		{"the end of the body is missing", nil, change(func(p *passed) { p.body = p.body[:len(p.body)-1] }), "something else"},
		{"another alarm", nil, change(func(p *passed) { p.header.Set(wire.AlarmHeader, wire.AlarmDown) }), "something else"},
		{"no alarm", nil, change(func(p *passed) { p.header.Del(wire.AlarmHeader) }), "something else"},
		{"another wait", nil, change(func(p *passed) { p.header.Set("Retry-After", "3600") }), "something else"},
		{"the request's own credential", nil, func(r *http.Request, _ []byte) passed {
			_, credential, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			return passed{status: 200, header: http.Header{wire.ProofHeader: {credential}}, body: []byte(`{"new":true}`)}
		}, "something else"},
		{"the answer to another request with this nonce", nil, func(r *http.Request, _ []byte) passed {
			_, credential, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			seen, err := munge.Decode(s.munge, credential)
			if err != nil {
				t.Error(err)
				return passed{status: 502}
			}
			again := request{Addr: s.tcp, Method: "POST", Path: "/v1/reports", Body: textOf(report(8, alice)), Munge: s.munge}.once(strings.Fields(string(seen.Payload))[4])
			return passed{status: again.Status, header: again.Header, body: []byte(again.Text + "\n")}
		}, "something else"},
		{"a user signs", nil, func(r *http.Request, _ []byte) passed { return s.forged(t, alice, r, "jobeff1-answer ") }, "uid 61001 signed it, and not root or any uid below 1000"},
		{"root signs", nil, func(r *http.Request, _ []byte) passed { return s.forged(t, 0, r, "jobeff1-answer ") }, ""},
		{"root signs in a request's form", nil, func(r *http.Request, _ []byte) passed { return s.forged(t, 0, r, "jobeff1 ") }, "something else"},
		{"a user who is jobeffd's signs", []string{"1", "61001"}, func(r *http.Request, _ []byte) passed { return s.forged(t, alice, r, "jobeff1-answer ") }, ""},
		{"root signs, who is not jobeffd's", []string{"nobody", "61001"}, func(r *http.Request, _ []byte) passed { return s.forged(t, 0, r, "jobeff1-answer ") }, "uid 0 signed it, and not nobody or 61001"},
		{"nobody signs, by name", []string{"nobody"}, func(r *http.Request, _ []byte) passed { return s.forged(t, 65534, r, "jobeff1-answer ") }, ""},
	} {
		node := client.NewClient(between(t, c.do), 20*time.Second, munge.Site{Socket: s.munge, Servers: c.servers})
		err := node.PostReport(ctx, textOf(report(7, alice)))
		node.Close()
		if c.why == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var answer *client.ServerError
		if !errors.As(err, &answer) || !answer.Foreign || answer.Final() || !strings.Contains(answer.Error(), c.why) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.why)
		}
	}
}

// TestRefusalIsProven: a refusal counts as jobeffd gave it, too.
func TestRefusalIsProven(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		name    string
		do      func(*passed)
		foreign bool
	}{
		{"as it is", func(*passed) {}, false},
		{"for good instead of for now", func(p *passed) { p.status = 400 }, true},
		{"in other words", func(p *passed) { p.body = bytes.Replace(p.body, []byte("later"), []byte("never"), 1) }, true},
		{"later", func(p *passed) { p.header.Set("Retry-After", "9999") }, true},
	} {
		node := client.NewClient(between(t, func(r *http.Request, body []byte) passed {
			p := pass(t, s.tcp, r, body)
			c.do(&p)
			return p
		}), 20*time.Second, munge.Site{Socket: s.munge})
		r := report(7, alice)
		r.Version = 99
		err := node.PostReport(ctx, textOf(r))
		node.Close()
		var answer *client.ServerError
		if !errors.As(err, &answer) || answer.Foreign != c.foreign || answer.Final() {
			t.Errorf("%s: %#v", c.name, err)
		}
	}
}

// TestStreamIsProven: what is longer than mostHeld is signed behind its end.
func TestStreamIsProven(t *testing.T) {
	s := start(t)
	const jobs = 40
	for id := range uint32(jobs) {
		if _, err := keep(s.store, report(1+id, alice)); err != nil {
			t.Fatal(err)
		}
	}
	var asked, streams int
	for _, c := range []struct {
		name string
		do   func(p *passed)
		good bool
	}{
		{"as it is", func(*passed) {}, true},
		{"the last byte", func(p *passed) { p.body = p.body[:len(p.body)-1] }, false},
		{"one job less", func(p *passed) { p.body = bytes.Replace(p.body, []byte(`"job_id":17,`), []byte(`"job_id":18,`), 1) }, false},
		{"no trailer", func(p *passed) { p.header.Del(wire.ProofHeader) }, false},
	} {
		user := client.NewClient(between(t, func(r *http.Request, body []byte) passed {
			p := pass(t, s.tcp, r, body)
			if p.status == http.StatusOK {
				asked++
				if p.stream {
					streams++
				}
				c.do(&p)
			}
			return p
		}), 20*time.Second, munge.Site{Socket: s.munge})
		list, err := user.Jobs(ctx, listing.JobQuery{Detail: true})
		user.Close()
		if (err == nil) != c.good || c.good && len(list.Jobs) != jobs {
			t.Errorf("%s: %v, %+v", c.name, err, list)
		}
	}
	if asked != 4 || streams != asked {
		t.Errorf("%d of %d answers were streams", streams, asked)
	}
	straight := client.NewClient(s.tcp, 20*time.Second, munge.Site{Socket: s.munge})
	defer straight.Close()
	if list, err := straight.Jobs(ctx, listing.JobQuery{Detail: true}); err != nil || len(list.Jobs) != jobs {
		t.Errorf("straight: %v", err)
	}
}

// TestChangedOnTheWay: what somebody changes in a good request is never refused for good with a proof. The node would
// set a good report aside.
func TestChangedOnTheWay(t *testing.T) {
	s := start(t, resolver(map[string][]string{"n1": {"192.0.2.1"}}), func(o *Options) { o.StrictNode = true })
	text := wire.Compress(textOf(report(7, alice)))
	for name, c := range map[string]struct {
		header, body string
		status       int
	}{
		"another encoding": {"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", string(text), 415},
		"no encoding":      {"Content-Length: %d\r\n\r\n", string(text), 415},
		"no length":        {"Content-Encoding: zstd\r\nTransfer-Encoding: chunked\r\nX: %d\r\n\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(text), text), 411},
		"a huge length":    {"Content-Encoding: zstd\r\nContent-Length: %d0000000\r\n\r\n", string(text), 413},
		"another address":  {"Content-Encoding: zstd\r\nContent-Length: %d\r\n\r\n", string(text), 401},
	} {
		conn := dial(t, s.tcp, "")
		fmt.Fprintf(conn, "POST /v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Munge %s\r\n"+c.header, s.credential(t, "POST", "/v1/reports", text), len(text))
		io.WriteString(conn, c.body)
		got := answered(conn)
		final := (&client.ServerError{Status: got.Status}).Final()
		if got.Status != c.status || final && got.Header.Get(wire.ProofHeader) != "" {
			t.Errorf("%s: %d %s, final %v, %v", name, got.Status, got.Text, final, got.Header)
		}
	}
}

// TestNotSigned: who shows no credential, or a false one, has jobeffd sign nothing.
func TestNotSigned(t *testing.T) {
	s := start(t)
	for name, r := range map[string]request{
		"nobody":             {Addr: s.tcp, Method: "GET", Path: "/healthz"},
		"nobody's report":    {Addr: s.tcp, Method: "POST", Path: "/v1/reports"},
		"a false credential": {Addr: s.tcp, Method: "GET", Path: "/v1/jobs", Cred: "MUNGE:AAAA:"},
		"on the socket":      {Addr: s.unix, Method: "GET", Path: "/v1/jobs", Munge: s.munge},
	} {
		if got := r.do(); got.Header.Get(wire.ProofHeader) != "" {
			t.Errorf("%s: %d %v", name, got.Status, got.Header)
		}
	}
	if got := (request{Addr: s.tcp, Method: "GET", Path: "/v1/x", Munge: s.munge}).do(); got.Status != 404 {
		t.Errorf("an unknown path: %d", got.Status)
	}
}

// TestQuestionsOfThisProcess: a question's credential counts at one process. The client asks again by itself after a
// restart, and behind a balancer that gives each request to another jobeffd.
func TestQuestionsOfThisProcess(t *testing.T) {
	socket := mungetest.Start(t)
	same := func(o *Options) { o.MungeSocket = socket }
	all := []*testServer{start(t, same), start(t, same), start(t, same)}
	var turn atomic.Int32
	step := int32(0)
	asks := client.NewClient(between(t, func(r *http.Request, body []byte) passed {
		return pass(t, all[int(turn.Add(step))%len(all)].tcp, r, body)
	}), 20*time.Second, munge.Site{Socket: socket})
	defer asks.Close()
	ask := func(when string) {
		t.Helper()
		if _, err := asks.Jobs(ctx, listing.JobQuery{}); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	ask("at first")
	turn.Store(1)
	ask("after a restart")
	step = 1
	for range 6 {
		ask("behind a balancer")
	}
	shown := request{Addr: all[0].tcp, Method: "GET", Path: "/v1/jobs", Munge: socket}
	shown.Cred = signedBy(t, 0, socket, wire.AuthPayload("GET", "/v1/jobs", nil, nonce()+" "+nonce()))
	all[0].check(t, "another one's challenge", shown.do(), 401, "or for another one")
	if said := all[0].log.String(); strings.Contains(said, "challenge") {
		t.Errorf("a client's first question is logged: %s", said)
	}
}

// TestAskedForEver: somebody who gives a client ever new challenges is asked a few times only.
func TestAskedForEver(t *testing.T) {
	socket, asked := mungetest.Start(t), 0
	c := client.NewClient(between(t, func(*http.Request, []byte) passed {
		asked++
		return passed{status: 401, header: http.Header{"Www-Authenticate": {fmt.Sprintf(wire.ChallengeForm, nonce())}}}
	}), 20*time.Second, munge.Site{Socket: socket})
	defer c.Close()
	for range 20 {
		if _, err := c.Jobs(ctx, listing.JobQuery{}); err == nil {
			t.Error("no error")
		}
	}
	if asked > 20*10 {
		t.Errorf("asked %d times", asked)
	}
}
