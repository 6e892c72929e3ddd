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

// jobKey names a job; the zero value names none.
type jobKey struct {
	cluster string
	jobID   uint32
}

// op is one piece of work for a writer, kept completely or not at all. It may run more than
// once, and must then do and set the same.
type op struct {
	job    jobKey // the job that it is about; work on one job runs in order
	do     func(*writer) error
	result chan error
}

// session is a transaction's way to the database. A ? in a query stands for an argument.
type session interface {
	// exec changes something. On PostgreSQL its error may come from a later call, or when
	// the work ends.
	exec(query string, args ...any) error
	// rows reads. They must be closed before the next call.
	rows(query string, args ...any) (*sql.Rows, error)
	// one scans one row; sql.ErrNoRows if there is none.
	one(query string, args, into []any) error
}

// writer is what a piece of work writes with.
type writer struct{ session }

// committer does the work of one lane: it commits a whole batch and answers each piece.
type committer interface {
	commit(batch []*op)
	close()
}

// lane is a queue of work, with its committer.
type lane struct {
	committer
	ops chan *op
}

// run commits what waits, a batch at a time. It waits up to atMost for reports that are
// coming. After Close it still commits the rest.
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
// a commit then holds four times as many reports, and writes fewer pages of the file. No
// report takes longer: it would have waited for its turn instead.
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

// lock is the cluster's half of the number that PostgreSQL locks for a job.
func (k jobKey) lock() int32 {
	h := fnv.New32a()
	io.WriteString(h, k.cluster)
	return int32(h.Sum32())
}

// reportKey names a report of a job.
type reportKey struct{ node, nonce string }
