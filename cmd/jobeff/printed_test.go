package main

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// printedCommand matches a command in a text. The words after its values belong to the sentence.
var (
	printedCommand = regexp.MustCompile(`\bjobeff (?:compare \d[\d_+]*(?: \d[\d_+]*)?|(?:explain|where|live|report|mute|unmute) \d[\d_+]*|workload [\w.:@+-]*[\w+]|(?:un)?mute [\w.:@+-]*[\w+]|digest --week \S*\d|--full \d[\d_+]*|\d[\d_+]*(?: --tasks)?|-S -\d+days)`)
	prose          = regexp.MustCompile(`(?:workload|mute) (?:lists|shows|says|names|for|NAME|JOBID)$`)
	mailReader     = regexp.MustCompile(`Subject: \[shadow, for (\w+)\]`)
	brokenCommand  = regexp.MustCompile(`(?m)jobeff(?: (?:--full|compare|explain|where|live|report|mute|unmute|workload))?$`)
)

var tag = regexp.MustCompile(`<[^>]*>`)

// TestPrintedCommands runs each command that a text, a page or a mail of a made-up site prints, as it stands
// there: in one line, and complete.
func TestPrintedCommands(t *testing.T) {
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
	run := func(args ...string) (string, error) {
		var out, errOut bytes.Buffer
		program := exec.Command("jobeff", args...) // testscript put it into PATH
		program.Stdout, program.Stderr = &out, &errOut
		err := program.Run()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, errOut.String())
		}
		return out.String(), err
	}
	must := func(args ...string) string {
		out, err := run(args...)
		if err != nil {
			t.Fatalf("jobeff %v: %v", args, err)
		}
		return out
	}
	must("admin", "demo-data", "--jobs", "6000", "--until", "2026-11-21", "demo.db")
	stop, err := startServer("demo.db", d.socket, "jobeff.toml")
	t.Cleanup(stop)
	if err != nil {
		t.Fatal(err)
	}
	var pages []string // they have no lines of a terminal
	texts := []string{must("-a", "-S", "2026-11-01"), must("-a", "-S", "2026-11-19", "--tasks", "--sort", "lost"), must("workload", "-a", "-S", "2026-09-01")}
	jobs := strings.Fields(must("-a", "-nP", "-o", "jobid", "-S", "2026-11-17"))
	jobs = slices.Concat(jobs[:40], jobs[len(jobs)-20:], strings.Fields(must("-a", "-n", "-o", "jobid", "-S", "2026-11-20")))
	for i, id := range jobs {
		texts = append(texts, must(id), must("--full", id), must("explain", id))
		if i%5 == 0 {
			pages = append(pages, html.UnescapeString(tag.ReplaceAllString(must("report", id, "--html", "-"), "\n")))
		}
	}
	for line := range strings.Lines(must("workload", "-a", "-nP", "-S", "2026-10-01", "--limit", "20")) {
		row := strings.Split(line, "|")
		texts = append(texts, must("workload", row[0], "-u", row[1]))
		if row[2] != "-" { // there is a program, so there is a curve
			pages = append(pages, html.UnescapeString(tag.ReplaceAllString(must("workload", row[0], "-u", row[1], "--html", "-"), "\n")))
		}
	}
	for week := 30; week < 47; week++ {
		texts = append(texts, must("digest", "--week", fmt.Sprintf("2026-W%02d", week)))
	}
	readers := map[int]string{} // of a text; else its reader is an operator
	for _, mail := range strings.Split(must("admin", "notices", "--database", "demo.db"), "one mail now")[1:] {
		for _, m := range mailReader.FindAllStringSubmatch(mail, 1) {
			readers[len(texts)] = m[1]
			texts = append(texts, mail)
		}
	}
	ran, kinds := map[string]bool{}, map[string]int{}
	for i, text := range slices.Concat(texts, pages) {
		text := strings.ReplaceAll(text, "without jobeff", "without it") // it is no command there
		if at := brokenCommand.FindStringIndex(text); at != nil && i < len(texts) {
			t.Errorf("a line ends in a command:\n%s", text[max(0, at[0]-200):min(len(text), at[1]+100)])
		}
		for _, command := range printedCommand.FindAllString(text, -1) {
			if ran[command] || prose.MatchString(command) || strings.HasPrefix(command, "jobeff live") { // there is no Slurm here
				continue
			}
			ran[command] = true
			args := strings.Fields(command)[1:]
			if args[0] == "report" {
				args = append(args, "--html", "-")
			}
			if readers[i] != "" && (args[0] == "workload" || args[0] == "mute") {
				args = append(args, "-u", readers[i])
			}
			if kinds[args[0]]++; args[0][0] <= '9' {
				kinds["a job"]++
			}
			if _, err := run(args...); err != nil {
				t.Errorf("%s: %v", command, err)
			}
		}
	}
	for _, kind := range []string{"a job", "workload", "mute", "digest"} {
		if kinds[kind] == 0 {
			t.Errorf("no text has a command of the kind %q: %v", kind, kinds)
		}
	}
}
