package block

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// pictures are what the goldens show.
func pictures() map[string]*Picture {
	var runs, shares []Run
	var fitted, fittedShare []Fitted
	time := func(n float64) float64 { return 2000/n + 3 + 0.08*n }
	for n := 1; n <= 256; n *= 2 {
		for k := range 3 {
			y := time(float64(n)) * (1 + 0.06*float64((n+2*k)%5-2)/2)
			runs = append(runs, Run{n, y, fmt.Sprintf("job %d: %d cores", 4000+n+k, n)})
			shares = append(shares, Run{n, 2000 / float64(n) / y, ""})
		}
	}
	for i := range 37 {
		n := math.Exp2(float64(i) / 4)
		wide := 1 + 0.02*float64(i)
		fitted = append(fitted, Fitted{n, time(n), time(n) / wide, time(n) * wide})
		pe := 2000 / n / time(n)
		fittedShare = append(fittedShare, Fitted{n, pe, pe / wide, math.Min(1, pe*wide)})
	}
	marks := []Mark{{N: 96, Low: 80, High: 120, Label: "n_eff 96"}, {N: 158, Low: 130, High: 500, Label: "n_fast 158", Fast: true}}
	nasty := "\x1b[31m<script>alert(1)</script>\u202e\xff\"'"
	return map[string]*Picture{
		"time":       Curve{Alt: "Run time over cores", Runs: runs, Fitted: fitted, Marks: marks, Level: 0.8}.Picture(),
		"share":      Curve{Alt: "Parallel efficiency over cores", Runs: shares, Fitted: fittedShare, Marks: marks, Level: 0.8, Share: true, Line: 0.8}.Picture(),
		"refused":    Curve{Alt: "Run time over cores", Runs: runs[:4], Level: 0.8}.Picture(),
		"one-run":    Curve{Alt: "One run", Runs: runs[:1], Level: 0.8}.Picture(),
		"nothing":    Curve{Alt: "Nothing"}.Picture(),
		"infinite":   Curve{Alt: "Odd", Runs: []Run{{4, math.Inf(1), ""}, {8, math.NaN(), ""}, {0, 3, ""}, {16, 5, ""}}, Fitted: []Fitted{{4, 3, 0, math.Inf(1)}, {16, 2, 0, math.Inf(1)}}, Marks: []Mark{{N: 1e9, Low: 0, High: math.Inf(1), Label: "n_eff"}}}.Picture(),
		"hostile":    Curve{Alt: nasty, Runs: []Run{{4, 3, nasty}}, Marks: []Mark{{N: 4, Low: 4, High: 4, Label: nasty}}}.Picture(),
		"course-map": courseRows().Picture(),
		"heat-4":     heat(2, 2).Picture(),
		"heat-1000":  heat(24, 42).Picture(),
		"heat-10000": heat(79, 128).Picture(),
	}
}

// courseRows is a course of three ranks, one of which ends early, in two sections.
func courseRows() CourseMap {
	m := CourseMap{Alt: "three ranks over time", Ended: 9.5, Badly: true, From: "12:00:00", To: "12:00:20",
		Spans: []CourseSpan{{"read <input>", 0, 1.5, "1.5 s"}, {"solve", 1.5, 5, ""}, {"solve", 6, 9.5, ""}}}
	for r := range 3 {
		row := CourseRow{Name: fmt.Sprint("n1: ", r), Title: "a row"}
		for i := range 10 {
			share := 0.1 + 0.2*float64(r) + 0.03*float64(i)
			if r == 1 && i > 6 {
				share = -1
			}
			row.Shares = append(row.Shares, share)
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// heat is a map of ranks of whom some have little to do.
func heat(nodes, ranks int) HeatMap {
	h := HeatMap{Alt: fmt.Sprintf("%d ranks on %d nodes", nodes*ranks, nodes)}
	for n := range nodes {
		node := HeatNode{Name: fmt.Sprintf("node%03d", n)}
		for r := range ranks {
			share := 0.55 + 0.4*math.Sin(float64(n*ranks+r)/97)*math.Cos(float64(r))
			node.Shares = append(node.Shares, share)
			node.Ranks = append(node.Ranks, fmt.Sprint(n*ranks+r))
		}
		h.Nodes = append(h.Nodes, node)
	}
	return h
}

// TestHeatStaysSmall holds the size of a map of ten thousand ranks.
func TestHeatStaysSmall(t *testing.T) {
	if n := len(heat(79, 128).Picture().HTML()); n > 144<<10 {
		t.Errorf("%d bytes", n)
	}
}

func TestPictures(t *testing.T) {
	for name, p := range pictures() {
		t.Run(name, func(t *testing.T) {
			var svg bytes.Buffer
			if err := p.SVG(&svg); err != nil {
				t.Fatal(err)
			}
			checkSVG(t, svg.String())
			if name != "heat-10000" { // as heat-1000, and large
				golden(t, name+".svg", svg.Bytes())
			}
		})
	}
}

// checkSVG fails on what no picture may hold, whatever its golden says.
func checkSVG(t *testing.T, s string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if e.Name.Local == "script" {
			t.Error("a script element")
		}
		for _, a := range e.Attr {
			if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("%s has %s=%q", e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: go test ./report/block -update writes it", err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs, go test ./report/block -update accepts it; got:\n%s", path, got)
	}
}
