// Package page writes blocks as HTML. A page is one file that loads nothing and holds no
// script. The structs in contract.go are what its templates read. Before it in the flow stand
// report/block and report/plot; after it package report, which fills the structs.
package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"jobeff/ingest/slurmid"
	"jobeff/report/block"
	pictures "jobeff/report/plot"
)

//go:embed templates
var templates embed.FS

// Frame is what every page has around its content. A page is one file: it loads
// nothing, holds no script, and its policy forbids both.
type Frame struct {
	Title string // of the window
	// Policy is the page's Content-Security-Policy, the same as ContentSecurityPolicy.
	Policy string
	Style  template.CSS
	// Referrer is the page's policy of what its links tell; "": nothing.
	Referrer string
	// Home is a link to the list of jobs; "" in a file, where nothing can be followed.
	Home string
	Nav  []Link // the site's lists
	Wide bool   // its table needs the window's width
}

// Link leads to another page.
type Link struct {
	Text, Address string
	Here          bool // it is this page's own
}

// Style is that of all pages; its hash stands in their policy.
var Style = func() string {
	own, err := templates.ReadFile("templates/page.css")
	if err != nil {
		panic(err) // it is embedded
	}
	return pictures.CSS + string(own)
}()

// ContentSecurityPolicy lets a browser use the page's own style and nothing else. A server adds
// frame-ancestors 'none', which a page cannot ask for itself.
var ContentSecurityPolicy = func() string {
	sum := sha256.Sum256([]byte(Style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'"
}()

// FormPolicy is ContentSecurityPolicy for a page with a form, which it may send to its own server.
var FormPolicy = strings.Replace(ContentSecurityPolicy, "form-action 'none'", "form-action 'self'", 1)

// Links are the addresses of other pages of a server. They are "" in a file, which has no other
// pages.
type Links struct {
	Home      string // the list of jobs
	Jobs      string // a job's id makes its page's address
	Workloads string // likewise a workload's key
	Nav       []Link // the site's lists
}

// Job is the address of a job's page, "" where its id is none.
func (l Links) Job(id string) string {
	if _, err := slurmid.Parse(id); err != nil || l.Jobs == "" {
		return ""
	}
	return l.Jobs + id
}

// NewFrame is a page's frame; title is that of the window.
func NewFrame(title string, links Links) Frame {
	return Frame{Title: title, Policy: ContentSecurityPolicy, Style: template.CSS(Style), Home: links.Home, Nav: links.Nav} // #nosec G203 -- our own style sheet
}

// pages are the templates by name; frame.html stands around each. They are read at first
// use: most calls of jobeff write none.
var pages = sync.OnceValue(func() map[string]*template.Template {
	all := map[string]*template.Template{}
	for _, name := range []string{"array", "job", "list", "workload", "compare", "wrong", "refusal"} {
		all[name] = template.Must(template.New("frame.html").ParseFS(templates, "templates/frame.html", "templates/parts.html", "templates/"+name+".html"))
	}
	return all
})

// Write fills a template; nothing is written where that fails.
func Write(w io.Writer, name string, data any) error {
	var b bytes.Buffer
	if err := pages()[name].Execute(&b, data); err != nil {
		return fmt.Errorf("report: the page of a %s: %w", name, err)
	}
	_, err := b.WriteTo(w)
	return err
}

// Table is a table of a page.
type Table struct {
	Caption string
	Heads   []Head
	Rows    [][]Cell
	Note    string // under it; may be ""
	Cards   bool   // where the window is narrow, each row is a card with the heads as labels
}

// Head is a column's head; Number says that its values stand on the right.
type Head struct {
	Text   string
	Long   string // what it abbreviates; ""
	Number bool
	Link   string // sorts by it; ""
	Sorted string // ascending, descending; ""
}

// Cell is a value. The first cell of a row is its head.
type Cell struct {
	Text   string
	Number bool
	Head   bool
	Bar    *Bar
	Link   string
	Under  *Cell // a second line
}

// Bar is drawn from From to To, of 0 to 1.
type Bar struct {
	From, To float64
	Bad      bool
	Line     bool // the 0.80 that POP recommends is drawn over it
}

// X is where the bar begins, of 1000.
func (b Bar) X() int { return pictures.BarBegin(b.From) }

// Width is how long the bar is, of 1000.
func (b Bar) Width() int { return pictures.BarLength(b.From, b.To) }

// abbreviations spells out the heads of tables.
var abbreviations = map[string]string{"PE": "parallel efficiency", "LB": "load balance", "CommE": "communication efficiency"}

// NewTable makes a page's table of a terminal's.
func NewTable(caption string, t block.Table, note string) *Table {
	if len(t.Rows) == 0 {
		return nil
	}
	out := &Table{Caption: caption, Note: note}
	for _, h := range t.Heads {
		out.Heads = append(out.Heads, Head{Text: block.Name(h), Long: abbreviations[block.Name(h)], Number: h[0] != '<'})
	}
	for _, row := range t.Rows {
		cells := make([]Cell, len(row))
		for i, text := range row {
			cells[i] = Cell{Text: text, Number: out.Heads[i].Number, Head: i == 0 && text != ""}
		}
		out.Rows = append(out.Rows, cells)
	}
	for c, shares := range t.Bars {
		out.WithBars(c, func(i int) *Bar { return &Bar{To: shares[i]} })
	}
	return out
}

// Fold moves a column of a wide table under another one, its left neighbour.
func (t *Table) Fold(c int) {
	t.Heads[c-1].Text += ", " + strings.ToLower(t.Heads[c].Text)
	t.Heads = slices.Delete(t.Heads, c, c+1)
	for i, row := range t.Rows {
		under := row[c]
		row[c-1].Under = &under
		t.Rows[i] = slices.Delete(row, c, c+1)
	}
}

// Part is a block.Part on a page.
type Part struct {
	block.Part
	Tables []*Table
}

// Parts are the parts that are not empty.
func Parts(parts ...block.Part) (all []Part) {
	for _, b := range parts {
		if b.Heading == "" {
			continue
		}
		one := Part{Part: b}
		for _, t := range b.Tables {
			one.Tables = append(one.Tables, NewTable(cmp.Or(t.Caption, b.Heading), t, ""))
		}
		all = append(all, one)
	}
	return all
}

// WithBars puts a bar into column c of each row; bar gives none for nil.
func (t *Table) WithBars(c int, bar func(row int) *Bar) {
	if t == nil {
		return
	}
	t.Heads[c].Number = false
	for i := range t.Rows {
		t.Rows[i][c].Bar, t.Rows[i][c].Number = bar(i), false
	}
}
