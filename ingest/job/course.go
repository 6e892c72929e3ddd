package job

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// Course is how useful the ranks of a node were over time. Its buckets are those of a Timeline with this
// Shift and First. In a job the buckets are those of the execution's Timeline, and Shift and First are 0.
type Course struct {
	Shift int   `json:"shift,omitzero"`
	First int64 `json:"first,omitzero"`
	// Rows hold a character for each bucket: one of courseSigns, or courseGone if no rank ran then. They
	// are in the order of NodeShare.RankIDs. All stand for the same number of ranks, and the last one for
	// the rest.
	Rows []string `json:"rows"`
	// Nodes says that the one row is the mean of so many nodes: this one and those after it. 0: the rows
	// are of this node.
	Nodes int `json:"nodes,omitempty"`
}

// MostRows bounds the rows of all nodes of an execution together. An execution of no more ranks, or on
// one node, has rows of ranks; the others have rows of nodes.
const MostRows = 24

// courseSigns stand for useful shares from 0 to 1, in equal steps.
const courseSigns = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const courseGone = '-'

// NewCourse makes the rows of a node, in the buckets of the whole. Each row stands for some ranks.
func NewCourse(whole *Timeline, rows []*Timeline) *Course {
	c := &Course{Shift: whole.Shift, First: whole.First}
	for _, row := range rows {
		shares := make([]meanShare, len(whole.Elapsed))
		for i, elapsed := range row.Elapsed {
			if elapsed > 0 {
				shares[row.First-whole.First+int64(i)].add(row.Useful[i].Seconds() / elapsed.Seconds())
			}
		}
		c.Rows = append(c.Rows, courseRow(shares))
	}
	return c
}

// meanShare is the mean of some shares.
type meanShare struct {
	sum float64
	of  int
}

func (m *meanShare) add(share float64) { m.sum, m.of = m.sum+share, m.of+1 }

// courseRow writes a row.
func courseRow(shares []meanShare) string {
	row := bytes.Repeat([]byte{courseGone}, len(shares))
	for i, m := range shares {
		if m.of > 0 {
			row[i] = courseSigns[int(math.Round(min(m.sum/float64(m.of), 1)*float64(len(courseSigns)-1)))]
		}
	}
	return string(row)
}

// Shares are the useful shares of a row; -1: no rank ran.
func (c *Course) Shares(row int) []float64 {
	shares := make([]float64, len(c.Rows[row]))
	for i := range shares {
		shares[i] = -1
		if level := strings.IndexByte(courseSigns, c.Rows[row][i]); level >= 0 {
			shares[i] = float64(level) / float64(len(courseSigns)-1)
		}
	}
	return shares
}

// Possible reports whether a node can have made it.
func (c *Course) Possible() bool {
	return c.Shift >= 0 && c.Shift <= mostLength && c.First >= 0 && c.Nodes == 0 && len(c.Rows) >= 1 && len(c.Rows) <= MostRows &&
		!slices.ContainsFunc(c.Rows, func(row string) bool {
			return len(row) > MostBuckets || strings.Trim(row, courseSigns+string(courseGone)) != ""
		})
}

// dropCourses drops the courses of all nodes. It makes a new list, since others may hold the old one.
func (e *Execution) dropCourses() {
	if slices.ContainsFunc(e.Nodes, func(n NodeShare) bool { return n.Course != nil }) {
		e.Nodes = slices.Clone(e.Nodes)
		for i := range e.Nodes {
			e.Nodes[i].Course = nil
		}
	}
}

// SettleCourse reduces the courses to what a job needs once nothing will be added: at most MostRows
// rows of all nodes, in the buckets of the timeline. If one node has no course, it drops all.
func (e *Execution) SettleCourse() {
	settled := *e.Timeline
	settled.Most = settled.Most[:1]
	e.Timeline = &settled
	rows, nodes := 0, e.Nodes
	for i := range nodes {
		if nodes[i].Course == nil {
			e.dropCourses()
			return
		}
		rows += len(nodes[i].Course.Rows)
	}
	each := 1
	if rows > MostRows {
		each = (len(nodes) + MostRows - 1) / MostRows
	}
	e.dropCourses()
	for i := 0; i < len(nodes); i += each {
		c := new(Course)
		group := nodes[i:min(i+each, len(nodes))]
		var all [][]meanShare
		for _, n := range group {
			for row := range n.Course.Rows {
				if all == nil || rows <= MostRows {
					all = append(all, make([]meanShare, len(e.Timeline.Elapsed)))
				}
				e.Timeline.fit(all[len(all)-1], n.Course, row)
			}
		}
		if rows > MostRows {
			c.Nodes = len(group)
		}
		for _, shares := range all {
			c.Rows = append(c.Rows, courseRow(shares))
		}
		e.Nodes[i].Course = c
	}
}

// fit adds the shares of a row, whose buckets are not longer than those of t.
func (t *Timeline) fit(shares []meanShare, c *Course, row int) {
	for i, share := range c.Shares(row) {
		at := (c.First+int64(i))>>max(t.Shift-c.Shift, 0) - t.First
		if share >= 0 && at >= 0 && at < int64(len(shares)) {
			shares[at].add(share)
		}
	}
}
