// Package etc is the shipped configuration of jobeff and its strict reader.
//
// It stands at the left end of the flow: the plugin's body, the node side, the
// daemon and the CLI all begin by loading one Config and hand its parts on. The
// embedded jobeff.toml is both the shipped file and the only list of defaults.
package etc

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// DefaultPath is where the configuration is looked for when nobody names another.
const DefaultPath = "/etc/jobeff/jobeff.toml"

// KillSwitch is the file whose existence switches measuring off, whatever the
// configuration says.
const KillSwitch = "/etc/jobeff/off"

// maxFileBytes bounds what Load reads: no real configuration comes near it.
const maxFileBytes = 256 << 10

//go:embed jobeff.toml
var shipped []byte

// Config is everything that can be set. Each field's meaning and default stand
// beside its key in jobeff.toml.
type Config struct {
	Measure   Measure   `toml:"measure"`
	Workload  Workload  `toml:"workload"`
	Report    Report    `toml:"report"`
	Server    Server    `toml:"server"`
	Retention Retention `toml:"retention"`
	Web       Web       `toml:"web"`
	Client    Client    `toml:"client"`
	Munge     Munge     `toml:"munge"`
	Mail      Mail      `toml:"mail"`
	Digest    Digest    `toml:"digest"`
	Notice    Notice    `toml:"notice"`
	Rules     []Rule    `toml:"rule"`
}

// Measure says which jobs are measured on the compute nodes.
type Measure struct {
	Enabled           bool     `toml:"enabled"`
	Share             float64  `toml:"share"` // fraction of jobs, 0 to 1
	Partitions        []string `toml:"partitions"`
	ExcludePartitions []string `toml:"exclude_partitions"`
	Counters          bool     `toml:"counters"`   // hardware counters, where a machine has them
	RecordMiB         int      `toml:"record_mib"` // MiB per job and node
}

// Workload says what is kept of what tells which runs are of the same work.
type Workload struct {
	Arguments bool `toml:"arguments"` // as text; their hash always is
}

// Report says how a node's reports reach the server.
type Report struct {
	To      string   `toml:"to"`
	Spool   string   `toml:"spool"`
	Timeout Duration `toml:"timeout"` // of one request
	// SpoolMiB is how much the reports that wait, or were refused, may take, MiB.
	SpoolMiB int `toml:"spool_mib"`
}

// Server is the accounting daemon, jobeffd.
type Server struct {
	Socket        string   `toml:"socket"`
	Listen        string   `toml:"listen"`
	Database      string   `toml:"database"`
	Operators     []string `toml:"operators"`
	SacctInterval Duration `toml:"sacct_interval"` // 0: Slurm is never asked
	Private       string   `toml:"private"`        // PrivateAlways or PrivateSlurm
	Metrics       string   `toml:"metrics"`        // HOST:PORT for Prometheus; "": none
	ReportRate    int      `toml:"report_rate"`    // reports per second of one node; 0: any
	ReadRate      int      `toml:"read_rate"`      // requests per second of one user; 0: any
	StrictNode    bool     `toml:"strict_node"`
	Grace         Duration `toml:"grace"` // after a job's end on a node, until its report is late
}

// Who may see other users' jobs, besides coordinators and operators.
const (
	PrivateAlways = "always" // nobody
	PrivateSlurm  = "slurm"  // everybody, unless Slurm's PrivateData has jobs
)

// Retention is how long jobeffd keeps what; 0 is for ever.
type Retention struct {
	Ranks Days `toml:"ranks"` // what is known of each rank
	Jobs  Days `toml:"jobs"`  // jobs; sums of their months stay
}

// Client is the command jobeff.
type Client struct {
	To string `toml:"to"`
}

// Address is where the CLI finds jobeffd: client.to, else report.to.
func (c *Config) Address() string {
	if c.Client.To != "" {
		return c.Client.To
	}
	return c.Report.To
}

// Munge is the authentication between machines.
type Munge struct {
	Socket string `toml:"socket"`
}

// Duration is a time span written as Go writes it: "5s", "1m30s", "500ms".
type Duration time.Duration

// UnmarshalText reads "5s"; a bare number has no unit and is refused.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a time span: write it like \"5s\", \"1m30s\" or \"500ms\"", text)
	}
	if v < 0 {
		return fmt.Errorf("%q is negative: a time span is \"0s\" or more", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes the span as UnmarshalText reads it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is the span as time.Duration prints it.
func (d Duration) String() string { return time.Duration(d).String() }

// Days is a time span in whole days: "90d".
type Days time.Duration

// UnmarshalText reads "90d", or "90days" as sacct's times have it.
func (d *Days) UnmarshalText(text []byte) error {
	number, unit := string(text), false
	for _, u := range []string{"d", "day", "days"} {
		if n, ends := strings.CutSuffix(string(text), u); ends {
			number, unit = n, true
		}
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n > 99_999 || !unit && number != "0" {
		return fmt.Errorf("%q is not a number of days: write it like \"90d\", or \"0\" for ever", text)
	}
	*d = Days(time.Duration(n) * 24 * time.Hour)
	return nil
}

// MarshalText writes the span as UnmarshalText reads it.
func (d Days) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is the number of days: "90d".
func (d Days) String() string { return fmt.Sprintf("%dd", time.Duration(d)/(24*time.Hour)) }

// Default is the shipped configuration. It panics only if the embedded file is
// broken, which a test excludes.
func Default() *Config {
	c := new(Config)
	if err := decode(c, "built-in jobeff.toml", shipped); err != nil {
		panic(err)
	}
	return c
}

// Shipped is the text of the embedded jobeff.toml, with its comments.
func Shipped() []byte { return append([]byte(nil), shipped...) }

// Path is the configuration file of a command that a person or a unit starts:
// $JOBEFF_CONFIG, else DefaultPath. Root's code in Slurm's contexts must not call
// it, since a job's environment may reach it there.
func Path() string {
	if p := os.Getenv("JOBEFF_CONFIG"); p != "" {
		return p
	}
	return DefaultPath
}

// Load reads the file at path over the shipped defaults; "" means DefaultPath.
// That DefaultPath is missing is no error; any other path must exist.
func Load(path string) (*Config, error) {
	if path == "" {
		path = DefaultPath
	}
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) && path == DefaultPath {
		return Default(), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("configuration %s does not exist: name another with JOBEFF_CONFIG, or unset it to use %s", path, DefaultPath)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration cannot be read: %w", err)
	}
	c := Default()
	if err := decode(c, path, text); err != nil {
		return nil, err
	}
	return c, nil
}

// read returns a file's text, refusing what is no configuration by its size.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d KiB", path, maxFileBytes>>10)
	}
	return text, nil
}
