package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/cmd/source"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/policy/compare"
	"jobeff/report"
	"jobeff/report/view"
	"jobeff/report/words"
)

const compareHelp = `jobeff compare says why a run took longer than another one of the same work. The
difference is taken apart: time outside the MPI program, useful computing, load
balance, files, communication, and OpenMP's. The parts add up to it. Each is held
against what such runs usually differ by. Below stands what changed: the build, the
MPI library, the nodes and more, and the calls, sections and places in the code
that took longer.

With two jobs, the first is the earlier one. With one, it is compared with the run
in the middle of its workload's earlier ones on as many cores. If this build has none,
jobeff takes other builds of the same program, arguments and input.

jobeff refuses jobs that did other work, and says why. --force compares them all the
same.

--fail 5% is a gate for a build server: jobeff compare --fail 5% BASE... -- NEW... takes
files of repeated runs of two builds, five or more of each, which should take turns on one
machine. It ends with 1 where NEW is surely slower (99 %), and by 5 % or more, or less
efficient and not faster. Where it cannot tell, as on different CPUs, it says so and ends with 0.`

// compareFlags are the flags of jobeff compare.
type compareFlags struct {
	json, force bool
	html, fail  string
}

func (p *program) compareCommand() *cobra.Command {
	var flags compareFlags
	c := &cobra.Command{
		Use:   "compare JOBID|FILE.json [JOBID|FILE.json]",
		Short: "Say why a run took longer than another one",
		Long:  compareHelp,
		Example: `  jobeff compare 123 456        why job 456 took longer than job 123
  jobeff compare 456            … than its workload's earlier runs
  jobeff compare 123 456 --html why.html
  jobeff compare old.json new.json   … of files that jobeff run --json wrote
  jobeff compare --fail 5% base-*.json -- new-*.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case flags.fail != "" && (dash < 1 || dash == len(args)):
				return cli.Usagef("a gate takes the runs of two builds: jobeff compare --fail 5%% BASE.json... -- NEW.json...")
			case flags.fail != "" && (flags.json || flags.html != "" || flags.force):
				return cli.Usagef("--fail prints its verdict alone: leave the other options out")
			case flags.fail != "":
				return nil
			case len(args) < 1 || len(args) > 2:
				return cli.Usagef("jobeff compare takes one job or two, not %d: see jobeff compare --help", len(args))
			case flags.html != "" && flags.json:
				return cli.Usagef("jobeff compare writes a page (--html) or JSON (--json), not both")
			}
			for _, id := range args {
				if isFile(id) {
					continue
				}
				if _, err := slurmid.Parse(id); err != nil {
					return cli.Usage(err)
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.fail != "" {
				return p.gate(args[:cmd.ArgsLenAtDash()], args[cmd.ArgsLenAtDash():], flags.fail)
			}
			return p.compare(cmd.Context(), args, flags)
		},
	}
	c.Flags().BoolVar(&flags.json, "json", false, "print a JSON document")
	c.Flags().StringVar(&flags.html, "html", "", "write a page to the new `FILE`; - is standard output")
	c.Flags().StringVar(&flags.fail, "fail", "", "end with 1 if NEW is surely worse than BASE, by `PERCENT` or more")
	c.Flags().BoolVar(&flags.force, "force", false, "compare different work, too")
	return c
}

// compare compares the last job of args with the one before it, or with the median of its workload's
// earlier runs.
func (p *program) compare(ctx context.Context, args []string, flags compareFlags) error {
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	if flags.json && !slices.ContainsFunc(args, isFile) {
		return p.document(c.CompareDocument(ctx, args, flags.force))
	}
	compared, err := compareJobs(ctx, c, args, flags.force)
	var refused *compare.Refusal
	switch {
	case errors.As(err, &refused) && refused.Force:
		return fmt.Errorf("%w\njobeff compare --force compares them all the same", err)
	case err != nil:
		return err
	}
	v := view.NewComparison(compared, flags.html != "" || p.options().Unicode)
	switch {
	case flags.json:
		return view.Write(p.stdout, v)
	case flags.html != "":
		return p.save(flags.html, func(w io.Writer) error { return report.PageOfComparison(w, v, report.Links{}) })
	}
	return report.TextOfComparison(p.stdout, v, p.options())
}

// compareJobs compares two jobs, or one with the median of its workload's earlier runs. First it finds the names of their
// places in the code.
func compareJobs(ctx context.Context, c *client.Client, ids []string, force bool) (*compare.Comparison, error) {
	named := func(id string) (found *listing.JobAndWorkload, err error) {
		if isFile(id) {
			found, err = readDocument(id)
		} else {
			found, err = c.Job(ctx, id)
		}
		if err == nil {
			source.Find(ctx, found.Job, false)
		}
		return found, err
	}
	after, err := named(ids[len(ids)-1])
	if err != nil {
		return nil, err
	}
	if len(ids) == 1 {
		return compare.WithMedian(after, force, func(r *job.Run) (*listing.JobAndWorkload, error) { return named(r.DisplayID) })
	}
	before, err := named(ids[0])
	if err != nil {
		return nil, err
	}
	return compare.New(before, after, force)
}

// gate compares the files of two builds' runs. Where the second one is surely worse, by the limit or more, that is
// errUnhealthy.
func (p *program) gate(before, after []string, fail string) error {
	limit, err := strconv.ParseFloat(strings.TrimSuffix(fail, "%"), 64)
	if err != nil || !(limit > 0 && limit < 100) {
		return cli.Usagef("--fail %q: give a share of the time, as --fail 5%%", fail)
	}
	var runs [2][]*listing.JobAndWorkload
	for i, files := range [][]string{before, after} {
		for _, file := range files {
			found, err := readDocument(file)
			if err != nil {
				return err
			}
			runs[i] = append(runs[i], found)
		}
	}
	g, err := compare.NewGate(runs[0], runs[1], limit/100)
	if err != nil {
		return err
	}
	if err := report.TextOfPart(p.stdout, words.OfGate(g, p.options().Unicode), p.options()); err != nil {
		return err
	}
	if g.Slower() || g.Worse() {
		return errUnhealthy
	}
	return nil
}
