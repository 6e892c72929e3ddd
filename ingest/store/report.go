package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/wire"
)

// AddReport stores a report that wire.DecodeReport made, joins it to its attempt, and returns
// after the COMMIT. packed is its text, compressed. added is false if the same report, or a later
// one of the same sequence, was there already. The caller must not change the report afterwards.
func (s *Store) AddReport(ctx context.Context, by Sender, r *job.NodeReport, packed []byte) (added bool, err error) {
	in := &incoming{NodeReport: r, sender: by, body: packed, asked: s.patience > 0}
	in.cramped = in.asked && s.engine.nearlyFull()
	if err = s.knowCluster(ctx, r.Cluster, false); err == nil {
		err = s.commit(ctx, &op{job: jobKey{r.Cluster, r.JobID}, report: in})
	}
	if err == nil {
		err = in.refused
	}
	if err != nil {
		return false, fmt.Errorf("store: report of job %d from %s: %w", r.JobID, r.Node, err)
	}
	if in.apart {
		s.tellSettled(Settled{Cluster: r.Cluster, JobID: r.JobID, Unfit: 1})
	}
	if in.attempt == nil {
		return false, nil
	}
	s.heard.note(nodeKey{r.Cluster, r.Node}, heardNode{at: time.Now()})
	return true, nil
}

// addReports adds reports of one job to its attempts, and says of each what became of it.
func (w *writer) addReports(k jobKey, all []*incoming) error {
	attempts, err := w.candidates(k)
	if err != nil {
		return err
	}
	there, err := w.reportsThere(k, attempts, all)
	if err != nil {
		return err
	}
	for _, in := range all {
		in.attempt, in.refused, in.foreign, in.apart = nil, nil, nil, false // this may run again
		key := reportKey{in.Node, in.Nonce}
		if before, is := there[key]; is {
			if in.Sequence > before.sequence && before.attempt != nil {
				in.Still = before.still.Then(in.Look())
				before.attempt.replace(in)
				there[key], in.attempt = keptReport{before.attempt, in.Sequence, in.Still}, before.attempt
			}
			continue
		}
		c, err := attemptOf(attempts, in.NodeReport)
		if err != nil {
			in.refused, in.foreign = err, c
			continue
		}
		if c == nil || !c.isTold() {
			refused, err := w.mayWait(in, c, attempts)
			if err != nil {
				return err
			}
			if refused != nil {
				in.refused = refused
				continue
			}
		}
		if c == nil {
			c = &candidate{isNew: true, attempt: nextAttempt(attempts), sender: in.sender.as(in.Node), uid: in.UID, nodelist: in.NodeList, by: map[string]bool{}}
			attempts = append(attempts, c)
		}
		c.add(in)
		in.Still = (*hang.Still)(nil).Then(in.Look())
		there[key], in.attempt = keptReport{c, in.Sequence, in.Still}, c
		in.apart = !c.isTold() && slices.ContainsFunc(attempts, (*candidate).isTold)
	}
	for _, c := range attempts {
		if err := w.addToAttempt(attemptKey{k.cluster, k.jobID, c.attempt}, c); err != nil {
			return err
		}
	}
	return nil
}

// Bounds of the attempts of one job id that Slurm has not confirmed. Each report that fits none makes
// one, and every report of the job is matched with all of them. A sender has a part, and each node in
// whose name it speaks has a part of that, so made-up reports do not keep out others.
//
// All of these reports are matched again at once when Slurm lists the job. So a large one waits on
// its node until then, and no sender brings many for attempts that it opened itself: each node has
// one. There is no end of job ids, so on a nearly full disk none of these reports takes the rest.
const (
	mostWaiting        = 1000
	waitingOfStrangers = 400 // all together
	waitingOfSender    = 200 // also of reports that it adds to its own
	waitingOfNode      = 100
	mostWaitingText    = 1 << 20 // bytes of a report's text
)

// Sender is who brings a report, as far as that is proven. The report says which node it is of.
type Sender struct {
	Part     string // whose share it takes; "": this machine's root
	Stranger bool   // an address that may be anybody's
}

const strangers = "stranger "

// String is the beginning of what as returns for any node.
func (s Sender) String() string {
	if s.Stranger {
		return strangers + s.Part + " as "
	}
	return s.Part + " as "
}

// full says that a sender has used up its part of a job's attempts that wait.
func (s Sender) full(node string, attempts []*candidate) bool {
	var all, ofStrangers, ofSender, ofNode int
	for _, c := range attempts {
		if !c.isTold() {
			all++
			ofStrangers += bit(strings.HasPrefix(c.sender, strangers))
			ofSender += bit(strings.HasPrefix(c.sender, s.String()))
			ofNode += bit(c.sender == s.as(node))
		}
	}
	return all >= mostWaiting || s.Stranger && ofStrangers >= waitingOfStrangers || ofSender >= waitingOfSender || ofNode >= waitingOfNode
}

// as names the sender when it speaks for a node.
func (s Sender) as(node string) string { return s.String() + node }

// mayWait says why a report does not wait for Slurm's word, in c or, if that is nil, in a new attempt; nil:
// it does.
func (w *writer) mayWait(in *incoming, c *candidate, attempts []*candidate) (refused, err error) {
	if c == nil {
		switch gone, err := w.pruned(in.Cluster, in.End, time.Now().UnixMicro()); {
		case err != nil:
			return nil, err
		case gone:
			return ErrPruned, nil
		}
	}
	switch {
	case !in.received.IsZero(): // what was acknowledged stays
		return nil, nil
	case in.cramped, c == nil && in.sender.full(in.Node, attempts),
		in.asked && wire.TextSize(in.body, int64(len(in.body))) > mostWaitingText,
		in.asked && c != nil && in.sender.adds(c, attempts) >= waitingOfSender:
		return ErrManyWaiting, nil
	}
	return nil, nil
}

// adds is how many reports wait in the attempts that a sender opened, if c is one of them.
func (s Sender) adds(c *candidate, attempts []*candidate) (reports int) {
	if !strings.HasPrefix(c.sender, s.String()) {
		return 0
	}
	for _, o := range attempts {
		if !o.isTold() && strings.HasPrefix(o.sender, s.String()) {
			reports += o.reports + len(o.came)
		}
	}
	return reports
}

// reportKey names a report of a job.
type reportKey struct{ node, nonce string }

// keptReport is a report that is in the database, or about to be.
type keptReport struct {
	attempt  *candidate // nil: it was set aside
	sequence int
	still    *hang.Still
}

const reportsOfNodes = "SELECT node, nonce, sequence, attempt, still_json FROM reports p WHERE cluster = ? AND job_id = ? AND node IN "

// reportsThere reads which reports of these nodes are in the database, and notes at each
// attempt which nodes have reported it.
func (w *writer) reportsThere(k jobKey, attempts []*candidate, all []*incoming) (map[reportKey]keptReport, error) {
	var nodes []string
	for _, in := range all {
		nodes = append(nodes, in.Node)
	}
	list, args := oneOf(nodes)
	rows, err := w.rows(reportsOfNodes+list, append([]any{k.cluster, k.jobID}, args...)...)
	there := map[reportKey]keptReport{}
	err = eachOf(rows, err, func(rows *sql.Rows) error {
		var key reportKey
		var kept keptReport
		var attempt int64
		var still string
		err := rows.Scan(&key.node, &key.nonce, &kept.sequence, &attempt, &still)
		if err == nil {
			kept.still, err = hang.ReadStill(still)
		}
		for _, c := range attempts {
			if c.attempt == attempt {
				kept.attempt, c.by[key.node] = c, true
			}
		}
		there[key] = kept
		return err
	})
	return there, err
}

// addToAttempt writes the new reports of an attempt, which Merge then finds.
func (w *writer) addToAttempt(k attemptKey, c *candidate) error {
	if len(c.came)+len(c.again) == 0 {
		return nil
	}
	now := time.Now()
	row := &attemptRow{attemptKey: k, changed: now, unmerged: max(c.unmerged+1, now.UnixMicro()), sender: c.sender, sluid: c.sluid, nodelist: c.nodelist,
		nodesStart: fromMicro(c.nodes.start), nodesEnd: fromMicro(c.nodes.end), job: job.Job{UID: c.uid, Nodes: c.nnodes, Reports: c.reports + len(c.came), AsOf: c.asOf}}
	if c.trimmed { // its figures stay
		row.unmerged = 0
	}
	by := from(arrival)
	if c.isNew {
		by = by.with(opening)
	}
	if err := w.writeAttempt(row, by); err != nil {
		return err
	}
	if err := w.insertRows(reportTable.into, c.rows(k, now)); err != nil {
		return err
	}
	for _, in := range c.again {
		err := w.exec("UPDATE reports SET sequence = ?, received_us = ?, still_json = ?, body = ? WHERE cluster = ? AND job_id = ? AND node = ? AND nonce = ?",
			in.Sequence, now.UnixMicro(), in.Still.Text(), in.body, k.cluster, k.jobID, in.Node, in.Nonce)
		if err != nil {
			return err
		}
	}
	return nil
}

// rows are the values of the rows of the new reports.
func (c *candidate) rows(k attemptKey, now time.Time) (values []any) {
	for _, in := range c.came {
		received := now
		if !in.received.IsZero() {
			received = in.received
		}
		values = appendValues(values, reportTable.columns, &reportRow{k.cluster, k.jobID, in.Node, in.Nonce, in.Sequence, k.attempt, received, in.Still.Text(), in.body})
	}
	return values
}
