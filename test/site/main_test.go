package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestSite: the site is where it says, its commands answer and tell of a hole, a slow node, a silent one and what measuring costs, and
// nothing is left of it afterwards.
func TestSite(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds jobeff and makes a site")
	}
	t.Chdir("../..")
	if out, err := exec.Command("make", "build/jobeff", "build/jobeffd").CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
	tmp := t.TempDir()
	program := filepath.Join(tmp, "site")
	if out, err := exec.Command("go", "build", "-o", program, "./test/site").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	var said strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "Ctrl-C") {
			break
		}
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/jobs`).FindString(said.String())
	if status, page := opened(t, address); status != http.StatusOK || strings.Count(page, "<tr") < 20 {
		t.Errorf("%s: %d, %d rows", address, status, strings.Count(page, "<tr"))
	}
	commands := regexp.MustCompile(`(?m)^  (export|jobeff) .*$`).FindAllString(said.String(), -1)
	out, err := exec.Command("sh", "-ec", strings.Join(commands, "\n")).CombinedOutput()
	if err != nil || len(commands) != 9 || strings.Count(string(out), "\n") < 60 {
		t.Errorf("%d commands: %v\n%s", len(commands), err, out)
	}
	printed := strings.Join(strings.Fields(string(out)), " ")
	const slow, silent, cost = ` % longer on n017 \(`, `four weeks before: n240\.`, `Measured jobs took between [^:]+ more time than others of the same work \(90 %\):`
	for what, least := range map[string]int{slow: 2, silent: 2, cost: 2, `\(a hole\)`: 1} { // status, and digest, cost or coverage
		if n := len(regexp.MustCompile(what).FindAllString(printed, -1)); n < least {
			t.Errorf("%q is printed %d times, want %d:\n%s", what, n, least, out)
		}
	}
	for path, want := range map[string]string{"/status": slow, "/nodes": `<th scope="row">n017</th>.* % longer`} {
		if _, page := opened(t, strings.TrimSuffix(address, "/jobs")+path); !regexp.MustCompile(want).MatchString(page) {
			t.Errorf("%s does not say %q:\n%s", path, want, page)
		}
	}
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "jobeff-site-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// opened reads a page.
func opened(t *testing.T, address string) (status int, page string) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
