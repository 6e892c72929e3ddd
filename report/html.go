package report

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
)

//go:embed templates
var templates embed.FS

// frame is the frame that every page has around its content. A page is one file. It loads nothing and holds no
// script, and its policy forbids both.
type frame struct {
	Title string // shown by the window
	// Policy is the page's Content-Security-Policy: ContentSecurityPolicy or, with a form, FormPolicy.
	Policy string
	Style  template.CSS
	// Referrer is the page's Referrer-Policy; "": nothing is sent.
	Referrer string
	// Home is a link to the list of jobs; "" in a file, where it would lead nowhere.
	Home string
	Nav  []Link // the site's lists
	// Find is where a form looks for a job; "" in a file, and the page has no form.
	Find string
	Wide bool // its table needs the window's width
}

// Link leads to another page.
type Link struct {
	Text, Address string
	Here          bool // it leads to this page
}

// Style is the style of all pages. Their policy contains its hash.
var Style = func() string {
	own, err := templates.ReadFile("templates/page.css")
	if err != nil {
		panic(err) // it is embedded
	}
	return block.CSS + string(own)
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

// Links holds the addresses of other pages of a server. They are "" in a file, which has no other pages.
type Links struct {
	Home      string // the list of jobs
	Jobs      string // the address of a job's page, without the id at its end
	Workloads string // likewise of a workload's page, without its key
	Nav       []Link // the site's lists
}

// Job returns the address of a job's page; "": the id is none, or there are no pages.
func (l Links) Job(id string) string {
	if _, err := slurmid.Parse(id); err != nil || l.Jobs == "" {
		return ""
	}
	return l.Jobs + id
}

// newFrame makes a page's frame; title is that of the window.
func newFrame(title string, links Links) frame {
	f := frame{Title: title, Policy: ContentSecurityPolicy, Style: template.CSS(Style), Home: links.Home, Nav: links.Nav} // #nosec G203 -- our own style sheet
	if links.Jobs != "" {
		f.Find, f.Policy = strings.TrimSuffix(links.Jobs, "/"), FormPolicy
	}
	return f
}

// pages returns the templates by name, each inside frame.html. They are parsed at first use, as most calls of
// jobeff write no page.
var pages = sync.OnceValue(func() map[string]*template.Template {
	all := map[string]*template.Template{}
	for _, name := range []string{"array", "job", "list", "workload", "proposal", "compare", "wrong", "status", "refusal"} {
		all[name] = template.Must(template.New("frame.html").ParseFS(templates, "templates/frame.html", "templates/parts.html", "templates/"+name+".html"))
	}
	return all
})

// writePage fills a template. It writes nothing if that fails.
func writePage(w io.Writer, name string, data any) error {
	var b bytes.Buffer
	if err := pages()[name].Execute(&b, data); err != nil {
		return fmt.Errorf("report: the page of a %s: %w", name, err)
	}
	_, err := b.WriteTo(w)
	return err
}

// table is a table of a page.
type table struct {
	Caption string
	Heads   []head
	Rows    [][]cell
	Note    string // under it; may be ""
	Cards   bool   // in a narrow window, each row is a card with the heads as labels
}

// head is a column's head. Number means that its values are aligned right.
type head struct {
	Text   string
	Long   string // spelled out, if Text is abbreviated; else ""
	Number bool
	Link   string // sorts by it; "": none
	Sorted string // ascending, descending; "": neither
}

// cell is a value. The first cell of a row is its head.
type cell struct {
	Text   string
	Number bool
	Head   bool
	Bar    *bar
	Link   string
	Under  *cell // a second line
}

// bar is drawn from From to To, of 0 to 1.
type bar struct {
	From, To float64
	Bad      bool
	Line     bool // the 0.80 that POP recommends is drawn over it
}

// X returns where the bar begins, of 1000.
func (b bar) X() int { return block.BarBegin(b.From) }

// Width returns the length of the bar, of 1000.
func (b bar) Width() int { return block.BarLength(b.From, b.To) }

// abbreviations spells out the heads of tables.
var abbreviations = map[string]string{"PE": "parallel efficiency", "LB": "load balance", "CommE": "communication efficiency"}

// newTable makes a page's table from a terminal's.
func newTable(caption string, t block.Table, note string) *table {
	if len(t.Rows) == 0 {
		return nil
	}
	out := &table{Caption: caption, Note: note}
	for _, h := range t.Heads {
		out.Heads = append(out.Heads, head{Text: block.Name(h), Long: abbreviations[block.Name(h)], Number: h[0] != '<'})
	}
	for _, row := range t.Rows {
		cells := make([]cell, len(row))
		for i, text := range row {
			cells[i] = cell{Text: text, Number: out.Heads[i].Number, Head: i == 0 && text != ""}
		}
		out.Rows = append(out.Rows, cells)
	}
	for c, shares := range t.Bars {
		out.withBars(c, func(i int) *bar { return &bar{To: shares[i]} })
	}
	return out
}

// fold moves a column of a wide table below its left neighbour.
func (t *table) fold(c int) {
	t.Heads[c-1].Text += ", " + strings.ToLower(t.Heads[c].Text)
	t.Heads = slices.Delete(t.Heads, c, c+1)
	for i, row := range t.Rows {
		under := row[c]
		row[c-1].Under = &under
		t.Rows[i] = slices.Delete(row, c, c+1)
	}
}

// part is a block.Part on a page.
type part struct {
	block.Part
	Tables []*table
}

// partsOf returns the parts that are not empty.
func partsOf(parts ...block.Part) (all []part) {
	for _, b := range parts {
		if b.Heading == "" {
			continue
		}
		one := part{Part: b}
		for _, t := range b.Tables {
			one.Tables = append(one.Tables, newTable(cmp.Or(t.Caption, b.Heading), t, ""))
		}
		all = append(all, one)
	}
	return all
}

// withBars puts a bar into column c of each row. bar returns nil for a row without one.
func (t *table) withBars(c int, bar func(row int) *bar) {
	if t == nil {
		return
	}
	t.Heads[c].Number = false
	for i := range t.Rows {
		t.Rows[i][c].Bar, t.Rows[i][c].Number = bar(i), false
	}
}
