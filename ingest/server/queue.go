package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
)

const (
	// queuePause is how many times as long as a look at the queue took the next one waits, at least: slurmctld's
	// jobs are locked for a part of it.
	queuePause = 20
	// queueTimeout bounds a look: sacct waits for its end, also where slurmctld hangs.
	queueTimeout = time.Minute
	// queueLooks is after how many looks that fail the lines of the last one are told to nobody, and queueTold for
	// how long they are told at least: sacct, which is asked in between, may take minutes.
	queueLooks = 3
	queueTold  = 5 * time.Minute
)

// queueReader is what a poller keeps of the queue.
type queueReader struct {
	cluster string
	next    time.Time
	failed  bool // said so
}

// readQueue keeps which jobs wait, unless it did so lately. What sacct tells does not depend on it.
func (p *Poller) readQueue(ctx context.Context) {
	begin := p.now()
	if wait := p.queue.next.Sub(begin); wait > 0 && wait <= p.queuePause(queueTimeout) || !slurm.Installed() {
		return
	}
	err := p.keepQueue(ctx, begin)
	pause := p.queuePause(p.now().Sub(begin))
	p.queue.next = p.now().Add(pause)
	switch {
	case ctx.Err() != nil:
	case err != nil && !p.queue.failed:
		p.Log.Warn().Err(err).Msg("Slurm's queue cannot be read: jobs that wait are not shown; it is tried again")
	case err == nil && p.queue.failed:
		p.Log.Info().Msg("Slurm's queue can be read again")
	}
	p.queue.failed = err != nil
}

// queuePause is how long after a look that took so long the next one comes.
func (p *Poller) queuePause(took time.Duration) time.Duration {
	return max(p.Interval, queuePause*took)
}

func (p *Poller) keepQueue(ctx context.Context, at time.Time) (err error) {
	timed, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	if p.queue.cluster == "" {
		if p.queue.cluster, err = slurm.ReadCluster(timed); err != nil {
			return err
		}
	}
	lines, left, err := slurm.ReadQueue(timed, p.queue.cluster, slurmid.MostPending)
	if err != nil {
		return err
	}
	look := store.QueueLook{Cluster: p.queue.cluster, At: at, LeftOut: left, Until: p.now().Add(max(queueLooks*p.queuePause(p.now().Sub(at)), queueTold))}
	return p.Store.SetPending(timed, look, lines)
}

// getPending answers what waits, of what a list of jobs would select.
func (s *Server) getPending(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r, pendingParameters...)
	if !ok {
		return
	}
	q, uids, e := s.selection(r.Context(), by, r.URL.Query())
	var list *slurmid.PendingList
	if e == nil {
		var err error
		if list, err = s.store.Pending(r.Context(), by.Viewer, q, uids); err != nil {
			e = refuse(err)
		}
	}
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	if list == nil {
		list = new(slurmid.PendingList) // without a list: not known
	}
	by.note(s.log.Debug()).Int("lines", len(list.Jobs)).Msg("what waits")
	answer(w, r, list)
}

// pendingParameters are what getPending understands.
var pendingParameters = []string{"job", "user", "account", "partition", "qos", "cluster", "name", "least_cores", "most_cores", "end"}

// pendingOf is what waits of a job, as a job of which nothing has begun; nil: nothing that is known. err is that of
// looking for its attempts.
func (s *Server) pendingOf(r *http.Request, v store.Viewer, ref slurmid.Ref, run int, err error) (*job.Job, *refusal) {
	if err != nil && !errors.Is(err, store.ErrNotFound) || ref.Step != "" || run != 0 {
		return nil, s.notFound(ref, err)
	}
	list, failed := s.store.Pending(r.Context(), v, listing.JobQuery{Jobs: ref.String()}, nil)
	switch {
	case failed != nil:
		return nil, refuse(failed)
	case list == nil || len(list.Jobs) == 0:
		return nil, s.notFound(ref, err)
	}
	j := job.OfPending(&list.Jobs[0])
	j.Pending = list
	return j, nil
}
