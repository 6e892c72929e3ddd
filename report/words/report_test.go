package words

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"jobeff/ingest/listing"
	"jobeff/report/inert"
	"jobeff/report/text"
)

func TestListViews(t *testing.T) {
	jobs := fixtureList()
	eachView(t, "list", func(w io.Writer, opts text.Options) error {
		return List(w, listing.LinesOf(jobs), ListOptions{Options: opts, More: true})
	})
	var bare bytes.Buffer
	if err := List(&bare, listing.LinesOf(jobs), ListOptions{NoHeader: true}); err != nil || strings.Count(bare.String(), "\n") != len(jobs) || strings.Contains(bare.String(), "JobID") {
		t.Errorf("without a header: %v\n%s", err, bare.String())
	}
	var parsable bytes.Buffer
	if err := List(&parsable, listing.LinesOf(jobs), ListOptions{Parsable2: true, Options: text.Options{Unicode: true}}); err != nil {
		t.Fatal(err)
	}
	golden(t, "list-parsable.txt", parsable.Bytes())
}

func TestParsableHasTheSameColumnsInEveryLine(t *testing.T) {
	var out bytes.Buffer
	if err := List(&out, listing.LinesOf(fixtureList()), ListOptions{Parsable2: true}); err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if n := strings.Count(l, "|"); n != len(shown(listColumns+wideColumns))-1 {
			t.Errorf("%d separators in %q", n, l)
		}
	}
}

func TestEmptyListSaysWhatToDo(t *testing.T) {
	var out bytes.Buffer
	if err := List(&out, nil, ListOptions{}); err != nil || !strings.Contains(out.String(), "-S") {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestInertLeavesTheOriginal(t *testing.T) {
	j := fixtures()["hostile"]
	inert.Copy(j, true)
	if j.Name != nasty || j.Executions[0].Nodes[0].Node != nasty || j.Executions[0].Endings[nasty] != 4 {
		t.Error("Inert changed what it was given")
	}
}

func TestColumns(t *testing.T) {
	names := map[string]bool{}
	for _, c := range columns {
		if c.Doc == "" || names[strings.ToLower(c.Name)] || otherNames[strings.ToLower(c.Name)] != "" {
			t.Errorf("field %s: no text, or its name is taken", c.Name)
		}
		names[strings.ToLower(c.Name)] = true
	}
	for other, name := range otherNames {
		if !names[name] {
			t.Errorf("%s stands for %s, which is no field", other, name)
		}
	}
	shown(listColumns + wideColumns)
	for _, bad := range []string{"", "jobid,", "nosuch", "pe%", "pe%0", "pe%x", "pe%1001", "pe%-1001", "pe%20%3", "\x1b"} {
		if _, err := ParseColumns(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestEveryColumn shows each field of jobs of every kind, of hostile ones too.
func TestEveryColumn(t *testing.T) {
	jobs := append(fixtureList(), *fixtures()["usage"])
	var all []string
	for _, c := range columns {
		all = append(all, c.Name)
	}
	for name, opts := range map[string]ListOptions{
		"columns-wide":     {Columns: shown(strings.Join(all, ",")), Options: text.Options{Unicode: true}},
		"columns-asked":    {Columns: shown("jobid%6,jobname%-8,state%4,PE,Cover%8"), Options: text.Options{}},
		"columns-parsable": {Columns: shown(strings.Join(all, ",")), Parsable2: true, NoHeader: true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := List(&out, listing.LinesOf(jobs), opts); err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(out.Bytes()) || strings.ContainsAny(out.String(), "\x1b\r\u202e\u200b\u009b") {
				t.Error("a hostile character")
			}
			golden(t, name+".txt", out.Bytes())
		})
	}
}
