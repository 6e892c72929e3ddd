// Command jobeffd is the accounting daemon: it keeps what the nodes report of
// their jobs and shows it to the command jobeff. Package ingest/server does the
// work; here are the configuration, the process and its log.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"os/user"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/cmd/jobeffd/admin"
	"jobeff/cmd/jobeffd/notify"
	"jobeff/etc"
	"jobeff/ingest/server"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
)

// The daemon's live heap is a few MiB, so that collecting it at each doubling would cost a
// seventh of a burst's CPU time; memoryGoal makes that frequent again where it is not small.
const (
	garbagePercent = 400
	memoryGoal     = 160 << 20 // bytes
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
		debug.SetMemoryLimit(memoryGoal)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// run is main without the process around it; it returns the exit code.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	cmd := command(stderr)
	cmd.SetArgs(args)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		cli.Complain(stderr, "jobeffd", err.Error())
	}
	return cli.ExitCode(err)
}

// flags override the configuration.
type flags struct {
	config, database, socket, listen, answer string
	debug                                    bool
}

func command(stderr io.Writer) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "jobeffd",
		Short: "The accounting daemon of jobeff",
		Long: `jobeffd takes the reports of the compute nodes, keeps them in its database and
shows them to the command jobeff. Without a configuration file it runs with what
is built in: started as root on one machine it needs nothing else.`,
		Example: `  jobeffd
  jobeffd --database ~/jobeff.db --socket ~/jobeffd.sock     # as an ordinary user, to try it`,
		Version:       etc.Version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			log := logger(stderr, f.debug)
			if f.answer != "" {
				return answer(os.Stdin, f.answer, log)
			}
			cfg, err := f.load(c)
			if err != nil {
				return err
			}
			return serve(c.Context(), cfg, log, &answers{cfg: cfg, stderr: stderr, log: log, debug: f.debug})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", "configuration `FILE` ($JOBEFF_CONFIG, else "+etc.DefaultPath+")")
	fs.StringVar(&f.database, "database", "", "`FILE` or URL of the database, instead of server.database")
	fs.StringVar(&f.socket, "socket", "", "`PATH` of the unix socket, instead of server.socket")
	fs.StringVar(&f.listen, "listen", "", "`HOST:PORT` to listen on with munge, instead of server.listen")
	fs.StringVar(&f.answer, "answer", "", "be the process that answers people, with these `LISTENERS`")
	fs.MarkHidden("answer")
	fs.BoolVar(&f.debug, "debug", false, "log what is read, too")
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(admin.Command())
	return cmd
}

// load is the configuration with the flags over it.
func (f *flags) load(c *cobra.Command) (*etc.Config, error) {
	if f.config == "" {
		f.config = etc.Path()
	}
	cfg, err := etc.Load(f.config)
	if err != nil {
		return nil, err
	}
	for name, to := range map[string]*string{"database": &cfg.Server.Database, "socket": &cfg.Server.Socket, "listen": &cfg.Server.Listen} {
		if flag := c.Flags().Lookup(name); flag.Changed {
			*to = flag.Value.String()
		}
	}
	return cfg, nil
}

func logger(w io.Writer, debug bool) zerolog.Logger {
	level := zerolog.InfoLevel
	if debug {
		level = zerolog.DebugLevel
	}
	zerolog.TimeFieldFormat = time.RFC3339Nano
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}

// options are those that both processes' servers have; the store and the pages are missing.
func options(cfg *etc.Config, log zerolog.Logger) (o server.Options, err error) {
	o = server.Options{Log: log, MungeSocket: cfg.Munge.Socket, Open: cfg.Server.Private == etc.PrivateSlurm,
		ReadRate: cfg.Server.ReadRate, Grace: time.Duration(cfg.Server.Grace)}
	if o.Operators, err = userIDs("server.operators", cfg.Server.Operators); err != nil {
		return o, err
	}
	o.Proxy, err = proxy(cfg.Web)
	return o, err
}

// serve runs the daemon until the context ends.
func serve(ctx context.Context, cfg *etc.Config, log zerolog.Logger, people *answers) (err error) {
	o, err := options(cfg, log)
	if err != nil {
		return err
	}
	db, err := store.Open(cfg.Server.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if o.Pages, err = pages(cfg, db); err != nil {
		return err
	}
	listeners, err := listen(cfg)
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	handed, err := people.prepare(listeners)
	if err != nil {
		return err
	}
	poller := server.NewPoller(db, log, time.Duration(cfg.Server.SacctInterval))
	o.Store, o.Reported, o.Committed = db, poller.Kick, failpoint()
	o.Cores, o.ReportRate, o.StrictNode = runtime.GOMAXPROCS(0), cfg.Server.ReportRate, cfg.Server.StrictNode
	srv := server.New(o)
	people.refused = srv.Refused
	poller.Access = func(a *slurm.Access) {
		srv.SetAccess(a)
		people.setAccess(a)
	}
	mails, err := notify.New(cfg, db, log, time.Now)
	if err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	if err := serveMetrics(background, &wg, cfg.Server.Metrics, srv.Metrics()); err != nil {
		return err
	}
	if err := people.start(ctx, background, &wg); err != nil {
		return err
	}
	switch {
	case mails != nil:
		wg.Go(func() { mails.Run(background) })
	case len(cfg.Digest.To)+len(cfg.Digest.Accounts) > 0:
		log.Warn().Msg("[digest] names people, but [mail] has neither host nor sendmail: no mail is ever sent")
	}
	wg.Go(func() { settle(background, db, log) })
	wg.Go(func() { retain(background, db, cfg.Retention, log) })
	if poller.Interval > 0 {
		wg.Go(func() { poller.Run(background) })
	}
	log.Info().Str("version", etc.Version).Str("database", store.Name(cfg.Server.Database)).Str("socket", cfg.Server.Socket).
		Str("listen", cfg.Server.Listen).Str("web", cfg.Web.Listen).Int("pid", os.Getpid()).Msg("jobeffd is ready")
	err = srv.Serve(ctx, handed)
	log.Info().Msg("jobeffd ends")
	return err
}

// listen opens what the configuration names; at least one of both.
func listen(cfg *etc.Config) (all []net.Listener, err error) {
	if cfg.Server.Socket == "" && cfg.Server.Listen == "" {
		return nil, errors.New("server.socket and server.listen are both empty: nobody could reach jobeffd; set one of them")
	}
	for _, one := range []struct {
		at     string
		listen func(string) (net.Listener, error)
	}{{cfg.Server.Socket, server.ListenUnix}, {cfg.Server.Listen, server.ListenTCP}, {cfg.Web.Listen, server.ListenPages}} {
		if one.at == "" {
			continue
		}
		l, err := one.listen(one.at)
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}

// settleEvery is how often runs of many nodes are looked for that can be merged.
const settleEvery = 300 * time.Millisecond

// settle merges runs whose reports came in great numbers.
func settle(ctx context.Context, db *store.Store, log zerolog.Logger) {
	for tick := time.NewTicker(settleEvery); ctx.Err() == nil; {
		if n, err := db.Settle(ctx); err != nil && ctx.Err() == nil {
			log.Error().Err(err).Msg("merging")
		} else if n > 0 {
			log.Info().Int("runs", n).Msg("merged")
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// retainEvery is how often old jobs are looked for; the first time comes when the
// jobs that waited for jobeffd are in.
const (
	retainFirst = 10 * time.Minute
	retainEvery = 24 * time.Hour
)

// retain drops what the configuration keeps no longer.
func retain(ctx context.Context, db *store.Store, keep etc.Retention, log zerolog.Logger) {
	for wait := retainFirst; ; wait = retainEvery {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		done, err := db.Retain(ctx, store.Retention{Ranks: time.Duration(keep.Ranks), Jobs: time.Duration(keep.Jobs)}, time.Now(), nil)
		if err != nil && ctx.Err() == nil {
			log.Error().Err(err).Msg("dropping old jobs")
		} else if done != (store.Retained{}) {
			log.Info().Int("trimmed", done.Trimmed).Int("pruned", done.Pruned).Msg("old jobs dropped")
		}
	}
}

// userIDs are the uids of names that stand under a key of the configuration.
func userIDs(key string, names []string) ([]uint32, error) {
	var ids []uint32
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: name users that exist on this machine", key, err)
		}
		id, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", key, name, err)
		}
		ids = append(ids, uint32(id))
	}
	return ids, nil
}
