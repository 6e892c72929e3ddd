package main

import (
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
	"jobeff/ingest/server"
	"jobeff/ingest/slurm"
	"jobeff/policy/notice"
	"jobeff/policy/rule"
	"jobeff/report/mail"
)

// options returns the settings that the servers of both processes share, without the store.
func options(cfg *etc.Config, log zerolog.Logger) (o server.Options, err error) {
	o = server.Options{Log: log, MungeSocket: cfg.Munge.Socket, Open: cfg.Server.Private == etc.PrivateSlurm,
		ReadRate: cfg.Server.ReadRate, Connections: cfg.Server.Connections, Grace: time.Duration(cfg.Server.Grace), Measure: cfg.Measure, Spent: spent}
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
func patience(s etc.Server) time.Duration {
	if s.SacctInterval == 0 || !slurm.Installed() {
		return 0
	}
	return time.Duration(s.Grace)
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
