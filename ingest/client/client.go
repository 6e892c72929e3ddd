package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"jobeff/ingest/node"
	"jobeff/ingest/wire"
)

// Limits of one request and its answer.
const (
	MaxAnswerBytes = 256 << 20 // of an answer to a viewer
	maxStatusBytes = 4 << 20   // of an answer to reports: some hundred bytes for each of a batch
	maxErrorBytes  = 64 << 10  // of an answer that is not 200
	maxErrorText   = 1000      // of what it says
	packFrom       = 4 << 10   // bytes; below this compressing does not pay
	writeBuffer    = 16 << 10  // bytes; most requests go out in one write
)

// Client speaks to jobeffd. It may be used by several goroutines.
type Client struct {
	base  string // "http://…" in front of the path
	addr  string // as the configuration names it, for messages
	munge Munge  // nil on a unix socket, where the kernel says who asks, and the folder who answers
	http  *http.Client
	// remote is false on a unix socket, where compressing saves nothing.
	remote bool
	// outbox is sent with every report; nil: not known.
	outbox atomic.Pointer[wire.OutboxState]
	runDir atomic.Pointer[node.RunDirState] // likewise
	alarm  atomic.Pointer[bool]             // whether an alarm is up, as jobeffd said last; nil: it said nothing
	// challenges lists those of all 401 answers so far, comma-separated: several jobeffd may answer
	// behind a load balancer.
	challenges atomic.Pointer[string]
}

// Munge makes credentials, and tells those of jobeffd from others (munge.Site).
type Munge interface {
	Sign(payload []byte) (credential string, err error)
	// Payload returns what a credential of jobeffd carries. An error says why it is not jobeffd's.
	Payload(credential string) ([]byte, error)
	// Cluster is the one whose key it has; "": not said.
	Cluster() string
}

// TellOutbox makes every further report say what the node's outbox holds.
func (c *Client) TellOutbox(s wire.OutboxState) { c.outbox.Store(&s) }

// TellRunDir makes every further report say how full the node's run directories are.
func (c *Client) TellRunDir(s node.RunDirState) { c.runDir.Store(&s) }

// NewClient makes a client for "unix:/PATH" or "http://HOST:PORT" (see
// etc.CheckAddress); timeout bounds each request. A unix socket needs no m.
func NewClient(addr string, timeout time.Duration, m Munge) *Client {
	c := &Client{base: strings.TrimSuffix(addr, "/"), addr: addr, munge: m, remote: true}
	tr := &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second, DisableCompression: true, WriteBufferSize: writeBuffer}
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		c.base, c.munge, c.remote = "http://jobeffd", nil, false
		tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	c.http = &http.Client{Transport: tr, Timeout: timeout, CheckRedirect: noRedirect}
	return c
}

// noRedirect: jobeffd redirects nobody. Another host shall not get reports and credentials.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// ServerError is an answer of jobeffd that is not 200.
type ServerError struct {
	Status     int
	Message    string
	Hint       string        // what to do next; may be empty
	RetryAfter time.Duration // the server's wish; 0: none
	// Foreign says that the answer does not have jobeffd's form, or that nothing proves that it is jobeffd's:
	// something else may listen at the address.
	Foreign bool
}

func (e *ServerError) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + ": " + e.Hint
}

// Final says that the same request will never be accepted. 401 is not final: a fresh credential, or
// a corrected clock or key, may help. Nor is 421: the cluster's name on either side may be wrong. Nor is 415: no
// credential covers the header that says how the report is packed, so somebody may have changed it.
func (e *ServerError) Final() bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusMisdirectedRequest, http.StatusRequestTimeout, http.StatusUnsupportedMediaType, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return e.Status >= 400 && e.Status < 500 && !e.Foreign
}

// UnreachableError says that no answer came.
type UnreachableError struct {
	Addr string
	Err  error
}

func (e *UnreachableError) Error() string {
	var timeout net.Error
	if errors.As(e.Err, &timeout) && timeout.Timeout() {
		return fmt.Sprintf("jobeffd at %s does not answer in time: try again, or ask the site's administrators to look at `jobeff admin doctor`", e.Addr)
	}
	return fmt.Sprintf("jobeffd cannot be reached at %s (%v): is it running, and is `to` right in the configuration? `jobeff admin doctor` says more", e.Addr, innermost(e.Err))
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// innermost is the cause, without the words that net/http and net put around it.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// PostReport sends a report's JSON, plain or from wire.Compress. It returns nil only after the
// server has committed it, otherwise a *ServerError or *UnreachableError.
func (c *Client) PostReport(ctx context.Context, body []byte) error {
	return c.postOne(ctx, "/v1/reports", "application/json", body)
}

// PostLogs sends packed logs of windows (wire.NodeLogs), likewise.
func (c *Client) PostLogs(ctx context.Context, body []byte) error {
	return c.postOne(ctx, "/v1/logs", "application/octet-stream", body)
}

func (c *Client) postOne(ctx context.Context, path, contentType string, body []byte) error {
	answer, err := c.post(ctx, path, contentType, body)
	if err != nil {
		return err
	}
	var said struct{ New *bool }
	if json.Unmarshal(answer, &said) != nil || said.New == nil { // any web server may answer 200
		return c.foreign(http.StatusOK, "200 OK, without a word of what was sent")
	}
	return nil
}

// post sends reports with the outbox's state, compressed where that saves time.
func (c *Client) post(ctx context.Context, path, contentType string, body []byte) (answer []byte, err error) {
	header := http.Header{"Content-Type": {contentType}}
	if s := c.outbox.Load(); s != nil {
		header.Set(wire.OutboxHeader, s.String())
	}
	if s := c.runDir.Load(); s != nil {
		header.Set(node.RunDirHeader, s.String())
	}
	if c.remote && wire.Encoding(body) == "" && len(body) >= packFrom {
		body = wire.Compress(body)
	}
	if encoding := wire.Encoding(body); encoding != "" {
		header.Set("Content-Encoding", encoding)
	}
	return c.do(ctx, "POST", path, header, body)
}

// Health is what jobeffd says of itself, at GET /healthz.
type Health struct {
	UID   *uint32 `json:"uid"`   // the user as whom jobeffd signs; nil: the answer does not say
	Doubt string  `json:"doubt"` // what is wrong with the database though it answers
	Hint  string  `json:"hint"`  // what to do
	// CannotTell says why nobody can say whether jobeff harms, as in harm.Comparison.
	CannotTell string `json:"cannot_tell"`
}

// Healthy asks GET /healthz.
func (c *Client) Healthy(ctx context.Context) (said Health, err error) {
	answer, err := c.do(ctx, "GET", "/healthz", nil, nil)
	if err == nil {
		_ = json.Unmarshal(answer, &said) // a proxy's check may answer anything
	}
	return said, err
}

// do makes one request and returns the body of a 200.
func (c *Client) do(ctx context.Context, method, path string, header http.Header, body []byte) ([]byte, error) {
	for tries := 0; ; tries++ {
		req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("jobeffd at %s: %w", c.addr, err)
		}
		for k, v := range header {
			req.Header[k] = v
		}
		nonce, err := c.authorize(req, body)
		if err != nil {
			return nil, err
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return nil, &UnreachableError{c.addr, err}
		}
		answer, err := io.ReadAll(io.LimitReader(resp.Body, mostOf(method, resp.StatusCode)))
		resp.Body.Close()
		if err != nil {
			return nil, &UnreachableError{c.addr, err}
		}
		if c.challenged(resp) && tries < mostChallenges {
			continue
		}
		return c.read(req, nonce, resp, answer)
	}
}

// read returns an answer that is proven to be jobeffd's.
func (c *Client) read(req *http.Request, nonce string, resp *http.Response, answer []byte) ([]byte, error) {
	if err := c.prove(req, nonce, resp, answer); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, c.serverError(resp, answer)
	}
	if said := resp.Header.Get(wire.AlarmHeader); said == wire.AlarmUp || said == wire.AlarmDown {
		up := said == wire.AlarmUp
		c.alarm.Store(&up)
	}
	return answer, nil
}

// mostOf bounds the bytes of an answer that are read. A node that sends reports has no memory for an
// answer without end.
func mostOf(method string, status int) int64 {
	switch {
	case status != http.StatusOK:
		return maxErrorBytes
	case method == http.MethodPost:
		return maxStatusBytes
	}
	return MaxAnswerBytes
}

// mostWaits is how often one request waits for a busy server. Each time it waits as long as
// the server asks, if that is at most longestWait.
const (
	mostWaits   = 5
	longestWait = 10 * time.Second
)

// patiently makes a request, and repeats it when the server asks it to wait.
func patiently(ctx context.Context, request func() error) error {
	for tries := 0; ; tries++ {
		err := request()
		var answer *ServerError
		if !errors.As(err, &answer) || answer.Status != http.StatusTooManyRequests ||
			answer.RetryAfter <= 0 || answer.RetryAfter > longestWait ||
			tries == mostWaits || ctx.Err() != nil {
			return err
		}
		sleep(ctx, answer.RetryAfter)
	}
}

// serverError reads an answer that is not 200.
func (c *Client) serverError(resp *http.Response, answer []byte) *ServerError {
	var said wire.Problem
	if json.Unmarshal(answer, &said) != nil || !strings.HasPrefix(said.Type, wire.ProblemType) || said.Detail == "" {
		return c.foreign(resp.StatusCode, resp.Status)
	}
	return &ServerError{Status: resp.StatusCode, Message: wire.CleanText(said.Detail, maxErrorText), Hint: wire.CleanText(said.Hint, maxErrorText),
		RetryAfter: retryAfter(resp)}
}

func retryAfter(resp *http.Response) time.Duration {
	s, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(max(s, 0)) * time.Second
}

// foreign is the error for an answer that jobeffd cannot have given.
func (c *Client) foreign(status int, answered string) *ServerError {
	return &ServerError{Status: status, Foreign: true, Hint: "is `to` right in the configuration?",
		Message: fmt.Sprintf("whatever listens at %s is not jobeffd: it answered %s", c.addr, wire.CleanText(answered, 100))}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// AskAlarm asks whether an alarm is up. It sends an empty batch, since every answer to a batch says so.
func (c *Client) AskAlarm(ctx context.Context) error {
	_, err := c.post(ctx, "/v1/reports/batch", "application/x-ndjson", nil)
	return err
}

// PostReports sends the JSON of several reports, none with a newline in it, in one request.
// The server decides about each report by itself. of has what PostReport would return for
// each; err means that nothing is known about any of them.
func (c *Client) PostReports(ctx context.Context, reports [][]byte) (of []error, err error) {
	if len(reports) == 0 {
		return nil, nil
	}
	var text []byte
	err = patiently(ctx, func() (err error) {
		text, err = c.post(ctx, "/v1/reports/batch", "application/x-ndjson", bytes.Join(reports, []byte("\n")))
		return err
	})
	if err != nil {
		return nil, err
	}
	var said struct {
		Answers []wire.BatchAnswer `json:"answers"`
	}
	if json.Unmarshal(text, &said) != nil || len(said.Answers) != len(reports) {
		return nil, fmt.Errorf("jobeffd at %s did not answer for each of %d reports: is it another version?", c.addr, len(reports))
	}
	for _, a := range said.Answers {
		var e error
		if a.Status != http.StatusOK {
			e = &ServerError{Status: a.Status, Message: a.Detail, Hint: a.Hint}
		}
		of = append(of, e)
	}
	return of, nil
}
