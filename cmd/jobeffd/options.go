package main

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"jobeff/etc"
	"jobeff/ingest/admit"
	"jobeff/ingest/munge"
	"jobeff/ingest/server"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
	"jobeff/policy/notice"
	"jobeff/policy/rule"
	"jobeff/report/mail"
)

// options returns the settings that the servers of both processes share, without the store.
func options(cfg *etc.Config, log zerolog.Logger) (o server.Options, err error) {
	o = server.Options{Log: log, MungeSocket: cfg.Munge.Socket, Open: cfg.Server.Private == etc.PrivateSlurm,
		ReadRate: cfg.Server.ReadRate, Connections: cfg.Server.Connections, Grace: time.Duration(cfg.Server.Grace), Measure: cfg.Measure, Spent: spent}
	if o.Clusters, err = clusters(cfg, log); err != nil {
		return o, configError{err}
	}
	if o.Operators, err = userIDs("server.operators", cfg.Server.Operators); err != nil {
		return o, err
	}
	if err = show(&o, cfg); err != nil {
		return o, err
	}
	o.Proxy.Header = cfg.Web.ProxyHeader
	o.Proxy.Users, err = userIDs("web.proxy_users", cfg.Web.ProxyUsers)
	for _, uid := range o.Proxy.Users { // a proxy asks for pages as somebody else, for all else as itself
		if uid == 0 || uid == uint32(os.Geteuid()) || slices.Contains(o.Operators, uid) {
			return o, fmt.Errorf("web.proxy_users: uid %d may see every job, and so could everybody through the proxy: let the proxy run as a user of its own", uid)
		}
	}
	return o, err
}

// clusters are those that jobeffd tells apart by their keys. Two with the same key could not be told apart.
func clusters(cfg *etc.Config, log zerolog.Logger) (all []admit.Cluster, err error) {
	for _, c := range cfg.Several() {
		all = append(all, admit.Cluster{Name: c.Name, Munge: cmp.Or(c.Munge, cfg.Munge.Socket), Own: c.Munge == ""})
	}
	for i, a := range all {
		for _, b := range all[:i] {
			switch same, err := munge.SameKey(a.Munge, b.Munge); {
			case err != nil:
				log.Warn().Err(err).Str("one", a.Name).Str("other", b.Name).Msg("it is not known whether these clusters have different munge keys")
			case same:
				return nil, fmt.Errorf("cluster.munge: clusters %s and %s have the same munge key, so root of a node of one could report for the other: give each a key of its own, or serve each by a jobeffd of its own", b.Name, a.Name)
			}
		}
	}
	return all, nil
}

var began = time.Now()

// spent is the CPU time of this process, and how long it has run.
func spent() (cpu, up time.Duration) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // its arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), time.Since(began)
}

// show fills in what judging and showing jobs needs: rules, weeks, links and the templates of letters.
func show(o *server.Options, cfg *etc.Config) (err error) {
	o.Weeks, o.Help, o.Link = notice.Weekly{Day: etc.Weekday(cfg.Digest.Day), Zone: cfg.Digest.Location()}, cfg.Mail.Help, cfg.Mail.Link
	if o.Rules, err = rule.Compile(cfg.Rules); err == nil {
		o.Letters, err = mail.Load(cfg.Mail.Templates)
	}
	return err
}

// patience is the time for which attempts that Slurm has not confirmed are kept from people.
func patience(cfg *etc.Config) time.Duration {
	if cfg.Server.SacctInterval == 0 || !slices.ContainsFunc(askedOf(cfg), slurm.Commands.Installed) {
		return 0
	}
	return time.Duration(cfg.Server.Grace)
}

// askedOf is how Slurm is asked, of each of several clusters, or of the one.
func askedOf(cfg *etc.Config) (all []slurm.Commands) {
	for _, c := range cfg.Several() {
		all = append(all, slurm.Commands{Conf: c.SlurmConf, Via: c.SlurmVia, Foreign: c.Munge != ""})
	}
	if len(all) == 0 {
		all = append(all, slurm.Commands{})
	}
	return all
}

// ofSlurm tells the store what it must know of Slurm.
func ofSlurm(db *store.Store, cfg *etc.Config) {
	db.WaitForSlurm(patience(cfg))
	db.TellApart(cfg.SeveralNames())
}

// pollers are those that ask Slurm, one for each cluster: none waits for another's Slurm.
func pollers(cfg *etc.Config, db *store.Store, log zerolog.Logger) (all []*server.Poller) {
	several := cfg.Several()
	for i, ask := range askedOf(cfg) {
		p := server.NewPoller(db, log, time.Duration(cfg.Server.SacctInterval))
		if several != nil {
			p.Of(several[i].Name, ask)
		}
		all = append(all, p)
	}
	return all
}

// userIDs returns the uids of the names under a key of the configuration.
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

// readerAt is the address at which jobeffd --read answers people: client.to, if it names neither
// the socket nor the port of the writer. Otherwise it is "", and the writer answers people.
func readerAt(cfg *etc.Config) string {
	to := cfg.Client.To
	if to == "" || to == "unix:"+cfg.Server.Socket {
		return ""
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(to, "http://"))
	if _, writers, _ := net.SplitHostPort(cfg.Server.Listen); port != "" && port == writers {
		return ""
	}
	return to
}

func closeAll(listeners map[string]net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}
