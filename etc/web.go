package etc

import (
	"fmt"
	"regexp"
)

// Web says how jobeffd identifies the viewer of a page: by which header, and from which proxies it accepts
// that.
type Web struct {
	ProxyHeader string   `toml:"proxy_header"`
	ProxyUsers  []string `toml:"proxy_users"`
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
