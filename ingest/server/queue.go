package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
)

const (
	// The pause after a look at the queue is at least queuePause times as long as the look: slurmctld's
	// jobs are locked for a part of it.
	queuePause = 20
	// queueTimeout bounds a look: sacct is asked only after it, even if slurmctld hangs.
	queueTimeout = time.Minute
	// After queueLooks looks that failed, the lines of the last good one are no longer shown. They are
	// shown for queueTold at least: sacct, which is asked in between, may take minutes.
	queueLooks = 3
	queueTold  = 5 * time.Minute
)

// queueReader is what a poller keeps of the queue.
type queueReader struct {
	cluster string
	lookout
}

// lookout is when Slurm's daemons are asked next for something that sacct does not need.
type lookout struct {
	next   time.Time
	failed bool // the log says so
}

// readQueue stores which jobs wait, unless it did so lately.
func (p *Poller) readQueue(ctx context.Context) {
	p.nowAndThen(ctx, &p.queue.lookout, p.Interval, p.keepQueue, "Slurm's queue", "jobs that wait are not shown")
}

// nowAndThen calls look, unless it did so lately. If look fails, it logs once what is missing then.
func (p *Poller) nowAndThen(ctx context.Context, l *lookout, every time.Duration, look func(context.Context, time.Time) error, what, without string) {
	begin := p.now()
	if wait := l.next.Sub(begin); wait > 0 && wait <= pauseAfter(every, queueTimeout) || !p.sacct.Of.Installed() {
		return
	}
	timed, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	err := look(timed, begin)
	end := p.now()
	l.next = end.Add(pauseAfter(every, end.Sub(begin)))
	switch {
	case ctx.Err() != nil:
	case err != nil && !l.failed:
		p.Log.Warn().Err(err).Msg(what + " cannot be read: " + without + "; it is tried again")
	case err == nil && l.failed:
		p.Log.Info().Msg(what + " can be read again")
	}
	l.failed = err != nil
}

// pauseAfter is the pause after a look that took so long.
func pauseAfter(every, took time.Duration) time.Duration {
	return max(every, queuePause*took)
}

func (p *Poller) keepQueue(ctx context.Context, at time.Time) (err error) {
	if p.queue.cluster == "" {
		if p.queue.cluster, err = p.sacct.Of.ReadCluster(ctx); err != nil {
			return err
		}
	}
	if err := p.isOf(p.queue.cluster); err != nil {
		p.queue.cluster = ""
		return err
	}
	lines, left, err := p.sacct.Of.ReadQueue(ctx, p.queue.cluster, slurmid.MostPending)
	if err != nil {
		return err
	}
	look := store.QueueLook{Cluster: p.queue.cluster, At: at, LeftOut: left, Until: p.now().Add(max(queueLooks*pauseAfter(p.Interval, p.now().Sub(at)), queueTold))}
	return p.Store.SetPending(ctx, look, lines)
}

// readRooms stores what Slurm gives jobs. It looks rarely: sites seldom change partitions and QOS.
func (p *Poller) readRooms(ctx context.Context) {
	p.nowAndThen(ctx, &p.rooms, accessEvery*p.Interval, p.keepRooms, "Slurm's partitions, nodes and QOS", "after a day it is not known what jobs may ask for")
}

func (p *Poller) keepRooms(ctx context.Context, at time.Time) error {
	cluster, rooms, err := p.sacct.Of.ReadRooms(ctx)
	if err == nil {
		err = p.isOf(cluster)
	}
	if err != nil {
		return err
	}
	return p.Store.SetRooms(ctx, cluster, at, rooms)
}

// getPending answers the waiting jobs that a list of jobs would select.
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

// pendingOf returns the lines of Slurm's queue for a job, as a job that has not begun; nil: none
// are known. err is the error of looking for the job's attempts.
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
	var of []string
	for i := range list.Jobs {
		of = append(of, list.Jobs[i].Cluster)
	}
	if err := s.store.OneCluster(ref, of); err != nil {
		return nil, refuse(err)
	}
	j := job.OfPending(&list.Jobs[0])
	j.Pending = list
	return j, nil
}
