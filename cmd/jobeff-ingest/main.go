// Command jobeff-ingest is the node's side of jobeff. With --print it prints a record that was made by hand.
// Its subcommand send delivers the epilog's reports to jobeffd. Packages ingest/node and ingest/client do the
// work; package report prints.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/cmd/source"
	"jobeff/ingest/listing"
	"jobeff/ingest/node"
	"jobeff/ingest/node/gpu"
	"jobeff/report"
	"jobeff/report/inert"
	"jobeff/report/view"
)

func main() {
	switch os.Args[0] {
	case source.Reader:
		os.Exit(source.Read(os.Stdin, os.Stdout))
	case gpu.Name:
		os.Exit(gpu.Read(os.Args[1:], os.Stdout))
	}
	os.Exit(run(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is main without the process around it; it returns the exit code.
func run(args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	root := command(getenv)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.Execute(); err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			fmt.Fprintln(stderr, "jobeff-ingest: "+inert.Text(line, false))
		}
		return 1
	}
	return 0
}

func command(getenv func(string) string) *cobra.Command {
	var print, full, asJSON bool
	root := &cobra.Command{
		Use:   "jobeff-ingest --print FILE…",
		Short: "Print the POP metrics of records made by hand",
		Long: `jobeff-ingest --print shows the POP metrics of programs that ran without Slurm, with
JOBEFF_RECORD=FILE and LD_PRELOAD=libjobeff.so. Give the FILEs of several hosts
(JOBEFF_RECORD=FILE.%h) together: they are one job.`,
		Example: `  JOBEFF_RECORD=/tmp/rec LD_PRELOAD=build/lib/libjobeff.so mpirun -n 4 ./program
  jobeff-ingest --print /tmp/rec
  jobeff-ingest --print --full /tmp/rec
  jobeff-ingest --print --json /tmp/rec.*`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, files []string) error {
			if !print || len(files) == 0 {
				return fmt.Errorf("nothing to do: give --print and the files that JOBEFF_RECORD named (--help says more)")
			}
			j, notes, err := node.ByHand(files)
			if err != nil {
				return err
			}
			for _, note := range notes {
				fmt.Fprintln(c.ErrOrStderr(), "jobeff-ingest: "+inert.Text(note, false))
			}
			if full && !asJSON {
				source.Find(c.Context(), j, false)
			}
			reader := report.Reader(getenv, cli.Columns(c.OutOrStdout()))
			v := view.NewJob(&listing.JobAndWorkload{Job: j}, nil, nil, reader.Unicode)
			switch {
			case asJSON:
				return view.Write(c.OutOrStdout(), v)
			case full:
				return report.TextOfJob(c.OutOrStdout(), v, reader)
			}
			return report.ScreenOfJob(c.OutOrStdout(), v, reader)
		},
	}
	root.Flags().BoolVar(&print, "print", false, "print the POP metrics of FILE…")
	root.Flags().BoolVar(&full, "full", false, "print all that is known; else its first screen")
	root.Flags().BoolVar(&asJSON, "json", false, "print a JSON document, times in seconds")
	root.AddCommand(subcommands()...)
	return root
}
