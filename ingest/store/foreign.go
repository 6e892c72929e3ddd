package store

import (
	"errors"
	"slices"
	"time"

	"jobeff/ingest/job"
)

// Only Slurm says which nodes, user and times a job has. Root of a node that could claim them
// could hide anybody's job behind a report of its own. So a report joins an attempt that Slurm
// told of only if it fits. Else it makes an attempt of its own that waits for Slurm's word
// (confirmed). What came before that word is matched again when it comes (takeApart). Where
// sacct is never asked, nobody judges.

// isForeign tells whether Slurm named the attempt's nodes and this is not one.
func (c *candidate) isForeign(node string) bool {
	holds, known := job.HostlistHolds(c.nodelist, node)
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

// takeApart removes the attempts that Slurm has not told of, and those that hold reports of
// nodes which, as it now turns out, are not theirs. It returns their reports, to be matched
// again. writeLine writes the removed attempts anew, if Slurm told of them.
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
		for _, table := range append(slices.Clone(tablesOfAttempt), "attempts") {
			if err := w.forget(table, of); err != nil {
				return nil, err
			}
		}
		c.isNew, c.reports = true, 0
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
	if !c.line { // nobody would write it anew
		return false, nil
	}
	nodes, err := w.nodesOf(attemptKey{k.cluster, k.jobID, c.attempt})
	return slices.ContainsFunc(nodes, c.isForeign), err
}

// nodesOf lists the nodes that reported an attempt.
func (w *writer) nodesOf(k attemptKey) (nodes []string, err error) {
	rows, err := w.rows("SELECT node FROM reports WHERE cluster = ? AND job_id = ? AND attempt = ?", k.args()...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var node string
		if err := rows.Scan(&node); err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	return nodes, rows.Err()
}

// reportsOf reads the reports of an attempt.
func (w *writer) reportsOf(k attemptKey) (all []*incoming, err error) {
	rows, err := w.rows("SELECT body, received_us FROM reports WHERE cluster = ? AND job_id = ? AND attempt = ?", k.args()...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		in := new(incoming)
		var received int64
		if err := rows.Scan(&in.body, &received); err != nil {
			return nil, err
		}
		in.received = time.UnixMicro(received)
		if in.NodeReport, err = unpackReport(in.body); err != nil {
			return nil, err
		}
		all = append(all, in)
	}
	return all, rows.Err()
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
