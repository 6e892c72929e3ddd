package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"jobeff/ingest/admit"
)

// ListenUnix makes the socket, to which everybody on the machine may connect. It replaces a
// socket that a dead jobeffd left, but none that answers.
func ListenUnix(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- everybody may reach the socket
		return nil, fmt.Errorf("server: %w: run jobeffd as root, or name another socket (server.socket or client.to)", err)
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		c.Close()
		return nil, fmt.Errorf("server: another jobeffd answers at %s: stop it, or name another socket (server.socket or client.to)", path)
	}
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("server: %s is in the way and not a socket: remove it, or name another socket (server.socket or client.to)", path)
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("server: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("server: %w: run jobeffd as root, or name another socket (server.socket or client.to)", err)
	}
	if err := os.Chmod(path, 0o666); err != nil { // #nosec G302 -- likewise
		l.Close()
		return nil, fmt.Errorf("server: %w", err)
	}
	return l, nil
}

// ListenTCP listens on "HOST:PORT" for requests with munge credentials.
func ListenTCP(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("server: %w: is that an address of this machine, and is the port free?", err)
	}
	return l, nil
}

// ListenPages listens on "HOST:PORT" for a proxy on this machine.
func ListenPages(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("server: %w: is web.listen an address of this machine, and the port free?", err)
	}
	return admit.Pages(l), nil
}
