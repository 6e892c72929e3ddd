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

// TestSite: the site is where it says, its commands answer, and nothing is left of it afterwards.
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
	answer, err := http.Get(address)
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	page, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK || strings.Count(string(page), "<tr") < 20 {
		t.Errorf("%s: %s, %d rows", address, answer.Status, strings.Count(string(page), "<tr"))
	}
	commands := regexp.MustCompile(`(?m)^  (export|jobeff) .*$`).FindAllString(said.String(), -1)
	if out, err := exec.Command("sh", "-ec", strings.Join(commands, "\n")).CombinedOutput(); err != nil || len(commands) != 6 || strings.Count(string(out), "\n") < 60 {
		t.Errorf("%d commands: %v\n%s", len(commands), err, out)
	}
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "jobeff-site-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
