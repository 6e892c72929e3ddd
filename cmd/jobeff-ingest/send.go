package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/etc"
	"jobeff/ingest/client"
	"jobeff/ingest/node"
	"jobeff/ingest/wire"
	"jobeff/report/figure"
)

// subcommands are the commands besides --print.
func subcommands() []*cobra.Command {
	return []*cobra.Command{sendCommand(), interimCommand(), liveCommand(), tidyCommand()}
}

// sendFlags are the flags of send.
type sendFlags struct {
	config string
	jitter time.Duration
	quiet  bool
}

// sendCommand empties the outbox. The epilog starts it detached, and so does a timer.
func sendCommand() *cobra.Command {
	var f sendFlags
	cmd := &cobra.Command{
		Use:   "send",
		Short: "Send the reports in the outbox to jobeffd",
		Long: `jobeff-ingest send sends the reports in the spool's outbox to jobeffd. It deletes a
report only when jobeffd has it on its disk. Reports that jobeffd refuses for good go
to refused/, with the reason in NAME.reason. All others stay for the next time. The
epilog and a timer start it as root; several at once do no harm.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return f.send(c) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", "configuration `FILE` ($JOBEFF_CONFIG, else "+etc.DefaultPath+")")
	fs.DurationVar(&f.jitter, "jitter", 0, "first wait a random time up to this")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "do not mention reports that stay for the next time, and exit with 0")
	return cmd
}

// tidyCommand removes records that processes still held when their job's epilog ran.
func tidyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tidy",
		Short: "Remove what ended jobs have left in " + node.RunDirPath,
		Long: `jobeff-ingest tidy unmounts the records of ended jobs whose report is in the outbox, if no
process holds them any more. Each epilog does so too; the timer starts it as root for nodes
on which no job ends. It also detaches what is mounted in ` + node.RunDirPath + ` and belongs to
no job, whoever mounted it.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			node.RemoveGone(node.NotesPath)
			return node.RemoveStrays(node.RunDirPath)
		},
	}
}

func (f *sendFlags) send(c *cobra.Command) error {
	s, err := f.sender()
	if err != nil {
		return err
	}
	defer s.Client.Close()
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	res, err := s.Send(ctx)
	for tries := 0; f.quiet && err == nil && res.LogsWait > 0 && tries < mostWaits; tries++ {
		select {
		case <-ctx.Done():
		case <-time.After(min(res.LogsWait<<tries, longestWait)):
		}
		res, err = s.Send(ctx)
	}
	if err != nil {
		return err
	}
	return f.tell(c, s, res)
}

// With --quiet, nobody waits for send. So it tries again, up to mostWaits times, to send logs of windows
// that jobeffd takes only after Slurm told it of their job. Each pause is at most longestWait. The timer
// sends what is left then.
const (
	mostWaits   = 4
	longestWait = time.Minute
)

// sender makes one from the configuration.
func (f *sendFlags) sender() (*client.Sender, error) {
	if f.config == "" {
		f.config = etc.Path()
	}
	cfg, err := etc.Load(f.config)
	if err != nil {
		return nil, err
	}
	return &client.Sender{Spool: cfg.Report.Spool, Jitter: f.jitter, GoesOn: !cfg.Measure.StopOnHarm,
		Client: client.NewClient(cfg.Report.To, time.Duration(cfg.Report.Timeout), cli.Munge(cfg))}, nil
}

// tell prints what became of the reports. Kept or refused reports are an error.
func (f *sendFlags) tell(c *cobra.Command, s *client.Sender, res client.SendResult) error {
	if res.Busy {
		return nil
	}
	if !f.quiet {
		fmt.Fprintf(c.OutOrStdout(), "%s sent, %s kept for the next time, %s refused\n", figure.Count(res.Sent), figure.Count(res.Kept), figure.Count(res.Refused))
		for _, p := range res.Problems {
			fmt.Fprintln(c.ErrOrStderr(), "jobeff-ingest:", wire.CleanText(p.Error(), 1000))
		}
	}
	switch {
	case res.Refused > 0:
		return fmt.Errorf("jobeffd refused %s: the reports and the reasons are in %s", figure.Counted(res.Refused, "report"), node.RefusedDir(s.Spool))
	case res.Kept > 0 && !f.quiet:
		return fmt.Errorf("%s kept in %s", figure.Counted(res.Kept, "report"), node.OutboxDir(s.Spool))
	}
	return nil
}
