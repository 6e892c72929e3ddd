package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"jobeff/etc"
)

// hold listens as systemd does, until the test ends: the daemon gets copies of the sockets.
func (d *daemon) hold(t *testing.T, listeners ...net.Listener) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d.held = nil
	for _, l := range listeners {
		f, err := l.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		d.held = append(d.held, f)
	}
	d.program = []string{"/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, self}
	d.env = append(d.env, fmt.Sprint("LISTEN_FDS=", len(listeners)))
}

func listenFor(t *testing.T, network, at string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestSocketsHeld: systemd holds all addresses while jobeffd ends and starts, six times under load, once killed. Nobody is
// refused, and nobody can listen there meanwhile. jobeffd takes the sockets as they are: it neither asks who listens
// on its own one nor removes it.
func TestSocketsHeld(t *testing.T) {
	d := newDaemon(t)
	unix, tcp, metrics := listenFor(t, "unix", d.socket), listenFor(t, "tcp", ":0"), listenFor(t, "tcp", "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(tcp.Addr().String())
	os.WriteFile(filepath.Join(d.dir, "jobeff.toml"), fmt.Appendf(nil, "[server]\nsacct_interval = \"0s\"\nlisten = \":%s\"\nmetrics = %q\n", port, metrics.Addr()), 0o644)
	d.hold(t, tcp, unix, metrics)
	var over atomic.Bool
	var asked atomic.Int64
	var wg sync.WaitGroup
	for _, at := range []string{d.socket, "127.0.0.1:" + port, metrics.Addr().String()} {
		for range 2 {
			wg.Go(func() {
				for !over.Load() {
					if err := askAt(at); err != nil {
						t.Errorf("%s: %v", at, err)
						return
					}
					asked.Add(1)
				}
			})
		}
	}
	for i := range 7 {
		d.start(t)
		for had := asked.Load(); asked.Load() < had+30 && !t.Failed(); time.Sleep(time.Millisecond) {
		}
		how := syscall.SIGTERM
		if i == 6 { // a kill would cut off clients that are being answered
			over.Store(true)
			wg.Wait()
			how = syscall.SIGKILL
		}
		d.stop(how)
		if l, err := net.Listen("tcp", ":"+port); !errors.Is(err, syscall.EADDRINUSE) {
			l.Close()
			t.Error("its port is free while it is away")
		}
	}
	if c, err := net.Dial("unix", d.socket); err != nil {
		t.Errorf("its socket is gone: %v", err)
	} else {
		c.Close()
	}
}

// askAt asks for an answer over a connection of its own.
func askAt(at string) error {
	network, path := "tcp", "/metrics"
	if strings.HasPrefix(at, "/") {
		network, path = "unix", "/healthz"
	}
	c := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, at)
	}}}
	answer, err := c.Get("http://jobeffd" + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// TestSocketsDiffer: where systemd holds other addresses than jobeff.toml has, a daemon ends as with a wrong configuration, and
// says which and what to do.
func TestSocketsDiffer(t *testing.T) {
	d := newDaemon(t)
	unix, tcp := listenFor(t, "unix", d.socket), listenFor(t, "tcp", "127.0.0.1:0")
	for _, c := range []struct {
		name, listen, socket string
		held                 []net.Listener
		want                 string
	}{
		{"one more in the file", tcp.Addr().String(), d.socket, []net.Listener{unix}, "systemd does not hold " + tcp.Addr().String() + " (server.listen) for jobeffd"},
		{"another port", "127.0.0.1:1", d.socket, []net.Listener{unix, tcp}, "systemd holds " + tcp.Addr().String() + " for jobeffd, which no setting names"},
		{"one address of all", strings.Replace(tcp.Addr().String(), "127.0.0.1", "", 1), d.socket, []net.Listener{unix, tcp}, "which no setting names"},
		{"one more in the unit", "", d.socket, []net.Listener{unix, tcp}, "systemd holds " + tcp.Addr().String() + " for jobeffd, which no setting names"},
		{"twice in the unit", "", d.socket, []net.Listener{unix, unix}, "systemd holds " + d.socket + " for jobeffd, which no setting names"},
		{"another socket", "", "/nowhere", []net.Listener{unix}, "systemd holds " + d.socket},
	} {
		d := newDaemon(t)
		d.hold(t, c.held...)
		config := filepath.Join(d.dir, "jobeff.toml")
		os.WriteFile(config, fmt.Appendf(nil, "[server]\nlisten = %q\n", c.listen), 0o644)
		args := append(d.program, "--config", config, "--database", d.db, "--socket", c.socket)
		ctx, cancel := context.WithTimeout(ctx, time.Minute) // one that starts would go on for ever
		defer cancel()
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Env, cmd.ExtraFiles = append(append(os.Environ(), "JOBEFFD_TEST=1"), d.env...), d.held
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != exitConfig || !bytes.Contains(out, []byte(c.want)) ||
			!bytes.HasSuffix(out, []byte("as root, `jobeffd --sockets && systemctl restart jobeffd.socket` writes the addresses of jobeff.toml into the unit\n")) {
			t.Errorf("%s: exit %d: %s", c.name, code, out)
		}
	}
}

// TestWriteSockets: `jobeffd --sockets` gives each unit the addresses of the configuration that its file lacks.
func TestWriteSockets(t *testing.T) {
	const head = "# jobeffd --sockets wrote this from jobeff.toml\n[Socket]\nListenStream=\n"
	dir := t.TempDir()
	for _, c := range []struct {
		name         string
		change       func(*etc.Config)
		writer, read string
	}{
		{"as shipped", func(*etc.Config) {}, "", ""},
		{"a port", func(c *etc.Config) { c.Server.Listen = ":6822" }, head + "ListenStream=/run/jobeffd/jobeffd.sock\nListenStream=6822\n", ""},
		{"a reader", func(c *etc.Config) {
			c.Server.Listen, c.Server.Metrics, c.Client.To = "127.0.0.1:6822", "[::1]:6823", "unix:/run/people/s"
		}, head + "ListenStream=/run/jobeffd/jobeffd.sock\nListenStream=127.0.0.1:6822\nListenStream=[::1]:6823\n",
			head + "ListenStream=/run/people/s\n"},
		{"a reader's port", func(c *etc.Config) { c.Server.Socket, c.Client.To = "/run/100%/s", "http://localhost:6825" },
			head + "ListenStream=/run/100%%/s\n", head + "ListenStream=127.0.0.1:6825\n"},
		{"as shipped again", func(c *etc.Config) { c.Client.To = "unix:/run/jobeffd-read/jobeffd.sock" }, "", ""},
	} {
		cfg := etc.Default()
		c.change(cfg)
		for range 2 { // it may be repeated
			if err := writeSockets(cfg, dir); err != nil {
				t.Fatal(err)
			}
		}
		writer, _ := os.ReadFile(filepath.Join(dir, "jobeffd.socket.d", "jobeff.conf"))
		read, _ := os.ReadFile(filepath.Join(dir, "jobeffd-read.socket.d", "jobeff.conf"))
		if string(writer) != c.writer || string(read) != c.read {
			t.Errorf("%s:\n%s\n%s", c.name, writer, read)
		}
	}
	for at, want := range map[string]string{"/run/a\nExecStartPre=/bin/sh": "server.socket: ", "/run/a\\": "server.socket: "} {
		cfg := etc.Default()
		cfg.Server.Socket = at
		if err := writeSockets(cfg, dir); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", at, err)
		}
	}
}
