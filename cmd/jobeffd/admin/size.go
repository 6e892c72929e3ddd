package admin

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/ingest/store"
	"jobeff/report/figure"
)

// foretoldDays is how far ahead size looks.
const foretoldDays = 365

func (f *databaseFlags) sizeCommand() *cobra.Command {
	var perDay float64
	c := &cobra.Command{
		Use: "size",
		Long: `size measures how much room a job takes in the database. From the number of jobs in a
day (the last week's, or --jobs-per-day) and from [retention] in jobeff.toml it predicts
the database's size in a year. An SQLite file never shrinks: new jobs take the room of dropped
ones.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if perDay < 0 {
				return cli.Usagef("--jobs-per-day %v: give 0 or more", perDay)
			}
			return f.beside(func(s *store.Store) error {
				z, err := s.Size(cmd.Context(), f.retain, perDay, foretoldDays, time.Now())
				if err != nil {
					return err
				}
				return printSize(cmd.OutOrStdout(), z)
			})
		},
	}
	c.Flags().Float64Var(&perDay, "jobs-per-day", 0, "assume `N` jobs a day, not last week's")
	return c
}

func printSize(w io.Writer, z *store.Sizes) error {
	_, err := fmt.Fprintf(w, `now           %s for %s (%s without their ranks) and %s of months
a job         %s; %s without its ranks
a day         %s jobs
in %-10s %s for %s
`, figure.Bytes(uint64(z.Now)), figure.Counted(int(z.Jobs), "job"), figure.Count(int(z.Trimmed)), figure.Counted(int(z.Months), "row"),
		figure.Bytes(uint64(z.PerJob)), figure.Bytes(uint64(z.PerTrimmed)), figure.Count(int(math.Round(z.JobsPerDay))),
		figure.Counted(z.Days, "day"), figure.Bytes(uint64(z.Foretold)), figure.Counted(int(z.KeptJobs), "job"))
	return err
}
