package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/etc"
	"jobeff/policy"
	"jobeff/policy/rule"
	"jobeff/report"
	"jobeff/report/words"
)

const explainHelp = `jobeff explain shows how each of the site's rules judged a job, which figures it
used, and where the core-hours went. Where the reason for waits is known, it says
what another network or equal work could save at most. A rule says one of

  flagged      its condition holds: the job's owner is shown its text
  passed       its condition does not hold
  cannot tell  too little is known (no data, threads or GPUs that were not measured,
               ranks that were not recorded), or the job is too short or too small
  not asked    the rule does not apply to such jobs, or is switched off

The rules are in jobeff.toml, see jobeff.toml(5).`

func (p *program) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain JOBID",
		Short:   "Show how each of the site's rules judged a job",
		Long:    explainHelp,
		Example: "  jobeff explain 123",
		Args:    cli.One("job", 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.explain(cmd.Context(), args[0]) },
	}
}

// explain prints every rule's verdict on a job.
func (p *program) explain(ctx context.Context, id string) error {
	if before, _, step := strings.Cut(id, "."); step {
		return cli.Usagef("rules judge whole jobs, not steps: jobeff explain %s", before)
	}
	a, err := p.judged(ctx, id)
	if err != nil {
		return err
	}
	return report.TextOfVerdicts(p.stdout, a.view(p.options().Unicode), p.options())
}

const rulesHelp = `jobeff rules shows the rules that jobs are judged by: what each asks, of which jobs, and
what it says to their owners. It reads jobeff.toml on this machine. jobeffd judges by the
file on its own machine: if yours differs, run this there.`

// rulesCommand shows the rules.
func (p *program) rulesCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "rules",
		Short:   "Show the rules that jobs are judged by",
		Long:    rulesHelp,
		Example: "  jobeff rules",
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := etc.Load(etc.Path())
			if err != nil {
				return err
			}
			return report.TextOfRules(p.stdout, words.OfRules(cfg.Rules), p.options())
		},
	}
}

const policyHelp = `Jobs are judged by rules, the [[rule]] tables in jobeff.toml, see jobeff.toml(5).`

func (p *program) policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "Try rules, and list what they may read",
		Long:  policyHelp,
		Args:  cli.NoCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(p.policyTestCommand(), p.backtestCommand(), &cobra.Command{
		Use:   "fields",
		Short: "List what a rule's condition and text may read",
		Args:  cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return report.TextOfFields(p.stdout, words.OfFields(policy.AllFields(), rule.Functions()), p.options())
		},
	})
	return c
}

const policyTestHelp = `jobeff admin policy test tries the rules of jobeff.toml on made-up jobs and compares
their outcomes with those that FILE expects. It exits with 1 where one differs.
FILE holds one table for each job:

  [[example]]
  name = "waits for half of the time"
  expect = { low-efficiency = "flagged", idle-ranks = "cannot tell" }
  [example.job]
  ranks = 64
  runtime = 7200               # seconds
  alloc_cores = 64             # core_hours follows from these two
  coverage = 1
  parallel_efficiency = 0.5

jobeff admin policy fields lists the fields of a job. A field that is left out is
unknown, and a rule that reads it cannot tell. An outcome is flagged, passed, cannot
tell or not asked. Rules that "expect" does not name are not checked.
JOBEFF_CONFIG=OTHER.toml tries rules that are not in use yet.`

func (p *program) policyTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "test FILE",
		Short:   "Try the rules on the site's own examples",
		Long:    policyTestHelp,
		Example: "  JOBEFF_CONFIG=new.toml jobeff admin policy test examples.toml",
		Args:    cli.One("file", 1),
		RunE:    func(_ *cobra.Command, args []string) error { return p.policyTest(args[0]) },
	}
}

// policyTest tries the rules on a file's examples.
func (p *program) policyTest(path string) error {
	cfg, err := etc.Load(etc.Path())
	if err != nil {
		return err
	}
	rules, err := rule.Compile(cfg.Rules)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	examples, err := rules.ReadExamples(path, text)
	if err != nil {
		return err
	}
	var tried []words.Tried
	failed := false
	for i := range examples {
		t := words.Tried{Example: examples[i], Wrong: rules.Try(&examples[i])}
		failed = failed || len(t.Wrong) > 0
		tried = append(tried, t)
	}
	if err := report.TextOfExamples(p.stdout, words.OfExamples(tried, p.options().Unicode), p.options()); err != nil {
		return err
	}
	if failed {
		return errUnhealthy
	}
	return nil
}
