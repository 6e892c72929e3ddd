// Package vm tests jobeff in a Debian that QEMU boots: systemd's units, cgroup v2, and what a running machine may meet. Nothing
// comes after it, and nothing imports it. A part of `make test-vm` is a test here, which boots its machine itself.
package vm

import (
	"fmt"
	"os"
	"testing"
)

// root is that of the Debian to boot; vm.sh makes it.
var root = os.Getenv("JOBEFF_VM_ROOT")

func TestMain(m *testing.M) {
	if root == "" {
		fmt.Println("skipped: make test-vm runs these tests, which boot a machine")
		return
	}
	os.Exit(m.Run())
}
