package admin

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/ingest/store"
	"jobeff/policy/overhead"
	"jobeff/report"
	"jobeff/report/figure"
	"jobeff/report/words"
)

const overheadHelp = `overhead lists what jobeff-overhead measured: how much of a transfer the processor has
for other work, for each partition and MPI. Curves of one partition and MPI stand below
each other, the newest last, and a partition whose availability fell is named. From the
newest curve jobeff tells how much of a job's point-to-point time could be hidden.`

const overheadImportHelp = `import takes what jobeff-overhead --json printed; - is standard input. A curve that the
database has already stays as it is. jobeffd may keep running. The rows say which
cluster, partition and MPI they are of; outside Slurm, name them.`

// mostOverheadBytes bounds a file of curves. One of all sizes has some KiB.
const mostOverheadBytes = 16 << 20

func (f *databaseFlags) overheadCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "overhead",
		Long:    overheadHelp,
		Example: "  srun -p main -N 2 -n 2 jobeff-overhead --json > send.json\n  srun -p main -N 2 -n 2 jobeff-overhead --json --recv > receive.json\n  jobeff admin overhead import send.json receive.json\n  jobeff admin overhead",
		Args:    cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.beside(func(s *store.Store) error {
				curves, err := s.Overheads(cmd.Context())
				if err != nil {
					return err
				}
				return report.TextOfOverheads(cmd.OutOrStdout(), words.OfOverheads(curves, reader(cmd).Unicode), reader(cmd))
			})
		},
	}
	c.AddCommand(f.withDatabase(f.overheadImportCommand()), overheadPlotCommand())
	return c
}

func (f *databaseFlags) overheadImportCommand() *cobra.Command {
	var of overhead.Of
	c := &cobra.Command{
		Use:     "import FILE...",
		Short:   "Add what jobeff-overhead --json printed",
		Long:    overheadImportHelp,
		Example: "  jobeff admin overhead import send.json receive.json",
		Args:    cli.Some("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			curves, err := readCurves(cmd, args, of)
			if err != nil {
				return err
			}
			for i := range curves {
				if err := curves[i].Named(); err != nil {
					return err
				}
			}
			return f.beside(func(s *store.Store) error {
				added, err := s.AddOverheads(cmd.Context(), curves)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s added, %s known\n", figure.Counted(added, "curve"), figure.Count(len(curves)-added))
				return err
			})
		},
	}
	c.Flags().StringVar(&of.Cluster, "cluster", "", "the cluster's `NAME`, instead of the rows'")
	c.Flags().StringVar(&of.Partition, "partition", "", "the partition's `NAME`, instead of the rows'")
	c.Flags().StringVar(&of.MPI, "mpi", "", "the MPI's `NAME`, as jobeff shows it of a job, instead of the rows'")
	return c
}

func overheadPlotCommand() *cobra.Command {
	var svg string
	c := &cobra.Command{
		Use:     "plot FILE...",
		Short:   "Draw what jobeff-overhead --json printed",
		Long:    "plot draws what jobeff-overhead --json printed, in the terminal or with --svg as a picture.\n- is standard input. It needs no database.",
		Example: "  jobeff admin overhead plot --svg main.svg send.json receive.json",
		Args:    cli.Some("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			curves, err := readCurves(cmd, args, overhead.Of{})
			switch {
			case err != nil:
				return err
			case svg == "":
				return report.TextOfOverheadCurves(cmd.OutOrStdout(), words.OfOverheadCurves(curves, reader(cmd).Unicode), reader(cmd))
			}
			return store.NewFile(svg, func(file *os.File) error { return words.OverheadPicture(curves).Picture().SVG(file) })
		},
	}
	c.Flags().StringVar(&svg, "svg", "", "write a picture to the new `FILE`")
	return c
}

// readCurves reads the curves of files; - is standard input.
func readCurves(cmd *cobra.Command, paths []string, of overhead.Of) (curves []overhead.Curve, err error) {
	of.Measured = time.Now()
	for _, path := range paths {
		content, err := readFile(cmd, path)
		if err != nil {
			return nil, err
		}
		some, err := overhead.Read(content, of)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		curves = append(curves, some...)
	}
	return curves, nil
}

func readFile(cmd *cobra.Command, path string) ([]byte, error) {
	file, err := cli.Input(cmd, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, mostOverheadBytes))
}

// reader says what standard output can show.
func reader(cmd *cobra.Command) report.Options {
	return report.Reader(os.Getenv, cli.Columns(cmd.OutOrStdout()))
}
