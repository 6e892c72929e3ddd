package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest/munge"
	"jobeff/ingest/wire"
)

// hold opens connections until its standard input ends: "NETWORK ADDRESS NUMBER". Every second
// one sends half a header; with "METHOD PATH" each sends half a request, and with "MUNGE'S SOCKET" a
// credential, too. It opens a new one for each that jobeffd closes.
func hold(text string) {
	var network, address, method, path, socket string
	var n int
	fmt.Sscan(text, &network, &address, &n, &method, &path, &socket)
	send := func(c net.Conn, i int) {
		switch {
		case method != "":
			r := method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
			if socket != "" {
				cred, _ := munge.Encode(socket, wire.AuthPayload(method, path, make([]byte, 100), nonce()), 0)
				r += "Authorization: Munge " + cred + "\r\n"
			}
			io.WriteString(c, r+"\r\n")
		case i%2 == 0:
			io.WriteString(c, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\n")
		}
	}
	var ready sync.WaitGroup
	for i := range n {
		ready.Add(1)
		first := sync.OnceFunc(ready.Done)
		go func() {
			for {
				c, err := net.DialTimeout(network, address, 20*time.Second)
				if err == nil {
					send(c, i)
				}
				first()
				if err == nil {
					io.Copy(io.Discard, c)
					c.Close()
				}
				time.Sleep(time.Second)
			}
		}()
	}
	ready.Wait()
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// hog holds connections as a user, in a process of its own, until the test ends.
func hog(t *testing.T, uid, n int, network, address string, more ...string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{fmt.Sprintf("JOBEFF_TEST_HOG=%s %s %d %s", network, address, n, strings.Join(more, " "))}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

// filesOf lowers how many files this process may have open, until the test ends.
func filesOf(t *testing.T, n uint64) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) })
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
}

// TestConnectionsOfOneUser: a user holds more connections than jobeffd has files, idle and
// half-sent ones. Other users, operators and nodes are answered all the same.
func TestConnectionsOfOneUser(t *testing.T) {
	filesOf(t, 1024)
	s := start(t, func(o *Options) { o.Connections = 50 })
	s.check(t, "a report", s.post(t, report(1, alice)), 200, "true")
	const greedy = 61009
	hog(t, greedy, 3000, "unix", strings.TrimPrefix(s.unix, "unix:"))
	list := request{Addr: s.unix, Method: "GET", Path: "/v1/jobs"}
	for range 5 {
		s.check(t, "another user", list.as(t, alice), 200, `"job_id":1`)
		s.check(t, "an operator", list.as(t, bob), 200, `"job_id":1`)
		s.check(t, "root", list.do(), 200, `"job_id":1`)
		s.check(t, "a node", s.post(t, report(2, alice)), 200, "new")
	}
	s.refusals(t)
}

// TestConnectionsOfOneAddress: a user of a node does the same on TCP. The node's reports, from
// the same address, get through, as do those of others.
func TestConnectionsOfOneAddress(t *testing.T) {
	filesOf(t, 1024)
	s := start(t, func(o *Options) { o.Connections = 50 })
	hog(t, 61009, 3000, "tcp", strings.TrimPrefix(s.tcp, "http://"))
	for i := range uint32(5) {
		s.check(t, "on the socket", request{Addr: s.unix, Method: "GET", Path: "/healthz"}.as(t, alice), 200, "ok")
		for { // what a node does: it waits as long as it is asked to
			got := s.post(t, report(1+i, alice))
			if got.Status == 200 {
				break
			}
			if got.Status != 0 { // 0: cut off before it was read
				s.check(t, "a node of the same address", got, 429, "has too many connections")
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	s.refusals(t)
}

// refusals checks that the metrics tell of connections that were refused or cut.
func (s *testServer) refusals(t *testing.T) {
	t.Helper()
	text := request{Addr: s.unix, Method: "GET", Path: "/metrics"}.do().Text
	for _, name := range []string{"jobeff_connections_refused_total 0", "jobeff_connections_cut_total 0"} {
		if !strings.Contains(text, name) {
			return
		}
	}
	t.Errorf("nothing was refused:\n%s", text)
}
