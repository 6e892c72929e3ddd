// Command mutants checks that the tests notice a wrong program. For each wrong change of
// test/mutants.txt it runs the test that must fail, in a clone of HEAD and beside two busy loops.
// Its arguments are words. With words it tries only the changes whose text has one of them, and
// writes no result.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	list   = "test/mutants.txt"
	result = "test/results/mutants.txt"
)

// mutant is a wrong change: in file, old becomes wrong. A test of pkg that matches run must then fail.
type mutant struct {
	what, file, old, wrong, pkg, run string
}

func (m *mutant) test() string { return m.pkg + " " + m.run }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := try(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1)
	}
}

func try(ctx context.Context, words []string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	mutants, err := parse(string(text))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "jobeff-mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t := trial{ctx: ctx, dir: dir, sound: map[string]error{}, start: time.Now()}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if out, err := exec.Command("git", "clone", "-q", "--shared", ".", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("git clone: %w\n%s", err, out)
	}
	if err := t.fit(mutants); err != nil {
		return err
	}
	for range 2 {
		busy := exec.Command("sh", "-c", "while :; do :; done")
		busy.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		runtime.LockOSThread() // it dies with the thread that started it
		if err := busy.Start(); err != nil {
			return err
		}
		defer busy.Process.Kill()
	}
	return t.all(mutants, words)
}

// parse reads blocks of lines: what is wrong, the file, its lines (-) and the wrong ones (+), the package and -run.
func parse(text string) (mutants []mutant, err error) {
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var m mutant
		var rest []string
		for line := range strings.SplitSeq(block, "\n") {
			switch {
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "-"):
				m.old += line[1:] + "\n"
			case strings.HasPrefix(line, "+"):
				m.wrong += line[1:] + "\n"
			default:
				rest = append(rest, line)
			}
		}
		if rest == nil {
			continue
		}
		if len(rest) != 3 || m.old == "" || len(strings.Fields(rest[2])) != 2 {
			return nil, fmt.Errorf("%s: %q is not: what, file, -old, +wrong, package and -run", list, block)
		}
		m.what, m.file = rest[0], rest[1]
		m.pkg, m.run, _ = strings.Cut(rest[2], " ")
		mutants = append(mutants, m)
	}
	return mutants, nil
}

type trial struct {
	ctx   context.Context
	dir   string           // the clone
	sound map[string]error // by test, its result without a change; nil: it passes
	start time.Time
}

func (t *trial) command(name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(t.ctx, name, args...)
	c.Dir = t.dir
	c.WaitDelay = time.Second // what make has started may still run
	// With make's CGO_CFLAGS, go test would build again what its cache holds.
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "CGO_CFLAGS=") || strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS=")
	})
	return c
}

// fit fails if a change does not fit its file any more.
func (t *trial) fit(mutants []mutant) error {
	for _, m := range mutants {
		text, err := os.ReadFile(filepath.Join(t.dir, m.file))
		if err != nil {
			return err
		}
		if n := strings.Count(string(text), m.old); n != 1 {
			return fmt.Errorf("%s is out of date: %s has %d times\n%s", list, m.file, n, m.old)
		}
	}
	return nil
}

// all tries the mutants. It writes the result unless words select some.
func (t *trial) all(mutants []mutant, words []string) error {
	named := func(m mutant) bool {
		return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(m.what+m.file+m.pkg+m.run, w) })
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !named(m) })
	for _, m := range mutants { // before the first change, so that the C is built once
		if _, known := t.sound[m.test()]; !known {
			t.sound[m.test()] = t.unchanged(m)
		}
		if t.ctx.Err() != nil {
			return t.ctx.Err()
		}
	}
	if err := t.shell("[ ! -e build ] || cp -a build .clean"); err != nil {
		return err
	}
	counts := map[string]int{}
	var lines []string
	for _, m := range mutants {
		began := time.Now()
		verdict, err := t.one(m)
		if t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		counts[verdict]++
		line := fmt.Sprintf("%s (%.0f s): %s: %s (%s)", verdict, time.Since(began).Seconds(), m.file, m.what, m.test())
		fmt.Println(line)
		if err != nil {
			fmt.Println(err)
		}
		lines = append(lines, line)
	}
	last := fmt.Sprintf("%d killed, %d survived", counts["killed"], counts["survived"])
	if n := counts["broken"]; n > 0 {
		last += fmt.Sprintf(", %d broken", n)
	}
	fmt.Println(last)
	if len(words) == 0 {
		if err := t.write(append(lines, last)); err != nil {
			return err
		}
	}
	if counts["killed"] != len(lines) {
		return fmt.Errorf("not all were killed")
	}
	return nil
}

func (t *trial) write(lines []string) error {
	commit, err := t.command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return err
	}
	head := fmt.Sprintf("%s %s: make mutants, %d CPUs with two busy loops, %.0f minutes", t.start.UTC().Format(time.RFC3339),
		strings.TrimSpace(string(commit)), runtime.NumCPU(), time.Since(t.start).Minutes())
	return os.WriteFile(result, []byte(head+"\n"+strings.Join(lines, "\n")+"\n"), 0o644)
}

// one tries a mutant and returns its verdict: killed, survived, or broken if it or its test cannot be tried.
func (t *trial) one(m mutant) (string, error) {
	if err := t.sound[m.test()]; err != nil {
		return "broken", err
	}
	path := filepath.Join(t.dir, m.file)
	right, err := os.ReadFile(path)
	if err != nil {
		return "broken", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "broken", err
	}
	defer func() { // with its old time, so that make builds nothing again
		os.WriteFile(path, right, 0o644)
		os.Chtimes(path, time.Time{}, info.ModTime())
		t.shell("[ ! -e .clean ] || { rm -rf build; cp -a .clean build; }")
	}()
	if err := os.WriteFile(path, []byte(strings.Replace(string(right), m.old, m.wrong, 1)), 0o644); err != nil {
		return "broken", err
	}
	switch out, err := t.test(m); {
	case err == nil, strings.Contains(out, "panic: test timed out"):
		return "survived", fmt.Errorf("%s", out)
	case !failed.MatchString(out) || unbuilt.MatchString(out):
		return "broken", fmt.Errorf("%s", out)
	}
	return "killed", nil
}

var (
	passed  = regexp.MustCompile(`(?m)^--- PASS: `)
	failed  = regexp.MustCompile(`(?m)^--- FAIL: `)
	skipped = regexp.MustCompile(`(?m)^ *--- SKIP: `)
	unbuilt = regexp.MustCompile(`\.[ch]:\d+:\d+: error: `) // tests build the C, so a test may fail by that
)

// unchanged runs a mutant's test without its change: the test must pass, and skip nothing.
func (t *trial) unchanged(m mutant) error {
	out, err := t.test(m)
	if err != nil || !passed.MatchString(out) || skipped.MatchString(out) {
		return fmt.Errorf("without a change, go test %s: %v\n%s", m.test(), err, out)
	}
	return nil
}

func (t *trial) shell(script string) error {
	if out, err := t.command("bash", "-euc", script).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", script, err, out)
	}
	return nil
}

func (t *trial) test(m mutant) (string, error) {
	out, err := t.command("go", "test", "-count=1", "-v", "-vet=off", "-timeout", "10m", m.pkg, "-run", m.run).CombinedOutput()
	return string(out), err
}
