package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"

	"jobeff/etc"
	"jobeff/ingest/server"
)

// unit is the socket unit in which systemd holds a daemon's addresses, so that nobody can take them while the daemon is away.
type unit struct {
	name    string
	shipped string // the address in the unit's file
	ways    []way
}

// way is an address, and how to listen there.
type way struct {
	key    string // its setting
	at     string // "": not at all
	listen func(string) (net.Listener, error)
}

const metricsKey = "server.metrics"

// writersUnit has the addresses of the jobeffd that takes reports.
func writersUnit(cfg *etc.Config) unit {
	return unit{"jobeffd.socket", etc.Default().Server.Socket, []way{{"server.socket", cfg.Server.Socket, server.ListenUnix},
		{"server.listen", cfg.Server.Listen, server.ListenTCP}, {metricsKey, cfg.Server.Metrics, server.ListenTCP}}}
}

// readersUnit has the addresses of jobeffd --read, none where client.to names none.
func readersUnit(cfg *etc.Config) unit {
	u := unit{"jobeffd-read.socket", "/run/jobeffd-read/jobeffd.sock", nil}
	at := readerAt(cfg)
	if path, ok := strings.CutPrefix(at, "unix:"); ok {
		u.ways = []way{{"client.to", path, server.ListenUnix}}
	} else if at != "" {
		u.ways = []way{{"client.to", strings.TrimPrefix(at, "http://"), server.ListenTCP}}
	}
	return u
}

// listen opens all addresses, by setting, or none. Where systemd holds sockets for this process, it takes them from there.
func (u unit) listen() (all map[string]net.Listener, err error) {
	held, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("the sockets of systemd: %w", err)
	}
	defer func() {
		if err != nil {
			closeAll(all)
			all = nil
		}
	}()
	if all, err = u.take(held); err == nil && len(held) == 0 {
		all, err = u.open()
	}
	return all, err
}

// open listens without systemd.
func (u unit) open() (map[string]net.Listener, error) {
	all := map[string]net.Listener{}
	for _, w := range u.ways {
		if w.at == "" {
			continue
		}
		l, err := w.listen(w.at)
		if err != nil {
			return all, fmt.Errorf("%s: %w", w.key, err)
		}
		all[w.key] = l
	}
	return all, nil
}

// take matches our addresses with the sockets that systemd holds, if it holds any. Neither side may have one more: nobody
// would answer at a further socket, and any user could take an address that systemd does not hold.
func (u unit) take(held []net.Listener) (map[string]net.Listener, error) {
	all := map[string]net.Listener{}
	for _, l := range held {
		i := slices.IndexFunc(u.ways, func(w way) bool { return all[w.key] == nil && w.isAt(l) })
		if i < 0 {
			return all, u.differs("systemd holds %s for jobeffd, which no setting names", address(l))
		}
		all[u.ways[i].key] = l
	}
	for _, w := range u.ways {
		if len(held) > 0 && w.at != "" && all[w.key] == nil {
			return all, u.differs("systemd does not hold %s (%s) for jobeffd", w.at, w.key)
		}
	}
	return all, nil
}

// differs is the error for a configuration that does not match the socket unit.
func (u unit) differs(format string, args ...any) error {
	return configError{fmt.Errorf(format+": as root, `jobeffd --sockets && systemctl restart %s` writes the addresses of jobeff.toml into the unit", append(args, u.name)...)}
}

func address(l net.Listener) string {
	if l == nil {
		return "something that is no listening socket"
	}
	return l.Addr().String()
}

// isAt reports whether a listener has the address. ":6822" is every address of the machine.
func (w way) isAt(l net.Listener) bool {
	if l == nil {
		return false
	}
	is, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return l.Addr().String() == w.at
	}
	want, err := net.ResolveTCPAddr("tcp", w.at)
	return err == nil && want.Port == is.Port && (want.IP.Equal(is.IP) || everywhere(want) && everywhere(is))
}

func everywhere(a *net.TCPAddr) bool { return a.IP == nil || a.IP.IsUnspecified() }

// tellSystemd writes the addresses of both daemons into their socket units. systemd opens them when a unit starts next.
func tellSystemd(cfg *etc.Config) error {
	if err := writeSockets(cfg, "/etc/systemd/system"); err != nil {
		return err
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return nil // systemd does not run here
	}
	if out, err := exec.Command("systemctl", "daemon-reload").CombinedOutput(); err != nil {
		return fmt.Errorf("systemctl daemon-reload: %w: %s", err, out)
	}
	return nil
}

// writeSockets writes the addresses below the folder of a machine's own units.
func writeSockets(cfg *etc.Config, dir string) error {
	for _, u := range []unit{writersUnit(cfg), readersUnit(cfg)} {
		text, err := u.text()
		if err != nil {
			return configError{err}
		}
		file := filepath.Join(dir, u.name+".d", "jobeff.conf")
		if text == "" {
			err = os.Remove(file)
		} else if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil { // #nosec G301 -- as systemd's folders are
			err = os.WriteFile(file, []byte(text), 0o644) // #nosec G306 -- likewise
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: run jobeffd --sockets as root", err)
		}
	}
	return nil
}

// text returns the drop-in file that gives the unit our addresses; "" if the unit's own file has them.
func (u unit) text() (string, error) {
	var streams []string
	for _, w := range u.ways {
		if w.at == "" {
			continue
		}
		s, err := w.stream()
		if err != nil {
			return "", fmt.Errorf("%s: %w", w.key, err)
		}
		streams = append(streams, s)
	}
	if len(streams) == 0 || slices.Equal(streams, []string{u.shipped}) {
		return "", nil
	}
	return "# jobeffd --sockets wrote this from jobeff.toml\n[Socket]\nListenStream=\nListenStream=" + strings.Join(streams, "\nListenStream=") + "\n", nil
}

// stream returns the address as systemd reads it.
func (w way) stream() (string, error) {
	if strings.HasPrefix(w.at, "/") {
		if strings.ContainsFunc(w.at, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
			return "", fmt.Errorf("%q: systemd's units take no blanks and backslashes: name another path", w.at)
		}
		return strings.ReplaceAll(w.at, "%", "%%"), nil
	}
	a, err := net.ResolveTCPAddr("tcp", w.at)
	if err != nil {
		return "", fmt.Errorf("%w: write an address of this machine", err)
	}
	if everywhere(a) {
		return fmt.Sprint(a.Port), nil
	}
	return strings.ReplaceAll(a.String(), "%", "%%"), nil
}
