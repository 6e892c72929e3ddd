package mail

import (
	"fmt"
	"reflect"
	"strings"

	"jobeff/report/view"
)

// sampleFor returns the data that a template is tried on when it is loaded. It has some of everything,
// including characters that HTML must escape.
func sampleFor(name string) any {
	if strings.HasPrefix(name, "digest") {
		return sampleDigest()
	}
	return sampleNotice()
}

func sampleDigest() *view.DigestWords {
	row := view.Row{Name: "chem", Jobs: "1,234", Used: "56,789", Judged: "56,123", Lost: "12,345", Share: "22 %", Change: "+3", LostBar: 22, RestBar: 78}
	return &view.DigestWords{Span: "9 to 15 November 2026", Accounts: "chem", Late: "late", Part: "part", Headline: "<b>", Facts: []string{"fact"},
		Lists:   []view.List{{Title: "By account", Column: "account", Rows: []view.Row{row, {Name: "bio"}}, More: "and 2 more"}},
		Savings: []view.SavingWords{{Number: 1, Name: "melt", User: "alice", Account: "chem", Job: "4711", JobName: "sweep", Page: "https://jobeff.example.org/jobs/4711", Hours: "1,234 core-hours", Text: "Take fewer.", Muted: true}},
		Losses:  []string{"lost"},
		Changes: []string{"changed"}, Earlier: "2026-W45",
		Followed: []string{"followed"}, FollowedMore: "and 2 more", Saved: "saved", Wrong: []string{"low-efficiency of job 4712"}, Health: []view.Remark{{Text: "good"}, {Text: "bad", Bad: true}}, Link: "https://jobeff.example.org", Help: "help@example.org"}
}

func sampleNotice() *view.NoticeWords {
	item := view.Item{Name: "melt", Jobs: "12 jobs", Lost: "1,234 core-hours", Job: "4711", JobName: "sweep", Ended: "Monday, 16 November, 07:00", Cores: 512, Texts: []string{"<b>"},
		Links: []string{"https://pop-coe.eu/node/69"}, Advice: "64 cores would have been better.", Sbatch: "sbatch --ntasks=64 YOUR-SCRIPT", Show: "jobeff workload melt",
		Mute: "jobeff mute melt", JobPage: "https://jobeff.example.org/jobs/4711",
		Wrong: "https://jobeff.example.org/jobs/4711/wrong?rule=r"}
	return &view.NoticeWords{User: "alice", Name: "Alice Smith", Cluster: "hpc", Shadow: "alice", Summary: "12 jobs of yours lost 1,234 core-hours.", Items: []view.Item{item, {Name: "other", Job: "4712"}},
		Losses: []string{"lost"}, More: "295 more workloads", List: "jobeff -u me -S 2026-11-10", Better: []string{"better"}, Help: "help@example.org", Link: "https://jobeff.example.org"}
}

// Contract describes for people what a template may use: the fields of Digest and Notice, those inside them,
// and functions.
func Contract() string {
	var b strings.Builder
	for _, data := range []struct {
		files string
		of    any
	}{{"digest.txt, digest.html", view.DigestWords{}}, {"notice.txt, notice.html", view.NoticeWords{}}} {
		fmt.Fprintf(&b, "%s:\n", data.files)
		fields(&b, "  ", reflect.TypeOf(data.of))
	}
	return b.String() + contractFunctions
}

// typeName shortens a type's name for the writer of a template.
var typeName = strings.NewReplacer("view.", "", "Words", "")

// fields lists a struct's fields; those of nested structs are below.
func fields(b *strings.Builder, indent string, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("doc") == "-" {
			continue
		}
		line := fmt.Sprintf("%s%-*s%-9s %s", indent, 14-len(indent), "."+f.Name, typeName.Replace(f.Type.String()), f.Tag.Get("doc"))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			fields(b, indent+"  ", f.Type.Elem())
		}
	}
}

const contractFunctions = `
Beside Go's own, a template may call
  wrap FIRST TEXT    break TEXT into lines of 72, the first beginning with FIRST
  quote MARK TEXT    … each beginning with MARK
  left N TEXT        TEXT in a column of N, cut where it is longer
  right N TEXT       … at the column's right end
  upper TEXT
  counted N NOUN     '1 core', '1,024 cores'
  dark               in <head>: our colours for dark screens
`
