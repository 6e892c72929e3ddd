package admin

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/ingest/store"
	"jobeff/report"
	"jobeff/report/words"
)

func (f *databaseFlags) alarmCommand() *cobra.Command {
	var goOn bool
	c := &cobra.Command{
		Use: "alarm",
		Long: `alarm compares the jobs that jobeff measures with the others: how many of each crashed,
failed, ran out of memory, reached their time limit, lost a node or took longer, and
whether the measured ones surely end worse. It compares only with a share of jobs unmeasured (measure.share below 1), or with
the weeks before. Without an alarm it says what would have been seen by now, or why it
cannot tell. --go-on ends the alarm: jobs are compared anew from now on, and nodes
that stopped (measure.stop_on_harm) measure again within 30 s.`,
		Example: "  jobeff admin alarm\n  jobeff admin alarm --go-on",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.beside(func(s *store.Store) error {
				up, err := s.AlarmsUp(cmd.Context())
				if err == nil && goOn {
					err = s.ClearAlarms(cmd.Context(), time.Now())
				}
				compared, err2 := s.Comparison(cmd.Context())
				if err := errors.Join(err, err2); err != nil {
					return err
				}
				return report.TextOfPart(cmd.OutOrStdout(), words.OfAlarms(up, compared, goOn), reader(cmd))
			})
		},
	}
	c.Flags().BoolVar(&goOn, "go-on", false, "end the alarm, and compare anew from now on")
	return c
}
