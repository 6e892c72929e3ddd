package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/node/gpu"
)

// noteShared notes in the directories of this job and of those that run here that both have a GPU (Slurm's shards and
// MPS). Of two jobs that meet on a GPU, the one that starts later finds the other. It looks after it made its own
// directory, so of two that start at once, at least one finds the other.
func noteShared(r *request) error {
	mine := os.Getenv("SLURM_JOB_GPUS")
	if mine == "" {
		return nil
	}
	own := strconv.FormatUint(uint64(r.jobID), 10)
	entries, err := os.ReadDir(r.runDir)
	for _, e := range entries {
		if _, no := strconv.ParseUint(e.Name(), 10, 32); no != nil || e.Name() == own {
			continue
		}
		if theirs := gpusOf(filepath.Join(r.runDir, e.Name(), "job")); !meet(mine, theirs) {
			continue
		}
		for _, id := range []string{own, e.Name()} {
			err = errors.Join(err, addLine(filepath.Join(r.runDir, id, "job"), "gpus_shared 1\n"))
		}
	}
	return err
}

// gpusOf is SLURM_JOB_GPUS of the job that this `job` file is of; "": it has none, or has just ended.
func gpusOf(file string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if gpus, is := strings.CutPrefix(line, "gpus "); is {
			return strings.TrimSpace(gpus)
		}
	}
	return ""
}

func meet(a, b string) bool {
	others := strings.Split(b, ",")
	return b != "" && slices.ContainsFunc(strings.Split(a, ","), func(one string) bool { return slices.Contains(others, one) })
}

func addLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, os.ErrNotExist) { // that job has just ended
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// keepingTime is left of this process's time for what follows the question: one file, and the sender.
const keepingTime = 1500 * time.Millisecond

// askGPUs asks the driver what the job's GPUs did, in a process of its own and after all else is known: whatever the
// driver does costs its time, and nothing that was measured.
func askGPUs(r *request, m *message) {
	if m.Report == nil || m.GPUs == nil || r.sender == "" || r.giveUp {
		return
	}
	liftLimits() // the driver's library takes far more addresses than the body may
	gpu.Ask(m.Report, m.GPUs, gpu.Reader{Program: r.sender, Lock: filepath.Join(r.runDir, "gpus"), Most: time.Until(r.deadline) - keepingTime})
}
