package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/cmd/source"
	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report"
	"jobeff/report/figure"
	"jobeff/report/view"
)

const scaleHelp = `jobeff scale runs COMMAND on several core counts, without Slurm, and shows how it scales:
time, efficiency and overhead on each count, the overhead curve through them, and the core
counts to use. {n} in COMMAND becomes each count of -n: ranks or threads.

The runs come in random order, so that a machine that gets slower meanwhile does not look
like a program that scales badly. Each is measured as jobeff run does. Their documents and
output are in --into FOLDER. The same command goes on where an earlier one ended.

Below the curve stands what the run times alone say, by the procedure of Hoefinger and
Haunschmid (2017): it needs no measured overhead.`

// scaleFlags are the flags of jobeff scale.
type scaleFlags struct {
	counts          []string
	repeat          int
	into, html, csv string
	proposal        string
}

func (p *program) scaleCommand() *cobra.Command {
	var flags scaleFlags
	c := &cobra.Command{
		Use:   "scale -n COUNTS [flags] -- COMMAND...",
		Short: "Measure how a program scales, without Slurm",
		Long:  scaleHelp,
		Example: `  jobeff scale -n 1,2,4,8 -- mpirun -n {n} ./prog
  jobeff scale -n 1,2,4 --html prog.html -- env OMP_NUM_THREADS={n} ./prog`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usagef("jobeff scale takes a command: jobeff scale -n 1,2,4 -- mpirun -n {n} ./prog")
			case len(flags.counts) == 0:
				return cli.Usagef("-n is missing, which names the core counts: jobeff scale -n 1,2,4 -- mpirun -n {n} ./prog")
			case !slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "{n}") }):
				return cli.Usagef("the command has no {n}, which becomes each count: jobeff scale -n 1,2,4 -- mpirun -n {n} ./prog")
			case flags.repeat < 1 || flags.repeat > mostRepeated:
				return cli.Usagef("--repeat %d: give 1 to %d runs on each count", flags.repeat, mostRepeated)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.scale(cmd.Context(), cmd.ErrOrStderr(), args, flags)
		},
	}
	c.Flags().SetInterspersed(false) // COMMAND has flags of its own
	c.Flags().StringSliceVarP(&flags.counts, "counts", "n", nil, "run on these `COUNTS`, as 1,2,4,8")
	c.Flags().IntVar(&flags.repeat, "repeat", 3, "run `N` times on each count")
	c.Flags().StringVar(&flags.into, "into", "jobeff-scale", "keep the runs in `FOLDER`")
	c.Flags().StringVar(&flags.html, "html", "", "also write a page with pictures to the new `FILE`")
	c.Flags().StringVar(&flags.csv, "csv", "", "also write a table of the runs to the new `FILE`, for jobeff curve")
	c.Flags().StringVar(&flags.proposal, "proposal", "", "also "+proposalHelp)
	return c
}

// mostRepeated bounds --repeat.
const mostRepeated = 1000

// attempt is one run: the number-th on a count.
type attempt struct{ n, number int }

func (t attempt) name() string { return fmt.Sprintf("n%d-%d", t.n, t.number) }

// attempts are all runs, in random order.
func attempts(counts []int, repeat int) (all []attempt) {
	for _, n := range counts {
		for number := range repeat {
			all = append(all, attempt{n, number + 1})
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// scale runs what is left of the attempts, and shows the curve through all of them.
func (p *program) scale(ctx context.Context, stderr io.Writer, command []string, flags scaleFlags) error {
	counts, err := coreCounts("-n", flags.counts)
	if err != nil {
		return err
	}
	slices.Sort(counts)
	counts = slices.Compact(counts)
	for _, file := range []string{flags.html, flags.csv} {
		if err := wantNew(file); err != nil {
			return err
		}
	}
	if err := wantProposal(flags.proposal); err != nil {
		return err
	}
	if err := openFolder(flags.into, command); err != nil {
		return err
	}
	if most, cpus := counts[len(counts)-1], runtime.NumCPU(); most > cpus {
		fmt.Fprintf(stderr, "jobeff: this machine has %s. Unless they use others, runs on more share them, and say nothing of as many cores\n", figure.Counted(cpus, "CPU"))
	}
	all := attempts(counts, flags.repeat)
	left := slices.DeleteFunc(slices.Clone(all), func(t attempt) bool { _, err := os.Stat(flags.document(t)); return err == nil })
	if err := p.try(ctx, command, left, flags); err != nil {
		return err
	}
	jobs, err := flags.read(all)
	if err != nil {
		return err
	}
	return p.tellScale(jobs, flags)
}

func (f *scaleFlags) document(t attempt) string { return filepath.Join(f.into, t.name()+".json") }

// openFolder makes the folder of the runs. One that has runs of another command is refused.
func openFolder(dir string, command []string) error {
	text, err := json.Marshal(command)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("%w: name another folder with --into", err)
	}
	path := filepath.Join(dir, "command.json")
	known, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.WriteFile(path, text, 0o600)
	case err != nil:
		return err
	case string(known) != string(text):
		return fmt.Errorf("%s holds runs of another command (command.json): name another folder with --into, or remove it", dir)
	}
	return nil
}

// try does attempts, with a bar. Each leaves its document, and its output in a log.
func (p *program) try(ctx context.Context, command []string, left []attempt, flags scaleFlags) error {
	library, err := findLibrary()
	if err != nil {
		return err
	}
	took := map[int][]time.Duration{}
	bar := cli.NewBar("runs", int64(len(left)))
	defer bar.Done()
	for i, t := range left {
		bar.Describe(restText(left[i:], took))
		bar.Set(int64(i))
		begin := time.Now()
		if err := p.tryOne(ctx, command, t, library, flags); err != nil {
			return err
		}
		took[t.n] = append(took[t.n], time.Since(begin))
	}
	return nil
}

// restText estimates how long attempts take: each as long as those before on its count took, or on any.
func restText(left []attempt, took map[int][]time.Duration) string {
	var sum, rest time.Duration
	n := 0
	for _, all := range took {
		for _, d := range all {
			sum, n = sum+d, n+1
		}
	}
	if n == 0 {
		return "runs"
	}
	for _, t := range left {
		one := sum / time.Duration(n)
		if all := took[t.n]; len(all) > 0 {
			one = all[len(all)-1]
		}
		rest += one
	}
	return fmt.Sprintf("runs, about %s left", rest.Round(time.Second))
}

// tryOne runs one attempt.
func (p *program) tryOne(ctx context.Context, command []string, t attempt, library string, flags scaleFlags) error {
	var words []string
	for _, word := range command {
		words = append(words, strings.ReplaceAll(word, "{n}", strconv.Itoa(t.n)))
	}
	m, err := prepare(words, library, "")
	if err != nil {
		return err
	}
	defer m.remove()
	log := filepath.Join(flags.into, t.name()+".log")
	out, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	code, err := m.run(nil, out, out)
	if err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("the run on %d ended with exit code %d; its output is in %s. The same command goes on with the runs that are left", t.n, int(code), log)
	}
	j, _, err := m.job(code)
	if err == nil && job.MainExecution(j.Executions) < 0 {
		err = errors.New("it ran no program of which jobeff has figures")
	}
	if err != nil {
		return fmt.Errorf("the run on %d: %w; its output is in %s", t.n, err, log)
	}
	source.Find(ctx, j, false)
	return newFile(flags.document(t), func(w io.Writer) error { return writeDocument(w, j) })
}

// read reads the jobs of all attempts.
func (f *scaleFlags) read(all []attempt) (jobs []*job.Job, err error) {
	for _, t := range all {
		found, err := readDocument(f.document(t))
		if err != nil {
			return nil, err
		}
		if job.MainExecution(found.Job.Executions) < 0 {
			return nil, fmt.Errorf("%s holds no program with figures: remove it, and the run is made again", f.document(t))
		}
		found.Job.DisplayID = t.name()
		jobs = append(jobs, found.Job)
	}
	return jobs, nil
}

// tellScale shows the curve through the runs, and what their times alone say.
func (p *program) tellScale(jobs []*job.Job, flags scaleFlags) error {
	w := &job.Workload{}
	var most *job.Job // advice compares with the most cores, not with the run that chance put last
	cores := 0
	for _, j := range jobs {
		r := job.RunOfJob(j, job.MainExecution(j.Executions))
		w.Runs = append(w.Runs, r)
		if r.Cores() > cores {
			most, cores = j, r.Cores()
		}
	}
	slices.SortFunc(w.Runs, func(a, b job.Run) int { return a.Start.Compare(b.Start) })
	w.Executable = w.Runs[len(w.Runs)-1].Executable
	w.Name = filepath.Base(w.Executable)
	study := workload.NewStudy(w, most, p.now(), curve.Settings{})
	opts := p.options()
	if err := report.TextOfWorkload(p.stdout, view.NewWorkload(study, opts.Unicode), opts); err != nil {
		return err
	}
	points := study.Points()
	for i := range points {
		points[i].Tau = nil
	}
	var err error
	if len(points) > 0 {
		alone := curve.Fit(points, curve.Settings{Method: curve.MethodHoefinger})
		fmt.Fprintln(p.stdout)
		err = report.TextOfCurve(p.stdout, view.NewCurve("the run times alone, by Hoefinger and Haunschmid", points, alone, nil, opts.Unicode), opts)
	}
	if flags.html != "" {
		err = errors.Join(err, p.save(flags.html, func(w io.Writer) error {
			return report.PageOfWorkload(w, view.NewWorkload(study, true), report.Links{})
		}))
	}
	if flags.csv != "" {
		err = errors.Join(err, p.save(flags.csv, func(out io.Writer) error { return runsTable(out, study) }))
	}
	return errors.Join(err, p.saveProposal(flags.proposal, study))
}
