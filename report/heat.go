package report

import (
	"fmt"

	"jobeff/report/block"
	"jobeff/report/figure"
)

// heat writes how useful ranks and nodes were, with one sign for each or for several of them. which names the
// execution.
func (p *terminal) heat(which string, all []block.Heat) {
	if len(all) == 0 {
		return
	}
	var shares []float64
	for _, h := range all {
		shares = append(shares, h.Shares...)
	}
	scale, signs := block.ScaleOf(shares), p.heatSigns()
	p.heading(fmt.Sprintf("Useful part of the elapsed time%s, from %s (%c) to %s (%c)", which,
		figure.Percent(scale.Low), signs[0], figure.Percent(scale.High), signs[len(signs)-1]))
	for _, h := range all {
		p.heatRow(h, scale, signs)
	}
}

// course writes an efficiency over time, with a sign for each bucket.
func (p *terminal) course(c block.Course) {
	if len(c.Buckets) == 0 {
		return
	}
	var shares []float64
	for _, b := range c.Buckets {
		shares = append(shares, b.Efficiency)
	}
	scale, signs := block.ScaleOf(shares), p.heatSigns()
	p.heading(fmt.Sprintf("Parallel efficiency over time%s, from %s (%c) to %s (%c)", c.Which,
		figure.Efficiency(scale.Low), signs[0], figure.Efficiency(scale.High), signs[len(signs)-1]))
	row := []rune("  ")
	for _, s := range shares {
		row = append(row, signs[scale.Level(s, len(signs))])
	}
	p.line(string(row))
	p.line("  each sign: " + c.Length)
	for _, s := range c.Words {
		p.paragraph("  ", "  ", s, nil)
	}
}

// heatSigns returns the signs of a scale, the lowest first.
func (p *terminal) heatSigns() []rune {
	if p.ornate {
		return []rune("▁▂▃▄▅▆▇█")
	}
	return []rune("0123456789")
}

// heatRow writes a sign for each share, or for several neighbouring ones.
func (p *terminal) heatRow(h block.Heat, scale block.Scale, signs []rune) {
	shares, each := h.Fitted(p.Width - 10)
	var row []rune
	for _, share := range shares {
		row = append(row, signs[scale.Level(share, len(signs))])
	}
	text := h.Spread()
	if each > 1 {
		text = fmt.Sprintf("each sign: mean of %s; %s", figure.Counted(each, h.Noun), text)
	}
	line := fmt.Sprintf("  %-6s  %s", h.Label, string(row))
	if displayWidth(line)+2+displayWidth(text) <= p.Width {
		p.line(line + "  " + text)
		return
	}
	p.line(line)
	p.line("          " + text)
}
