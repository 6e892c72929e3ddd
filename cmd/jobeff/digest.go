package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/etc"
	"jobeff/ingest/client"
	"jobeff/policy/notice"
	"jobeff/report/mail"
	"jobeff/report/view"
)

const digestHelp = `jobeff digest sums up a week: core-hours used and lost by account, user and application,
the ten biggest savings, what got slower or faster with a new executable or MPI library,
what users saved after advice, and how well jobeff itself works. jobeffd mails the same
digest to digest.to every week, see [digest] in jobeff.toml(5). Root and operators see
all accounts, coordinators theirs.`

// digestFlags are the flags of jobeff digest.
type digestFlags struct {
	week, html, cluster string
	json                bool
	accounts            []string
}

func (p *program) digestCommand() *cobra.Command {
	var f digestFlags
	c := &cobra.Command{
		Use:   "digest",
		Short: "Sum up a week, for those who run the cluster",
		Long:  digestHelp,
		Example: `  jobeff digest                        the last whole week
  jobeff digest --week 2026-W46 -A chem
  jobeff digest --html week.html       the mail, as a page
  jobeff digest --json                 all of it, also both yardsticks of what advice saved`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usagef("jobeff digest takes no argument: give the week as --week 2026-W46")
			}
			if f.json && f.html != "" {
				return cli.Usagef("--json and --html are two forms of a digest: leave one of them out")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return p.digest(cmd.Context(), f) },
	}
	c.Flags().StringVar(&f.week, "week", "", "the `WEEK` by its ISO number, as 2026-W46")
	c.Flags().StringSliceVarP(&f.accounts, "account", "A", nil, "only jobs of these `ACCOUNTS`")
	clusterFlag(c, &f.cluster)
	c.Flags().BoolVar(&f.json, "json", false, "print a JSON document")
	c.Flags().StringVar(&f.html, "html", "", "write it as a page to the new `FILE`; - is standard output")
	return c
}

// digest prints the digest of a week, or writes its HTML.
func (p *program) digest(ctx context.Context, f digestFlags) error {
	cfg, err := etc.Load(etc.Path())
	if err != nil {
		return err
	}
	if _, _, err := (notice.Weekly{Zone: time.UTC}).Asked(f.week, p.now().AddDate(0, 0, 1)); err != nil {
		return cli.Usagef("--week: %w", err)
	}
	c := newClient(cfg)
	defer c.Close()
	q := client.DigestQuery{Week: f.week, Cluster: oneCluster(f.cluster), Accounts: f.accounts}
	if f.json {
		return p.document(c.DigestDocument(ctx, q))
	}
	both, err := c.Digest(ctx, q)
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation(both.Zone)
	if err != nil {
		return fmt.Errorf("jobeffd's weeks begin by the clock of %.40q, which is not known here: install tzdata", both.Zone)
	}
	digest := view.NewDigest(notice.NewDigest(both), view.Site{Zone: zone, Help: cfg.Mail.Help, Link: cfg.Mail.Link})
	templates, err := mail.Load(cfg.Mail.Templates)
	if err != nil {
		return err
	}
	letter, err := templates.Digest(digest)
	if err != nil {
		return err
	}
	if f.html == "" {
		_, err = io.WriteString(p.stdout, letter.Text)
		return err
	}
	return p.save(f.html, func(w io.Writer) error { _, err := io.WriteString(w, letter.HTML); return err })
}
