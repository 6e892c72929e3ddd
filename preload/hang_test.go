package preload

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

// A command hangs that uses no CPU time for a minute, or five minutes of it. So what a busy machine
// holds up is waited for.
const (
	idleLimit = time.Minute
	cpuLimit  = 5 * time.Minute
)

// start starts a command in a session of its own, and kills it and its children when it hangs. The test
// calls finished after it has waited for it: a hang is told then, since what the command left is not its
// result.
func start(t *testing.T, cmd *exec.Cmd) (finished func()) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(t, cmd.Start())
	stop, hung := make(chan struct{}), make(chan string, 1)
	go func() {
		used, since := time.Duration(0), time.Now()
		for {
			select {
			case <-stop:
				hung <- ""
				return
			case <-time.After(time.Second):
			}
			if now := sessionCPU(cmd.Process.Pid); now > used {
				used, since = now, time.Now()
			}
			if used > cpuLimit || time.Since(since) > idleLimit {
				syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				hung <- fmt.Sprintf("not finished: %q used %v of CPU time, and none in the last %v", cmd.Args, used, time.Since(since).Round(time.Second))
				return
			}
		}
	}()
	return func() {
		t.Helper()
		close(stop)
		if said := <-hung; said != "" {
			t.Fatal(said)
		}
	}
}

// sessionCPU is the CPU time that the processes of a session have used, and their children that were
// waited for, to a tick of 10 ms.
func sessionCPU(session int) time.Duration {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	ticks := 0
	for _, file := range files {
		text, _ := os.ReadFile(file)
		_, after, _ := strings.Cut(string(text), ") ") // proc(5): the state and what follows it
		var parent, group, of, tty, foreground, flags, minor, children, major, majors, user, system, childUser, childSystem int
		var state string
		if _, err := fmt.Sscan(after, &state, &parent, &group, &of, &tty, &foreground, &flags, &minor, &children, &major, &majors, &user, &system, &childUser, &childSystem); err == nil && of == session {
			ticks += user + system + childUser + childSystem
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
