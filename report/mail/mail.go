// Package mail makes the letters that jobeffd sends: the week's digest for those who run the
// cluster, and notices to users. It is pure: words go in, text and HTML come out, and it computes
// nothing. A site may replace its templates, which are given view.DigestWords and view.NoticeWords,
// and nothing else. Before it in the flow comes report/view, after it cmd/jobeffd, which sends.
package mail

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	texttemplate "text/template"

	"jobeff/policy/notice"
	"jobeff/report"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/view"
)

//go:embed templates
var own embed.FS

// names are the templates: a text and an HTML for each letter.
var names = []string{"digest.txt", "digest.html", "notice.txt", "notice.html"}

// Templates make letters. Load reads them.
type Templates struct {
	text map[string]*texttemplate.Template
	html map[string]*template.Template

	one   sync.Mutex // one letter is made at a time
	steps steps      // of the current letter
}

// Digest makes the week's letter, without recipients.
func (t *Templates) Digest(d *view.Digest) (notice.Letter, error) {
	return t.letter("digest", d.Words.Subject, &d.Words)
}

// Notice makes a user's letter, without recipients.
func (t *Templates) Notice(n *view.NoticeFor, site view.Site) (notice.Letter, error) {
	words := n.Words(site)
	return t.letter("notice", words.Subject, words)
}

// functions returns the functions that a template may call.
func (t *Templates) functions() map[string]any {
	return map[string]any{"wrap": wrap, "quote": quote, "left": left, "right": right, "upper": strings.ToUpper, "counted": figure.Counted, "dark": dark,
		"print": print, "printf": printf, "println": println, "js": js, stepFunction: t.steps.add}
}

// Load reads the templates: a site's from dir if it has any, else ours. It tries each on made-up data. An error
// names the file and the line.
func Load(dir string) (*Templates, error) {
	t := &Templates{text: map[string]*texttemplate.Template{}, html: map[string]*template.Template{}}
	var faults []error
	for _, name := range names {
		if err := t.load(dir, name); err != nil {
			faults = append(faults, err)
		}
	}
	return t, errors.Join(faults...)
}

// mostTemplate bounds the size of a site's template, bytes.
const mostTemplate = 1 << 20

func (t *Templates) load(dir, name string) (err error) {
	content, err := own.ReadFile("templates/" + name)
	if err != nil {
		return err
	}
	path := "built-in " + name
	if dir != "" {
		site, err := readSite(filepath.Join(dir, name))
		if err == nil {
			content, path = site, filepath.Join(dir, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("mail: %w", err)
		}
	}
	if strings.HasSuffix(name, ".txt") {
		t.text[name], err = texttemplate.New(path).Funcs(t.functions()).Option("missingkey=error").Parse(string(content))
	} else {
		t.html[name], err = template.New(path).Funcs(t.functions()).Option("missingkey=error").Parse(string(content))
	}
	if err == nil {
		t.countSteps(name)
		_, err = t.execute(name, sampleFor(name))
	}
	if err != nil {
		return fmt.Errorf("mail: %s: %w: see jobeff.toml(5) for what a template is given", path, err)
	}
	return nil
}

// readSite reads a site's template.
func readSite(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // reading a FIFO or a device may never end
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path) // #nosec G304 -- the site's own
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, mostTemplate+1))
	if len(content) > mostTemplate {
		return nil, fmt.Errorf("%s is larger than %d KiB", path, mostTemplate>>10)
	}
	return content, err
}

// countSteps makes a template count its steps, which mostSteps bounds.
func (t *Templates) countSteps(name string) {
	if plain := t.text[name]; plain != nil {
		for _, part := range plain.Templates() {
			stepsOf(part.Tree.Root)
		}
		return
	}
	for _, part := range t.html[name].Templates() {
		stepsOf(part.Tree.Root)
	}
}

// execute fills a template.
func (t *Templates) execute(name string, data any) (string, error) {
	t.one.Lock()
	defer t.one.Unlock()
	t.steps = 0
	b := &bounded{most: mostLetter}
	var err error
	if plain := t.text[name]; plain != nil {
		err = plain.Execute(b, data)
	} else {
		err = t.html[name].Execute(b, data)
	}
	if errors.Is(err, errSteps) { // the engine's error names a place in the parts that stepsOf added
		err = errSteps
	}
	return b.String(), err
}

// beforePercent matches the blank in "5 %": no line of a page may end there.
var beforePercent = regexp.MustCompile(`([0-9]) %`)

// letter fills both templates of a kind.
func (t *Templates) letter(kind, subject string, data any) (notice.Letter, error) {
	l := notice.Letter{Subject: oneLine(subject)}
	var err error
	if l.Text, err = t.execute(kind+".txt", data); err != nil {
		return l, fmt.Errorf("mail: %w", err)
	}
	if l.HTML, err = t.execute(kind+".html", data); err != nil {
		return l, fmt.Errorf("mail: %w", err)
	}
	l.HTML = beforePercent.ReplaceAllString(l.HTML, "$1\u00a0%")
	return l, nil
}

// longestSubject bounds the characters of a subject.
const longestSubject = 150

// oneLine makes a text harmless in a header. Encoded words begin with "=?" (RFC 2047): a mail program
// would decode a name that looks like one.
func oneLine(s string) string {
	runes := []rune(strings.ReplaceAll(strings.TrimSpace(inert.Text(s, true)), "=?", "= ?"))
	if len(runes) > longestSubject {
		return string(runes[:longestSubject]) + "..."
	}
	return string(runes)
}

// ContentSecurityPolicy is the policy for a page that shows a letter. It allows inline styles, which mail
// programs need.
const ContentSecurityPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

// dark returns the style of our letters for a dark screen. It overrides the colours in the elements' own style
// attributes, which mail programs need.
func dark() template.HTML {
	return `<meta name="color-scheme" content="light dark">
<style>@media (prefers-color-scheme: dark) {
body { background: #0d1117 !important; color: #e6edf3 !important }
body > div { background: #161b22 !important }
[style*="color:#57606a"] { color: #9ea7b3 !important }
[style*="#dde2e7"] { border-color: #30363d !important }
[style*="#fdf1e4"] { background: #3b2a1a !important }
[style*="#eef3f9"] { background: #1c2733 !important }
[style*="#e9f5ee"] { background: #16301f !important }
[style*="color:#b42318"] { color: #ff9b8e !important }
a { color: #79b8ff !important }
[bgcolor="#b42318"] { background: #ff7a6b !important }
[bgcolor="#a9bfdc"] { background: #3d5a80 !important }
}</style>`
}

// textWidth is the width of the text of a mail, characters.
const textWidth = 72

// wrap breaks a text into lines. The first begins with `first`, the others with as many blanks.
func wrap(first, s string) (string, error) {
	indent := strings.Repeat(" ", len([]rune(first)))
	lines, err := quote(indent, s)
	return first + strings.TrimPrefix(lines, indent), err
}

// quote breaks a text into lines that all begin with mark.
func quote(mark, s string) (string, error) {
	room := textWidth - len([]rune(mark))
	if room < 0 {
		return "", fmt.Errorf("a line of %d characters has no room for a mark of %d", textWidth, textWidth-room)
	}
	return mark + strings.Join(report.Wrap(s, room, false), "\n"+mark), nil
}

// left and right pad a text to a column. left cuts a text that is too long, so that no name moves the columns
// after it.
func left(width int, s string) (string, error) {
	if runes := []rune(s); len(runes) >= width {
		s = string(runes[:max(0, width-4)]) + "..."
	}
	blanks, err := pad(width, s)
	return s + blanks, err
}

func right(width int, s string) (string, error) {
	blanks, err := pad(width, s)
	return blanks + s, err
}

// widest is the widest column, characters.
const widest = 1000

func pad(width int, s string) (string, error) {
	if width > widest {
		return "", fmt.Errorf("a column of %d characters is too wide, %d may be", width, widest)
	}
	return strings.Repeat(" ", max(0, width-len([]rune(s)))), nil
}
