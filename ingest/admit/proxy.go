package admit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Proxy says which proxy is believed. A proxy logs people in and sends their name in a header.
// Anybody can send a header, so the sender must prove who they are. On the unix socket the
// kernel names the user who connected. On a listener for pages (ListenPages) the request holds
// a secret that only root and the proxy can read. An address proves nothing: every user of a
// machine may connect from it.
type Proxy struct {
	Header string   // "X-Forwarded-User"; "": nobody is believed
	Users  []uint32 // the proxy's own user, who connects through the unix socket
	Secret []byte   // expected in SecretHeader on other listeners; empty: nothing is believed
}

// SecretHeader holds the proxy's secret.
const SecretHeader = "X-Jobeff-Proxy-Secret" // #nosec G101 -- the name of a header

// leastSecret is the smallest length of a secret, bytes.
const leastSecret = 16

// ReadSecret reads a proxy's secret from a file that other users may not read.
func ReadSecret(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("server: web.proxy_secret: %s does not exist: make it with (umask 077; openssl rand -hex 32 > %s), and give it to the proxy", path, path)
	}
	if err != nil {
		return nil, fmt.Errorf("server: web.proxy_secret: %w", err)
	}
	if !info.Mode().IsRegular() { // reading a FIFO may never end
		return nil, fmt.Errorf("server: web.proxy_secret: %s is not a regular file", path)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("server: web.proxy_secret: anybody may read %s: chmod o= it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("server: web.proxy_secret: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if len(secret) < leastSecret {
		return nil, fmt.Errorf("server: web.proxy_secret: %s holds fewer than %d characters: openssl rand -hex 32 makes a good one", path, leastSecret)
	}
	return []byte(secret), nil
}
