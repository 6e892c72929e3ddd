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

// asOwner lets a command run as a job's owner, in a session of its own. Where root looks, the owner may attach to it and make
// it do anything. So it has nothing of root's: no terminal, into which it could type, no descriptor, no keys and no
// variable. The caller has locked its thread.
func asOwner(cmd *exec.Cmd, uid uint32) error {
	cmd.Dir, cmd.Env = "/", slurmEnvironment(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	cmd.WaitDelay = time.Second // whoever has left the session may hold our pipes
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
	// where the kernel refuses us keyrings, it refuses the command as much
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("a session keyring for the job's owner: %w", err)
	}
	unix.Umask(0o077)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return !strings.HasPrefix(v, "SLURM_") }) // where Slurm is
	cmd.Env = append(cmd.Env, "PATH=/usr/bin:/bin")
	cmd.SysProcAttr.Credential = owner
	return nil
}

// credentialOf is a user with their groups.
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

// keepDescriptors keeps from children what our caller has left open. What Go opens is closed in them anyway.
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

// waitForAll waits for a command of asOwner, and ends what it leaves in its session's group. The group's number stays its
// own until it is waited for.
func waitForAll(cmd *exec.Cmd) error {
	var how unix.Siginfo
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, &how, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	if how.Code != exited {
		time.Sleep(time.Second) // a helper of srun ends the step of one that was killed
	}
	unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	return cmd.Wait()
}
