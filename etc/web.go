package etc

import (
	"fmt"
	"net"
	"regexp"
)

// Web is what jobeffd shows in browsers, and whom it believes who looks.
type Web struct {
	Listen      string   `toml:"listen"`
	ProxyHeader string   `toml:"proxy_header"`
	ProxyUsers  []string `toml:"proxy_users"`
	ProxySecret string   `toml:"proxy_secret"` // a file
}

// checkListen keeps the pages' listener on this machine, and to proxies that can show
// who they are.
func (w Web) checkListen() string {
	if w.Listen == "" {
		return ""
	}
	if msg := checkListen(w.Listen); msg != "" {
		return msg
	}
	host, _, _ := net.SplitHostPort(w.Listen) // checkListen did it before
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Sprintf("%q is not a loopback address: the proxy's secret would cross the network in the clear; write \"127.0.0.1:PORT\"", w.Listen)
	}
	if w.ProxyHeader == "" || w.ProxySecret == "" {
		return "needs web.proxy_header and web.proxy_secret too: every user of this machine can connect to it"
	}
	return ""
}

const headerName = `^[A-Za-z][A-Za-z0-9-]*$`

func (w Web) checkHeader() string {
	switch {
	case w.ProxyHeader == "" && len(w.ProxyUsers) > 0:
		return "is empty, but web.proxy_users speak for whom it names: write the header that they send, as \"X-Forwarded-User\""
	case w.ProxyHeader != "" && !regexp.MustCompile(headerName).MatchString(w.ProxyHeader):
		return fmt.Sprintf("%q is not the name of a header, as \"X-Forwarded-User\"", w.ProxyHeader)
	}
	return ""
}
