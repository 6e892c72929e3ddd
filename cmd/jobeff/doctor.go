package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/etc"
	"jobeff/ingest/client"
	"jobeff/ingest/munge"
	"jobeff/ingest/node"
	"jobeff/policy/harm"
	"jobeff/policy/rule"
	"jobeff/report"
	"jobeff/report/figure"
	"jobeff/report/mail"
	"jobeff/report/words"
)

// doctor checks one machine. Each check appends what it found and never stops the others.
type doctor struct {
	root   string // in front of every path; "" outside tests
	cfg    *etc.Config
	node   bool // a compute node: slurmd runs here
	checks []words.Check
}

func (p *program) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check jobeff on this machine and say how to repair it",
		Long: `doctor checks this machine, a compute node, a login node or the server. It looks at
the configuration, the plugin and the library, the tmpfs of the records, munge, the
connection to jobeffd, the reports that wait on this node, and on a compute node at
what makes one slow (clock, heat, memory errors), and whether NVIDIA's driver keeps
accounts of its GPUs. Each line says ok, warn or fail, and what to do. doctor
changes nothing. It exits with 1 if a check fails. Run it as root: other users
cannot see everything.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor{node: slurmdRuns("/proc")}
			d.examine(cmd.Context())
			if err := report.TextOfChecks(p.stdout, words.OfChecks(d.checks, p.options().Unicode), p.options()); err != nil {
				return err
			}
			for _, c := range d.checks {
				if c.Status == words.Fail {
					return errUnhealthy
				}
			}
			return nil
		},
	}
}

// examine makes all checks, in the order in which a job meets the parts.
func (d *doctor) examine(ctx context.Context) {
	d.configuration()
	d.killSwitch()
	d.plugin(slurmVersion(ctx))
	d.records()
	d.munge()
	d.server(ctx)
	d.signers(ctx)
	d.sockets(ctx)
	d.outbox()
	d.mails()
	d.hardware()
	d.gpus("/proc/self/exe")
}

func (d *doctor) say(s words.Status, what, found, mend string) {
	d.checks = append(d.checks, words.Check{Status: s, What: what, Found: found, Mend: mend})
}

// needed reports a missing part: a failure on a compute node, elsewhere only a warning.
func (d *doctor) needed(what, found, mend string) {
	if d.node {
		d.say(words.Fail, what, found, mend)
		return
	}
	d.say(words.Warn, what, found+" (this machine runs no slurmd: only compute nodes need it)", mend)
}

func (d *doctor) configuration() {
	cfg, err := etc.Load(etc.Path())
	if err != nil {
		d.cfg = etc.Default()
		d.say(words.Fail, "config", err.Error(), "correct the file; until then jobs are not measured and the checks below use the shipped defaults")
		return
	}
	d.cfg = cfg
	if _, err := rule.Compile(cfg.Rules); err != nil {
		d.say(words.Fail, "rules", err.Error(), "correct the file; until then jobeff shows no job")
	}
	switch _, err := os.Stat(etc.Path()); {
	case !cfg.Measure.Enabled:
		d.say(words.Warn, "config", etc.Path()+": [measure] enabled = false: no job is measured", "set it to true, or leave it out")
	case err != nil:
		d.say(words.OK, "config", "no "+etc.Path()+": the shipped defaults", "")
	default:
		d.say(words.OK, "config", etc.Path(), "")
	}
}

func (d *doctor) killSwitch() {
	_, err := os.Lstat(d.root + etc.KillSwitch)
	switch {
	case errors.Is(err, fs.ErrNotExist) && d.cfg.Measure.StopOnHarm && node.Alarm(d.root+d.cfg.Report.Spool):
		d.say(words.Warn, "switch", "jobeffd says that an alarm is up: no new job is measured here (measure.stop_on_harm)", "on the server: jobeff admin alarm")
	case errors.Is(err, fs.ErrNotExist):
		d.say(words.OK, "switch", "no "+etc.KillSwitch+": jobs are measured", "")
	case err != nil:
		d.say(words.Warn, "switch", err.Error(), "run as root")
	default:
		d.say(words.Warn, "switch", etc.KillSwitch+" is there: no new step on this machine is measured", "rm "+etc.KillSwitch)
	}
}

// munge makes a credential and reads it back, where an address needs one.
func (d *doctor) munge() {
	if strings.HasPrefix(d.cfg.Address(), "unix:") && strings.HasPrefix(d.cfg.Report.To, "unix:") {
		d.say(words.OK, "munge", "not needed on the unix socket", "")
		return
	}
	const payload = "jobeff doctor"
	cred, err := munge.Encode(d.cfg.Munge.Socket, []byte(payload), 0)
	if err == nil {
		_, err = munge.Decode(d.cfg.Munge.Socket, cred)
	}
	if err != nil {
		d.say(words.Fail, "munge", err.Error(), "start munged (systemctl status munge); its key must be the same as on the server, and the clocks within 5 min")
		return
	}
	d.say(words.OK, "munge", "made a credential and read it back", "")
}

// server asks jobeffd for its health at each configured address.
func (d *doctor) server(ctx context.Context) {
	var told client.Health // the writer and the reader have one database
	for _, addr := range distinctAddresses(d.cfg) {
		c := client.NewClient(addr, time.Duration(d.cfg.Report.Timeout), cli.Munge(d.cfg))
		said, err := c.Healthy(ctx)
		c.Close()
		if refused := new(client.ServerError); errors.As(err, &refused) && refused.Status == http.StatusUnauthorized {
			d.say(words.Fail, "munge", refused.Message,
				"give all machines the same /etc/munge/munge.key, restart munge on each, and keep the clocks within 5 min. Until then reports wait in the outbox; nothing is lost")
			continue
		}
		if err != nil {
			d.say(words.Fail, "server", plainly(addr, err),
				"on the server: systemctl status jobeffd; here: [report] to and [client] to in "+etc.Path()+". Until then reports wait in the outbox; nothing is lost")
			continue
		}
		d.say(words.OK, "server", "jobeffd answers at "+addr, "")
		if said.Doubt != "" && said.Doubt != told.Doubt {
			d.say(words.Warn, "database", said.Doubt, said.Hint)
		}
		if cannot := words.CannotTell(&harm.Comparison{Cannot: said.CannotTell}); cannot != "" && said.CannotTell != told.CannotTell {
			d.say(words.OK, "harm", cannot, "")
		}
		told = client.Health{Doubt: cmp.Or(said.Doubt, told.Doubt), CannotTell: cmp.Or(said.CannotTell, told.CannotTell)}
	}
}

// signers reports whose signed answers count on this machine, if an address is on TCP. On the server it also prints the line
// to write. There it trusts the unix socket: that lies in jobeffd's own folder, so only jobeffd can answer.
func (d *doctor) signers(ctx context.Context) {
	c := client.NewClient("unix:"+d.root+d.cfg.Server.Socket, time.Duration(d.cfg.Report.Timeout), nil)
	defer c.Close()
	here, err := c.Healthy(ctx)
	site, isServer := cli.Munge(d.cfg), err == nil && here.UID != nil
	if strings.HasPrefix(d.cfg.Address(), "unix:") && strings.HasPrefix(d.cfg.Report.To, "unix:") && (!isServer || d.cfg.Server.Listen == "") {
		return
	}
	mend := "`jobeff admin doctor` on the server prints the line to write"
	if isServer {
		mend = fmt.Sprintf("write server_users = [\"%d\"] below [report] in %s, on all machines", *here.UID, etc.Path())
	}
	switch {
	case isServer && !site.Believes(*here.UID):
		d.say(words.Fail, "signers", fmt.Sprintf("jobeffd here runs as uid %d, but only answers of %s count: nodes keep their reports, and jobeff shows nothing", *here.UID, site.Believed()), mend)
	case len(site.Servers) == 0:
		d.say(words.Warn, "signers", "[report] server_users is not set: an answer over TCP counts if "+site.Believed()+" signed it", mend)
	default:
		d.say(words.OK, "signers", "an answer over TCP counts if "+site.Believed()+" signed it", "")
	}
}

// sockets asks systemd whether it holds the addresses of the daemons that it runs on this machine.
func (d *doctor) sockets(ctx context.Context) {
	for _, daemon := range []string{"jobeffd", "jobeffd-read"} {
		out, _ := exec.CommandContext(ctx, "systemctl", "is-active", daemon+".service", daemon+".socket").Output() // #nosec G204 -- two names
		switch is := strings.Fields(string(out)); {
		case len(is) != 2 || is[0] != "active":
		case is[1] == "active":
			d.say(words.OK, "sockets", "systemd holds the addresses of "+daemon, "")
		default:
			d.say(words.Warn, "sockets", "systemd does not hold the addresses of "+daemon+": while it is away, any user of this machine can take its ports",
				fmt.Sprintf("jobeffd --sockets && systemctl enable %s.socket && systemctl restart %[1]s.socket %[1]s", daemon))
		}
	}
}

// plainly says why jobeffd could not be asked, without the client's hint.
func plainly(addr string, err error) string {
	var unreachable *client.UnreachableError
	if !errors.As(err, &unreachable) {
		return err.Error()
	}
	for err = unreachable.Err; errors.Unwrap(err) != nil; {
		err = errors.Unwrap(err)
	}
	return fmt.Sprintf("jobeffd cannot be reached at %s: %v", addr, err)
}

// distinctAddresses returns the address for reports and that for questions, or only one if they are the same.
func distinctAddresses(cfg *etc.Config) []string {
	if cfg.Address() == cfg.Report.To {
		return []string{cfg.Report.To}
	}
	return []string{cfg.Report.To, cfg.Address()}
}

// oldReport is the age from which a waiting report means trouble.
const oldReport = 10 * time.Minute

// outbox looks at the reports that wait on this node.
func (d *doctor) outbox() {
	spool := d.root + d.cfg.Report.Spool
	dir, refused := node.OutboxDir(spool), node.RefusedDir(spool)
	box, err := node.ReadOutbox(spool)
	found := fmt.Sprintf("%s waiting, the oldest for %v", figure.Count(box.Waiting), box.Oldest.Round(time.Second))
	switch {
	case errors.Is(err, fs.ErrPermission):
		d.say(words.OK, "outbox", "only root can look into "+dir, "")
		return
	case errors.Is(err, fs.ErrNotExist):
		d.needed("outbox", dir+" does not exist", "systemd-tmpfiles --create jobeff.conf")
		return
	case err != nil:
		d.say(words.Fail, "outbox", err.Error(), "check the disk below "+d.cfg.Report.Spool)
		return
	case box.Waiting == 0:
		d.say(words.OK, "outbox", "no report waits", "")
	case box.Oldest < oldReport:
		d.say(words.OK, "outbox", found, "")
	default:
		d.say(words.Warn, "outbox", found,
			"see the server above, then `jobeff-ingest send` as root; systemctl status jobeff-ingest.timer should resend every minute")
	}
	if box.Refused > 0 {
		d.say(words.Warn, "outbox", fmt.Sprintf("%s in %s: refused for good", figure.Count(box.Refused), refused),
			"NAME.reason beside each says why; move them to "+dir+" to try again, or delete them")
	}
	if box.Cut+box.Lost > 0 {
		d.say(words.Fail, "outbox", fmt.Sprintf("it was full: of %s it kept only that their report was dropped, of %s nothing", figure.Counted(box.Cut, "job"), figure.Count(box.Lost)),
			"mend the connection to the server, or raise [report] spool_mib; then delete full.log in "+d.cfg.Report.Spool+", which names the jobs")
	}
}

// slurmdRuns reports whether a process of this machine is slurmd.
func slurmdRuns(proc string) bool {
	names, _ := filepath.Glob(proc + "/[0-9]*/comm")
	for _, name := range names {
		if comm, err := os.ReadFile(name); err == nil && strings.TrimSpace(string(comm)) == "slurmd" {
			return true
		}
	}
	return false
}

// slurmVersion returns the installed Slurm's version as its programs print it, or "" if there is none.
func slurmVersion(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, name := range []string{"slurmd", "sinfo", "srun"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, path, "-V").Output() // #nosec G204 -- the slurmd that runs, or that of PATH
		if fields := strings.Fields(string(out)); err == nil && len(fields) > 1 {
			return fields[1]
		}
	}
	return ""
}

// mails warns if the configuration asks for mails that would never be sent. It is silent if no mail is asked
// for. Only jobeffd's log shows whether a mail arrived.
func (d *doctor) mails() {
	m, asked := &d.cfg.Mail, len(d.cfg.Digest.To)+len(d.cfg.Digest.Accounts) > 0
	switch {
	case !m.Sends() && asked:
		d.say(words.Warn, "mail", "[digest] names people, but [mail] has neither host nor sendmail: no mail is ever sent", "set mail.host, or mail.sendmail")
	case !m.Sends():
	case d.cfg.Notice.Enabled && d.cfg.Notice.Shadow && len(d.cfg.Digest.To) == 0:
		d.say(words.Warn, "mail", "notice.shadow is true and digest.to is empty: the notices to users go to nobody", "set digest.to; notice.shadow = false once you trust what they say")
	default:
		if _, err := mail.Load(m.Templates); err != nil {
			d.say(words.Fail, "mail", err.Error(), "correct the template, or remove it: jobeffd does not start")
			return
		}
		d.say(words.OK, "mail", "can be sent; jobeffd's log says what was", "")
	}
}
