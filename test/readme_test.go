package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The README's user session is run as it stands, by alice on the cluster. Numbers,
// and sentences that are wrapped by them, differ from run to run: what is compared
// is the first words of every line that the README shows.

// readmeCommand is one `$ command` of a session and the lines shown under it.
type readmeCommand struct {
	command string
	shown   []string
}

var readmeSession = regexp.MustCompile("(?s)<!-- session: (\\w+) -->\n```console\n(.*?)```")

func readReadme(t *testing.T, name string) []readmeCommand {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range readmeSession.FindAllStringSubmatch(string(text), -1) {
		if m[1] == name {
			return splitSession(m[2])
		}
	}
	t.Fatalf("README.md has no session %q", name)
	return nil
}

func splitSession(text string) []readmeCommand {
	var commands []readmeCommand
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			commands = append(commands, readmeCommand{command: command})
		} else if len(commands) > 0 && line != "" && line != "..." {
			last := &commands[len(commands)-1]
			last.shown = append(last.shown, line)
		}
	}
	return commands
}

// label is what stands before a line's first column of values, "" for running text.
func label(line string) string {
	text := strings.TrimSpace(line)
	if at := strings.Index(text, "  "); at > 0 {
		return text[:at]
	}
	return ""
}

// wantShown checks that every labelled line of the README is in out, in its order.
func wantShown(t *testing.T, c readmeCommand, out string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(out) {
		got = append(got, label(line))
	}
	for _, line := range c.shown {
		want := label(line)
		at := slices.Index(got, want)
		if want != "" && at < 0 {
			t.Errorf("$ %s\nhas no (further) line %q, as README shows:\n%s", c.command, want, out)
			return
		}
		got = got[max(at, 0):]
	}
}

var jobNumber = regexp.MustCompile(`^jobeff (\d+)$`)

func TestReadmeSession(t *testing.T) {
	t.Parallel()
	session := readReadme(t, "user")
	home := site.home("bob")
	melt, err := os.ReadFile("lammps/in.melt")
	if err != nil {
		t.Fatal(err)
	}
	script := strings.Join(session[0].shown, "\n") + "\n" // `cat melt.sh`
	for name, content := range map[string]string{"in.melt": string(melt), "melt.sh": script} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var id string
	for _, c := range session {
		command := c.command
		if jobNumber.MatchString(command) {
			site.jobeff(t, "bob", id) // waits for the job's end and its figures
			command = "jobeff " + id
		}
		out := site.as(t, "bob", "bash", "-c", command)
		if number, ok := strings.CutPrefix(out, "Submitted batch job "); ok && id == "" {
			id = strings.TrimSpace(number)
		}
		wantShown(t, c, out)
	}
	if id == "" {
		t.Error("README's session submits no job")
	}
}

var submitted = regexp.MustCompile(`Submitted batch job (\d+)`)

// TestReadmeWorkload runs the README's session of a workload, by bob.
func TestReadmeWorkload(t *testing.T) {
	t.Parallel()
	session := readReadme(t, "workload")
	program, err := os.ReadFile(build(t, site, openmpi.cc, "sleepscale.c"))
	if err != nil {
		t.Fatal(err)
	}
	script := strings.Join(session[0].shown, "\n") + "\n" // `cat sleep.sh`
	for name, content := range map[string]string{"sleepscale": string(program), "sleep.sh": script} {
		if err := os.WriteFile(filepath.Join(site.home("bob"), name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	jobs := 0
	for _, c := range session {
		out := site.as(t, "bob", "bash", "-c", c.command)
		for _, m := range submitted.FindAllStringSubmatch(out, -1) {
			site.wait(t, m[1])
			site.jobeff(t, "bob", m[1])
			jobs++
		}
		wantShown(t, c, out)
	}
	if jobs != 3 {
		t.Errorf("README's session submits %d jobs, want 3", jobs)
	}
}
