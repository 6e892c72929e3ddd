package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// asOwner lets a command run as a job's owner, in a session of its own. If root calls it, the owner may attach to the command
// and make it do anything. So the command gets nothing of root's: no terminal to type into, no descriptor and no key. The only
// variables it keeps say where Slurm is. The caller must have locked its thread.
func asOwner(cmd *exec.Cmd, uid uint32) error {
	cmd.Dir, cmd.Env = "/", slurmEnvironment(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	cmd.WaitDelay = time.Second // a process that left the session may hold our pipes
	if os.Getuid() != 0 || uid == 0 {
		return nil
	}
	owner, err := credentialOf(uid)
	if err != nil {
		return err
	}
	if err := keepDescriptors(); err != nil {
		return err
	}
	// A kernel that refuses a keyring to us refuses it to the command, too.
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("a session keyring for the job's owner: %w", err)
	}
	unix.Umask(0o077)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return !strings.HasPrefix(v, "SLURM_") }) // where Slurm is
	cmd.Env = append(cmd.Env, "PATH=/usr/bin:/bin")
	cmd.SysProcAttr.Credential = owner
	return nil
}

// credentialOf returns a user's uid and groups.
func credentialOf(uid uint32) (*syscall.Credential, error) {
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return nil, fmt.Errorf("its owner is not known on this machine (%w)", err)
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("the groups of its owner are not known (%w)", err)
	}
	c := &syscall.Credential{Uid: uid}
	for i, text := range append([]string{u.Gid}, groups...) {
		gid, err := strconv.ParseUint(text, 10, 32)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the groups of its owner are not known (%w)", err)
		case i == 0:
			c.Gid = uint32(gid)
		default:
			c.Groups = append(c.Groups, uint32(gid))
		}
	}
	return c, nil
}

// keepDescriptors keeps from children the descriptors that our caller left open. Go closes its own ones there anyway.
func keepDescriptors() error {
	open, err := os.ReadDir("/proc/self/fd")
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

// exited is CLD_EXITED: a process has ended by itself.
const exited = 1

// waitForAll waits for a command of asOwner, and kills what it left in its process group. It does so before it reaps the
// command: until then no other group can have that number.
func waitForAll(cmd *exec.Cmd) error {
	var how unix.Siginfo
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, &how, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	if how.Code != exited {
		time.Sleep(time.Second) // a helper of srun ends the step if srun was killed
	}
	unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	return cmd.Wait()
}
