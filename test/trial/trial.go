// Package trial holds what tests of several folders share: servers, a proxy, what their process may do, waits,
// and the errors of wrong files. Only tests import it.
package trial

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// MayMount skips a test if this process may not mount file systems and make namespaces. An ordinary user may
// not, nor may root in a container without CAP_SYS_ADMIN, as Docker starts it.
func MayMount(t testing.TB) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	if err := unix.Capget(&header, &has[0]); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 || has[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		t.Skip("needs root that may mount file systems and make namespaces (CAP_SYS_ADMIN)")
	}
}

// Until calls `is` until it returns true, at most `times` times, with a pause after each call. what names what
// the test waits for. On a busy machine each call takes longer, so Until waits longer there.
func Until(t testing.TB, what string, times int, pause time.Duration, is func() bool) {
	t.Helper()
	begin := time.Now()
	for asked := 1; !is(); asked++ {
		if asked == times {
			t.Fatalf("not finished: asked %d times in %v for %s", asked, time.Since(begin).Round(time.Second), what)
		}
		time.Sleep(pause)
	}
}
