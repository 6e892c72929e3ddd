package server

import (
	"encoding/json"
	"net/http"

	"jobeff/ingest/job"
	"jobeff/ingest/store"
)

// mostAnswer bounds an answer's list of jobs, bytes. The last job may go beyond it.
const mostAnswer = 16 << 20

// listAnswer writes a job.JobList a job at a time, so that its jobs are never in memory together.
type listAnswer struct {
	to    http.ResponseWriter
	most  int // bytes
	jobs  int
	bytes int
	gone  bool // the client
}

// add writes a job. After most it returns store.ErrEnough.
func (l *listAnswer) add(j *job.Job) error {
	text, err := json.Marshal(j)
	if err != nil { // a NaN in a figure
		return err
	}
	before := ","
	if l.jobs == 0 {
		before = l.begin()
	}
	l.jobs++
	l.bytes += len(text)
	if _, err := l.to.Write(append([]byte(before), text...)); err != nil {
		l.gone = true
		return err
	}
	if l.bytes > l.most {
		return store.ErrEnough
	}
	return nil
}

// begin writes the header, and returns what stands before the first job.
func (l *listAnswer) begin() string {
	l.to.Header().Set("Content-Type", "application/json")
	l.to.WriteHeader(http.StatusOK)
	return `{"jobs":[`
}

// end writes what comes after the jobs: whether more are left, and the path that answers them.
func (l *listAnswer) end(more bool, next string) error {
	before := ""
	if l.jobs == 0 {
		before = l.begin()
	}
	after := "]}\n"
	if more {
		path, err := json.Marshal(next)
		if err != nil {
			return err
		}
		after = `],"more":true,"next":` + string(path) + "}\n"
	}
	_, err := l.to.Write([]byte(before + after))
	l.gone = err != nil
	return err
}
