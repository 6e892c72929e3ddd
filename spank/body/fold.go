package main

import (
	"fmt"
	"os"
	"path/filepath"

	json "github.com/go-json-experiment/json/v1"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

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
	if err := node.BecomeNobody(); err != nil {
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

// message is what fold hands to ship: the report of one directory, or why there is none.
type message struct {
	Dir    string          `json:"dir"` // name in runDir
	Report *job.NodeReport `json:"report,omitempty"`
	Logs   []byte          `json:"logs,omitempty"` // of windows, packed
	Error  string          `json:"error,omitempty"`
}
