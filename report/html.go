package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"sync"

	"jobeff/ingest/job"
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
	// Home is a link to the list of jobs; "" in a file, where nothing can be followed.
	Home string
}

// style is that of all pages; its hash stands in their policy.
var style = func() string {
	own, err := templates.ReadFile("templates/page.css")
	if err != nil {
		panic(err) // it is embedded
	}
	return pictures.CSS + string(own)
}()

// ContentSecurityPolicy is what a browser shall allow a page: its own style and
// nothing else. A server sends it with frame-ancestors 'none' added, which a page
// cannot ask for itself.
var ContentSecurityPolicy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'"
}()

// Links are the addresses of other pages, as a server has them; "" in a file, where
// there is nothing to follow.
type Links struct {
	Home      string // the list of jobs
	Jobs      string // a job's id makes its page's address
	Workloads string // likewise a workload's key
}

// job is the address of a job's page, "" where its id is none.
func (l Links) job(id string) string {
	if _, err := job.ParseJobID(id); err != nil || l.Jobs == "" {
		return ""
	}
	return l.Jobs + id
}

func frame(title string, links Links) Frame {
	return Frame{Title: title, Policy: ContentSecurityPolicy, Style: template.CSS(style), Home: links.Home}
}

// pages are the templates by name; frame.html stands around each. They are read at first
// use: most calls of jobeff write none.
var pages = sync.OnceValue(func() map[string]*template.Template {
	all := map[string]*template.Template{}
	for _, name := range []string{"job", "jobs", "workload"} {
		all[name] = template.Must(template.New("frame.html").ParseFS(templates, "templates/frame.html", "templates/parts.html", "templates/"+name+".html"))
	}
	return all
})

// writePage fills a template; nothing is written where that fails.
func writePage(w io.Writer, name string, data any) error {
	var b bytes.Buffer
	if err := pages()[name].Execute(&b, data); err != nil {
		return fmt.Errorf("report: the page of a %s: %w", name, err)
	}
	_, err := b.WriteTo(w)
	return err
}

// HTMLTable is a table of a page.
type HTMLTable struct {
	Caption string
	Heads   []HTMLHead
	Rows    [][]HTMLCell
	Note    string // under it; may be ""
}

// HTMLHead is a column's head; Number says that its values stand on the right.
type HTMLHead struct {
	Text   string
	Long   string // what it abbreviates; ""
	Number bool
}

// HTMLCell is a value. The first of a row is its head.
type HTMLCell struct {
	Text   string
	Number bool
	Head   bool
	Bar    *Bar
	Link   string
}

// Bar is drawn from From to To, of 0 to 1.
type Bar struct {
	From, To float64
	Bad      bool
	Line     bool // POP's line is drawn over it
}

// X is where the bar begins, of 1000.
func (b Bar) X() float64 { return math.Round(1000 * clamp(b.From)) }

// Width is how long the bar is, of 1000; what is not nothing can be seen.
func (b Bar) Width() float64 {
	w := math.Round(1000 * (clamp(b.To) - clamp(b.From)))
	if b.To > b.From {
		w = max(w, 3)
	}
	return min(w, 1000-b.X())
}

// abbreviations spells out the heads of tables.
var abbreviations = map[string]string{"PE": "parallel efficiency", "LB": "load balance", "CommE": "communication efficiency"}

// htmlTable makes a page's table of a terminal's.
func htmlTable(caption string, t table, note string) *HTMLTable {
	if len(t.rows) == 0 {
		return nil
	}
	out := &HTMLTable{Caption: caption, Note: note}
	for _, h := range t.heads {
		out.Heads = append(out.Heads, HTMLHead{Text: name(h), Long: abbreviations[name(h)], Number: h[0] != '<'})
	}
	for _, row := range t.rows {
		cells := make([]HTMLCell, len(row))
		for i, text := range row {
			cells[i] = HTMLCell{Text: text, Number: out.Heads[i].Number, Head: i == 0 && text != ""}
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// HTMLPart is a Part on a page.
type HTMLPart struct {
	Part
	Tables []*HTMLTable
}

// htmlParts leaves out what is empty.
func htmlParts(parts ...Part) (all []HTMLPart) {
	for _, b := range parts {
		if b.Heading == "" {
			continue
		}
		one := HTMLPart{Part: b}
		for _, t := range b.Tables {
			one.Tables = append(one.Tables, htmlTable(b.Heading, t, ""))
		}
		all = append(all, one)
	}
	return all
}

// withBars puts a bar into column c of each row; bar gives none for nil.
func (t *HTMLTable) withBars(c int, bar func(row int) *Bar) {
	if t == nil {
		return
	}
	t.Heads[c].Number = false
	for i := range t.Rows {
		t.Rows[i][c].Bar, t.Rows[i][c].Number = bar(i), false
	}
}
