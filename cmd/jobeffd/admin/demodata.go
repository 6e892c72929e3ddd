package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"jobeff/cmd/cli"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
	"jobeff/policy/demo"
	"jobeff/policy/notice"
	"jobeff/report/figure"
)

const demoDataHelp = `demo-data makes the new database FILE and fills it with a year of a made-up site: its
users, their workloads with the curves that they follow, and the jobs that they ran.
Some jobs were killed, ran on too many cores, were imbalanced or had no MPI. With 20,000
jobs or more, their times show that one node is slow. Look at it with

  jobeffd --database FILE --socket /tmp/demo.sock --config /dev/null

With --share 0.9 a tenth of the jobs was not measured. If measure.share of jobeffd's
configuration says the same, jobeff admin cost compares their times.
The same --jobs, --share and --until give the same year.`

// demoBatch is the number of jobs in one transaction.
const demoBatch = 2000

func demoDataCommand() *cobra.Command {
	o := demo.Options{Seed: 1}
	var until string
	c := &cobra.Command{
		Use:     "demo-data FILE",
		Long:    demoDataHelp,
		Example: "  jobeff admin demo-data /tmp/demo.db",
		Args:    cli.One("new FILE", 1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Jobs < 1 {
				return cli.Usagef("--jobs must be 1 or more")
			}
			if !(o.Share > 0 && o.Share <= 1) {
				return cli.Usagef("--share must be above 0, and 1 at most")
			}
			o.Until = time.Now()
			if until != "" {
				if o.Until, err = cli.ParseTime(until, time.Now()); err != nil {
					return fmt.Errorf("--until: %w", err)
				}
			}
			return demoData(cmd, args[0], o)
		},
	}
	c.Flags().IntVar(&o.Jobs, "jobs", 300_000, "number of jobs")
	c.Flags().Float64Var(&o.Share, "share", 1, "the part of the jobs that is measured")
	c.Flags().StringVar(&until, "until", "", "the `TIME` when the made-up year ends (default: now)")
	return c
}

// demoData makes the database. It never touches an existing one.
func demoData(cmd *cobra.Command, path string, o demo.Options) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists: demo-data only fills a new database; name another file", path)
	}
	db, err := store.Open(path)
	if err != nil {
		return err
	}
	defer db.Close()
	began := time.Now()
	bar := cli.NewBar("jobs", int64(o.Jobs))
	y := demo.New(o)
	n, err := fillDemo(cmd.Context(), db, y, bar)
	bar.Done()
	if err == nil {
		err = watchDemo(cmd.Context(), db, y, o)
	}
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s in %s after %s; to look at them:\n  jobeffd --database %s --socket /tmp/demo.sock --config /dev/null\n",
		figure.Counted(n, "job"), path, figure.Seconds(time.Since(began).Seconds()), path)
	return err
}

// fillDemo adds the year's jobs. While one batch is written, the next is prepared and the one
// after it made up.
func fillDemo(ctx context.Context, db *store.Store, y *demo.Year, shown cli.Bar) (n int, err error) {
	adding, limited := errgroup.WithContext(ctx)
	adding.SetLimit(3)
	for limited.Err() == nil {
		var batch []*job.Job
		for j := y.Next(); j != nil; j = y.Next() {
			if batch = append(batch, j); len(batch) == demoBatch {
				break
			}
		}
		if len(batch) == 0 {
			break
		}
		n += len(batch)
		shown.Set(int64(n))
		adding.Go(func() error { return db.AddJobs(limited, batch) })
	}
	if err := adding.Wait(); err != nil {
		return n, err
	}
	return n, tellDemo(ctx, db, y.Told())
}

// watchDemo records what jobeffd would know of the site by the year's end: when nodes reported, which of them are slow, up to
// when sacct was read, and since when which share of the jobs was measured.
func watchDemo(ctx context.Context, db *store.Store, y *demo.Year, o demo.Options) error {
	for node, at := range y.Heard() {
		db.HeardOutbox(demo.Cluster, node, wire.OutboxState{}, at)
	}
	_, err := db.Merge(ctx) // writes these
	if err == nil {
		_, err = db.LookAtNodes(ctx, y.End(), func() {})
	}
	for name, at := range map[string]time.Time{store.MarkRead: y.End(), store.MarkCompared: y.Start(), store.MarkShare: store.ShareMark(o.Share)} {
		if err == nil {
			err = db.SetMark(ctx, name, at)
		}
	}
	return err
}

// tellDemo records notices as if they had been sent.
func tellDemo(ctx context.Context, db *store.Store, told []listing.Told) error {
	for _, t := range told {
		m := &notice.Mail{Key: fmt.Sprintf("notice:%s:%s:%d:%s", t.At.Format(time.DateOnly), t.Cluster, t.UID, t.Workload), Kind: notice.MailNotice,
			MessageID: t.Workload + "@demo", Cluster: t.Cluster, UID: t.UID, Decided: t.At, NotBefore: t.At, Told: []listing.Told{t}}
		if _, err := db.DecideMail(ctx, m); err != nil {
			return err
		}
		if err := db.MailSent(ctx, m.Key, t.At); err != nil {
			return err
		}
	}
	return nil
}
