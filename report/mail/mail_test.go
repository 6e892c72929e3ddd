package mail

import (
	"fmt"
	"html"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/notice"
	"jobeff/report/view"
)

func TestOwnTemplates(t *testing.T) {
	t.Parallel()
	ts, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := ts.execute(name, sampleFor(name))
		if err != nil {
			t.Error(err)
		}
		if strings.HasSuffix(name, ".html") && strings.Contains(text, "<b>") {
			t.Errorf("%s does not escape:\n%s", name, text)
		}
		for line := range strings.Lines(text) {
			if strings.HasSuffix(name, ".txt") && len([]rune(strings.TrimRight(line, "\n"))) > 80 {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}

// TestTextAndHTMLSayTheSame: a reader of either is told the same. Only what is drawn, or what a
// line would be too long for, is in one of them.
func TestTextAndHTMLSayTheSame(t *testing.T) {
	t.Parallel()
	ts, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"digest", "notice"} {
		said := map[string]string{}
		for _, form := range []string{".txt", ".html"} {
			text, err := ts.execute(kind+form, sampleFor(kind+form))
			if err != nil {
				t.Fatal(err)
			}
			if form == ".html" {
				text = html.UnescapeString(regexp.MustCompile(`<a href="([^"]*)"[^>]*>|<style>[^<]*</style>|<[^>]*>`).ReplaceAllString(text, " $1 "))
			}
			said[form] = strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(text, "\n| ", " ")), " "))
		}
		for name, value := range texts(reflect.ValueOf(sampleFor(kind)), "") {
			value = strings.ToLower(strings.Join(strings.Fields(value), " "))
			if a, b := strings.Contains(said[".txt"], value), strings.Contains(said[".html"], value); a != b {
				t.Errorf("%s: %s, %q, is in the text: %v, in HTML: %v", kind, name, value, a, b)
			}
		}
	}
}

// texts are all that a template's data hold, by their fields.
func texts(v reflect.Value, name string) map[string]string {
	all := map[string]string{}
	switch v.Kind() {
	case reflect.Pointer:
		return texts(v.Elem(), name)
	case reflect.Struct:
		for i := range v.NumField() {
			maps.Copy(all, texts(v.Field(i), name+"."+v.Type().Field(i).Name))
		}
	case reflect.Slice:
		for i := range v.Len() {
			maps.Copy(all, texts(v.Index(i), fmt.Sprint(name, i)))
		}
	case reflect.String:
		all[name] = v.String()
	}
	return all
}

// doubling are templates of which each calls the next one twice.
func doubling(templates int) string {
	text := `{{template "0"}}`
	for i := range templates {
		text += fmt.Sprintf(`{{define "%d"}}{{template "%d"}}{{template "%[2]d"}}{{end}}`, i, i+1)
	}
	return text + fmt.Sprintf(`{{define "%d"}}{{end}}`, templates)
}

// TestSiteTemplates loads templates of a site's own, with what is wrong in them.
func TestSiteTemplates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"notice.txt", "Dear {{.User}}\n{{.Summary}}\n", ""},
		{"notice.html", "<p>{{.User}}</p>", ""},
		{"notice.txt", "Dear\n{{.Usr}}\n", "notice.txt:2:2: executing"},
		{"notice.txt", "{{range .Items}}{{.Name}}{{end}}\n{{if}}\n", "notice.txt:2: missing value for if"},
		{"digest.txt", "{{range .Savings}}\n{{.Core}}{{end}}", "digest.txt:2:2: executing"},
		{"digest.html", "<p>{{.Headline}}</p>\n\n{{call .Headline}}", "digest.html:3:2: executing"},
		{"digest.html", "<script>{{.Headline}}", "digest.html"},
		{"digest.txt", "{{range 9}}{{printf \"%900000d\" .}}{{end}}", "it makes more than 1024 KiB"},
		{"digest.txt", strings.Repeat("x", 2<<20), "is larger than"},
		{"digest.txt", "{{range 999999999999}}{{end}}", "txt: it takes more than 1000000 steps"},
		{"digest.html", "<p>{{range 999999999999}}{{if .}}{{else}}{{end}}{{end}}</p>", "it takes more than 1000000 steps"},
		{"notice.txt", doubling(40), "it takes more than 1000000 steps"},
		{"notice.txt", "{{$x := .User}}{{range 99}}{{$x = print $x $x}}{{end}}", "a text of more than 1024 KiB"},
		{"notice.html", "{{$x := `\\`}}{{range 99}}{{$x = js $x}}{{end}}", "a text of more than 1024 KiB"},
		{"notice.txt", "{{left 999999999999 .User}}", "a column of 999999999999 characters is too wide, 1000 may be"},
		{"notice.txt", "{{wrap (printf `%99s` .User) .User}}", "a line of 72 characters has no room for a mark of 99"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(dir)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.60q: %v, want %s", c.text, err, c.want)
		}
	}
}

// TestTemplateIsNoFile: jobeffd would hang on it, or read without end.
func TestTemplateIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "notice.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "notice.html")); err != nil {
		t.Fatal(err)
	}
	_, err := Load(dir)
	for _, name := range []string{"notice.txt", "notice.html"} {
		if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)+" is not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEmptyWeek: a new site's digest says that there was nothing.
func TestEmptyWeek(t *testing.T) {
	t.Parallel()
	ts, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, 12, 28, 0, 0, 0, 0, time.UTC)
	week := &listing.Facts{From: from, To: from.AddDate(0, 0, 7)}
	l, err := ts.Digest(view.NewDigest(notice.NewDigest(&listing.TwoWeeks{This: week, Before: &listing.Facts{}}), view.Site{Zone: time.UTC, Help: "us"}))
	if err != nil || !strings.Contains(l.Text, "No job ended in this week.") || !strings.Contains(l.Subject, "28 December 2026 to 3 January 2027") {
		t.Errorf("%v, %q\n%s", err, l.Subject, l.Text)
	}
}

// TestColumnsStay: a long name moves no column of a text, and no line is too long.
func TestColumnsStay(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"abc": "abc     ", strings.Repeat("ä", 300): "ääää... "} {
		if got, err := left(8, s); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

// FuzzTemplate: a site's template is refused with its place, or makes bounded letters; no template
// ends jobeffd.
func FuzzTemplate(f *testing.F) {
	for _, name := range names {
		text, err := own.ReadFile("templates/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, string(text))
	}
	f.Add("notice.txt", "{{wrap 1 .Summary}}{{left -1 .User}}{{right 99 .User}}{{quote .List}}{{upper .More}}")
	f.Add("digest.html", "{{dark}}<a href={{.Link}} onclick={{.Help}}>{{printf \"%*d\" 9 .Facts}}</a>{{template \"digest.html\" .}}")
	f.Add("digest.txt", "{{define \"x\"}}{{template \"x\"}}{{end}}{{template \"x\"}}{{slice .Span 1 99}}{{index .Lists 7}}")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, name, text string) {
		if !slices.Contains(names, name) {
			return
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ts, err := Load(dir)
		os.Remove(path)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "mail: "+path) {
				t.Errorf("no place: %v", err)
			}
			return
		}
		if letter, err := ts.execute(name, sampleFor(name)); err != nil || len(letter) > mostLetter {
			t.Errorf("%d bytes, %v", len(letter), err)
		}
	})
}

// TestStoppedSince: one moment is no span.
func TestStoppedSince(t *testing.T) {
	at := time.Date(2026, 11, 20, 19, 27, 0, 0, time.Local)
	for want, last := range map[string]time.Time{"since 2026-11-20 19:27: 1, 2.": at.Add(59 * time.Second), "since 2026-11-20 19:27, the last of them since 2026-11-20 19:31: 1, 2.": at.Add(4 * time.Minute)} {
		l := Stopped([]*job.Job{{DisplayID: "1", Hung: &hang.Hung{Since: at}}, {DisplayID: "2", Hung: &hang.Hung{Since: last}}}, 2)
		if text := strings.Join(strings.Fields(l.Text), " "); !strings.Contains(text, "Nothing has moved in 2 jobs of 2 users "+want) {
			t.Errorf("%q, want %q", text, want)
		}
	}
}
