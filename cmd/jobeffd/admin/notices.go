package admin

import (
	"time"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/cmd/jobeffd/notify"
	"jobeff/etc"
	"jobeff/ingest/store"
	"jobeff/report/mail"
	"jobeff/report/view"
)

func (f *databaseFlags) noticesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "notices",
		Long: `notices shows the mail that each user would get now, and what is held back and why.
It sends nothing and keeps nothing. Look at it before you switch mails on: it needs no
mail server, and reads [notice] and the rules of jobeff.toml.`,
		Example: "  jobeff admin notices",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := etc.Load(etc.Path())
			if err != nil {
				return err
			}
			return f.beside(func(s *store.Store) error {
				mails, held, err := notify.Preview(cmd.Context(), cfg, s, time.Now())
				if err != nil {
					return err
				}
				templates, err := mail.Load(cfg.Mail.Templates)
				if err != nil {
					return err
				}
				return mail.Preview(cmd.OutOrStdout(), templates, mails, held, view.Site{Zone: cfg.Digest.Location(), Help: cfg.Mail.Help, Link: cfg.Mail.Link})
			})
		},
	}
}
