package main

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/report"
	"jobeff/report/words"
)

const muteHelp = `jobeff mute stops the mails about one of your workloads until the mute ends. Its jobs
are measured and shown as before.

NAME is a workload from the list of jobeff workload. A JOBID stands for the workload
of that job. Without a name, jobeff mute lists what is muted.`

// defaultMute is the length of a mute without --until.
const defaultMute = "30days"

// muteFlags are the flags of jobeff mute.
type muteFlags struct {
	until, reason, user string
}

func (p *program) muteCommand() *cobra.Command {
	var flags muteFlags
	c := &cobra.Command{
		Use:   "mute [NAME|JOBID]",
		Short: "Stop the mails about a workload for some time",
		Long:  muteHelp,
		Example: `  jobeff mute lmp-3fa2c1 --until 90days --reason "memory needs these nodes"
  jobeff mute                          what is muted`,
		Args: cli.One("workload or job", 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && (cmd.Flags().Changed("until") || flags.reason != "") {
				return cli.Usagef("name the workload or job to mute: jobeff workload lists yours")
			}
			if len(args) == 0 {
				return p.mutes(cmd.Context(), flags.user)
			}
			return p.mute(cmd.Context(), args[0], flags)
		},
	}
	c.Flags().StringVar(&flags.until, "until", defaultMute, "mute until `DATE`, as 2026-12-31, or for a time, as 4weeks")
	c.Flags().StringVar(&flags.reason, "reason", "", "`WHY`: you and the site's operators can read it")
	c.Flags().StringVarP(&flags.user, "user", "u", "", "a workload of this `USER`, for operators")
	return c
}

func (p *program) unmuteCommand() *cobra.Command {
	var user string
	c := &cobra.Command{
		Use:     "unmute NAME|JOBID",
		Short:   "Get mails about a muted workload again",
		Example: "  jobeff unmute lmp-3fa2c1",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("jobeff unmute takes one workload or job, not %d: jobeff mute lists what is muted", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return p.unmute(cmd.Context(), args[0], user) },
	}
	c.Flags().StringVarP(&user, "user", "u", "", "a workload of this `USER`, for operators")
	return c
}

// end is when a mute ends: a date, or a span from now.
func (f *muteFlags) end(now time.Time) (time.Time, error) {
	until, err := cli.ParseFuture(f.until, now)
	switch {
	case err != nil:
		return now, cli.Usagef("--until %q: write a date, as 2026-12-31, or how long, as 4weeks", f.until)
	case !until.After(now):
		return now, cli.Usagef("--until: %s is past: give a time in the future", until.Format("2006-01-02 15:04"))
	}
	return until, nil
}

// mute mutes a workload.
func (p *program) mute(ctx context.Context, name string, flags muteFlags) error {
	until, err := flags.end(p.now())
	if err != nil {
		return err
	}
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	if name, err = keyOfJob(ctx, c, name, flags.user); err != nil {
		return err
	}
	w, err := c.SetMute(ctx, name, flags.user, job.Mute{Until: until, Reason: flags.reason})
	if err != nil {
		return err
	}
	return report.TextOfPart(p.stdout, words.Muted(w, p.options().Unicode), p.options())
}

// unmute ends a mute.
func (p *program) unmute(ctx context.Context, name, user string) error {
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	if name, err = keyOfJob(ctx, c, name, user); err != nil {
		return err
	}
	w, err := c.ClearMute(ctx, name, user)
	if err != nil {
		return err
	}
	return report.TextOfLine(p.stdout, words.Unmuted(w, p.options().Unicode), p.options())
}

// mutes lists the muted workloads of a user, of the caller by default.
func (p *program) mutes(ctx context.Context, user string) error {
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Workloads(ctx, listing.WorkloadQuery{User: cmp.Or(user, myself()), Muted: true, Limit: mostListed})
	if err != nil {
		return err
	}
	return report.TextOfPart(p.stdout, words.OfMutes(list, p.options().Unicode), p.options())
}

// mostListed bounds the list of muted workloads.
const mostListed = 1000
