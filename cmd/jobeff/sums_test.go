package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"jobeff/policy/notice"
	"jobeff/report/view"
)

// What is printed can be recomputed from what stands beside it. TestSums reads the texts,
// the mail and the pages of a made-up site as a reader does, with their rounding.

// span is what a printed figure may have been before it was rounded.
type span struct{ low, high float64 }

func exactly(v float64) span { return span{v, v} }

func (a span) over(b span) span  { return span{a.low / b.high, a.high / b.low} }
func (a span) minus(b span) span { return span{a.low - b.high, a.high - b.low} }
func (a span) plus(b span) span  { return span{a.low + b.low, a.high + b.high} }
func (a span) times(b span) span { return span{a.low * b.low, a.high * b.high} }
func (a span) scaled(f float64) span {
	return span{a.low * f, a.high * f}
}

// meets allows for the last bit of a division, and nothing else.
func (a span) meets(b span) bool {
	tiny := 1e-9 * math.Max(math.Abs(a.high), 1)
	return a.low <= b.high+tiny && b.low <= a.high+tiny
}

var (
	numberWritten = regexp.MustCompile(`^[+-]?[\d,]+(\.\d+)?$`)
	clockWritten  = regexp.MustCompile(`^(?:(\d+)-)?(\d\d):(\d\d):(\d\d)$`)
)

// read is what a printed figure stands for; ok is false for none ("-").
func read(t *testing.T, s string) (v span, ok bool) {
	t.Helper()
	s = strings.TrimSuffix(strings.ReplaceAll(strings.TrimSpace(s), "\u00a0", " "), "*")
	switch {
	case s == "-" || s == "":
		return span{}, false
	case s == "under 1 %":
		return span{0, 0.005}, true
	case s == "over 99 %":
		return span{0.995, 1}, true
	case strings.HasSuffix(s, " %"):
		v, ok = read(t, strings.TrimSuffix(s, " %"))
		return rounded(v.scaled(0.01)), ok
	case strings.HasSuffix(s, " s"):
		return read(t, strings.TrimSuffix(s, " s"))
	}
	if m := clockWritten.FindStringSubmatch(s); m != nil {
		seconds := 0
		for i, unit := range []int{86400, 3600, 60, 1} {
			n, _ := strconv.Atoi(m[i+1])
			seconds += n * unit
		}
		return span{float64(seconds) - 0.5, float64(seconds) + 0.5}, true
	}
	if !numberWritten.MatchString(s) {
		t.Fatalf("%q is no figure", s)
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	_, fraction, _ := strings.Cut(s, ".")
	half := 0.5 * math.Pow(10, -float64(len(fraction)))
	return span{n - half, n + half}, true
}

// rounded allows for shares and efficiencies that are not rounded up to 0.80 or 1.
func rounded(v span) span {
	for _, limit := range []float64{0.8, 1} {
		if math.Abs(v.high+0.005-limit) < 1e-9 {
			v.high = limit
		}
	}
	return v
}

// sums runs jobeff on a site and compares.
type sums struct {
	t           *testing.T
	compared    int
	kinds       map[string]int // how often each kind of figure was compared, by the end of its name
	losses      int
	asked, many int // workloads of many jobs, and those with a request
	weeksSaved  int // lines of what advice saved in a week
}

// jobeff is what a command prints.
func (s *sums) jobeff(args ...string) string {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.Command("jobeff", args...)
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		s.t.Fatalf("jobeff %v: %v: %s", args, err, stderr.String())
	}
	return stdout.String()
}

// fits compares a printed figure with the one that follows from its row.
func (s *sums) fits(where, printed string, made span) {
	s.t.Helper()
	v, ok := read(s.t, printed)
	s.compared++
	s.kinds[where[strings.LastIndex(where, ", ")+1:]]++
	if !ok || !v.meets(made) {
		s.t.Errorf("%s: %q is printed, its row makes %.4g to %.4g", where, printed, made.low, made.high)
	}
}

func (s *sums) figure(text string) span {
	s.t.Helper()
	v, ok := read(s.t, text)
	if !ok {
		s.t.Fatalf("%q is no figure", text)
	}
	return v
}

// row is a line of a digest's tables.
type row struct{ name, jobs, used, judged, lost, share, change string }

var digestRow = regexp.MustCompile(`^(\S.{15}\s) *([\d,]+) +([\d.,]+) +([\d.,]+) +([\d.,]+) +(\d+ %|under 1 %|over 99 %|-)(?: +([+-]\d+))?$`)

// week is a digest: its sentences and its tables.
type week struct {
	text   string
	tables map[string][]row
	whole  map[string]bool // nothing was left out
}

// digestText reads a digest as text.
func digestText(text string) week {
	w := week{strings.Join(strings.Fields(text), " "), map[string][]row{}, map[string]bool{}}
	table := ""
	for line := range strings.SplitSeq(text, "\n") {
		if name, ok := strings.CutPrefix(line, "BY "); ok {
			table = strings.ToLower(name)
			w.whole[table] = true
		} else if line == "" {
			table = ""
		}
		if strings.HasPrefix(line, "and ") {
			w.whole[table] = false
		}
		if m := digestRow.FindStringSubmatch(strings.TrimRight(line, " ")); m != nil && table != "" {
			w.tables[table] = append(w.tables[table], row{strings.TrimSpace(m[1]), m[2], m[3], m[4], m[5], m[6], m[7]})
		}
	}
	return w
}

// digestHTML reads the tables of a digest's mail, and compares their bars with their rows.
func (s *sums) digestHTML(where, text string) (tables [][]row) {
	s.t.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || attribute(n, "role") != "table" { // others draw bars
			continue
		}
		var rows []row
		var bars [][2]string
		for tr := range n.Descendants() {
			if tr.Data != "tr" {
				continue
			}
			var cells []string
			for td := range tr.ChildNodes() {
				if td.Data == "td" {
					cells = append(cells, strings.ReplaceAll(textOf(td), "\u00a0", " "))
				}
			}
			if len(cells) == 7 {
				rows = append(rows, row{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]})
			} else if attribute(tr.Parent.Parent, "role") == "presentation" {
				bars = append(bars, [2]string{})
				for td := range tr.ChildNodes() {
					if i := slices.Index([]string{"#b42318", "#a9bfdc"}, attribute(td, "bgcolor")); i >= 0 {
						bars[len(bars)-1][i] = attribute(td, "width")
					}
				}
			}
		}
		s.digestBars(where, rows, bars)
		tables = append(tables, rows)
	}
	return tables
}

// digestBars: the longest bar stands for the most judged core-hours.
func (s *sums) digestBars(where string, rows []row, bars [][2]string) {
	s.t.Helper()
	longest := 0.0
	for _, r := range rows {
		longest = max(longest, s.figure(r.judged).high)
	}
	if len(bars) != len(rows) {
		s.t.Errorf("%s: %d rows have %d bars", where, len(rows), len(bars))
		return
	}
	for i, r := range rows {
		lost, rest := span{0, 0.005}, span{0, 0.01} // a bar that is not drawn, and what rounds twice
		if w := bars[i][0]; w != "" {
			lost = s.figure(strings.TrimSuffix(w, "%")).scaled(0.01)
		}
		if w := bars[i][1]; w != "" {
			rest = s.figure(strings.TrimSuffix(w, "%")).scaled(0.01)
		}
		s.compared += 2
		if whole := exactly(longest); !lost.meets(s.figure(r.lost).over(whole)) || !lost.plus(rest).meets(s.figure(r.judged).over(whole)) {
			s.t.Errorf("%s: the bar of %s is %v: lost %s and judged %s, the most %.0f", where, r.name, bars[i], r.lost, r.judged, longest)
		}
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

var (
	headlineOf = regexp.MustCompile(`([\d.,]+) of ([\d.,]+) judged core-hours were lost: (\S+ %|under 1 %|over 99 %)(?:, after (\S+ %))?`)
	usedOf     = regexp.MustCompile(`([\d,]+) jobs ended and used ([\d.,]+) core-hours. jobeff measured ([\d,]+) of them. Judged are ([\d.,]+) core-hours \((\S+ %|under 1 %|over 99 %) of those used\)`)
	healthOf   = regexp.MustCompile(`- Measured: (\S+ %|under 1 %|over 99 %) of the core-hours(?:; the largest part without figures, (\S+ %|under 1 %|over 99 %) \()?`)
	savingOf   = regexp.MustCompile(`\): ([\d.,]+) core-hours \(90 %: (-?[\d.,]+) to ([\d.,]+)\)`)
	afterOf    = regexp.MustCompile(`(?:nothing saved|([\d.,]+) core-hours (saved|more)(?:, but not surely)? \(90 %: [^)]*\)) this week, ([\d.,]+) core-hours (saved|more)(?:, but not surely)? \([^)]*\) since it was given\.`)
	followOf   = regexp.MustCompile(`and took ([\d,]+) in ([\d,]+) of ([\d,]+) runs? since: (?:no run|nothing saved|([\d.,]+) core-hours (saved|more)(?:, but not surely)? \(([^)]*)\)) this week, (?:nothing saved|([\d.,]+) core-hours (saved|more)(?:, but not surely)? \(([^)]*)\)) in all\.`)
	lossOf     = regexp.MustCompile(`\): ([\d.,]+) of ([\d.,]+) core-hours lost by (?:[\d,]+ jobs|job \S+)`)
	savedOf    = regexp.MustCompile(`advice below would have saved ([\d.,]+)`)
)

// digest compares a week's digest with itself and with the week before.
func (s *sums) digest(name string, before week) week {
	s.t.Helper()
	text := s.jobeff("digest", "--week", name)
	w := digestText(text)
	head, used := headlineOf.FindStringSubmatch(w.text), usedOf.FindStringSubmatch(w.text)
	if head == nil || used == nil {
		s.t.Fatalf("%s: the first sentences are not as expected:\n%s", name, text)
	}
	s.digested(name, text)
	judged := s.figure(head[2])
	s.fits(name+", lost of judged", head[3], s.figure(head[1]).over(judged))
	s.fits(name+", judged", used[4], judged)
	s.fits(name+", judged of used", used[5], judged.over(s.figure(used[2])))
	s.measured(name, healthOf.FindStringSubmatch(w.text), used[2])
	if was := headlineOf.FindStringSubmatch(before.text); was != nil {
		s.fits(name+", the week before", head[4], s.figure(was[3]))
	}
	for table, rows := range w.tables {
		all := row{jobs: used[1], used: used[2], judged: head[2], lost: head[1]}
		s.digestTable(name+", "+table, rows, before.tables[table], all, w.whole[table] && table != "application")
	}
	if shown := s.digestHTML(name, s.jobeff("digest", "--week", name, "--html", "-")); len(shown) != len(w.tables) {
		s.t.Errorf("%s: the mail has %d tables, the text %d", name, len(shown), len(w.tables))
	} else {
		for i, table := range []string{"account", "user", "application"} {
			if fmt.Sprint(shown[i]) != fmt.Sprint(w.tables[table]) {
				s.t.Errorf("%s, %s: the mail has\n%v\nthe text\n%v", name, table, shown[i], w.tables[table])
			}
		}
	}
	if saved := savedOf.FindStringSubmatch(w.text); saved != nil {
		sum := span{}
		for _, m := range savingOf.FindAllStringSubmatch(w.text, -1) {
			sum = sum.plus(s.figure(m[1]))
		}
		s.fits(name+", sum of the savings", saved[1], sum)
	}
	most := math.Inf(1)
	for _, m := range lossOf.FindAllStringSubmatch(w.text, -1) {
		lost := s.figure(m[1])
		if s.compared++; lost.low > s.figure(m[2]).high || lost.high < 0.2*s.figure(m[2]).low || lost.low > most || lost.low > s.figure(head[1]).high {
			s.t.Errorf("%s: %s", name, m[0])
		}
		most, s.losses = lost.high, s.losses+1
	}
	s.afterAdvice(name, text, w)
	return w
}

// measured compares what a week's digest says of the core-hours without figures with the ledger of that week.
func (s *sums) measured(name string, said []string, used string) {
	s.t.Helper()
	var year, week int
	if _, err := fmt.Sscanf(name, "%d-W%d", &year, &week); err != nil || said == nil {
		s.t.Fatalf("%s says nothing of the measured core-hours: %v", name, err)
	}
	from, to := notice.ISOWeek(year, week, time.UTC)
	var c view.Coverage
	if err := json.Unmarshal([]byte(s.jobeff("admin", "coverage", "-S", from.Format(time.RFC3339), "-E", to.Format(time.RFC3339), "--json")), &c); err != nil {
		s.t.Fatal(err)
	}
	reasons, most := map[string]float64{}, 0.0
	for _, l := range c.Lines {
		if !l.Measured() {
			reasons[l.Reason+l.Kind] += l.CoreHours
			most = max(most, reasons[l.Reason+l.Kind])
		}
	}
	s.fits(name+", core-hours of the ledger", used, exactly(c.Used))
	s.fits(name+", measured of all", said[1], exactly(c.Measured/c.Used))
	if said[2] != "" || most >= 0.005*c.Used {
		s.fits(name+", the largest reason", said[2], exactly(most/c.Used))
	}
}

// afterAdvice compares the savings after advice with their sum, and each with its interval.
func (s *sums) afterAdvice(name, text string, w week) {
	s.t.Helper()
	_, under, _ := strings.Cut(text, "AFTER ADVICE")
	under, _, _ = strings.Cut(under, "JOBEFF ITSELF")
	after := afterOf.FindStringSubmatch(w.text)
	if after == nil {
		if !strings.Contains(under, "Nothing was saved yet") {
			s.t.Errorf("%s: no sum of what was saved: %s", name, under)
		}
		return
	}
	var thisWeek, ever span
	lines := followOf.FindAllStringSubmatch(strings.Join(strings.Fields(under), " "), -1)
	for _, m := range lines {
		if on, runs := s.figure(m[2]), s.figure(m[3]); on.low > runs.high {
			s.t.Errorf("%s: %s", name, m[0])
		}
		if m[4] != "" {
			thisWeek = thisWeek.plus(s.saved(name, m[4:7]))
			s.weeksSaved++
		}
		if m[7] != "" {
			ever = ever.plus(s.saved(name, m[7:10]))
		}
	}
	if len(lines) == 0 || strings.Count(under, ": advised ") != len(lines) {
		s.t.Errorf("%s: %d of these lines are read: %s", name, len(lines), under)
	}
	if !strings.Contains(under, "\nand ") { // none is left out
		if after[1] == "" {
			after[1] = "0.00"
		}
		s.signed(name+", saved this week", after[1], after[2], thisWeek)
		s.signed(name+", saved since", after[3], after[4], ever)
	}
}

// saved reads "12", "saved" or "more", and "90 %: 3 more to 20 saved". The first must lie in the
// interval.
func (s *sums) saved(name string, words []string) span {
	s.t.Helper()
	sign := func(v span, more bool) span {
		if more {
			return span{-v.high, -v.low}
		}
		return v
	}
	v := sign(s.figure(words[0]), words[1] == "more")
	_, ends, _ := strings.Cut(words[2], ": ")
	low, high, _ := strings.Cut(ends, " to ")
	end := func(text string) span {
		number, what, said := strings.Cut(text, " ")
		return sign(s.figure(number), said && what == "more" || !said && words[1] == "more")
	}
	a, b := end(low), end(high)
	if !strings.Contains(ends, "saved") && words[1] == "more" {
		a, b = b, a // "90 %: 3 to 20" more
	}
	if s.compared++; a.low > v.high || v.low > b.high {
		s.t.Errorf("%s: %v is not its interval", name, words)
	}
	return v
}

// signed is fits for core-hours that were saved, or used more.
func (s *sums) signed(where, printed, what string, made span) {
	s.t.Helper()
	if what == "more" {
		made = span{-made.high, -made.low}
	}
	s.fits(where, printed, made)
}

// digestTable recomputes each row, and the sum where no row was left out.
func (s *sums) digestTable(where string, rows, before []row, all row, whole bool) {
	s.t.Helper()
	var jobs, used, judged, lost span
	for _, r := range rows {
		at := where + " " + r.name
		if own := s.figure(r.judged); own.high > 1 {
			s.fits(at+", lost of judged", r.share, s.figure(r.lost).over(own))
		}
		if s.figure(r.lost).low > s.figure(r.judged).high || s.figure(r.judged).low > s.figure(r.used).high {
			s.t.Errorf("%s: lost %s, judged %s, used %s", at, r.lost, r.judged, r.used)
		}
		if i := slices.IndexFunc(before, func(b row) bool { return b.name == r.name }); i >= 0 && r.share != "-" && before[i].share != "-" {
			change := span{-0.005, 0.005}
			if r.change != "" {
				change = s.figure(strings.TrimPrefix(r.change, "+")).scaled(0.01)
			}
			if s.compared++; !change.meets(s.figure(r.share).minus(s.figure(before[i].share))) {
				s.t.Errorf("%s: change %q from %s to %s", at, r.change, before[i].share, r.share)
			}
		}
		jobs, used, judged, lost = jobs.plus(s.figure(r.jobs)), used.plus(s.figure(r.used)), judged.plus(s.figure(r.judged)), lost.plus(s.figure(r.lost))
	}
	if whole {
		s.fits(where+", jobs", all.jobs, jobs)
		s.fits(where+", used", all.used, used)
		s.fits(where+", judged", all.judged, judged)
		s.fits(where+", lost", all.lost, lost)
	}
}

// columnsOf splits a row of a text's table at two blanks or more.
var columnsOf = regexp.MustCompile(`\s{2,}`)

// tableUnder is the table under a heading, its heads first.
func tableUnder(text, heading string) (rows [][]string) {
	_, under, found := strings.Cut(text, "\n"+heading)
	if !found {
		return nil
	}
	for _, line := range strings.Split(under, "\n")[1:] {
		cells := columnsOf.Split(strings.TrimSpace(line), -1)
		if len(rows) > 0 && len(cells) != len(rows[0]) || len(cells) < 2 {
			return rows
		}
		rows = append(rows, cells)
	}
	return rows
}

var (
	leaf  = regexp.MustCompile(`(?m)^\s*(Parallel|Load balance|Inside|Between|Communication)[^\d]*?\s+(\d\.\d\d)  [#.]`)
	busy  = regexp.MustCompile(`CPU efficiency (\d\.\d\d), (\S+) of (\S+) core time`)
	hours = regexp.MustCompile(`Core-hours ([\d.,]+) used, ([\d.,]+) lost: ([^-]*?)(?: Confidence| Workload| Busy| Memory| Program| Doubts| Rules and| All facts| Data|$)`)
	part  = regexp.MustCompile(`([\d.,]+) (?:in|on|outside|before) `)
)

// calls holds each call's share of the ranks' time against the whole that the costliest makes.
func (s *sums) calls(where string, rows [][]string) {
	s.t.Helper()
	whole := span{0, math.Inf(1)}
	for _, r := range rows[min(1, len(rows)):] {
		of := s.figure(r[2]).over(s.figure(r[3]))
		whole = span{max(whole.low, of.low), min(whole.high, of.high)}
		if s.compared++; whole.low > whole.high*(1+1e-9) {
			s.t.Errorf("%s: %s of %s is %s: not of the same whole as the rows above", where, r[0], r[2], r[3])
		}
	}
}

// oneUnit fails where a column of a text has seconds and hours.
func oneUnit(t *testing.T, where, text string) {
	t.Helper()
	for heading, columns := range map[string][]int{"Nodes with the most work": {2, 3}, "MPI calls that cost most": {2}, "Measured, by cores": {3, 6}, "Sections of the program": {3}} {
		rows := tableUnder(text, heading)
		for _, c := range columns {
			units := map[bool]bool{}
			for _, r := range rows[min(1, len(rows)):] {
				if c < len(r) && r[c] != "-" {
					units[clockWritten.MatchString(r[c])] = true
				}
			}
			if len(units) > 1 {
				t.Errorf("%s: %s: column %d has two units:\n%v", where, heading, c+1, rows)
			}
		}
	}
}

// list recomputes the rows of a list, and its total.
func (s *sums) list(args ...string) {
	s.t.Helper()
	fields := "jobid,alloccpus,elapsed,corehours,lost,pe,lb,comme"
	for line := range strings.SplitSeq(strings.TrimSpace(s.jobeff(append([]string{"-nP", "-o", fields}, args...)...)), "\n") {
		c := strings.Split(line, "|")
		if used, ok := read(s.t, c[3]); ok {
			cpus, _ := strconv.ParseFloat(c[1], 64)
			s.fits("job "+c[0]+", core-hours", c[3], s.figure(c[2]).scaled(cpus/3600))
			if lost, ok := read(s.t, c[4]); ok && lost.low > used.high {
				s.t.Errorf("job %s lost %s of %s core-hours", c[0], c[4], c[3])
			}
		}
		if pe, ok := read(s.t, c[5]); ok && c[6] != "-" {
			if s.compared++; !rounded(pe).meets(rounded(s.figure(c[6])).times(rounded(s.figure(c[7])))) {
				s.t.Errorf("job %s: PE %s, LB %s, CommE %s", c[0], c[5], c[6], c[7])
			}
		}
	}
	s.total(args...)
}

var totalOf = regexp.MustCompile(`Total of ([\d,]+) jobs: ([\d.,]+) core-hours used; ([\d.,]+) lost of ([\d.,]+) that were judged \((\S+ %|under 1 %|over 99 %)\)`)

// total compares the line under a list with its rows.
func (s *sums) total(args ...string) {
	s.t.Helper()
	said := totalOf.FindStringSubmatch(strings.Join(strings.Fields(s.jobeff(args...)), " "))
	if said == nil {
		s.t.Fatalf("jobeff %v has no total", args)
	}
	n, used, lost, judged := 0, span{}, span{}, span{}
	for line := range strings.SplitSeq(strings.TrimSpace(s.jobeff(append([]string{"-nP", "-o", "corehours,lost"}, args...)...)), "\n") {
		c := strings.Split(line, "|")
		n++
		if v, ok := read(s.t, c[0]); ok {
			used = used.plus(v)
			if l, ok := read(s.t, c[1]); ok {
				judged, lost = judged.plus(v), lost.plus(l)
			}
		}
	}
	at := fmt.Sprintf("jobeff %v, total", args)
	s.fits(at, said[1], exactly(float64(n)))
	s.fits(at+" used", said[2], used)
	s.fits(at+" lost", said[3], lost)
	s.fits(at+" judged", said[4], judged)
	s.fits(at+" part", said[5], s.figure(said[3]).over(s.figure(said[4])))
}

// TestSums recomputes every share, sum and difference that a made-up site prints.
func TestSums(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	if os.Getuid() != 0 {
		t.Skip("the digest is root's")
	}
	d := demoSite{t: t, socket: filepath.Join(t.TempDir(), "s")}
	t.Chdir(t.TempDir())
	d.write("jobeff.toml", fmt.Sprintf("[client]\nto = \"unix:%s\"\n[digest]\nzone = \"UTC\"\n", d.socket))
	t.Setenv("JOBEFF_CONFIG", "jobeff.toml")
	s := &sums{t: t, kinds: map[string]int{}}
	s.jobeff("admin", "demo-data", "--jobs", "6000", "--until", "2026-11-21", "demo.db")
	stop, err := startServer("demo.db", d.socket, "jobeff.toml")
	t.Cleanup(stop)
	if err != nil {
		t.Fatal(err)
	}
	var before week
	for n := 34; n <= 46; n++ {
		before = s.digest(fmt.Sprintf("2026-W%02d", n), before)
	}
	s.answers(d.socket)
	s.list("-a", "-S", "2026-11-10", "-E", "2026-11-20", "--tasks", "--limit", "400")
	s.list("-a", "-S", "2026-11-20", "-E", "2026-11-21")
	s.list("-a", "-A", "physics", "-s", "CD", "-S", "2026-11-01", "-E", "2026-11-20", "--tasks", "--limit", "400")
	for id := range strings.FieldsSeq(s.jobeff("-a", "-nP", "-o", "jobid", "-S", "2026-11-15", "-E", "2026-11-20", "--limit", "40")) {
		s.job(id)
		s.oneRequest(id)
	}
	of := 0
	for name := range strings.Lines(s.jobeff("workload", "-a", "-nP", "-S", "2026-08-01", "--limit", "80")) {
		row := strings.Split(name, "|")
		if of++; row[2] != "-" && of <= 12 { // jobs without a record have no curve
			s.workload(row[0])
		}
		if row[2] != "-" {
			s.requestOfWorkload(row[0])
		}
	}
	silence(t, s.asked, s.many)
	if s.weeksSaved < 10 || s.losses < 10 {
		t.Errorf("only %d lines of what advice saved in a week, and %d losses", s.weeksSaved, s.losses)
	}
	s.workload("channel-paper") // with sections
	s.notices(s.jobeff("admin", "notices", "--database", "demo.db"))
	for _, kind := range []string{"lost of judged", "measured of all", "the largest reason", "core-hours of the ledger", "the week before", "sum of the savings", "core-hours", "total part", "went into MPI",
		"core-hours lost", "memory", "saved of used", "core time", "coverage", "covered", "endings", "nodes", "runs on the curve", "core counts",
		"expected core-hours on 2,048", "speedup on 1,024", "jobs", "lost", "saved", "request", "mailed request", "cores in a digest", "saved at least", "saved at most", "ntasks"} {
		if s.kinds[" "+kind] == 0 {
			t.Errorf("nothing was compared of %q", kind)
		}
	}
	if s.compared < 2500 {
		t.Errorf("only %d figures were compared", s.compared)
	}
}
