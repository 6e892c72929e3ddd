package store

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/when"
)

// How far apart the times of one attempt from two sources may lie if they do not overlap. The
// clocks of nodes and controller differ, and sacct cuts times to seconds. Slurm waits two minutes
// before it starts a requeued job again.
const (
	slackNodes = 20 * time.Second // between two nodes
	slackSlurm = 60 * time.Second // between a node and sacct
	slackClock = 5 * time.Minute  // … if only a wrong clock can explain it; munge refuses credentials beyond this
	requeued   = 2 * time.Minute  // how long Slurm waits
)

// incoming is a report that is about to enter the database.
type incoming struct {
	*job.NodeReport
	sender   Sender
	body     []byte    // as it came, packed
	received time.Time // when it came; zero: now
	asked    bool      // Slurm is asked about its job
	cramped  bool      // … and the disk is nearly full

	// What became of it; addReports writes these.
	attempt *candidate // it was added to this one; nil: it was refused, or was there already
	refused error      // why it was refused; other reports are not concerned
	foreign *candidate // with ErrForeignNode: the attempt that did not have its node
	apart   bool       // Slurm has listed the job, but no attempt that the report fits
}

// Settled says what became of reports of a job when Slurm listed it.
type Settled struct {
	Cluster string
	JobID   uint32
	Fit     int // joined an attempt that Slurm confirms
	Unfit   int // fit none that Slurm has listed so far: they wait apart, or are set aside for good
}

// stretch is a span of time, in microseconds; an invalid end is unknown.
type stretch struct{ start, end sql.NullInt64 }

// stretchOf is the span between two times; a zero time is unknown.
func stretchOf(start, end time.Time) stretch {
	known := func(t time.Time) sql.NullInt64 { return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()} }
	return stretch{known(start), known(end)}
}

// candidate is an attempt of the wanted job id: what matching compares, and the reports
// that were added to it.
type candidate struct {
	attempt   int64
	sender    string // who opened it, see Sender.as
	uid       uint32
	slurm     stretch       // as sacct says
	nodes     stretch       // as the nodes' reports say
	submit    sql.NullInt64 // from sacct; invalid: sacct has not listed this attempt yet
	figures   slurmFigures  // likewise
	state     string        // from sacct
	nodelist  string
	sluid     string
	nnodes    int // 0: not known yet
	reports   int
	unmerged  int64
	asOf      time.Time       // of an interim report, maybe of an earlier one; zero: there is none
	trimmed   bool            // the text of its reports is gone, so nothing can be merged with it
	by        map[string]bool // nodes that have reported it, among those in question
	came      []*incoming     // added, but not yet counted in reports
	again     []*incoming     // replaced an earlier report of the same node
	isNew     bool            // not in the database yet
	news      bool            // Slurm says something new of it now
	confirmed bool            // … and lists it for the first time
	recounted bool            // … of what it used
}

// slurmFigures are Slurm's figures of what an attempt used.
type slurmFigures struct{ cpus, elapsed, cpu sql.NullInt64 } // elapsed s, cpu us

// isTold says that Slurm has confirmed the attempt: sacct has listed it.
func (c *candidate) isTold() bool { return c.submit.Valid }

// span is sacct's span if it is known, else the nodes': sacct is more trustworthy. If no start is
// known, the submission stands for it.
func (c *candidate) span() stretch {
	return stretch{cmp.Or(c.slurm.start, c.nodes.start, c.submit), cmp.Or(c.slurm.end, c.nodes.end)}
}

// gap is the time between the attempt and [start, end]; 0 if they overlap.
func (c *candidate) gap(start, end int64) time.Duration { return c.span().gap(start, end) }

// gap is the time between the stretch and [start, end]. A stretch without an end goes on.
func (at stretch) gap(start, end int64) time.Duration {
	var g int64
	if at.end.Valid && start > at.end.Int64 {
		g = start - at.end.Int64
	}
	if at.start.Valid && end < at.start.Int64 {
		g = at.start.Int64 - end
	}
	return time.Duration(g) * time.Microsecond
}

// add adds a report.
func (c *candidate) add(in *incoming) {
	if c.reports+len(c.came) == 0 && c.nnodes == 0 { // Merge waits for that many
		c.nnodes = in.NNodes
	}
	c.came = append(c.came, in)
	c.by[in.Node] = true
	c.sluid = cmp.Or(c.sluid, in.SLUID)
	c.widen(in)
}

// replace takes a report instead of an earlier one.
func (c *candidate) replace(in *incoming) {
	c.again = append(c.again, in)
	c.widen(in)
}

// widen makes the nodes' span hold a report.
func (c *candidate) widen(in *incoming) {
	if !c.trimmed { // else nothing merges it any more
		c.asOf = when.Last(c.asOf, in.AsOf)
	}
	if start := in.Start.UnixMicro(); !in.Start.IsZero() && (!c.nodes.start.Valid || start < c.nodes.start.Int64) {
		c.nodes.start = sql.NullInt64{Int64: start, Valid: true}
	}
	if end := in.End.UnixMicro(); !in.End.IsZero() && (!c.nodes.end.Valid || end > c.nodes.end.Int64) {
		c.nodes.end = sql.NullInt64{Int64: end, Valid: true}
	}
}

const candidatesOfJob = `SELECT attempt, sender, uid, slurm_start_us, slurm_end_us, node_start_us, node_end_us, slurm_submit_us, state, nodelist, sluid, nodes, reports, unmerged, as_of_us, trimmed, alloc_cpus, slurm_elapsed_s, total_cpu_us
		FROM attempts r WHERE cluster = ? AND job_id = ?`

// candidates reads the attempts of a job.
func (w *writer) candidates(k jobKey) (all []*candidate, err error) {
	rows, err := w.rows(candidatesOfJob, k.cluster, k.jobID)
	err = eachOf(rows, err, func(rows *sql.Rows) error {
		c := &candidate{by: map[string]bool{}}
		var asOf sql.NullInt64
		err := rows.Scan(&c.attempt, &c.sender, &c.uid, &c.slurm.start, &c.slurm.end, &c.nodes.start, &c.nodes.end, &c.submit, &c.state, &c.nodelist, &c.sluid, &c.nnodes, &c.reports, &c.unmerged, &asOf, &c.trimmed, &c.figures.cpus, &c.figures.elapsed, &c.figures.cpu)
		c.asOf = fromMicro(asOf)
		all = append(all, c)
		return err
	})
	return all, err
}

// nearest returns the candidate with the smallest distance among those that fit, the latest of them; nil if none
// does.
func nearest(all []*candidate, start, end time.Time, fits func(c *candidate, gap time.Duration) bool) *candidate {
	at := stretchOf(start, end)
	var fit []*candidate
	for _, c := range all {
		if fits(c, c.gap(at.start.Int64, at.end.Int64)) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return slices.MinFunc(fit, func(a, b *candidate) int {
		return cmp.Or(slices.Compare(a.distance(at), b.distance(at)), cmp.Compare(b.submit.Int64, a.submit.Int64), cmp.Compare(b.attempt, a.attempt))
	})
}

// distance says how far the attempt lies from a stretch: by the time between them, else by their starts,
// else by their ends. A start of a job may begin in the second in which the one before it was requeued, and
// before its nodes were done. Then a report overlaps both, but it began with its own. An end is less sure:
// sacct notes when a job was requeued, a node when its last process was gone. sacct cuts times to seconds.
func (c *candidate) distance(at stretch) []time.Duration {
	between := func(a, b sql.NullInt64) time.Duration {
		if !a.Valid || !b.Valid {
			return 0
		}
		return time.Duration(max(a.Int64-b.Int64, b.Int64-a.Int64)) * time.Microsecond
	}
	return []time.Duration{
		c.gap(at.start.Int64, at.end.Int64).Truncate(time.Second),
		between(cmp.Or(c.slurm.start, c.nodes.start), at.start).Truncate(time.Second),
		between(c.span().end, at.end),
	}
}

// wrongClock says that a line of sacct and the nodes' reports are of one attempt although
// they lie apart, because a clock is wrong. Job, user and nodes must be the same, and the job
// must have only this attempt, known from one side so far. They could also be two attempts,
// each known from one side; wrongClock must rule that out:
//   - If the nodes' attempt came after the line's, the line's was requeued, and its state in
//     sacct says so. The states listed below are final: Slurm never restarts such a job.
//   - If it came before, it was requeued: the line's submission is its end, and Slurm waits
//     before it starts the job again. If the wait was shorter, or the nodes' attempt ended
//     after that submission, there was no requeue.
//
// After a cold start of slurmctld an id may be used again within minutes. Then sacct tells
// two lines at once, and neither is alone. Three cases remain two rows:
//   - a job whose nodes disagree, if the wrong one reports before sacct and the others
//   - a failed job whose node's clock is ahead
//   - a job whose node's clock is behind, if it waited a little longer than a requeued one
func wrongClock(line stretch, submit int64, state string, nodes stretch) bool {
	if !line.start.Valid || line.gap(nodes.start.Int64, nodes.end.Int64) > slackClock {
		return false
	}
	if line.end.Valid && nodes.start.Int64 > line.end.Int64 {
		return slices.Contains([]string{"COMPLETED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY"}, state)
	}
	waited := time.Duration(line.start.Int64-submit) * time.Microsecond
	return waited < requeued || nodes.end.Int64 > submit+slackSlurm.Microseconds()
}

// attemptOf finds the attempt that a report belongs to; nil means a new one. Two attempts of one
// job id never overlap in time, and a node reports each attempt once. Attempts that Slurm has
// confirmed go first, so that no attempt known only from nodes takes a report away from them.
func attemptOf(all []*candidate, r *job.NodeReport) (*candidate, error) {
	var told, waiting []*candidate
	for _, c := range all {
		if c.isTold() {
			told = append(told, c)
		} else {
			waiting = append(waiting, c)
		}
	}
	fits := func(c *candidate, gap time.Duration) bool { return c.fits(r, gap, len(told)) }
	if c := nearest(told, r.Start, r.End, func(c *candidate, gap time.Duration) bool { return !c.isForeign(r.Node) && fits(c, gap) }); c != nil {
		return c, nil
	}
	if c := nearest(told, r.Start, r.End, func(c *candidate, gap time.Duration) bool { return c.slurm.end.Valid && fits(c, gap) }); c != nil {
		return c, fmt.Errorf("%w: it ran on %s", ErrForeignNode, c.nodelist)
	}
	return nearest(waiting, r.Start, r.End, fits), nil
}

// fits reports whether a report that lies apart by gap can be of this attempt. told is how many
// attempts Slurm has confirmed.
func (c *candidate) fits(r *job.NodeReport, gap time.Duration, told int) bool {
	slack := slackNodes
	if c.reports+len(c.came) == 0 {
		slack = slackSlurm
	}
	other := !c.isTold() && r.SLUID != "" && c.sluid != "" && r.SLUID != c.sluid // root of a node may have told it first
	elsewhere := r.NodeList != "" && c.nodelist != "" && r.NodeList != c.nodelist
	whole := !c.isTold() && c.nnodes > 0 && c.reports+len(c.came) >= c.nnodes // each node has one
	if c.uid != r.UID || c.by[r.Node] || other || whole {
		return false
	}
	skewed := told == 1 && c.isTold() && r.NodeList != "" && r.NodeList == c.nodelist &&
		wrongClock(c.slurm, c.submit.Int64, c.state, stretchOf(r.Start, r.End))
	return gap == 0 || gap <= slack && !elsewhere || skewed
}

// attemptOfLine finds the attempt that a line of sacct belongs to; nil means a new one. alone says
// that sacct listed no other attempt of this job.
func attemptOfLine(all []*candidate, j *slurm.Job, alone bool, now int64) *candidate {
	for _, c := range all {
		if c.isTold() && c.submit.Int64 == j.Submit.UnixMicro() {
			return c
		}
	}
	end := j.End
	if end.IsZero() {
		end = time.UnixMicro(now)
	}
	return nearest(all, cmp.Or(j.Start, j.Submit), end, func(c *candidate, gap time.Duration) bool {
		skewed := alone && len(all) == 1 && j.NodeList != "" && j.NodeList == c.nodelist &&
			wrongClock(stretchOf(j.Start, j.End), j.Submit.UnixMicro(), j.State, c.nodes)
		return !c.isTold() && c.uid == j.UID && (gap <= slackSlurm || skewed)
	})
}

func nextAttempt(all []*candidate) int64 {
	last := int64(0)
	for _, c := range all {
		last = max(last, c.attempt)
	}
	return last + 1
}

// Only Slurm says which nodes, user and times a job has. Root of a node that could claim them could
// hide anybody's job behind a report of its own. So a report joins an attempt that Slurm has
// confirmed only if it fits. Else it makes an attempt of its own that waits for Slurm's word
// (confirmed). What came before that word is matched again when it comes (takeApart). If sacct is
// never asked, nothing is confirmed or refused.

// isForeign reports whether Slurm named the attempt's nodes and this is not one.
func (c *candidate) isForeign(node string) bool {
	holds, known := slurmid.HostlistHolds(c.nodelist, node)
	return c.isTold() && known && !holds
}

// OnSettled calls do whenever Slurm's word settles reports. It must be called before the store
// is used.
func (s *Store) OnSettled(do func(Settled)) { s.settled = do }

func (s *Store) tellSettled(what Settled) {
	if s.settled != nil && what.Fit+what.Unfit > 0 {
		s.settled(what)
	}
}

// takeApart removes the attempts that Slurm has not confirmed. It also removes those whose reports may
// not be theirs, as it now turns out: reports of other nodes, or of another attempt that Slurm had not
// confirmed. What Slurm said of an attempt before stays. What it says of one only now, writeLine
// writes anew. takeApart returns the removed reports, to be matched again.
func (w *writer) takeApart(k jobKey, all []*candidate) (again []*incoming, err error) {
	var apart []*candidate
	for _, c := range all {
		is, err := w.mustPart(k, c, all)
		if err != nil {
			return nil, err
		}
		if is {
			apart = append(apart, c)
		}
	}
	for _, c := range apart {
		of := attemptKey{k.cluster, k.jobID, c.attempt}
		some, err := w.reportsOf(of)
		if err != nil {
			return nil, err
		}
		again = append(again, some...)
		for _, table := range tablesOfAttempt {
			if err := w.forget(table, of); err != nil {
				return nil, err
			}
		}
		c.isNew, c.reports = !c.isTold() || c.confirmed, 0
		if err := w.forgetReported(of, !c.isNew); err != nil {
			return nil, err
		}
	}
	return again, nil
}

// mustPart says whether takeApart removes an attempt. The reports of trimmed ones are gone.
func (w *writer) mustPart(k jobKey, c *candidate, all []*candidate) (bool, error) {
	if c.trimmed || c.reports == 0 {
		return false, nil
	}
	if !c.isTold() {
		return true, nil
	}
	if slices.ContainsFunc(all, func(o *candidate) bool {
		return o != c && o.isTold() && (o.news || c.news) && (c.near(o) || c.strays())
	}) {
		return true, nil
	}
	nodes, err := w.nodesOf(attemptKey{k.cluster, k.jobID, c.attempt})
	return slices.ContainsFunc(nodes, c.isForeign), err
}

// near reports whether a report of one attempt could be taken for one of the other.
func (c *candidate) near(o *candidate) bool {
	at := o.span()
	return c.gap(at.start.Int64, cmp.Or(at.end, at.start).Int64) <= slackSlurm
}

// strays reports whether reports that joined the attempt, when its end was not known, are of another time.
func (c *candidate) strays() bool {
	const slack = int64(slackSlurm / time.Microsecond)
	return c.slurm.start.Valid && c.nodes.start.Valid && c.nodes.start.Int64 < c.slurm.start.Int64-slack ||
		c.slurm.end.Valid && c.nodes.end.Valid && c.nodes.end.Int64 > c.slurm.end.Int64+slack
}

// nodesOf lists the nodes that reported an attempt.
func (w *writer) nodesOf(k attemptKey) (nodes []string, err error) {
	return onlyColumn[string](w.rows("SELECT node FROM reports WHERE cluster = ? AND job_id = ? AND attempt = ?", k.args()...))
}

// reportsOf reads the reports of an attempt, as far as they are matched.
func (w *writer) reportsOf(k attemptKey) (all []*incoming, err error) {
	rows, err := w.rows("SELECT body, received_us FROM reports WHERE cluster = ? AND job_id = ? AND attempt = ?", k.args()...)
	err = eachOf(rows, err, func(rows *sql.Rows) error {
		in := new(incoming)
		var received int64
		err := rows.Scan(&in.body, &received)
		if err == nil {
			in.received = time.UnixMicro(received)
			in.NodeReport, err = unpackHead(in.body)
		}
		all = append(all, in)
		return err
	})
	return all, err
}

// addAgain matches reports again. Those of nodes that an ended attempt did not have are set
// aside: they stay, so that they are known if they come again, under the negative of its number.
func (w *writer) addAgain(k jobKey, again []*incoming, settled *Settled) error {
	for some := range slices.Chunk(again, batchLength) {
		if err := w.addSomeAgain(k, some, settled); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) addSomeAgain(k jobKey, some []*incoming, settled *Settled) error {
	if err := w.addReports(k, some); err != nil {
		return err
	}
	for _, in := range some {
		if in.attempt != nil && in.attempt.isTold() {
			settled.Fit++
		} else {
			settled.Unfit++
		}
		if in.foreign != nil {
			if err := w.setAside(attemptKey{k.cluster, k.jobID, in.foreign.attempt}, in); err != nil {
				return err
			}
		}
	}
	return nil
}

// setAside keeps a report apart from the attempt that it claims to be of, and lets the attempt be
// merged again, with a warning.
func (w *writer) setAside(k attemptKey, in *incoming) error {
	aside := k
	aside.attempt = -k.attempt
	c := &candidate{came: []*incoming{in}}
	return errors.Join(w.insertRows(reportTable.into, c.rows(aside, in.received)), w.mergeAgain(k))
}
