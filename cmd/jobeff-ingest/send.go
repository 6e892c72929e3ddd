package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"jobeff/etc"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/munge"
	"jobeff/ingest/node"
)

// subcommands are what jobeff-ingest does besides printing.
func subcommands() []*cobra.Command { return []*cobra.Command{sendCommand()} }

// sendFlags override the configuration.
type sendFlags struct {
	config, spool, to string
	jitter            time.Duration
	quiet             bool
}

// sendCommand empties the outbox. The epilog starts it detached, a timer again.
func sendCommand() *cobra.Command {
	var f sendFlags
	cmd := &cobra.Command{
		Use:   "send",
		Short: "Send what waits in the outbox to jobeffd",
		Long: `jobeff-ingest send gives the reports in the spool's outbox to jobeffd and deletes
each only when jobeffd has it on its disk. What jobeffd refuses for good is moved
to refused/, with the reason in NAME.reason. All else stays for the next time. It
is run as root, by the epilog and by a timer; several at once do no harm.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return f.send(c) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", "configuration `FILE` ($JOBEFF_CONFIG, else "+etc.DefaultPath+")")
	fs.StringVar(&f.spool, "spool", "", "`FOLDER` above outbox/ and refused/, instead of report.spool")
	fs.StringVar(&f.to, "to", "", "`ADDRESS` of jobeffd, instead of report.to")
	fs.DurationVar(&f.jitter, "jitter", 0, "wait a random time up to this before sending")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "say nothing of reports that stay for the next time, and end with 0")
	return cmd
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
	if err != nil {
		return err
	}
	return f.tell(c, s, res)
}

// sender is made of the configuration and the flags over it.
func (f *sendFlags) sender() (*client.Sender, error) {
	if f.config == "" {
		f.config = etc.Path()
	}
	cfg, err := etc.Load(f.config)
	if err != nil {
		return nil, err
	}
	if f.spool != "" {
		cfg.Report.Spool = f.spool
	}
	if f.to != "" {
		cfg.Report.To = f.to
	}
	if why := etc.CheckAddress(cfg.Report.To); why != "" {
		return nil, fmt.Errorf("--to: %s", why)
	}
	sign := func(payload []byte) (string, error) { return munge.Encode(cfg.Munge.Socket, payload, 0) }
	return &client.Sender{Spool: cfg.Report.Spool, Jitter: f.jitter,
		Client: client.NewClient(cfg.Report.To, time.Duration(cfg.Report.Timeout), sign)}, nil
}

// tell says what became of the reports; what was kept or refused is an error.
func (f *sendFlags) tell(c *cobra.Command, s *client.Sender, res client.SendResult) error {
	if res.Busy {
		return nil
	}
	if !f.quiet {
		fmt.Fprintf(c.OutOrStdout(), "%d sent, %d kept for the next time, %d refused\n", res.Sent, res.Kept, res.Refused)
		for _, p := range res.Problems {
			fmt.Fprintln(c.ErrOrStderr(), "jobeff-ingest:", job.CleanText(p.Error(), 1000))
		}
	}
	switch {
	case res.Refused > 0:
		return fmt.Errorf("jobeffd refused %d reports: they and the reasons are in %s", res.Refused, node.RefusedDir(s.Spool))
	case res.Kept > 0 && !f.quiet:
		return fmt.Errorf("%d reports wait in %s", res.Kept, node.OutboxDir(s.Spool))
	}
	return nil
}
