package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// seenView is what a reader sees of a job or a workload, as a text or as a page.
type seenView struct {
	line   string                              // all of it on one line
	tree   map[string]span                     // efficiencies by the beginning of their names
	bars   map[string][]bar                    // of a page's tables, by column
	tables func(heading string) (r [][]string) // its heads first; nil: there is none
}

// bar is a value with the drawn length beside it, as a part of the whole.
type bar struct {
	text  string
	drawn float64
}

// textView reads a text.
func textView(s *sums, text string) seenView {
	v := seenView{strings.Join(strings.Fields(text), " "), map[string]span{}, nil, func(heading string) [][]string { return tableUnder(text, heading) }}
	for _, m := range leaf.FindAllStringSubmatch(text, -1) {
		v.tree[m[1]] = rounded(s.figure(m[2]))
	}
	return v
}

// pageView reads a page.
func pageView(s *sums, text string) seenView {
	s.t.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	v := seenView{tree: map[string]span{}, bars: map[string][]bar{}}
	tables := map[string][][]string{}
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.ElementNode && n.Data == "table":
			caption, rows := s.pageTable(&v, n)
			tables[caption] = rows
		case n.Type == html.TextNode && within(n, "main") && !within(n, "svg"):
			v.line += n.Data + " "
		}
	}
	v.line = strings.ReplaceAll(strings.Join(strings.Fields(v.line), " "), " .", ".")
	v.tables = func(heading string) [][]string {
		for caption, rows := range tables {
			if strings.HasPrefix(caption, heading) {
				return rows
			}
		}
		return nil
	}
	return v
}

func within(n *html.Node, element string) bool {
	for a := range n.Ancestors() {
		if a.Data == element {
			return true
		}
	}
	return false
}

// pageTable reads one table, with the bars that are drawn in it, and the tree of efficiencies.
func (s *sums) pageTable(v *seenView, table *html.Node) (caption string, rows [][]string) {
	isTree := attribute(table, "class") == "tree"
	for n := range table.Descendants() {
		switch n.Data {
		case "caption":
			caption = textOf(n)
		case "tr":
			var row []string
			for cell := range n.ChildNodes() {
				if cell.Type != html.ElementNode {
					continue
				}
				row = append(row, strings.TrimSpace(textOf(cell)))
				if drawn, ok := drawnIn(cell); ok {
					beside := row[len(row)-1]
					if isTree {
						beside = row[1]
					}
					column := caption + " " + strconv.Itoa(len(row))
					v.bars[column] = append(v.bars[column], bar{beside, drawn})
				}
			}
			rows = append(rows, row)
			if isTree && len(rows) > 1 {
				for _, name := range []string{"Parallel", "Load balance", "Inside", "Between", "Communication"} {
					if strings.HasPrefix(row[0], name) {
						v.tree[name] = rounded(s.figure(row[1]))
					}
				}
			}
		}
	}
	return caption, rows
}

// drawnIn returns the length of a cell's bar.
func drawnIn(cell *html.Node) (part float64, ok bool) {
	for n := range cell.Descendants() {
		if class := attribute(n, "class"); n.Data == "rect" && (class == "f-main" || class == "f-bad") {
			w, err := strconv.ParseFloat(attribute(n, "width"), 64)
			return w / 1000, err == nil
		}
	}
	return 0, false
}

// fitsBars compares the bars of each column with their values. The bar of an efficiency or a share is as
// long as the value. Among other values, the longest bar stands for the largest.
func (s *sums) fitsBars(where string, v seenView) {
	s.t.Helper()
	for column, bars := range v.bars {
		if strings.HasPrefix(column, "When it ran") {
			continue
		}
		whole := span{1, 1}
		if last := bars[0].text; !strings.HasSuffix(last, "%") && !strings.HasPrefix(column, "POP") {
			whole = s.figure(slices.MaxFunc(bars, func(a, b bar) int { return int(math.Copysign(1, s.figure(a.text).high-s.figure(b.text).high)) }).text)
			if strings.HasPrefix(column, "Sizes") { // one scale for both columns
				whole = span{0, math.Inf(1)}
			}
		}
		for _, b := range bars {
			value := rounded(s.figure(b.text))
			if s.compared++; !(span{b.drawn - 0.0006, b.drawn + 0.0006}).meets(value.over(whole)) {
				s.t.Errorf("%s: %s: a bar of %.3f beside %s, the longest stands for %v", where, column, b.drawn, b.text, whole)
			}
		}
	}
}

var (
	lostOf    = regexp.MustCompile(`(\S+ %|under 1 %|over 99 %) of the time of ([\d,]+) ranks went into MPI`)
	shareOf   = regexp.MustCompile(`MPI share of the ranks' time (\S+ %|under 1 %|over 99 %)`)
	allocated = regexp.MustCompile(`Size ([\d,]+) ranks on ([\d,]+) nodes?, ([\d,]+) cores allocated`)
	ranFor    = regexp.MustCompile(`, (\S+); (\S+(?: s)?) elapsed between MPI_Init and MPI_Finalize (?:Size|Queue)`)
	dataOf    = regexp.MustCompile(`([\d,]+) of ([\d,]+) ranks recorded \(coverage (\d\.\d\d)\)(?:, ([\d,]+) of ([\d,]+) nodes? reported)?(?:, the figures cover (\S+ %|under 1 %|over 99 %))?`)
	endedOf   = regexp.MustCompile(`State [A-Z_]+[^;]*?ranks: ((?:[\d,]+ [^;,]+(?:, )?)+?) Time`)
	memoryOf  = regexp.MustCompile(`Memory (\S+ [KMGT]?i?B) of (\S+ [KMGT]?i?B) at once, by Slurm, whose count may miss a short peak or hold file cache \(memory efficiency (\d\.\d\d)\)`)
	adviceOf  = regexp.MustCompile(`saved (\S+) % \((\S+) % to (\S+) %\) of the core-hours .* cores for [^:]*: ([\d.,]+) core-hours \(([\d.,]+) to ([\d.,]+)\) saved`)
	outsideOf = regexp.MustCompile(`([\d.,]+) outside MPI_Init`)
	moreNodes = regexp.MustCompile(`and ([\d,]+) nodes? with less work`)
)

// bytesOf is what "2.6 TiB" stands for.
func (s *sums) bytesOf(text string) span {
	number, unit, _ := strings.Cut(text, " ")
	return s.figure(number).scaled(math.Pow(1024, float64(strings.Index(" KMGT", unit[:1]))))
}

// job recomputes a job from its text and from its page.
func (s *sums) job(id string) {
	s.t.Helper()
	text := s.jobeff("--full", id)
	s.jobView("job "+id, textView(s, text))
	oneUnit(s.t, "job "+id, text)
	page := pageView(s, s.jobeff("report", id, "--html", "-"))
	s.jobView("page of job "+id, page)
	s.fitsBars("page of job "+id, page)
}

func (s *sums) jobView(where string, v seenView) {
	s.t.Helper()
	for _, product := range [][3]string{{"Parallel", "Load balance", "Communication"}, {"Load balance", "Inside", "Between"}} {
		whole, a, b := v.tree[product[0]], v.tree[product[1]], v.tree[product[2]]
		if s.compared++; len(v.tree) == 5 && !whole.meets(a.times(b)) {
			s.t.Errorf("%s: %s %v is not %v times %v", where, product[0], whole, a, b)
		}
	}
	if m := lostOf.FindStringSubmatch(v.line); m != nil && len(v.tree) == 5 {
		s.fits(where+", went into MPI", m[1], exactly(1).minus(v.tree["Parallel"]))
		if share := shareOf.FindStringSubmatch(v.line); share == nil || share[1] != m[1] {
			s.t.Errorf("%s: %s, and %v", where, m[0], share)
		}
	}
	if m := busy.FindStringSubmatch(v.line); m != nil {
		efficiency := rounded(s.figure(m[1]))
		if s.compared++; !efficiency.meets(s.figure(m[2]).over(s.figure(m[3]))) {
			s.t.Errorf("%s: %s", where, m[0])
		}
	}
	used := span{}
	if m := hours.FindStringSubmatch(v.line); m != nil {
		used = s.figure(m[1])
		sum := span{}
		for _, p := range part.FindAllStringSubmatch(m[3], -1) {
			sum = sum.plus(s.figure(p[1]))
		}
		sum.high += 0.03 * s.figure(m[2]).high // parts below half a percent are left out
		s.fits(where+", core-hours lost", m[2], sum)
	}
	if m := memoryOf.FindStringSubmatch(v.line); m != nil {
		s.fits(where+", memory", m[3], s.bytesOf(m[1]).over(s.bytesOf(m[2])))
	}
	if m := adviceOf.FindStringSubmatch(v.line); m != nil { // of the time of its MPI program
		used := used
		if outside := outsideOf.FindStringSubmatch(v.line); outside != nil {
			used = used.minus(s.figure(outside[1]))
		} else {
			used.low *= 0.995 // less than half a percent is not shown
		}
		for i := 1; i <= 3; i++ {
			s.fits(where+", saved of used", m[i]+" %", s.figure(m[i+3]).over(used))
		}
	}
	s.allocation(where, v, used)
	s.calls(where, v.tables("MPI calls that cost most"))
	s.sections(where, v.tables("Sections of the program"))
	if m := moreNodes.FindStringSubmatch(v.line); m != nil {
		of := allocated.FindStringSubmatch(v.line)
		s.fits(where+", nodes", of[2], s.figure(m[1]).plus(exactly(float64(len(v.tables("Nodes with the most work"))-1))))
	}
}

// allocation compares what a job was given, and for how long, with the sums made of it.
func (s *sums) allocation(where string, v seenView, used span) {
	s.t.Helper()
	size, ran := allocated.FindStringSubmatch(v.line), ranFor.FindStringSubmatch(v.line)
	if size == nil || ran == nil {
		return
	}
	cores, elapsed := s.figure(size[3]), s.figure(ran[1])
	cores = exactly((cores.low + cores.high) / 2)
	if used.high > 0 && !used.meets(elapsed.times(cores).scaled(1./3600)) {
		s.t.Errorf("%s: used %v, by %s cores for %s", where, used, size[3], ran[1])
	}
	if m := busy.FindStringSubmatch(v.line); m != nil {
		s.fits(where+", core time", m[3], elapsed.times(cores))
	}
	s.compared += 2
	data := dataOf.FindStringSubmatch(v.line)
	if data == nil {
		s.t.Errorf("%s: nothing is said of its data", where)
		return
	}
	s.fits(where+", coverage", data[3], s.figure(data[1]).over(s.figure(data[2])))
	if data[6] != "" && data[1] == data[2] && data[2] == size[1] {
		n := s.figure(data[1])
		s.fits(where+", covered", data[6], exactly((n.low+n.high)/2).times(s.figure(ran[2])).over(elapsed.times(cores)))
	}
	if m := endedOf.FindStringSubmatch(v.line); m != nil {
		sum := span{}
		for one := range strings.SplitSeq(m[1], ", ") {
			n, _, _ := strings.Cut(one, " ")
			sum = sum.plus(s.figure(n))
		}
		s.fits(where+", endings", data[2], sum)
	}
}

// sections compares the shares of sections with the whole, and their efficiencies with each other.
func (s *sums) sections(where string, rows [][]string) {
	s.t.Helper()
	sum := span{}
	for _, r := range rows[min(1, len(rows)):] {
		if r[6] == "-" || len(r) != 9 {
			continue
		}
		sum = sum.plus(s.figure(r[4]))
		if s.compared++; !rounded(s.figure(r[6])).meets(rounded(s.figure(r[7])).times(rounded(s.figure(r[8])))) {
			s.t.Errorf("%s: section %s: PE %s is not LB %s x CommE %s", where, r[0], r[6], r[7], r[8])
		}
	}
	if len(rows) > 1 && !sum.meets(exactly(1)) {
		s.t.Errorf("%s: the shares of its sections make %.2f to %.2f", where, sum.low, sum.high)
	}
}

var (
	runsOf  = regexp.MustCompile(`Runs ([\d,]+) runs(?:; on the curve are ([\d,]+), on| on) ([\d,]+) core counts`)
	usefulN = regexp.MustCompile(`Core-hours ([\d.,]+) used by all its runs, ([\d.,]+) of them not useful`)
)

// workload recomputes a workload from its text and from its page.
func (s *sums) workload(key string) {
	s.t.Helper()
	text := s.jobeff("workload", key)
	s.workloadView("workload "+key, textView(s, text))
	oneUnit(s.t, "workload "+key, text)
	s.workloadView("page of workload "+key, pageView(s, s.jobeff("workload", key, "--html", "-")))
}

func (s *sums) workloadView(where string, v seenView) {
	s.t.Helper()
	times, runs, counts := map[string]span{}, span{}, 0
	for _, r := range v.tables("Measured, by cores") {
		if len(r) != 10 || r[0] == "cores" {
			continue
		}
		at := where + " on " + r[0] + " cores"
		s.fits(at+", overhead", r[6], s.figure(r[3]).times(exactly(1).minus(rounded(s.figure(r[5])))))
		s.fits(at+", GE", r[8], rounded(s.figure(r[5])).times(s.figure(r[7])))
		s.fits(at+", core-hours", r[9], s.figure(r[0]).scaled(1./3600).times(s.figure(r[3])))
		times[r[0]], runs, counts = s.figure(r[3]), runs.plus(s.figure(r[2])), counts+1
	}
	if m := runsOf.FindStringSubmatch(v.line); m != nil && counts > 0 {
		on := m[2]
		if on == "" {
			on = m[1]
		}
		s.fits(where+", runs on the curve", on, runs)
		s.fits(where+", core counts", m[3], exactly(float64(counts)))
	}
	if m := usefulN.FindStringSubmatch(v.line); m != nil && s.figure(m[2]).low > s.figure(m[1]).high {
		s.t.Errorf("%s: %s", where, m[0])
	}
	for _, r := range v.tables("Expected run times") {
		if len(r) == 7 && r[0] != "cores" && r[6] != "-" {
			s.fits(where+", expected core-hours on "+r[0], r[6], s.figure(r[0]).scaled(1./3600).times(s.figure(r[1])))
		}
	}
	bounds := v.tables("Partial speedup bounds")
	for i, r := range bounds {
		if i > 0 && times[r[0]].high > 0 {
			s.fits(where+", speedup on "+r[0], r[1], times[bounds[1][0]].over(times[r[0]]))
		}
	}
}

var (
	mailLost = regexp.MustCompile(`^jobeff: ([\d,]+) jobs? of yours on demo lost ([\d.,]+) core-hours$`)
	itemLost = regexp.MustCompile(`\| ([\d,]+) jobs? that lost ([\d.,]+) core-hours[.:]`)
	itemTold = regexp.MustCompile(`Ask for [\d,]+ cores instead of ([\d,]+)\. ([\d,]+) cores would have taken (.+?) \((.+?)\) and saved (\S+) % \((\S+) % to (\S+) %\) of the core-hours \([^)]*\)\. .*?sbatch (?:--nodes=(\d+) )?--ntasks=(\d+) `)
	surely   = regexp.MustCompile(`would surely save ([\d.,]+) of the ([\d.,]+) core-hours`)
)

// factor is what "43 % longer", "30 % less time", "2.0 times as long" make of a time.
func (s *sums) factor(text, unit string) span {
	s.t.Helper()
	number, said, _ := strings.Cut(text, " ")
	if said == "" || said == "%" {
		said += unit
	}
	v := s.figure(number)
	switch {
	case strings.HasPrefix(said, "times"):
		return v
	case strings.Contains(said, "less"):
		return exactly(1).minus(v.scaled(0.01))
	}
	return exactly(1).plus(v.scaled(0.01))
}

// notices recomputes the mails to users: their sums, and what a line to try saves.
func (s *sums) notices(preview string) {
	s.t.Helper()
	mails := regexp.MustCompile(`(?m)^(?:\S+) on demo: one mail now$`).Split(preview, -1)[1:]
	if len(mails) < 2 {
		s.t.Errorf("only %d mails are previewed:\n%s", len(mails), preview)
	}
	for _, mail := range mails {
		line := strings.Join(strings.Fields(strings.ReplaceAll(mail, "\n  |", "\n")), " ")
		_, subject, _ := strings.Cut(mail, "Subject: ")
		subject, _, _ = strings.Cut(subject, "\n")
		if _, after, ok := strings.Cut(subject, "] "); ok {
			subject = after
		}
		head := mailLost.FindStringSubmatch(subject)
		if head == nil {
			s.t.Errorf("subject %q", subject)
			continue
		}
		if !strings.Contains(line, strings.TrimPrefix(head[0], "jobeff: ")+".") {
			s.t.Errorf("%s: the mail says something else:\n%s", subject, mail)
		}
		jobs, lost := span{}, span{}
		for _, m := range itemLost.FindAllStringSubmatch(mail, -1) {
			jobs, lost = jobs.plus(s.figure(m[1])), lost.plus(s.figure(m[2]))
		}
		s.fits(subject+", jobs", head[1], jobs)
		s.fits(subject+", lost", head[2], lost)
		for _, m := range itemTold.FindAllStringSubmatch(line, -1) {
			s.toldLine(subject, m)
		}
		s.mailed(subject, line)
		if m := surely.FindStringSubmatch(line); m == nil || s.figure(m[1]).low > s.figure(m[2]).high {
			s.t.Errorf("%s: %v", subject, m)
		}
	}
}

// toldLine recomputes what a smaller core count saves, from its time and its cores.
func (s *sums) toldLine(where string, m []string) {
	s.t.Helper()
	from, to := s.figure(strings.ReplaceAll(m[1], ",", "")), s.figure(m[2])
	cores := exactly((to.low + to.high) / (from.low + from.high))
	low, high, found := strings.Cut(m[4], " to ")
	if !found {
		s.t.Errorf("%s: no interval in %s", where, m[0])
		return
	}
	_, unit, _ := strings.Cut(m[3], "%")
	if strings.Contains(high, "less") || strings.Contains(high, "longer") {
		_, unit, _ = strings.Cut(high, "%")
	}
	saved := func(time span) span { return exactly(1).minus(cores.times(time)) }
	s.fits(where+", saved", m[5]+" %", saved(s.factor(m[3], "")))
	ends := []span{saved(s.factor(low, unit)), saved(s.factor(high, unit))}
	slices.SortFunc(ends, func(a, b span) int { return int(math.Copysign(1, a.low-b.low)) })
	s.fits(where+", saved at least", m[6]+" %", ends[0])
	s.fits(where+", saved at most", m[7]+" %", ends[1])
	s.fits(where+", ntasks", m[9], to)
	if m[8] != "" {
		s.fits(where+", nodes", m[8], exactly(math.Ceil((to.low+to.high)/2/64)))
	}
}

// TestSumsAreRead: TestSums finds on a page and in a mail what it must compare.
func TestSumsAreRead(t *testing.T) {
	s := &sums{t: t}
	for text, want := range map[string]span{"43 % longer": {1.425, 1.435}, "30 % less time": {0.695, 0.705}, "2.1 times as long": {2.05, 2.15}} {
		if got := s.factor(text, ""); math.Abs(got.low-want.low) > 1e-9 || math.Abs(got.high-want.high) > 1e-9 {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if got := fmt.Sprint(s.factor("20", " less time")); got != fmt.Sprint(s.factor("20 % less time", "")) {
		t.Error(got)
	}
	if got := s.bytesOf("2.6 TiB"); got.low > 2.6*math.Pow(2, 40) || got.high < 2.6*math.Pow(2, 40) {
		t.Error(got)
	}
}
