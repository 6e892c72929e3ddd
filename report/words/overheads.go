package words

import (
	"fmt"
	"slices"
	"time"

	"jobeff/policy/overhead"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// shownSizes are the sizes of messages whose figures a list of curves shows, bytes.
var shownSizes = []uint64{8, 64 << 10, 1 << 20}

// Overheads lists a site's curves of jobeff-overhead.
type Overheads struct {
	List block.Part
	Fell []string // curves whose availability fell
}

// OfOverheads lists curves of jobeff-overhead, with comparable ones next to each other. It names those whose
// availability fell.
func OfOverheads(curves []overhead.Curve, wide bool) Overheads {
	if len(curves) == 0 {
		return Overheads{List: block.Part{Notes: []string{"No curve is known. Run jobeff-overhead --json on two nodes of a partition, and import what it prints."}}}
	}
	all := inert.Copy(curves, wide)
	several := slices.ContainsFunc(all, func(c overhead.Curve) bool { return c.Cluster != all[0].Cluster })
	t := block.Table{Heads: []string{"<partition", "<!MPI", "<of", "nodes", "<!measured"}}
	if several {
		t.Heads = append([]string{"<cluster"}, t.Heads...)
	}
	for _, size := range shownSizes {
		t.Heads = append(t.Heads, figure.Bytes(size))
	}
	var o Overheads
	for i := range all {
		row := overheadRow(&all[i])
		if several {
			row = append([]string{all[i].Cluster}, row...)
		}
		t.Rows = append(t.Rows, row)
		if fell := fellText(all, i); fell != "" {
			o.Fell = append(o.Fell, fell)
		}
	}
	o.List = block.Part{Tables: []block.Table{t}, Notes: []string{"Under the sizes: availability, the part of a transfer that the processor has for other work. -: not measured, or refused"}}
	return o
}

func overheadRow(c *overhead.Curve) []string {
	nodes := "-"
	if c.Nodes > 0 {
		nodes = figure.Count(c.Nodes)
	}
	row := []string{c.Partition, c.MPI, c.Direction, nodes, c.Measured.Local().Format(time.DateOnly)}
	for _, size := range shownSizes {
		at := slices.IndexFunc(c.Points, func(p overhead.Point) bool { return p.Bytes == size })
		if at < 0 {
			row = append(row, "-")
		} else {
			row = append(row, availability(c.Points[at]))
		}
	}
	return row
}

// availability writes that of a point, bounded to 0 and 1: a measured one may lie outside, as long as its
// interval does not.
func availability(p overhead.Point) string {
	if p.Avail == nil {
		return "-"
	}
	return figure.Percent(min(max(*p.Avail/100, 0), 1))
}

// fellText says how the availability of curve i fell against the curve before it; "": it did not.
func fellText(curves []overhead.Curve, i int) string {
	if i == 0 || !curves[i-1].Comparable(&curves[i]) {
		return ""
	}
	before, now := &curves[i-1], &curves[i]
	was, is, sizes := overhead.Fell(before, now)
	if sizes == 0 {
		return ""
	}
	return fmt.Sprintf("Partition %s: the availability fell at %s, most at %s: from %s (%s, %s) to %s (%s, %s), %s%s.",
		now.Partition, figure.Counted(sizes, "size"), figure.Bytes(is.Bytes), availability(was), before.MPI, figure.Minute(before.Measured),
		availability(is), now.MPI, figure.Minute(now.Measured), directionText(now.Direction), placeText(now.Nodes))
}

// OverheadCurve words a curve, with a bar for each size.
type OverheadCurve struct {
	Title   string
	Sizes   block.Table
	Refused []string // why a size has no availability
}

// OfOverheadCurves words curves, size by size.
func OfOverheadCurves(curves []overhead.Curve, wide bool) (all []OverheadCurve) {
	for _, c := range inert.Copy(curves, wide) {
		of := OverheadCurve{Title: "Messages " + curveName(&c), Sizes: block.Table{Heads: []string{"size", "overhead us", "transfer us", "availability"}}}
		for _, point := range c.Points {
			of.Sizes.Rows = append(of.Sizes.Rows, []string{figure.Bytes(point.Bytes), figure.Number(point.Overhead), figure.Number(point.BaseT), availability(point)})
			share := 0.0
			if point.Avail != nil {
				share = *point.Avail / 100
			} else {
				of.Refused = append(of.Refused, fmt.Sprintf("%s: no availability: %s", figure.Bytes(point.Bytes), point.Refused))
			}
			of.Sizes.Bar(3, share)
		}
		all = append(all, of)
	}
	return all
}

// OverheadPicture draws curves over the size of messages.
func OverheadPicture(curves []overhead.Curve) block.Availability {
	picture := block.Availability{Alt: "Availability of the processor during a transfer, over the size of messages"}
	for _, c := range inert.Copy(curves, true) {
		line := block.AvailabilityLine{Name: directionText(c.Direction) + ", " + c.MPI}
		for _, p := range c.Points {
			if p.Avail != nil {
				line.Points = append(line.Points, block.AvailabilityPoint{Bytes: p.Bytes, Value: *p.Avail / 100, Low: p.AvailLow / 100, High: p.AvailHigh / 100,
					Name: fmt.Sprintf("%s: overhead %s us, transfer %s us", figure.Bytes(p.Bytes), figure.Number(p.Overhead), figure.Number(p.BaseT))})
			}
		}
		picture.Lines = append(picture.Lines, line)
	}
	return picture
}
