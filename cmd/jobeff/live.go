package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"jobeff/cmd/cli"
	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/report"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/view"
)

const liveHelp = `jobeff live shows the figures of a job of yours while it runs, and what it did in
the last ten seconds: its parallel efficiency, load balance and communication, the
MPI calls that take the time, and nodes that differ. Ctrl-C ends it; after an hour it
ends by itself.

It reads on the job's nodes, in a step of the job that srun starts beside its other
steps. That takes a little CPU time from the job, and says how much. The step is not
measured. If Slurm does not answer, or the job is somebody else's, jobeff live shows the
last report of its nodes, as jobeff JOBID does, and says why. Root's look runs as the
job's owner, who cannot reach root's terminal.`

// leastEvery and mostEvery bound --every.
const (
	leastEvery = time.Second
	mostEvery  = time.Hour / 2
)

// manyNodes is the number of nodes above which jobeff live asks before it starts anything.
const manyNodes = 64

// liveFlags are the flags of jobeff live.
type liveFlags struct {
	every           time.Duration
	once, json, yes bool
}

func (p *program) liveCommand() *cobra.Command {
	var flags liveFlags
	c := &cobra.Command{
		Use:     "live JOBID",
		Short:   "Show a job of yours while it runs, again and again",
		Long:    liveHelp,
		Example: "  jobeff live 123\n  jobeff live --once --json 123",
		Args:    cli.One("job", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.live(cmd.Context(), args[0], flags, cmd.InOrStdin(), cmd.ErrOrStderr())
		},
	}
	c.Flags().DurationVar(&flags.every, "every", 10*time.Second, "look each `TIME`, 1s to 30m, at its multiples by the clock")
	c.Flags().BoolVar(&flags.once, "once", false, "show the job once, and end")
	c.Flags().BoolVar(&flags.json, "json", false, "print JSON documents, as jobeff --json JOBID")
	c.Flags().BoolVarP(&flags.yes, "yes", "y", false, fmt.Sprintf("do not ask if the job has more than %d nodes", manyNodes))
	return c
}

// Why there are no live figures of a job.
var (
	errGone  = errors.New("it does not run") // any more, or it never did
	errEnded = errors.New("it has ended")    // while it was shown
	errOver  = errors.New("an hour is over")
)

// live shows a job that runs.
func (p *program) live(ctx context.Context, id string, flags liveFlags, stdin io.Reader, stderr io.Writer) error {
	ref, err := slurmid.Parse(id)
	switch {
	case err != nil:
		return cli.Usage(err)
	case ref.Step != "":
		return cli.Usagef("jobeff live shows whole jobs: leave out the step, as in jobeff live %d", ref.ID)
	case flags.every < leastEvery || flags.every > mostEvery:
		return cli.Usagef("--every %s: give a time from %s to %s, as 10s or 1m", flags.every, leastEvery, mostEvery)
	}
	// If the reader of the output goes away, the signal ends the step as Ctrl-C does, and writing fails.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	j, why := findRunning(ctx, id)
	if why == nil && j.Nodes > manyNodes && !flags.yes {
		if err := agree(stdin, stderr, j); err != nil {
			return err
		}
	}
	shown := false
	if why == nil {
		shown, why = p.watch(ctx, j, flags)
	}
	if why == nil || ctx.Err() != nil || errors.Is(why, syscall.EPIPE) {
		return nil
	}
	if shown && !errors.Is(why, errEnded) {
		return fmt.Errorf("jobeff live has ended: %w", why)
	}
	return p.insteadOfLive(ctx, id, why, flags.json, stderr)
}

// insteadOfLive shows the last report of a job, and why it is not read live.
func (p *program) insteadOfLive(ctx context.Context, id string, why error, asJSON bool, stderr io.Writer) error {
	sentence := fmt.Sprintf("No live figures of job %s: %s.", id, inert.Text(why.Error(), false))
	if asJSON {
		served, err := served(ctx, id)
		if err != nil {
			return err
		}
		fmt.Fprintln(stderr, sentence)
		return view.Write(p.stdout, served)
	}
	a, err := p.judged(ctx, id)
	if errors.Is(why, errEnded) { // its last report comes soon
		for tries := 0; tries < 10 && (err != nil || a.found.IsRunning()) && ctx.Err() == nil; tries++ {
			sleepFor(ctx, time.Second)
			a, err = p.judged(ctx, id)
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "%s This is its last report.\n\n", sentence)
	return report.ScreenOfJob(p.stdout, a.view(p.options().Unicode), p.options())
}

// sleepFor waits for d, or until ctx ends.
func sleepFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// agree asks whether to read on many nodes.
func agree(stdin io.Reader, stderr io.Writer, j *job.Job) error {
	f, ok := stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return cli.Usagef("job %s runs on %s. jobeff live would start a process on each: add --yes if you want that", j.DisplayID, figure.Counted(j.Nodes, "node"))
	}
	fmt.Fprintf(stderr, "Job %s runs on %s. jobeff live starts a process on each. Go on? [y/N] ", j.DisplayID, figure.Counted(j.Nodes, "node"))
	answer, _ := bufio.NewReader(stdin).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was started")
	}
	return nil
}

// slurmPatience bounds how long squeue may take.
const slurmPatience = 20 * time.Second

// queueFields are the fields that squeue is asked for. The job's name may hold any character, so it is the last.
const queueFields = "%i|%A|%T|%U|%u|%a|%P|%q|%D|%C|%S|%j"

// findRunning asks Slurm for a running job that the caller may look into. The error is half a sentence that says why there is
// none; insteadOfLive completes it.
func findRunning(ctx context.Context, id string) (*job.Job, error) {
	for _, program := range []string{"squeue", "srun"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("there is no %s on this machine", program)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, slurmPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "squeue", "-h", "-j", id, "-o", queueFields) // #nosec G204 -- id was parsed
	cmd.Env = slurmEnvironment(os.Environ())
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil && !strings.Contains(complaint.String(), "Invalid job id") {
		return nil, errors.New("Slurm does not answer" + quoted(complaint.Bytes()))
	}
	return queued(out.String(), id, os.Getuid())
}

// queued reads squeue's answer, which must name one job. Asked for one part of a heterogeneous job, squeue lists all parts.
func queued(told, id string, uid int) (*job.Job, error) {
	lines := strings.TrimSpace(told)
	for line := range strings.Lines(told) {
		if strings.HasPrefix(line, id+"|") { // the first such line: a job's name may hold another one
			lines = strings.TrimSpace(line)
			break
		}
	}
	if lines == "" {
		return nil, errGone
	}
	if strings.Contains(lines, "\n") {
		return nil, errors.New("it stands for several jobs: name one of them, as 123_4 or 123+1")
	}
	f := strings.SplitN(lines, "|", strings.Count(queueFields, "|")+1)
	if len(f) <= strings.Count(queueFields, "|") {
		return nil, errors.New("squeue's answer is not understood")
	}
	raw, err1 := strconv.ParseUint(f[1], 10, 32)
	owner, err2 := strconv.ParseUint(f[3], 10, 32)
	nodes, err3 := strconv.Atoi(f[8])
	cpus, err4 := strconv.Atoi(f[9])
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, errors.New("squeue's answer is not understood")
	}
	switch state := f[2]; {
	case uid != 0 && int(owner) != uid:
		return nil, errors.New("only its owner and root may look into a job that runs")
	case state == "COMPLETING":
		return nil, errGone
	case state != "RUNNING":
		return nil, fmt.Errorf("it is %s", state)
	}
	j := &job.Job{DisplayID: f[0], JobID: uint32(raw), State: f[2], UID: uint32(owner), User: f[4], Account: f[5], Partition: f[6], QOS: f[7],
		Nodes: nodes, CPUs: cpus, Name: f[11]}
	if start, err := time.ParseInLocation("2006-01-02T15:04:05", f[10], time.Local); err == nil {
		j.Start = start.UTC()
	}
	return j, nil
}

// quoted returns the last line of a program's complaint, in brackets.
func quoted(complaint []byte) string {
	lines := strings.Split(strings.TrimSpace(string(complaint)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return " (" + inert.Text(last, false) + ")"
	}
	return ""
}

// slurmEnvironment drops the variables with which a job or a user steers Slurm's commands. It keeps those that say where
// Slurm is.
func slurmEnvironment(environ []string) (env []string) {
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if prefix, _, _ := strings.Cut(name, "_"); strings.Contains(" SLURM SRUN SQUEUE SBATCH SALLOC ", " "+prefix+" ") && name != "SLURM_CONF" && name != "SLURM_CONF_SERVER" {
			continue
		}
		env = append(env, v)
	}
	return env
}

// reader is the program that reads a record on a node. The package jobeff-node installs it.
const reader = "/usr/sbin/jobeff-ingest"

// startPatience bounds how long Slurm may take to start the step, stepPatience how long to end it.
const (
	startPatience = 30 * time.Second
	stepPatience  = 10 * time.Second
)

// mostWatched bounds a whole watch. The step ends by itself earlier, unless its user made it something else.
const mostWatched = time.Hour + startPatience

// srunArgs returns the arguments that start a reader on each node of a job. The step takes no memory and no CPU
// from the job's other steps, and loads no MPI plugin.
func srunArgs(j *job.Job, flags liveFlags) []string {
	nodes, raw := strconv.Itoa(j.Nodes), strconv.FormatUint(uint64(j.JobID), 10)
	allocation := []string{"--jobid=" + raw}
	if leader, part, ok := strings.Cut(j.DisplayID, "+"); ok {
		allocation = []string{"--jobid=" + leader, "--het-group=" + part}
	}
	args := append(allocation, "--overlap", "--nodes="+nodes, "--ntasks="+nodes, "--ntasks-per-node=1", "--mem=0",
		"--gres=none", "--mpi=none", "--cpu-bind=none", "--input=none", "--label", "--quiet", "--chdir=/", "--job-name=jobeff-live",
		"--immediate="+strconv.Itoa(int(startPatience.Seconds())), "--export=JOBEFF=live", reader, "live", "--job="+raw)
	if flags.once {
		return append(args, "--once")
	}
	return append(args, "--every="+flags.every.String())
}

// watch shows a job until its step ends, and returns why it ended. shown reports whether anything was shown.
func (p *program) watch(ctx context.Context, j *job.Job, flags liveFlags) (shown bool, why error) {
	runtime.LockOSThread() // the child ends with the thread that started it
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithTimeoutCause(ctx, mostWatched, errOver)
	defer cancel()
	cmd := exec.Command("srun", srunArgs(j, flags)...) // #nosec G204 -- all of it is ours
	if err := asOwner(cmd, j.UID); err != nil {
		return false, err
	}
	complaint := new(lastBytes)
	cmd.Stderr = complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, fmt.Errorf("srun does not start: %w", err)
	}
	lines := make(chan []byte)
	go readLines(out, lines)
	s := &screen{program: p, flags: flags}
	why = s.follow(ctx, newWatch(j), lines)
	defer endSoon(cmd, out, why == nil || errors.Is(why, errDone))()
	for range lines { // until srun has ended
	}
	err = waitForAll(cmd)
	switch {
	case errors.Is(why, errDone):
		return s.shown, nil
	case why != nil:
		return s.shown, why
	}
	switch _, now := findRunning(ctx, j.DisplayID); {
	case errors.Is(now, errGone):
		return s.shown, errEnded
	case now != nil:
		return s.shown, now
	case err == nil:
		return s.shown, errOver
	}
	return s.shown, errors.New("its step was refused or has failed" + quoted(*complaint))
}

// endSoon tells srun to end its step. It does so at once, or after 2 s if the step should end by itself. A srun that
// goes on for stepPatience is killed, and out is closed, which ends its reader.
func endSoon(cmd *exec.Cmd, out io.Closer, byItself bool) (stop func()) {
	wait := time.Duration(0)
	if byItself {
		wait = 2 * time.Second
	}
	ask := time.AfterFunc(wait, func() { cmd.Process.Signal(syscall.SIGTERM) })
	kill := time.AfterFunc(wait+stepPatience, func() {
		cmd.Process.Kill()
		out.Close()
	})
	return func() { ask.Stop(); kill.Stop() }
}

// mostLineBytes bounds a line of srun; a reader's are shorter.
const mostLineBytes = 64 << 10

// readLines passes on a copy of each line until the end. Of a line that is too long it drops pieces of mostLineBytes.
func readLines(from io.Reader, to chan<- []byte) {
	defer close(to)
	for in := bufio.NewReaderSize(from, mostLineBytes); ; {
		line, err := in.ReadSlice('\n')
		switch {
		case err == nil:
			to <- bytes.Clone(line[:len(line)-1])
		case !errors.Is(err, bufio.ErrBufferFull):
			return
		}
	}
}

// lastBytes keeps the end of what is written to it.
type lastBytes []byte

func (l *lastBytes) Write(b []byte) (int, error) {
	const most = 4 << 10
	*l = append(*l, b...)
	if len(*l) > most {
		*l = bytes.Clone((*l)[len(*l)-most:])
	}
	return len(b), nil
}
