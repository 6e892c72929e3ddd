package etc

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func checkShare(v float64) string {
	if math.IsNaN(v) || v < 0 || v > 1 {
		return fmt.Sprintf("%v is not a share: 0 (no job) to 1 (every job)", v)
	}
	return ""
}

func checkRange(v, low, high int) string {
	if v < low || v > high {
		return fmt.Sprintf("%d is out of range: %d to %d", v, low, high)
	}
	return ""
}

func checkNames(names []string) string {
	if slices.Contains(names, "") {
		return "an empty name stands in the list: leave it out"
	}
	return ""
}

func checkPositive(d Duration) string {
	if d <= 0 {
		return "must be more than 0s"
	}
	return ""
}

func checkInterim(d Duration) string {
	if d != 0 && d < Duration(time.Second) {
		return fmt.Sprintf("%v is too often: \"1s\" or more, or \"0s\" for never", d)
	}
	return ""
}

func checkPath(p string, mayBeEmpty bool) string {
	if p == "" && mayBeEmpty || filepath.IsAbs(p) {
		return ""
	}
	return fmt.Sprintf("%q is not an absolute path", p)
}

func checkDatabase(s string) string {
	if filepath.IsAbs(s) || strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://") {
		return ""
	}
	return "it is neither an absolute path nor postgres://USER@HOST:PORT/DATABASE" // its text may hold a password
}

func checkListen(s string) string {
	if s == "" {
		return ""
	}
	if _, port, err := net.SplitHostPort(s); err != nil || port == "" {
		return fmt.Sprintf("%q is not \"HOST:PORT\" (\":6822\" listens on every address)", s)
	}
	return ""
}

func checkOptionalAddress(s string) string {
	if s == "" {
		return ""
	}
	return CheckAddress(s)
}

// CheckAddress says what is wrong with an address of jobeffd, "" if nothing is:
// "unix:/PATH" or "http://HOST:PORT".
func CheckAddress(s string) string {
	if path, ok := strings.CutPrefix(s, "unix:"); ok && filepath.IsAbs(path) {
		return ""
	}
	u, err := url.Parse(s)
	if err == nil && u.Scheme == "http" && u.Port() != "" && u.Hostname() != "" && strings.Trim(u.Path, "/") == "" && u.User == nil && u.RawQuery == "" {
		return ""
	}
	return fmt.Sprintf("%q is not an address of jobeffd: \"unix:/PATH/OF/SOCKET\" or \"http://HOST:PORT\"", s)
}

func checkText(s, what string) string {
	if strings.TrimSpace(s) == "" {
		return "is missing: " + what
	}
	return ""
}

func checkAmount(v float64) string {
	if !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Sprintf("%v is not an amount: 0 or more", v)
	}
	return ""
}

func checkCoverage(v float64) string {
	if !(v >= 0 && v <= 1) {
		return fmt.Sprintf("%v is not a coverage: 0 to 1 (every rank was recorded)", v)
	}
	return ""
}

func checkLink(s string) string {
	if s == "" {
		return ""
	}
	if u, err := url.Parse(s); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return fmt.Sprintf("%q is not the address of a page: \"https://...\"", s)
	}
	return ""
}

func checkOneOf(s string, known ...string) string {
	if slices.Contains(known, s) {
		return ""
	}
	return fmt.Sprintf("%q is none of %s", s, strings.Join(known, ", "))
}

func checkCommand(argv []string) string {
	if len(argv) > 0 && !filepath.IsAbs(argv[0]) {
		return fmt.Sprintf("%q is not an absolute path", argv[0])
	}
	return ""
}
