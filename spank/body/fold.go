package main

import (
	"fmt"
	"os"
	"path/filepath"

	json "github.com/go-json-experiment/json/v1"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/policy/doubt"
)

// fold opens, as root, the directory that the request names. Then it becomes nobody, folds it, and
// hands the message to ship.
func fold(r *request) error {
	out := os.NewFile(uintptr(r.pipe), "ship")
	path := filepath.Join(r.runDir, r.dir)
	// without the record, what root noted of the job is still reported
	givenUp := r.giveUp && node.RemoveRecord(path)
	dir, err := node.OpenDir(path)
	if err := node.BecomeNobody(); err != nil {
		return err
	}
	m := messageOf(dir, err)
	if givenUp && m.Report != nil {
		m.Report.Warnings = append(m.Report.Warnings, doubt.Warning{Code: doubt.WarnUnreadable, Args: doubt.Arguments{Kind: doubt.KindGivenUp}})
	}
	if err := json.NewEncoder(out).Encode(m); err != nil {
		return fmt.Errorf("spank: to ship: %w", err)
	}
	return nil
}

// messageOf folds an opened directory and closes its files: ship removes it next. err says why it could not be
// opened.
func messageOf(dir *node.RunDir, err error) (m message) {
	if err == nil {
		if m.Report, err = dir.Fold(node.ThisMachine()); err == nil {
			m.Logs, m.GPUs = dir.Logs(m.Report), dir.GPUQuestion()
		}
		dir.Close()
	}
	if err != nil {
		m.Error = err.Error()
	}
	return m
}

// message is what fold hands to ship: the report of the directory, or why there is none.
type message struct {
	Report *job.NodeReport `json:"report,omitempty"`
	Logs   []byte          `json:"logs,omitempty"` // of windows, packed
	Error  string          `json:"error,omitempty"`
	// GPUs is what is still to be asked; nil: nothing.
	GPUs *node.GPUQuestion `json:"gpus,omitempty"`
}
