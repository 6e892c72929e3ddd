package etc

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// decode reads TOML over what c holds, then checks it. Every error begins with
// file:line.
func decode(c *Config, file string, text []byte) error {
	doc := document{Config: c}
	md, err := toml.Decode(string(text), &doc)
	own := make([]Rule, len(doc.Rules))
	for i := range own {
		if err == nil {
			err = md.PrimitiveDecode(doc.Rules[i], &own[i])
		}
	}
	if err != nil {
		return syntaxError(file, err)
	}
	if unknown := md.Undecoded(); len(unknown) > 0 {
		return unknownKey(file, text, unknown[0])
	}
	if key, msg := c.check(); msg != "" {
		return fmt.Errorf("%s:%d: %s: %s", file, lineOf(text, strings.Split(key, ".")), key, msg)
	}
	set := make([]map[string]any, len(own)) // last: it counts unknown keys as decoded
	for i := range set {
		if err := md.PrimitiveDecode(doc.Rules[i], &set[i]); err != nil {
			return syntaxError(file, err)
		}
	}
	c.Rules, err = mergeRules(c.Rules, own, set, file, text)
	return err
}

// document is a file as the toml package fills it: its rules are laid over those that are
// known, not over the first of them.
type document struct {
	*Config
	Rules []toml.Primitive `toml:"rule"`
}

// typeError is the toml package's wording of a value of the wrong type; the line
// is missing there when a whole table has the wrong type. It is compiled where it is needed:
// every command would wait for it at its start.
const typeError = `^toml: (?:line (\d+) )?\(last key "([^"]*)"\): (?:incompatible types: TOML value has type (\S+); destination has type (\S+)|(.*))$`

// syntaxError puts file:line in front of the toml package's errors.
func syntaxError(file string, err error) error {
	var parse toml.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: %s", file, max(parse.Position.Line, 1), parse.Message)
	}
	m := regexp.MustCompile(typeError).FindStringSubmatch(err.Error())
	if m == nil {
		return fmt.Errorf("%s:1: %w", file, err)
	}
	line, _ := strconv.Atoi(m[1])
	what := m[5]
	if what == "" {
		what = fmt.Sprintf("wants a value of type %s, not %s", typeName(m[4]), typeName(m[3]))
	}
	return fmt.Errorf("%s:%d: %s: %s", file, max(line, 1), m[2], what)
}

// typeName is a type in TOML's words.
func typeName(s string) string {
	switch s {
	case "bool":
		return "boolean (true or false)"
	case "int64", "int":
		return "integer"
	case "float64":
		return "number"
	case "slice", "[]interface", "[]any", "[]interface {}":
		return "list"
	case "map[string]interface", "map[string]any", "map[string]interface {}", "map", "struct":
		return "table"
	}
	return s
}

var configType = reflect.TypeFor[Config]()

// unknownKey names the key, its line and the keys that would be known there.
func unknownKey(file string, text []byte, key toml.Key) error {
	known, parent := knownKeys(configType, key)
	where := "here"
	if parent != "" {
		where = "in [" + parent + "]"
	}
	return fmt.Errorf("%s:%d: unknown key %q (known %s: %s)",
		file, lineOf(text, key), key.String(), where, strings.Join(known, ", "))
}

// knownKeys lists the keys of the innermost table on key's way that exists.
func knownKeys(t reflect.Type, key []string) (known []string, parent string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("toml")
		table := f.Type
		if table == reflect.TypeFor[[]Rule]() {
			table = ruleType
		}
		if name == key[0] && table.Kind() == reflect.Struct && len(key) > 1 {
			known, parent = knownKeys(table, key[1:])
			return known, strings.TrimSuffix(name+"."+parent, ".")
		}
		if name != "" {
			known = append(known, name)
		}
	}
	return known, ""
}

// lineOf is the line where a key is first set, 1 where it never is.
func lineOf(text []byte, key []string) int {
	return max(1, firstLine(text, func(tree map[string]any) bool { return defined(tree, key) }))
}

// check returns the first key whose value cannot be meant, and why.
func (c *Config) check() (key, msg string) {
	for _, v := range []struct{ key, msg string }{
		{"measure.share", checkShare(c.Measure.Share)},
		{"measure.record_mib", checkRange(c.Measure.RecordMiB, 1, 64<<10)},
		{"measure.partitions", checkNames(c.Measure.Partitions)},
		{"measure.exclude_partitions", checkNames(c.Measure.ExcludePartitions)},
		{"report.to", CheckAddress(c.Report.To)},
		{"report.spool", checkPath(c.Report.Spool, false)},
		{"report.timeout", checkPositive(c.Report.Timeout)},
		{"report.spool_mib", checkRange(c.Report.SpoolMiB, 1, 1<<20)},
		{"server.socket", checkPath(c.Server.Socket, true)},
		{"server.listen", checkListen(c.Server.Listen)},
		{"server.database", checkDatabase(c.Server.Database)},
		{"server.operators", checkNames(c.Server.Operators)},
		{"server.private", checkPrivate(c.Server.Private)},
		{"server.metrics", checkListen(c.Server.Metrics)},
		{"server.report_rate", checkRange(c.Server.ReportRate, 0, 1<<20)},
		{"server.read_rate", checkRange(c.Server.ReadRate, 0, 1<<20)},
		{"server.grace", checkPositive(c.Server.Grace)},
		{"web.listen", c.Web.checkListen()},
		{"web.proxy_header", c.Web.checkHeader()},
		{"web.proxy_users", checkNames(c.Web.ProxyUsers)},
		{"web.proxy_secret", checkPath(c.Web.ProxySecret, true)},
		{"retention.ranks", checkRetention(c.Retention)},
		{"client.to", checkOptionalAddress(c.Client.To)},
		{"munge.socket", checkPath(c.Munge.Socket, true)},
	} {
		if v.msg != "" {
			return v.key, v.msg
		}
	}
	return c.checkMail()
}

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

func checkPrivate(s string) string {
	if s != PrivateAlways && s != PrivateSlurm {
		return fmt.Sprintf("%q is neither %q nor %q", s, PrivateAlways, PrivateSlurm)
	}
	return ""
}

func checkPositive(d Duration) string {
	if d <= 0 {
		return "must be more than 0s"
	}
	return ""
}

func checkPath(p string, mayBeEmpty bool) string {
	if p == "" && mayBeEmpty || filepath.IsAbs(p) {
		return ""
	}
	return fmt.Sprintf("%q is not an absolute path", p)
}

func checkRetention(r Retention) string {
	if r.Jobs > 0 && r.Ranks > r.Jobs {
		return fmt.Sprintf("%s is longer than retention.jobs, %s", r.Ranks, r.Jobs)
	}
	return ""
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
