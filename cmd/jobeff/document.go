package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/report/view"
)

// document is what jobeff run --json writes: the document of a job, and the job itself, from which another jobeff
// makes pages and comparisons.
type document struct {
	*view.Job
	Stored *job.Job `json:"stored"`
}

// writeDocument writes the document of a run.
func writeDocument(w io.Writer, j *job.Job) error { return view.Write(w, document{byHand(j, true), j}) }

// mostDocument bounds a document's file, bytes.
const mostDocument = 256 << 20

// isFile reports whether an argument names a file and not a job: no job's id has a slash or ends in .json.
func isFile(arg string) bool { return strings.Contains(arg, "/") || strings.HasSuffix(arg, ".json") }

// readDocument reads a file of jobeff run --json. The job is named after the file.
func readDocument(path string) (*listing.JobAndWorkload, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostDocument+1))
	if err == nil && len(text) > mostDocument {
		err = fmt.Errorf("it is larger than %d MiB", mostDocument>>20)
	}
	var d struct{ Stored *job.Job }
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err == nil && d.Stored == nil {
		err = errors.New("it holds no run: jobeff run --json makes such files, and a job of Slurm is named by its id")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	id := fnv.New32a()
	id.Write([]byte(path))
	d.Stored.JobID, d.Stored.DisplayID = id.Sum32(), filepath.Base(path)
	return &listing.JobAndWorkload{Job: d.Stored}, nil
}
