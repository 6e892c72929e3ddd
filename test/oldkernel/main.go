// Command oldkernel runs a command as if the kernel had no system call newer than those of Linux 4.18, which
// EL8 has. A filter answers ENOSYS to the command and to everything that it starts. For older calls the kernel
// still knows newer flags. It is no part of the flow; `make test-old-kernel` uses it.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oldkernel:", err)
		os.Exit(1)
	}
}

func run(command []string) error {
	if len(command) == 0 {
		return errors.New("usage: oldkernel COMMAND…")
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the filter holds for the thread that calls exec
	if err := forgetNewCalls(); err != nil {
		return fmt.Errorf("no filter: %w; it needs root", err)
	}
	if _, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH}); err != unix.ENOSYS {
		return fmt.Errorf("openat2 is still there: %v", err)
	}
	if err := unix.Statx(unix.AT_FDCWD, "/", 0, unix.STATX_TYPE, new(unix.Statx_t)); err != nil {
		return fmt.Errorf("statx is gone: %w", err)
	}
	return syscall.Exec(path, command, os.Environ())
}

// forgetNewCalls installs the filter. The numbers of calls grow with time, and rseq was 4.18's last. It does
// not set no_new_privs, so setuid programs still work.
func forgetNewCalls() error {
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equals = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		above  = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
		answer = unix.BPF_RET | unix.BPF_K
		number = 0 // offsets in struct seccomp_data
		arch   = 4
		rseq64 = 334
		rseq32 = 386
	)
	filter := []unix.SockFilter{
		{Code: load, K: arch},
		{Code: equals, K: unix.AUDIT_ARCH_X86_64, Jf: 2},
		{Code: load, K: number},
		{Code: above, K: rseq64, Jt: 3, Jf: 2},
		{Code: load, K: number}, // i386
		{Code: above, K: rseq32, Jt: 1},
		{Code: answer, K: unix.SECCOMP_RET_ALLOW},
		{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
