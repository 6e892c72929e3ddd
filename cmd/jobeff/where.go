package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/cmd/source"
	"jobeff/report"
	"jobeff/report/view"
)

const whereHelp = `jobeff where shows at which lines of the program its ranks called MPI, and what part
of the time in MPI that took. Calls of 20 microseconds or more were all counted;
others are estimates from samples. Below stand the waits that make other ranks late.
Of several MPI programs it is the one with the most core time; 123.1 is step 1.

Functions, files and lines are found here and now, in the program's files on this
machine: ask where the program lies, before it is built anew. Lines need -g. Only
files of yours and of root are read; for root, only its own, unless --user-files
says so. A file that was built since is not used.`

// whereCommand shows where MPI was called.
func (p *program) whereCommand() *cobra.Command {
	var function string
	var asJSON, users bool
	c := &cobra.Command{
		Use:     "where JOBID",
		Short:   "Show at which lines a program called MPI",
		Long:    whereHelp,
		Example: "  jobeff where 123\n  jobeff where 123 --function MPI_Wait",
		Args:    cli.One("job", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := p.judged(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.found.Tasks != nil {
				return fmt.Errorf("%s is an array: name one of its tasks, as %s_1", args[0], args[0])
			}
			source.Find(cmd.Context(), a.found.Job, users)
			v := view.NewPlaces(a.found.Job, function, p.options().Unicode)
			if asJSON {
				return view.Write(p.stdout, v)
			}
			return report.TextOfPlaces(p.stdout, v, p.options())
		},
	}
	c.Flags().StringVar(&function, "function", "", "only the calls of the MPI function `NAME`")
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	c.Flags().BoolVar(&users, "user-files", false, "as root, read users' files, too")
	return c
}
