package main

import (
	"errors"
	"net"
	"strings"

	"jobeff/etc"
	"jobeff/ingest/server"
)

// listen opens what the writer's part of the configuration names; a socket or a port at least.
func listen(cfg *etc.Config) (all []net.Listener, err error) {
	if cfg.Server.Socket == "" && cfg.Server.Listen == "" {
		return nil, errors.New("server.socket and server.listen are both empty: nobody could reach jobeffd; set one of them")
	}
	web := cfg.Web.Listen
	if readerAt(cfg) != "" {
		web = "" // the reader's
	}
	return listenAt([]way{{cfg.Server.Socket, server.ListenUnix}, {cfg.Server.Listen, server.ListenTCP}, {web, server.ListenPages}})
}

// listenForPeople opens what the reader's part of the configuration names.
func listenForPeople(cfg *etc.Config) ([]net.Listener, error) {
	at := readerAt(cfg)
	if at == "" {
		return nil, errors.New(`jobeffd --read needs an address of its own: set client.to, for example to "unix:/run/jobeffd-read/jobeffd.sock"`)
	}
	people := way{strings.TrimPrefix(at, "http://"), server.ListenTCP}
	if path, ok := strings.CutPrefix(at, "unix:"); ok {
		people = way{path, server.ListenUnix}
	}
	return listenAt([]way{people, {cfg.Web.Listen, server.ListenPages}})
}

// readerAt is where jobeffd --read answers people; "": the writer does. client.to tells: it then
// names another socket or port than the writer's.
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

// way is an address and how one listens there.
type way struct {
	at     string // "": not at all
	listen func(string) (net.Listener, error)
}

// listenAt opens all, or none.
func listenAt(ways []way) (all []net.Listener, err error) {
	for _, w := range ways {
		if w.at == "" {
			continue
		}
		l, err := w.listen(w.at)
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
