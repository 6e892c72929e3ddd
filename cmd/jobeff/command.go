package main

import (
	"strings"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/etc"
	"jobeff/ingest/slurmid"
	"jobeff/report"
	"jobeff/report/words"
)

const longHelp = `jobeff shows the parallel efficiency of Slurm jobs, as POP defines it: the part
of the time of their ranks and threads that was useful computing, and not lost in
MPI or OpenMP. Jobs need no change to be measured. Their figures are there soon
after they end.

JOBID is a job (123), a step of it (123.0, 123.batch), a task of an array
(123_4, 123_4.0) or a component of a heterogeneous job (123+1). Several jobs
(123,124 or 123_[1-3,7]) are shown as a list. Options also select jobs for a list;
each takes one value or several with commas. Without a job and without options,
jobeff shows your jobs of the last seven days, most core-hours lost first.

One job is shown in one screen: what happened and why, what to ask for, its
efficiencies, and what is not sure. Its last line says what --full has more.

TIME is written as for sacct: -7days, -36hours, now-1week, today,
yesterday, 2026-11-20, 2026-11-20T13:00[:00], 11/20, 13:00.

To leave a job unmeasured, use sbatch --jobeff=off, or set JOBEFF=off in its
environment.`

const examples = `  jobeff 123                    job 123
  jobeff --full 123             all that is known about it
  jobeff 123.0                  only the MPI programs of its step 0
  jobeff -S -30days             my jobs of the last 30 days
  jobeff -a -A chem -s TO,OOM   jobs of an account that ran out of time or memory
  jobeff 123_[1-8] -o jobid,pe%6,cpueff,maxrss
                                chosen fields of some tasks of an array
  jobeff --json 123             the same, as JSON
  jobeff live 123               while it runs: what it does now
  jobeff compare 123 456        why job 456 took longer than job 123
  jobeff explain 123            what each of the site's rules says about it, and why
  jobeff where 123              at which lines its program called MPI
  jobeff workload               my programs, and how many cores each should have used
  jobeff workload 123           what all runs of the job's program say together`

// screenHelp is what jobeff --help prints: every option and command on one screen, first those that users need. The man page
// explains the rest.
const screenHelp = `jobeff shows how well Slurm jobs used their cores. No job needs a change for it.

  jobeff                    my jobs of the last seven days, most lost first
  jobeff 123                job 123: what happened and why, and what to ask for
  jobeff where 123          at which lines its program called MPI
  jobeff compare 123 456    why job 456 took longer than job 123
  jobeff workload 123       how its program scales, from all its runs

A JOBID is a job (123), a step (123.0), an array's task (123_4), or several
(123,124 or 123_[1-8]), which are a list. Lists take sacct's options:

  -S TIME, -E TIME          that ended after, began before: -30days, 2026-11-20
  -a, -u, -A, -p, -q, -M    of all users, or these users, accounts, partitions,
                            QOS, clusters: names with commas between
  -s STATES                 in these states: F,TO,OOM
  -o FIELDS, -e             show these fields; -e explains them
  --sort FIELD              most of it first; -FIELD: least first
  --limit N                 N lines at most
  --tasks                   a line for each task of an array
  -n, -P                    without headings; | between values, for scripts

  --full                    all that is known of one job
  --json                    as a JSON document

  live       show a job while it runs     explain   what each rule says of it
  report     write a job as a page        rules     the site's rules
  curve      draw run times that I give   mute      stop mails of a workload
  digest     sum up a week                unmute    have them again
  run, scale measure without Slurm        admin     for a cluster's admins
  completion for your shell               help      of a command

sbatch --jobeff=off leaves a job unmeasured. More: jobeff COMMAND --help,
man jobeff. Which one this is: jobeff --version.

Fields of -o:
`

// command builds the command line. Help, completions and the man page come from it.
func (p *program) command() *cobra.Command {
	var list listFlags
	var asJSON, full, helpFormat bool
	root := &cobra.Command{
		Use:           "jobeff [JOBID...]",
		Short:         "Show the parallel efficiency of Slurm jobs",
		Long:          longHelp,
		Example:       examples,
		Version:       etc.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // otherwise cobra reads a wrong job id as an unknown command
		RunE: func(cmd *cobra.Command, args []string) error {
			if list.jobs != "" { // as sacct -j
				args = append(args, list.jobs)
			}
			jobs, listed := strings.Join(args, ","), listFlagUsed(cmd)
			switch {
			case helpFormat:
				return report.TextOfColumns(p.stdout, words.AllColumns())
			case len(args) == 0 && !listed && !asJSON && !full:
				return p.worst(cmd.Context())
			case len(args) > 0 && cli.DidYouMean(cmd, args[0]) != "":
				return cli.NoCommand(cmd, args)
			case len(args) == 1 && !listed && slurmid.Single(jobs):
				return p.job(cmd.Context(), jobs, asJSON, full)
			case full:
				return cli.Usagef("--full needs one job, as jobeff --full 123, and no options of lists")
			}
			return p.list(cmd.Context(), cmd, list, jobs, asJSON)
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd != root {
			return cli.FlagError(err, cmd.CommandPath(), nil)
		}
		return cli.FlagError(err, "jobeff", sacctHabits)
	})
	list.register(root.Flags())
	root.Flags().BoolVarP(&helpFormat, "helpformat", "e", false, "list the fields of --format")
	root.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	root.Flags().BoolVar(&full, "full", false, "show all that is known of one job; without it, one screen")
	root.AddCommand(p.runCommand(), p.scaleCommand(), p.liveCommand(), p.explainCommand(), p.rulesCommand(), p.workloadCommand(), p.muteCommand(), p.unmuteCommand(), p.curveCommand(), p.compareCommand(), p.reportCommand(), p.whereCommand(), p.digestCommand(), p.adminCommand())
	cli.Complete(root, p.offers())
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd == root {
			cmd.Print(screenHelp)
			report.NamesOfColumns(cmd.OutOrStdout(), words.AllColumns())
			return
		}
		help(cmd, args)
	})
	return root
}

func (p *program) adminCommand() *cobra.Command {
	admin := &cobra.Command{
		Use:   "admin",
		Short: "For those who run the cluster",
		Long: `jobeff admin checks an installation, tries rules, and looks after the database.
The database commands are carried out by the jobeffd of this machine: run them on
the server, as root or as jobeffd's user.`,
		Args: cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	admin.AddCommand(p.statusCommand(), p.doctorCommand(), p.coverageCommand(), p.costCommand(), p.policyCommand())
	admin.AddCommand(handedOn()...)
	return admin
}
