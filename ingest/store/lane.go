package store

import (
	"database/sql"
	"hash/fnv"
	"io"
	"time"
)

const (
	queueLength = 1024 // writes that may wait in a lane
	batchLength = 256  // writes that are committed at once
)

// jobKey names a job; the zero value none.
type jobKey struct {
	cluster string
	jobID   uint32
}

// op is one piece of work for a writer: all of it is kept, or nothing. It may be
// done more than once: its effect and what it sets are the same each time.
type op struct {
	job    jobKey // that it is about: what concerns a job is done one after the other
	do     func(*writer) error
	result chan error
}

// session is a transaction's way to the database. Queries have ? for an argument.
type session interface {
	// exec changes something. On PostgreSQL the error may come from a later call,
	// or from the end of the work.
	exec(query string, args ...any) error
	// rows reads. They must be closed before the next call.
	rows(query string, args ...any) (*sql.Rows, error)
	// one scans one row; sql.ErrNoRows where there is none.
	one(query string, args, into []any) error
}

// writer is what a piece of work writes with.
type writer struct{ session }

// committer does the work of one lane: all of a batch, an answer to each.
type committer interface {
	commit(batch []*op)
	close()
}

// lane is a queue of work and who does it.
type lane struct {
	committer
	ops chan *op
}

// run takes what waits, up to a batch, and commits it at once; for reports that are coming
// it waits atMost. After Close it does what still waits.
func (l *lane) run(quit <-chan struct{}, coming *pending, atMost time.Duration) {
	defer l.close()
	for {
		select {
		case first := <-l.ops:
			coming.wait(atMost)
			l.commit(l.batch(first))
		case <-quit:
			for len(l.ops) > 0 {
				l.commit(l.batch(<-l.ops))
			}
			return
		}
	}
}

// waitForMore bounds how long a commit waits for reports that are on their way. Under load
// it then holds four times as many, for as many fewer pages of the file, and a report waits
// no longer: it would have waited for its turn.
const waitForMore = 10 * time.Millisecond

// batch takes what waits behind first.
func (l *lane) batch(first *op) []*op {
	batch := []*op{first}
	for len(batch) < batchLength {
		select {
		case o := <-l.ops:
			batch = append(batch, o)
		default:
			return batch
		}
	}
	return batch
}

// lock is the job's cluster as one half of the number that PostgreSQL locks.
func (k jobKey) lock() int32 {
	h := fnv.New32a()
	io.WriteString(h, k.cluster)
	return int32(h.Sum32())
}

// reportKey names a report of a job.
type reportKey struct{ node, nonce string }
