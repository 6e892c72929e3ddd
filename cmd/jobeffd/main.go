// Command jobeffd is the accounting daemon: it keeps what the nodes report of
// their jobs and shows it to the command jobeff. Package ingest/server does the
// work. Here are the configuration, the log and the two processes: the writer, which takes
// reports, and the reader (--read), which only answers people.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"jobeff/cmd/cli"
	"jobeff/cmd/jobeffd/admin"
	"jobeff/etc"
)

// The daemon's live heap is a few MiB. To collect garbage at each doubling would cost a seventh
// of a burst's CPU time. Once the heap reaches memoryGoal, Go collects more often.
const (
	garbagePercent = 400
	memoryGoal     = 160 << 20 // bytes
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
		debug.SetMemoryLimit(memoryGoal)
	}
	noCore()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// noCore keeps the kernel from ever writing this process's memory to a file, and other processes of
// its user from reading it: it holds passwords and all users' jobs. RLIMIT_CORE would not do, since
// the kernel does not apply it to a core that it pipes to a program.
func noCore() { unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// exitConfig is EX_CONFIG of sysexits.h. systemd does not restart a daemon that exits with it (sandbox.conf).
const exitConfig = 78

// configError is an error that only a change of the configuration mends.
type configError struct{ error }

// run is main without the process around it; it returns the exit code.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	cmd := command(stderr)
	cmd.SetArgs(args)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		cli.Complain(stderr, "jobeffd", err.Error())
	}
	if errors.As(err, new(configError)) {
		return exitConfig
	}
	return cli.ExitCode(err)
}

// flags override the configuration.
type flags struct {
	config, database, socket string
	read, debug, sockets     bool
}

func command(stderr io.Writer) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "jobeffd",
		Short: "The accounting daemon of jobeff",
		Long: `jobeffd takes the reports of the compute nodes, keeps them in its database and
shows them to the command jobeff. Without a configuration file it uses its built-in
defaults. On a single machine, started as root, it needs nothing else.`,
		Example: `  jobeffd
  jobeffd --database ~/jobeff.db --socket ~/jobeffd.sock     # as an ordinary user, to try it`,
		Version:       etc.Version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := f.load(c)
			if err != nil {
				return configError{err}
			}
			if f.sockets {
				return tellSystemd(cfg)
			}
			serve := write
			if f.read {
				serve = read
			}
			return serve(c.Context(), cfg, logger(stderr, f.debug))
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", "configuration `FILE` ($JOBEFF_CONFIG, else "+etc.DefaultPath+")")
	fs.StringVar(&f.database, "database", "", "`FILE` or URL of the database, instead of server.database")
	fs.StringVar(&f.socket, "socket", "", "`PATH` of the unix socket, instead of server.socket")
	fs.BoolVar(&f.read, "read", false, "only answer people, at client.to; another jobeffd takes the reports")
	fs.BoolVar(&f.sockets, "sockets", false, "write jobeff.toml's addresses into systemd's socket units, then exit")
	fs.BoolVar(&f.debug, "debug", false, "also log each question")
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(admin.Command())
	return cmd
}

// load reads the configuration and puts the flags over it.
func (f *flags) load(c *cobra.Command) (*etc.Config, error) {
	if f.config == "" {
		f.config = etc.Path()
	}
	cfg, err := etc.Load(f.config)
	if err != nil {
		return nil, err
	}
	for name, to := range map[string]*string{"database": &cfg.Server.Database, "socket": &cfg.Server.Socket} {
		if flag := c.Flags().Lookup(name); flag.Changed {
			*to = flag.Value.String()
		}
	}
	return cfg, nil
}

func logger(w io.Writer, verbose bool) zerolog.Logger {
	level := zerolog.InfoLevel
	if verbose {
		level = zerolog.DebugLevel
	}
	zerolog.TimeFieldFormat = time.RFC3339Nano
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}

// keepAlive tells systemd that this process is ready, and then that it still runs, twice in
// each WatchdogSec= of its unit, until the context ends. Without systemd it does nothing.
func keepAlive(ctx context.Context) {
	sd.SdNotify(false, sd.SdNotifyReady)
	within, err := sd.SdWatchdogEnabled(false)
	if err != nil || within == 0 {
		return
	}
	for tick := time.NewTicker(within / 2); ; {
		sd.SdNotify(false, sd.SdNotifyWatchdog)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
