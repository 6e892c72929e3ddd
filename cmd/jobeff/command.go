package main

import (
	"strings"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/report"
)

const longHelp = `jobeff shows the parallel efficiency of Slurm jobs, as POP defines it: the part
of the ranks' time that was useful computing rather than time in MPI. Every job
is measured without any change to it; its figures are there soon after its end.

JOBID may be a job (123), a step of it (123.0, 123.batch), a task of an array
(123_4, 123_4.0) or a component of a heterogeneous job (123+1). Several, as
123,124 or 123_[1-3,7], are listed, and so are those that the options select:
each takes a list with commas. Without either, your jobs of the last seven days
are shown, most core-hours lost first.

TIME is written as for sacct: -7days, -36hours, now-1week, today,
yesterday, 2026-11-20, 2026-11-20T13:00[:00], 11/20, 13:00.

A job that must not be measured: sbatch --jobeff=off, or JOBEFF=off in its
environment.`

const examples = `  jobeff 123                    the job 123
  jobeff 123.0                  only the MPI programs of its step 0
  jobeff -S -30days             my jobs of the last 30 days
  jobeff -a -A chem -s TO,OOM   jobs of an account that ran out of time or memory
  jobeff 123_[1-8] -o jobid,pe%6,cpueff,maxrss
                                fields of some tasks of an array, as sacct does
  jobeff --json 123             everything that is known, as JSON
  jobeff explain 123            what each of the site's rules says of it, and why
  jobeff workload               my programs, and how many cores each should have used
  jobeff workload 123           what the runs of the job's program say together`

// command builds the command line. Everything that help, completion and the man
// page say stands here.
func (p *program) command() *cobra.Command {
	var list listFlags
	var asJSON, helpFormat bool
	root := &cobra.Command{
		Use:           "jobeff [JOBID...]",
		Short:         "Show the parallel efficiency of Slurm jobs",
		Long:          longHelp,
		Example:       examples,
		Version:       etc.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // else cobra takes a wrong one for the name of a command
		RunE: func(cmd *cobra.Command, args []string) error {
			jobs, listed := strings.Join(args, ","), listFlagUsed(cmd)
			switch {
			case helpFormat:
				return report.Columns(p.stdout)
			case len(args) == 0 && !listed && !asJSON:
				return p.worst(cmd.Context())
			case len(args) > 0 && cli.DidYouMean(cmd, args[0]) != "":
				return cli.NoCommand(cmd, args)
			case len(args) == 1 && !listed && job.Single(jobs):
				return p.job(cmd.Context(), jobs, asJSON)
			}
			return p.list(cmd.Context(), cmd, list, jobs, asJSON)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return cli.Usagef("%w: see jobeff --help", err)
	})
	list.register(root.Flags())
	root.Flags().BoolVarP(&helpFormat, "helpformat", "e", false, "list the fields of --format")
	root.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	root.PersistentFlags().BoolVar(&p.plain, "plain", false, "no colour and only plain characters, as when piped")
	root.AddCommand(p.explainCommand(), p.workloadCommand(), p.muteCommand(), p.unmuteCommand(), p.curveCommand(), p.reportCommand(), p.digestCommand(), p.adminCommand())
	cli.Complete(root, p.offers())
	return root
}

func (p *program) adminCommand() *cobra.Command {
	admin := &cobra.Command{
		Use:   "admin",
		Short: "For those who run the cluster",
		Long: `jobeff admin checks an installation, tries rules, and looks after the database.
The commands of the database need the jobeffd of this machine, which carries them out:
run them on the server, as root or as jobeffd's user.`,
		Args: cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	admin.AddCommand(p.doctorCommand(), p.policyCommand())
	admin.AddCommand(handedOn()...)
	return admin
}
