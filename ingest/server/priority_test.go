package server

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// TestPrompt answers on a thread that was made nice: it has the usual priority meanwhile,
// where it may, and its own again afterwards; of two cores one answer at a time has it.
func TestPrompt(t *testing.T) {
	const nice = 7
	done := make(chan bool)
	go func() { // its thread ends with it, as it stays locked
		defer close(done)
		runtime.LockOSThread()
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, nice); err != nil {
			t.Error(err)
			return
		}
		want := usualNice
		if os.Geteuid() != 0 {
			want = nice
		}
		p := newPrompt(2)
		for range 2 {
			end := p.begin()
			if got := ownNice(); got != want {
				t.Errorf("nice %d, want %d", got, want)
			}
			second := make(chan bool)
			go func() {
				defer close(second)
				before := ownNice()
				defer p.begin()()
				if got := ownNice(); got != before {
					t.Errorf("a second one has nice %d, want its thread's %d", got, before)
				}
			}()
			<-second
			end()
			if got := ownNice(); got != nice {
				t.Errorf("nice %d afterwards, want %d", got, nice)
			}
		}
	}()
	<-done
}
