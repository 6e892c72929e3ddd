package words

import (
	"fmt"

	"jobeff/ingest/job"
	"jobeff/policy/overhead"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// overlapPart says how much of the time in point-to-point calls computing could have hidden. It is empty if no
// curve of the job's partition and MPI is known.
func overlapPart(j *job.Job) block.Part {
	h := j.Hidable()
	if h == nil {
		return block.Part{}
	}
	return block.Part{Heading: "Point-to-point calls: what computing could hide", Items: []string{overlapText(h)},
		Notes: block.Notes("from the sizes of its messages and what messages cost on this partition; jobeff explain names the curve", SizesNote(j.Executions))}
}

func overlapText(h *overhead.Hidable) string {
	share := func(s float64) string { return figure.Part(s, h.P2P) }
	text := fmt.Sprintf("at most %s of the %s in these calls%s", figure.Estimate(h.Most, h.Low, h.High, share), figure.Seconds(h.P2P), executionsWithCurve(h))
	switch {
	case !h.Receive:
		return text + ", counted for the sending side: how much receivers could hide was not measured"
	case !h.Send:
		return text + ", counted for the receiving side: how much senders could hide was not measured"
	case h.Most >= h.P2P:
		return text
	}
	return text + "; the rest is waiting"
}

// executionsWithCurve says how many executions the figures cover, if not all.
func executionsWithCurve(h *overhead.Hidable) string {
	if h.Executions == h.Of {
		return ""
	}
	return fmt.Sprintf(" of %s out of %s", figure.Counted(h.Executions, "execution"), figure.Count(h.Of))
}

// overlapFacts name the curves behind overlapPart.
func overlapFacts(j *job.Job) (f block.Facts) {
	h := j.Hidable()
	if h == nil {
		return nil
	}
	f.Add("Overlap", overlapText(h))
	for _, c := range h.Curves {
		f.Add("", "by the curve "+curveName(c))
	}
	return f
}

// curveName identifies a curve.
func curveName(c *overhead.Curve) string {
	return "of " + block.Joined(", ", of("partition", c.Partition), c.MPI, directionText(c.Direction), "measured "+figure.Minute(c.Measured)+placeText(c.Nodes))
}

func directionText(direction string) string {
	if direction == overhead.Receive {
		return "receiving"
	}
	return "sending"
}

func placeText(nodes int) string {
	switch nodes {
	case 0:
		return ""
	case 1:
		return " inside a node"
	}
	return " between two nodes"
}
