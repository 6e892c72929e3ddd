package trial

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is a process that serves a test: PostgreSQL, munge, a mail server, a proxy.
type Server struct {
	pid   int
	ended chan struct{}
}

// Serve runs a server and waits until it answers. If it ends before, or takes longer than a minute, the test
// fails with the server's output. At the test's end, it kills a server that still runs.
func Serve(t testing.TB, cmd *exec.Cmd, answers func() bool) *Server {
	t.Helper()
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Server{cmd.Process.Pid, make(chan struct{})}
	go func() {
		cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { p.End(syscall.SIGKILL) })
	why := "does not answer"
	for late := time.After(time.Minute); !answers(); {
		select {
		case <-p.ended:
			why = cmd.ProcessState.String()
		case <-late:
		case <-time.After(20 * time.Millisecond):
			continue
		}
		text, _ := os.ReadFile(said.Name())
		t.Fatalf("%s: %s; it said:\n%s", cmd, why, text)
	}
	return p
}

// Family returns the process and its children.
func (p *Server) Family() []int {
	family := []int{p.pid}
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		var pid, parent int
		stat, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(stat), ") ")
		fmt.Sscan(filepath.Base(filepath.Dir(path)), &pid)
		if fmt.Sscanf(rest, "%1s %d", new(string), &parent); parent == p.pid {
			family = append(family, pid)
		}
	}
	return family
}

// End sends the server a signal and waits for its end. It may have ended before.
func (p *Server) End(sig syscall.Signal) {
	select {
	case <-p.ended:
	default:
		syscall.Kill(p.pid, sig)
		<-p.ended
	}
}
