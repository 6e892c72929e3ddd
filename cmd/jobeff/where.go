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

jobeff looks for functions, files and lines in the program's files on this machine. So
ask where the program is, before you build it again. Lines need -g. jobeff reads only
your files and root's. Root's jobeff reads users' files with --user-files alone. A file
that was built since the run is not used.`

// whereCommand shows where MPI was called.
func (p *program) whereCommand() *cobra.Command {
	var asJSON, users bool
	c := &cobra.Command{
		Use:     "where JOBID",
		Short:   "Show at which lines a program called MPI",
		Long:    whereHelp,
		Example: "  jobeff where 123",
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
			v := view.NewPlaces(a.found.Job, p.options().Unicode)
			if asJSON {
				return view.Write(p.stdout, v)
			}
			return report.TextOfPlaces(p.stdout, v, p.options())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	c.Flags().BoolVar(&users, "user-files", false, "root: also read users' files")
	return c
}
