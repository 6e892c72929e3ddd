package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with testdata/name, or writes it there with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: go test ./report -update writes it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got), go test ./report -update accepts it:\n%s", path, diff)
	}
}

// views are the kinds of reader that there are.
var views = map[string]Options{
	"80":    {Width: 80, Unicode: true},
	"120":   {Width: 120, Unicode: true},
	"plain": {Unicode: true, Plain: true},
	"color": {Width: 80, Unicode: true, Color: true},
	"c":     {},
}

// eachView writes a text for every kind of reader. That of a terminal of 80 columns is
// compared with NAME.txt; TestForms holds what the others get.
func eachView(t *testing.T, name string, write func(io.Writer, Options) error) {
	t.Helper()
	for view, opts := range views {
		t.Run(name+"-"+view, func(t *testing.T) {
			var out bytes.Buffer
			if err := write(&out, opts); err != nil {
				t.Fatal(err)
			}
			checkFits(t, out.String(), opts)
			if view == "80" {
				golden(t, name+".txt", out.Bytes())
			}
		})
	}
}

// checkFits fails on what no text may hold, whatever its golden says.
func checkFits(t *testing.T, s string, opts Options) {
	t.Helper()
	if !opts.Color && strings.ContainsRune(s, 0x1b) {
		t.Error("ESC in a text without colour")
	}
	if !utf8.ValidString(s) {
		t.Error("bad UTF-8")
	}
	for _, r := range s {
		if r != '\n' && r != 0x1b && (r < ' ' || r == 0x7f || r >= 0x80 && !opts.Unicode || r == 0x202e || r == 0x9b || r == 0x200b) {
			t.Errorf("character %U in the text", r)
		}
	}
	for _, l := range strings.Split(s, "\n") {
		if w := displayWidth(l); w > max(opts.Width, 80) {
			t.Errorf("a line of %d columns: %q", w, l)
		}
	}
}

// checkASCII fails on a document in which a terminal or a program may find more than text.
func checkASCII(t *testing.T, printed []byte) {
	t.Helper()
	for _, b := range printed {
		if b != '\n' && (b < ' ' || b >= 0x7f) {
			t.Fatalf("byte %#x in the document", b)
		}
	}
}

// checkPage fails on what no page may hold, whatever its golden says.
func checkPage(t *testing.T, body []byte) {
	t.Helper()
	for _, r := range string(body) {
		if r != '\n' && (r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e || r == 0x200b) {
			t.Errorf("character %U in the page", r)
		}
	}
	if !bytes.Contains(body, []byte("<style>"+Style+"</style>")) {
		t.Error("the style is not what its hash is of")
	}
	ids, parts := map[string]bool{}, []string{}
	z := html.NewTokenizer(bytes.NewReader(body))
	for z.Next() != html.ErrorToken {
		token := z.Token()
		switch token.Data {
		case "script", "link", "iframe", "object", "embed", "base", "img":
			t.Errorf("an element %s", token.Data)
		}
		for _, a := range token.Attr {
			switch {
			case token.Data == "form" && (a.Key == "action" && a.Val != "jobs" && a.Val != "../jobs" || a.Key == "method" && a.Val != "get"):
				t.Errorf("a form with %s=%q", a.Key, a.Val)
			case strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src":
				t.Errorf("%s has %s=%q", token.Data, a.Key, a.Val)
			case a.Key == "href" && !ownLink.MatchString(a.Val):
				t.Errorf("a link to %q", a.Val)
			case a.Key == "href" && a.Val[0] == '#':
				parts = append(parts, a.Val[1:])
			case a.Key == "id" && ids[a.Val]:
				t.Errorf("two elements have the id %q", a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			case a.Key == "class" && strings.HasPrefix(a.Val, "depth") && !strings.Contains(Style, ".tree ."+a.Val+"{"):
				t.Errorf("the style does not know %s", a.Val)
			case strings.Contains(a.Val, "NaN") || strings.Contains(a.Val, "Inf"):
				t.Errorf("%s has %s=%q", token.Data, a.Key, a.Val)
			}
		}
	}
	if err := z.Err(); err != io.EOF {
		t.Error(err)
	}
	for _, part := range parts {
		if !ids[part] {
			t.Errorf("a link to #%s, which is not there", part)
		}
	}
}

// checkSaved fails for a page in a file that leads to a server, or asks for one.
func checkSaved(t *testing.T, body []byte) {
	t.Helper()
	checkPage(t, body)
	for _, m := range regexp.MustCompile(`<a [^>]*href="([^"]*)"`).FindAllSubmatch(body, -1) {
		if link := string(m[1]); !strings.HasPrefix(link, "#") && !strings.HasPrefix(link, "https://") {
			t.Errorf("a link to %q", link)
		}
	}
	if bytes.Contains(body, []byte("<form")) {
		t.Error("a form")
	}
}

// pageText is what a page says, with one blank between words.
func pageText(body string) string {
	var said []string
	z := html.NewTokenizer(strings.NewReader(body))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind == html.TextToken {
			said = append(said, strings.Fields(z.Token().Data)...)
		}
	}
	return strings.Join(said, " ")
}

// ownLink is what a page may link to: its own content, pages beside it by an id that
// holds nothing else, and what a shipped rule names.
var ownLink = regexp.MustCompile(`^(#[a-z]+|(\.\./)?(jobs|workloads)/[0-9A-Za-z%._+=-]*(/compare(/[0-9_+]+)?)?|\.\.?/|(jobs|digest|)\?[0-9A-Za-z%._+=&-]*|(\.\./)?jobs|https://pop-coe\.eu/.*)$`)

// siteLinks are those of a server.
var siteLinks = Links{Home: "../", Jobs: "../jobs/", Workloads: "../workloads/", Nav: []Link{{Text: "Your jobs", Address: "../"}, {Text: "All jobs", Address: "../jobs"}}}

// listLinks are those of a list.
var listLinks = Links{Home: "./", Jobs: "jobs/", Workloads: "workloads/", Nav: []Link{{Text: "Your jobs", Address: "./", Here: true}, {Text: "All jobs", Address: "jobs"}}}
