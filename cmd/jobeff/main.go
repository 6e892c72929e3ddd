// Command jobeff shows people the parallel efficiency of their jobs. It asks jobeffd, the
// accounting daemon, and prints the jobs with package report. Its doctor checks an installation.
// It hands the commands of the database on to jobeffd.
package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"jobeff/cmd/cli"
	"jobeff/cmd/source"
	"jobeff/etc"
	"jobeff/ingest/client"
	"jobeff/ingest/node/gpu"
	"jobeff/report"
)

// A list of a month's jobs is some MiB, read once. Collecting garbage at each doubling of the
// heap would take a tenth of the time. Near memoryGoal the collector works often again.
const (
	garbagePercent = 400
	memoryGoal     = 200 << 20 // bytes
)

func main() {
	switch os.Args[0] {
	case source.Reader:
		os.Exit(source.Read(os.Stdin, os.Stdout))
	case gpu.Name:
		os.Exit(gpu.Read(os.Args[1:], os.Stdout))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
		debug.SetMemoryLimit(memoryGoal)
	}
	os.Exit(run(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is main without the process around it.
func run(args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	p := &program{stdout: stdout, stderr: stderr, getenv: getenv, now: time.Now}
	root := p.command()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if ended := exitCode(0); errors.As(err, &ended) {
		return int(ended)
	}
	if err != nil && !errors.Is(err, errUnhealthy) { // its checks are printed already
		cli.Complain(stderr, "jobeff", explain(err))
	}
	return cli.ExitCode(err)
}

// explain words an error, and what to do next, in one or two lines.
func explain(err error) string {
	var unreachable *client.UnreachableError
	var server *client.ServerError
	switch {
	case errors.As(err, &unreachable):
		return unanswered(unreachable, os.Getuid(), etc.Path())
	case errors.As(err, &server) && server.Hint != "":
		return server.Message + "\n" + server.Hint
	}
	return err.Error()
}

// unanswered words that no server answers. Where no configuration names one, there may be no site, and no support.
func unanswered(err *client.UnreachableError, uid int, config string) string {
	alone := ""
	if _, err := os.Stat(config); errors.Is(err, fs.ErrNotExist) {
		alone = "\n`jobeff run -- COMMAND` measures a program without a server"
	}
	switch {
	case uid == 0:
		return err.Error() + "\n`systemctl status jobeffd` on its machine says more; its address is [client] to or [report] to in " +
			config + " (JOBEFF_CONFIG names another file)" + alone
	case alone != "":
		return "no jobeffd answers, and no " + config + " names one" + alone
	}
	return "jobeff's server does not answer\nnothing is wrong with your jobs, and their figures are kept: try again in some minutes, then tell your support"
}

// program holds what a command reads from its environment and where it prints, so that tests can replace both.
type program struct {
	stdout, stderr io.Writer
	getenv         func(string) string
	now            func() time.Time
}

// options says what standard output can show.
func (p *program) options() report.Options { return p.reader(p.stdout) }

// reader says what an output can show.
func (p *program) reader(w io.Writer) report.Options { return report.Reader(p.getenv, cli.Columns(w)) }

// errUnhealthy sets the exit code after doctor or policy test has printed what failed.
var errUnhealthy = errors.New("a check failed")
