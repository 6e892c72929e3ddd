package test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bob runs the documents' sessions of a cluster as they are written. (cmd/jobeff runs the
// others.) Numbers differ from time to time, and so do line breaks. So the test compares the
// first words of every shown line.

// sessionCommand is one `$ command` of a session, with the lines shown under it.
type sessionCommand struct {
	command string
	shown   []string
}

var sessionBlock = regexp.MustCompile("(?s)<!-- session: (\\w+) -->\n```console\n(.*?)```")

// readSession finds a session in README.md or doc/.
func readSession(t *testing.T, name string) []sessionCommand {
	t.Helper()
	paths, err := filepath.Glob("../doc/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, "../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range sessionBlock.FindAllStringSubmatch(string(text), -1) {
			if m[1] == name {
				return splitSession(m[2])
			}
		}
	}
	t.Fatalf("no document has the session %q", name)
	return nil
}

func splitSession(text string) []sessionCommand {
	var commands []sessionCommand
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			commands = append(commands, sessionCommand{command: command})
		} else if len(commands) > 0 && line != "" && line != "..." {
			last := &commands[len(commands)-1]
			last.shown = append(last.shown, line)
		}
	}
	return commands
}

// label is what stands before a line's first column of values; "" for running text.
func label(line string) string {
	text := strings.TrimSpace(line)
	if at := strings.Index(text, "  "); at > 0 {
		return text[:at]
	}
	return ""
}

// wantShown checks that out has every labelled line of a session, in its order.
func wantShown(t *testing.T, c sessionCommand, out string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(out) {
		got = append(got, label(line))
	}
	for _, line := range c.shown {
		want := label(line)
		at := slices.Index(got, want)
		if want != "" && at < 0 {
			t.Errorf("$ %s\nhas no (further) line %q, as the document shows:\n%s", c.command, want, out)
			return
		}
		got = got[max(at, 0):]
	}
}

var jobNumber = regexp.MustCompile(`^jobeff (\d+)$`)

func TestUserSession(t *testing.T) {
	t.Parallel()
	srun(t, openmpi) // as the session does
	session := readSession(t, "user")
	home := site.home("bob")
	melt, err := os.ReadFile("lammps/in.melt")
	if err != nil {
		t.Fatal(err)
	}
	script := strings.Join(session[0].shown, "\n") + "\n"                // `cat melt.sh`
	short := strings.Replace(string(melt), "run\t\t300", "run\t\t30", 1) // the lines are the same after fewer steps
	for name, content := range map[string]string{"in.melt": short, "melt.sh": script} {
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
		t.Error("the session submits no job")
	}
}

var submitted = regexp.MustCompile(`Submitted batch job (\d+)`)

// TestWorkloadSession runs the workload session of the users' guide.
func TestWorkloadSession(t *testing.T) {
	t.Parallel()
	srun(t, openmpi) // as the session does
	session := readSession(t, "workload")
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
	jobs, left := 0, []string{} // core counts that are not compared: the ranks lacked CPUs
	for _, c := range session {
		out := site.as(t, "bob", "bash", "-c", c.command)
		for _, m := range submitted.FindAllStringSubmatch(out, -1) {
			site.wait(t, m[1])
			if d := site.jobeff(t, "bob", m[1]); warned(d, "contention") {
				left = append(left, fmt.Sprint(d.AllocCPUs))
			}
			if jobs++; len(left) == 3 {
				left = append(left, "cores") // there is no table
			}
		}
		c.shown = slices.DeleteFunc(c.shown, func(line string) bool { return slices.Contains(left, label(line)) })
		wantShown(t, c, out)
	}
	if jobs != 3 {
		t.Errorf("the session submits %d jobs, want 3", jobs)
	}
}
