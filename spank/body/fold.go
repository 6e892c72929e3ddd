package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// nobody is the uid that the fold takes before it reads a user's bytes. The number is the
// kernel's own for "no user", whatever the site calls it.
const nobody = 65534

// fold opens, as root, the directories that the request names. Then it becomes nobody, folds
// them, and hands one message for each to ship.
func fold(r *request) error {
	out := os.NewFile(uintptr(r.pipe), "ship")
	var dirs []opened
	for _, name := range r.giveUp {
		// without the record, what root noted of the job is still reported
		removed := node.RemoveRecord(filepath.Join(r.runDir, name))
		dirs = append(dirs, open(r.runDir, name, removed))
	}
	for _, name := range r.fold {
		dirs = append(dirs, open(r.runDir, name, false))
	}
	if err := becomeNobody(); err != nil {
		return err
	}
	machine := node.ThisMachine()
	messages := json.NewEncoder(out)
	for _, d := range dirs {
		if err := messages.Encode(d.message(machine)); err != nil {
			return fmt.Errorf("spank: to ship: %w", err)
		}
	}
	return nil
}

// opened is a directory whose files are open, or why they are not.
type opened struct {
	name    string
	dir     *node.RunDir
	err     error
	givenUp bool
}

func open(runDir, name string, givenUp bool) opened {
	dir, err := node.OpenDir(filepath.Join(runDir, name))
	return opened{name, dir, err, givenUp}
}

// message folds one directory, and closes its files: ship removes it next.
func (o opened) message(machine node.Machine) message {
	m := message{Dir: o.name}
	err := o.err
	if err == nil {
		if m.Report, err = o.dir.Fold(machine); err == nil {
			m.Logs = o.dir.Logs(m.Report)
		}
		o.dir.Close()
	}
	if err != nil {
		m.Error = err.Error()
		return m
	}
	if o.givenUp {
		m.Report.Warnings = append(m.Report.Warnings, job.Warning{Code: job.WarnUnreadable, Args: job.Args{Kind: job.KindGivenUp}})
	}
	return m
}

// becomeNobody gives up root for good, in all threads, as glibc's setuid does.
func becomeNobody() error {
	err := errors.Join(syscall.Setgroups(nil), syscall.Setresgid(nobody, nobody, nobody), syscall.Setresuid(nobody, nobody, nobody))
	if err != nil {
		return fmt.Errorf("spank: the fold cannot give up root: %w", err)
	}
	if syscall.Setuid(0) == nil {
		return errors.New("spank: the fold could become root again")
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// message is what fold hands to ship: the report of one directory, or why there is none.
type message struct {
	Dir    string          `json:"dir"` // name in runDir
	Report *job.NodeReport `json:"report,omitempty"`
	Logs   []byte          `json:"logs,omitempty"` // of windows, packed
	Error  string          `json:"error,omitempty"`
}
