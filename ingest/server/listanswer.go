package server

import (
	"encoding/json"
	"net/http"

	"jobeff/ingest/store"
)

// mostAnswer bounds an answer's list, bytes. Its last item may go beyond it.
const mostAnswer = 16 << 20

// listAnswer writes a job.JobList or a job.WorkloadList an item at a time, so that its items are
// never in memory together.
type listAnswer struct {
	to    http.ResponseWriter
	of    string // the list's name in JSON
	most  int    // bytes
	items int
	bytes int
	gone  bool // the client
}

// add writes an item. After most it returns store.ErrEnough.
func (l *listAnswer) add(item any) error {
	text, err := json.Marshal(item)
	if err != nil { // a NaN in a figure
		return err
	}
	before := ","
	if l.items == 0 {
		before = l.begin()
	}
	l.items++
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

// begin writes the header, and returns what stands before the first item.
func (l *listAnswer) begin() string {
	l.to.Header().Set("Content-Type", "application/json")
	l.to.WriteHeader(http.StatusOK)
	return `{"` + l.of + `":[`
}

// end writes what comes after the items: whether more are left, and the path that answers them.
func (l *listAnswer) end(more bool, next string) error {
	before := ""
	if l.items == 0 {
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
