package admin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/etc"
	"jobeff/ingest/store"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Command is jobeffd admin. What its commands print goes to the command's output.
func Command() *cobra.Command {
	admin := &cobra.Command{
		Use: "admin",
		Long: `jobeffd admin looks after jobeffd's database. Run its commands on the server, as root or
as jobeffd's user. jobeff admin has the same commands there.`,
		Args: cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// The daemon catches these signals. Here they just end a command, even while it waits for input.
		PersistentPreRun: func(*cobra.Command, []string) { signal.Reset(syscall.SIGTERM, syscall.SIGINT) },
	}
	admin.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.FlagError(err, cmd.CommandPath(), nil)
	})
	admin.AddCommand(databaseCommands()...)
	admin.AddCommand(demoDataCommand())
	for _, c := range admin.Commands() {
		c.Short = cli.DatabaseCommands[c.Name()]
	}
	cli.Complete(admin, map[string]cli.Offer{"TIME": cli.Fixed("today", "yesterday", "2026-11-21")})
	return admin
}

// databaseFlags are those of every command that opens jobeffd's database.
type databaseFlags struct {
	database string
	retain   store.Retention
}

func databaseCommands() []*cobra.Command {
	f := new(databaseFlags)
	all := []*cobra.Command{f.backupCommand(), f.restoreCommand(), f.migrateCommand(), f.pruneCommand(), f.exportCommand(), f.importCommand(), f.sizeCommand(), f.noticesCommand(), f.overheadCommand(), f.alarmCommand()}
	for _, c := range all {
		f.withDatabase(c)
	}
	return all
}

// withDatabase adds the flag of the database to a command, and makes it read the configuration first.
func (f *databaseFlags) withDatabase(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&f.database, "database", "", "`FILE` or URL of the database, instead of server.database")
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := f.load(); err != nil {
			return err
		}
		return run(c, args)
	}
	return c
}

// load takes from the configuration what no flag sets.
func (f *databaseFlags) load() error {
	cfg, err := etc.Load(etc.Path())
	if err != nil {
		return err
	}
	if f.database == "" {
		f.database = cfg.Server.Database
	}
	f.retain = store.Retention{Ranks: time.Duration(cfg.Retention.Ranks), Jobs: time.Duration(cfg.Retention.Jobs)}
	return nil
}

// beside opens the database for do, while jobeffd may have it open too.
func (f *databaseFlags) beside(do func(*store.Store) error) error {
	return store.AsOwner(f.database, func() (err error) {
		s, err := store.OpenBeside(f.database)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		return do(s)
	})
}

func (f *databaseFlags) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE",
		Long: `backup writes a consistent copy of the database to FILE, which must not exist. jobeffd
keeps running. For PostgreSQL use pg_dump.`,
		Example: "  jobeff admin backup /backup/jobeff-$(date +%F).db",
		Args:    cli.One("FILE", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := store.Backup(cmd.Context(), f.database, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is a backup of %s\n", inert.Text(args[0], false), store.Name(f.database))
			return nil
		},
	}
}

func (f *databaseFlags) restoreCommand() *cobra.Command {
	var replace bool
	c := &cobra.Command{
		Use: "restore FILE",
		Long: `restore replaces the database with a backup. jobeffd must be stopped. A database that
holds jobs is replaced only with --replace; it is then kept as .old. restore refuses a
file that is not a sound jobeff database.`,
		Example: "  systemctl stop jobeffd.socket; jobeff admin restore /backup/jobeff-2026-11-20.db; systemctl start jobeffd",
		Args:    cli.One("FILE", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := store.Restore(cmd.Context(), args[0], f.database, replace); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is restored: start jobeffd\n", store.Name(f.database))
			return nil
		},
	}
	c.Flags().BoolVar(&replace, "replace", false, "replace a database that holds jobs, and keep it as .old")
	return c
}

func (f *databaseFlags) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "migrate",
		Long: `migrate updates the database's schema, as jobeffd does when it starts. Each step is done
completely or not at all. The only way back is a backup. Stop every jobeffd first. The file
must exist: an empty one becomes a new database.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var before, after int64
			err := store.AsOwner(f.database, func() (err error) {
				before, after, err = store.Migrate(f.database)
				return err
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: schema %d, was %d\n", store.Name(f.database), after, before)
			return nil
		},
	}
}

func (f *databaseFlags) pruneCommand() *cobra.Command {
	var older, ranks string
	c := &cobra.Command{
		Use: "prune --older DAYS",
		Long: `prune drops jobs that ended more than --older DAYS ago. Their sums for each month, user,
account and workload remain (jobeff admin export --csv --months). With --ranks DAYS it
drops the figures of single ranks of jobs older than that. jobeffd may keep running; it
does the same each day, as [retention] in jobeff.toml says. A prune that was interrupted
goes on where it stopped.`,
		Example: "  jobeff admin prune --older 180days",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var keep store.Retention
			for _, flag := range []struct {
				name, text string
				into       *time.Duration
			}{{"older", older, &keep.Jobs}, {"ranks", ranks, &keep.Ranks}} {
				var d etc.Days
				if err := d.UnmarshalText([]byte(flag.text)); flag.text != "" && err != nil {
					return cli.Usagef("--%s: %w", flag.name, err)
				}
				*flag.into = time.Duration(d)
			}
			if keep == (store.Retention{}) {
				return cli.Usagef("prune needs an age, as in jobeff admin prune --older 180days")
			}
			return f.prune(cmd, keep)
		},
	}
	c.Flags().StringVar(&older, "older", "", "drop jobs older than `DAYS`, as 180days")
	c.Flags().StringVar(&ranks, "ranks", "", "drop the figures of single ranks of jobs older than `DAYS`")
	return c
}

func (f *databaseFlags) prune(cmd *cobra.Command, keep store.Retention) error {
	return f.beside(func(s *store.Store) error {
		bar := cli.NewBar("jobs", -1)
		done, err := s.Retain(cmd.Context(), keep, time.Now(), func(r store.Retained) { bar.Set(int64(r.Pruned + r.Trimmed)) })
		bar.Done()
		fmt.Fprintf(cmd.OutOrStdout(), "%s dropped, their months kept; %s without their ranks now\n", figure.Counted(done.Pruned, "job"), figure.Counted(done.Trimmed, "job"))
		return err
	})
}

func (f *databaseFlags) exportCommand() *cobra.Command {
	var asCSV, asJSON, months bool
	c := &cobra.Command{
		Use: "export --csv|--json [FILE]",
		Long: `export writes every job to FILE or to standard output. --json writes everything, one
JSON document per line, for jobeff admin import. --csv writes a table of the jobs, or
with --months a table of the sums of pruned jobs. Text that a spreadsheet could take for
a formula begins with a quote.`,
		Example: "  jobeff admin export --csv jobs.csv\n  jobeff admin export --json | zstd > jobs.json.zst",
		Args:    cli.One("FILE", 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asCSV == asJSON || months && asJSON {
				return cli.Usagef("export needs --csv (with or without --months) or --json")
			}
			return output(cmd, args, func(w io.Writer, progress store.Progress) error {
				return f.beside(func(s *store.Store) error {
					if asJSON {
						return s.Export(cmd.Context(), w, progress)
					}
					return s.ExportCSV(cmd.Context(), w, months, progress)
				})
			})
		},
	}
	c.Flags().BoolVar(&asCSV, "csv", false, "write a table")
	c.Flags().BoolVar(&asJSON, "json", false, "write everything, for jobeff admin import")
	c.Flags().BoolVar(&months, "months", false, "with --csv: write the sums of pruned jobs")
	return c
}

// output writes to the new file that args name, or to standard output.
func output(cmd *cobra.Command, args []string, write func(io.Writer, store.Progress) error) error {
	to := func(out io.Writer) error {
		bar := cli.NewBar("jobs", 0)
		buffered := bufio.NewWriterSize(out, 1<<20)
		err := write(buffered, bar.Progress)
		bar.Done()
		return errors.Join(err, buffered.Flush())
	}
	if len(args) == 0 {
		return to(cmd.OutOrStdout())
	}
	return store.NewFile(args[0], func(file *os.File) error { return to(file) })
}

func (f *databaseFlags) importCommand() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE",
		Long: `import adds the jobs that jobeff admin export --json wrote; - is standard input. Jobs
that the database has already stay as they are, so an import may be repeated, also
after an interruption. jobeffd may keep running.`,
		Example: "  zstdcat jobs.json.zst | jobeff admin import -",
		Args:    cli.One("FILE", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := cli.Input(cmd, args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			return f.beside(func(s *store.Store) error {
				bar := cli.NewBar("jobs", -1)
				done, err := s.Import(cmd.Context(), bufio.NewReaderSize(in, 1<<20), func(i store.Imported) { bar.Set(int64(i.Attempts + i.Known)) })
				bar.Done()
				fmt.Fprintf(cmd.OutOrStdout(), "%s, %s, %s, %s and %s added (%s under another attempt number); %s were known\n",
					figure.Counted(done.Attempts, "job"), figure.Counted(done.Months, "month"), figure.Counted(done.Mutes, "mute"),
					figure.Counted(done.Mails, "mail"), figure.Counted(done.Overheads, "curve"), figure.Counted(done.Renumbered, "job"), figure.Count(done.Known))
				return err
			})
		},
	}
}
