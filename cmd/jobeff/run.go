package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"jobeff/cmd/cli"
	"jobeff/cmd/source"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/node"
	"jobeff/report"
	"jobeff/report/inert"
	"jobeff/report/view"
)

const runHelp = `jobeff run measures one run of a program, without Slurm and without a server. It starts
COMMAND with jobeff's library, waits for its end, and writes the report to standard error.
The program's output and exit code stay as they are.

COMMAND starts MPI ranks by mpirun, mpiexec or srun, or is a program with OpenMP. Ranks on
several hosts need --record, with a FILE in a folder that all hosts share: %h in its name
becomes the host's name. There, jobeff must lie at the same path on every host.

Inside a job that jobeff measures, the program has a record of its own, and the job's own
record lacks it. What srun starts there stays in the job's record: see jobeff JOBID.`

// runFlags are the flags of jobeff run.
type runFlags struct {
	html, json, talp, record string
	full                     bool
}

func (p *program) runCommand() *cobra.Command {
	var flags runFlags
	c := &cobra.Command{
		Use:   "run [flags] -- COMMAND...",
		Short: "Measure a run of a program, without Slurm",
		Long:  runHelp,
		Example: `  jobeff run -- mpirun -n 4 ./prog
  jobeff run --html prog.html -- env OMP_NUM_THREADS=4 ./prog
  jobeff run --record /shared/rec.%h -- mpirun -n 64 --hostfile hosts ./prog`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("jobeff run takes a command: jobeff run -- mpirun -n 4 ./prog")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.run(cmd.Context(), cmd.ErrOrStderr(), args, flags)
		},
	}
	c.Flags().SetInterspersed(false) // COMMAND has flags of its own
	c.Flags().BoolVar(&flags.full, "full", false, "report all that is known; without it, one screen")
	c.Flags().StringVar(&flags.html, "html", "", "write a page to the new `FILE` instead of the report")
	c.Flags().StringVar(&flags.json, "json", "", "write a JSON document to the new `FILE` instead")
	c.Flags().StringVar(&flags.talp, "talp", "", "write TALP's JSON to the new `FILE` instead")
	c.Flags().StringVar(&flags.record, "record", "", "keep the record, in the new `FILE`")
	return c
}

// exitCode is the exit code of a program that ran as it should for jobeff.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// run runs a command with the library and reports on it. The command's exit code is the error, whatever becomes of
// the report.
func (p *program) run(ctx context.Context, stderr io.Writer, command []string, flags runFlags) error {
	for _, file := range []string{flags.html, flags.json, flags.talp, flags.record} {
		if err := wantNew(file); err != nil {
			return err
		}
	}
	library, err := findLibrary()
	if err != nil {
		return err
	}
	m, err := prepare(command, library, flags.record)
	if err != nil {
		return err
	}
	defer m.remove()
	code, err := m.run(os.Stdin, os.Stdout, os.Stderr)
	if err != nil {
		return err
	}
	if err := p.tellRun(ctx, stderr, m, code, flags); err != nil {
		cli.Complain(stderr, "jobeff", err.Error())
	}
	return code
}

// measured is a command that is about to be measured.
type measured struct {
	program string
	words   []string // of the command
	env     []string
	record  string // the path of its records, with %h
	own     string // the folder made for it; "": a person named the record
}

// prepare finds a command's program and makes room for its record, unless a person named one.
func prepare(command []string, library, record string) (m *measured, err error) {
	m = &measured{words: command}
	if m.program, err = exec.LookPath(command[0]); err != nil {
		return nil, fmt.Errorf("%w: name a program, as mpirun -n 4 ./prog", err)
	}
	if record == "" {
		if m.own, err = os.MkdirTemp("", "jobeff-run-"); err != nil {
			return nil, fmt.Errorf("%w: set TMPDIR to a folder that you may write to", err)
		}
		record = filepath.Join(m.own, "record.%h")
	}
	if m.record, err = filepath.Abs(record); err != nil {
		return nil, err
	}
	m.env = environment(os.Environ(), library, m.record)
	return m, nil
}

// remove removes the record that no person named.
func (m *measured) remove() {
	if m.own != "" {
		os.RemoveAll(m.own)
	}
}

// wantNew refuses a file that exists, before the run.
func wantNew(file string) error {
	if file == "" || file == "-" {
		return nil
	}
	found, err := filepath.Glob(strings.ReplaceAll(file, "%h", "*"))
	if err == nil && len(found) > 0 {
		return fmt.Errorf("%s exists and is not overwritten: name another file, or remove it", found[0])
	}
	if st, err := os.Stat(filepath.Dir(file)); err != nil || !st.IsDir() {
		return fmt.Errorf("there is no folder %s: make it, or name another file", filepath.Dir(file))
	}
	return nil
}

// findLibrary finds the library of this installation: that of a build folder, or of bin and lib.
func findLibrary() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	places := []string{filepath.Join(filepath.Dir(self), "lib/libjobeff.so"), filepath.Join(filepath.Dir(self), "../lib/jobeff/libjobeff.so")}
	for _, path := range places {
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			continue
		}
		if strings.ContainsAny(path, " :$") {
			return "", fmt.Errorf("%s: no library is loaded from a path with a space, a colon or $: move jobeff to another folder", path)
		}
		return path, nil
	}
	return "", fmt.Errorf("libjobeff.so is not there (%s): install the package jobeff-node, or run make where you built jobeff", strings.Join(places, ", "))
}

// windowsMiB is how much of a record sampled windows may take, as on a node (measure.windows_mib).
const windowsMiB = "4"

// environment is an environment in which programs are measured into a record.
func environment(env []string, library, record string) []string {
	preload := library
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		if name == "LD_PRELOAD" { // loaded twice, the library would count twice
			for _, other := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ':' }) {
				if filepath.Base(other) != filepath.Base(library) {
					preload += ":" + other
				}
			}
		}
		return slices.Contains([]string{"LD_PRELOAD", "JOBEFF", "JOBEFF_RECORD", "JOBEFF_RECORD_FILE", "JOBEFF_WINDOWS"}, name)
	})
	// JOBEFF=on: on another host of a job with --jobeff=off, the launcher has JOBEFF=off
	return append(env, "LD_PRELOAD="+preload, "JOBEFF_RECORD="+record, "JOBEFF_WINDOWS="+windowsMiB, "JOBEFF=on")
}

// run runs the command and waits for its end. A program that a signal ended has the exit code 128 and the signal's
// number, as in a shell.
func (m *measured) run(stdin, stdout, stderr *os.File) (exitCode, error) {
	cmd := exec.Command(m.program)
	cmd.Args, cmd.Env = forwarding(m.words), m.env
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if stdin != nil {
		cmd.Stdin = stdin
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	over := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if !(fromTerminal(s) && inForeground()) {
					cmd.Process.Signal(s)
				}
			case <-over:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(over)
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return 0, err
	}
	if status, is := ended.Sys().(syscall.WaitStatus); is && status.Signaled() {
		return exitCode(128 + int(status.Signal())), nil
	}
	return exitCode(ended.ExitCode()), nil
}

// fromTerminal says whether a terminal sends the signal, to the program as well.
func fromTerminal(s os.Signal) bool { return s == syscall.SIGINT || s == syscall.SIGQUIT }

func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// forwarding is a command in which Open MPI's launcher, also behind env or timeout, forwards to other hosts what the library
// reads. Other launchers forward all. The variable mca_base_env_list would do it in scripts, too, but ends a launcher that has
// -x itself.
func forwarding(words []string) []string {
	for i, word := range words {
		switch {
		case isOpenMPI(word):
			return slices.Insert(slices.Clone(words), i+1, "-x", "LD_PRELOAD", "-x", "JOBEFF_RECORD", "-x", "JOBEFF_WINDOWS", "-x", "JOBEFF")
		case slices.Contains(wrappers, filepath.Base(word)), i > 0 && ofWrapper.MatchString(word):
		default: // a program, whose arguments are its own
			return words
		}
	}
	return words
}

// wrappers are programs that start another one. ofWrapper matches their options and values: -n, 300, A=1.
var (
	wrappers  = []string{"env", "timeout", "nice", "time", "nohup", "stdbuf", "setsid", "taskset", "numactl"}
	ofWrapper = regexp.MustCompile(`^(-|[0-9]|\w+=)`)
)

// isOpenMPI reports whether a word names Open MPI's launcher.
func isOpenMPI(word string) bool {
	name := filepath.Base(word)
	if !strings.HasPrefix(name, "mpirun") && !strings.HasPrefix(name, "mpiexec") && name != "orterun" && name != "prterun" {
		return false
	}
	out, err := exec.Command(word, "--version").Output()
	return err == nil && (strings.Contains(string(out), "Open MPI") || strings.Contains(string(out), "OpenRTE"))
}

// job folds the records of a run.
func (m *measured) job(code exitCode) (j *job.Job, notes []string, err error) {
	files, err := filepath.Glob(strings.ReplaceAll(m.record, "%h", "*"))
	if err != nil {
		return nil, nil, err
	}
	if len(files) == 0 {
		return nil, nil, errors.New(whyUnmeasured(os.Getenv, code))
	}
	return node.ByHand(files)
}

// tellRun reports on a run.
func (p *program) tellRun(ctx context.Context, stderr io.Writer, run *measured, code exitCode, flags runFlags) error {
	j, notes, err := run.job(code)
	if err != nil {
		return err
	}
	if m := j.Metrics; m != nil && m.Coverage < 1 && flags.record == "" {
		notes = append(notes, "not all ranks are in the record of this host. Where they run on several, name a FILE in a folder that the hosts share: --record FOLDER/rec.%h")
	}
	for _, note := range notes {
		fmt.Fprintln(stderr, "jobeff: "+inert.Text(note, false))
	}
	files := flags.html+flags.json+flags.talp != ""
	if flags.full || files {
		source.Find(ctx, j, false)
	}
	reader := p.reader(stderr)
	switch {
	case files:
		return p.saveRun(j, flags)
	case flags.full:
		return report.TextOfJob(stderr, byHand(j, reader.Unicode), reader)
	}
	return report.ScreenOfJob(stderr, byHand(j, reader.Unicode), reader)
}

// saveRun writes a run's files.
func (p *program) saveRun(j *job.Job, flags runFlags) (err error) {
	for _, f := range []struct {
		path  string
		write func(io.Writer) error
	}{{flags.html, func(w io.Writer) error { return report.PageOfJob(w, byHand(j, true), report.Links{}) }},
		{flags.json, func(w io.Writer) error { return writeDocument(w, j) }},
		{flags.talp, func(w io.Writer) error { return writeTALP(w, j) }}} {
		if f.path != "" {
			err = errors.Join(err, p.save(f.path, f.write))
		}
	}
	return err
}

// byHand is the view of a job that no Slurm knows.
func byHand(j *job.Job, wide bool) *view.Job {
	return view.NewJob(&listing.JobAndWorkload{Job: j}, nil, nil, wide)
}

// whyUnmeasured says why a run left no record, and what to do.
func whyUnmeasured(getenv func(string) string, code exitCode) string {
	if code != 0 {
		return fmt.Sprintf("nothing was measured: the command ended with exit code %d before a process called MPI_Init, or began a parallel region of OpenMP", int(code))
	}
	if getenv("JOBEFF_RECORD_FILE") != "" {
		return "the run left no record of its own. What srun starts in a measured job is in the job's record: jobeff " + getenv("SLURM_JOB_ID")
	}
	return "nothing was measured: no process called MPI_Init, or began a parallel region of OpenMP. A program that is linked statically, or runs as another user or in a container, is not seen"
}
