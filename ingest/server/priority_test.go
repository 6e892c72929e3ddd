package server

import (
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"syscall"
	"testing"
)

// TestPromptly lets a handler run on a thread that was made nice: it has the usual priority
// meanwhile, where it may, and the thread its own again afterwards, also when the handler
// panics.
func TestPromptly(t *testing.T) {
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
		during := -1
		h := promptly(ownNice(), func(http.ResponseWriter, *http.Request) { during = ownNice(); panic("handler") })
		func() {
			defer func() { recover() }()
			h(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		}()
		if during != want || ownNice() != nice {
			t.Errorf("nice %d while the handler ran, then %d; want %d, %d", during, ownNice(), want, nice)
		}
	}()
	<-done
}
