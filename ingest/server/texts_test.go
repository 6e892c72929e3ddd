package server

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/munge"
)

// TestSlowReport: root of one node says that its largest report comes, or a few bytes that unpack to
// that, and sends no more of it. Reports of other nodes are taken, but no second one of its own.
func TestSlowReport(t *testing.T) {
	s := start(t)
	packed := job.Compress(bytes.Repeat([]byte(" "), job.MaxReportBytes))
	for name, c := range map[string]struct {
		length int
		begin  []byte
	}{
		"as it is": {job.MaxReportBytes, []byte(strings.Repeat(" ", 100))},
		"packed":   {300 << 10, packed[:100]}, // net/http waits for a shorter rest before it answers,
	} {
		both := make(chan string)
		for range 2 {
			conn := s.beginReport(t, c.length, c.begin)
			defer conn.Close()
			go func() {
				answer := make([]byte, len("HTTP/1.1 429"))
				io.ReadFull(conn, answer)
				both <- string(answer)
			}()
		}
		if got := <-both; got != "HTTP/1.1 429" {
			t.Errorf("%s: one of two is told %q", name, got)
		}
		s.check(t, name+": of another node", s.post(t, report(7, alice)), 200, `{"new":`)
	}
}

// beginReport sends the beginning of a report from an address of its own.
func (s *testServer) beginReport(t *testing.T, length int, begin []byte) net.Conn {
	t.Helper()
	cred, err := munge.Encode(s.munge, job.AuthPayload("POST", "/v1/reports", begin, nonce()), 0)
	if err != nil {
		t.Fatal(err)
	}
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := from.Dial("tcp", strings.TrimPrefix(s.tcp, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Munge %s\r\nContent-Length: %d\r\n\r\n%s", cred, length, begin)
	return conn
}
