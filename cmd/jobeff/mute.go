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
	"jobeff/report/view"
	"jobeff/report/words"
)

const muteHelp = `jobeff mute stops the mails about one of your workloads until the mute ends. Its jobs
are measured and shown as before.

NAME is a workload from the list of jobeff workload. A JOBID stands for the workload
of that job.`

// defaultMute is the length of a mute without --until and --for.
const defaultMute = "30days"

// muteFlags are the flags of jobeff mute.
type muteFlags struct {
	until, span, reason, user string
	list, json                bool
}

func (p *program) muteCommand() *cobra.Command {
	var flags muteFlags
	c := &cobra.Command{
		Use:   "mute NAME|JOBID",
		Short: "Stop the mails about a workload for some time",
		Long:  muteHelp,
		Example: `  jobeff mute lmp-3fa2c1 --for 90days --reason "memory needs these nodes"
  jobeff mute --list`,
		Args: func(_ *cobra.Command, args []string) error {
			if flags.list == (len(args) == 0) && len(args) < 2 {
				return nil
			}
			return cli.Usagef("jobeff mute takes one workload or job, or --list")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.list {
				return p.mutes(cmd.Context(), flags)
			}
			return p.mute(cmd.Context(), args[0], flags)
		},
	}
	c.Flags().StringVar(&flags.until, "until", "", "mute until `DATE`, as 2026-12-31 or +2weeks")
	c.Flags().StringVar(&flags.span, "for", "", "how `LONG` the mute lasts, as 90days or 4weeks; default: "+defaultMute)
	c.Flags().StringVar(&flags.reason, "reason", "", "why, for you and the site's operators to read")
	c.Flags().StringVarP(&flags.user, "user", "u", "", "a workload of this `USER`, for operators; with --list their mutes")
	c.Flags().BoolVar(&flags.list, "list", false, "list what is muted")
	c.Flags().BoolVar(&flags.json, "json", false, "print a JSON document")
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
				return cli.Usagef("jobeff unmute takes one workload or job, not %d: jobeff mute --list shows what is muted", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return p.unmute(cmd.Context(), args[0], user) },
	}
	c.Flags().StringVarP(&user, "user", "u", "", "a workload of this `USER`, for operators")
	return c
}

// end is when a mute ends.
func (f *muteFlags) end(now time.Time) (time.Time, error) {
	if f.until != "" && f.span != "" {
		return now, cli.Usagef("--until and --for both say when the mute ends: leave one of them out")
	}
	text, flag := "+"+cmp.Or(f.span, defaultMute), "--for"
	if f.until != "" {
		text, flag = f.until, "--until"
	}
	until, err := cli.ParseTime(text, now)
	switch {
	case err != nil && f.until == "":
		return now, cli.Usagef("--for %q is no span: write one as 90days, 4weeks or 36hours", f.span)
	case err != nil:
		return now, cli.Usagef("--until %q is no date: write one as 2026-12-31, 12/31/26 or +30days", f.until)
	case !until.After(now):
		return now, cli.Usagef("%s: %s is past: give a time in the future", flag, until.Format("2006-01-02 15:04"))
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
	v := view.NewMute(w, p.options().Unicode)
	if flags.json {
		return view.Write(p.stdout, v)
	}
	return report.TextOfPart(p.stdout, v.Words, p.options())
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
func (p *program) mutes(ctx context.Context, flags muteFlags) error {
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Workloads(ctx, listing.WorkloadQuery{User: cmp.Or(flags.user, myself()), Muted: true, Limit: mostListed})
	if err != nil {
		return err
	}
	v := view.NewMutes(list, p.options().Unicode)
	if flags.json {
		return view.Write(p.stdout, v)
	}
	return report.TextOfPart(p.stdout, v.Words, p.options())
}

// mostListed bounds the list of muted workloads.
const mostListed = 1000
