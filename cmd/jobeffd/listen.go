package main

import (
	"errors"
	"net"
	"strings"

	"jobeff/etc"
	"jobeff/ingest/server"
)

// listen opens the writer's addresses. It needs a socket or a port at least.
func listen(cfg *etc.Config) (all []net.Listener, err error) {
	if cfg.Server.Socket == "" && cfg.Server.Listen == "" {
		return nil, errors.New("server.socket and server.listen are both empty: nobody could reach jobeffd; set one of them")
	}
	return listenAt([]way{{cfg.Server.Socket, server.ListenUnix}, {cfg.Server.Listen, server.ListenTCP}, {cfg.Web.Listen, server.ListenPages}})
}

// listenForPeople opens the reader's addresses.
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

// way is an address, and how to listen there.
type way struct {
	at     string // "": not at all
	listen func(string) (net.Listener, error)
}

// listenAt opens all addresses, or none.
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
