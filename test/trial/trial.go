// Package may says what the process of a test may do. A test that needs more is left out before it begins.
package may

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Mount leaves a test out where this process may not mount file systems and make namespaces. An ordinary
// user may not, nor may root in a container without CAP_SYS_ADMIN, as Docker starts it.
func Mount(t testing.TB) {
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
