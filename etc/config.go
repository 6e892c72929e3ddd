// Package etc is the shipped configuration of jobeff and its strict reader.
//
// It is at the left end of the flow: the plugin's body, the node side, the
// daemon and the CLI all begin by loading one Config and hand its parts on. The
// embedded jobeff.toml is both the shipped file and, with rare.toml, the only list of defaults.
package etc

import (
	_ "embed"
	"fmt"
	"slices"
)

// Config holds everything that a site can set. Each field's meaning and default are next to its key in
// jobeff.toml, or in rare.toml if hardly any site changes it.
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
	Clusters  []Cluster `toml:"cluster"`
	Rules     []Rule    `toml:"rule"`
}

// Measure says which jobs are measured on the compute nodes.
type Measure struct {
	Enabled           bool     `toml:"enabled"`
	Share             float64  `toml:"share"` // fraction of jobs, 0 to 1
	StopOnHarm        bool     `toml:"stop_on_harm"`
	Partitions        []string `toml:"partitions"`
	ExcludePartitions []string `toml:"exclude_partitions"`
	Counters          bool     `toml:"counters"`    // hardware counters, where a machine has them
	RecordMiB         int      `toml:"record_mib"`  // MiB per job and node
	WindowsMiB        int      `toml:"windows_mib"` // … of these, for the calls of sampled windows
}

// Covers reports whether jobs of a partition are measured.
func (m *Measure) Covers(partition string) bool {
	return (len(m.Partitions) == 0 || slices.Contains(m.Partitions, partition)) && !slices.Contains(m.ExcludePartitions, partition)
}

// Draws reports whether a job is in the measured share of the jobs. Its id decides, so all nodes of a
// job agree, and a requeued job stays what it was.
func (m *Measure) Draws(jobID uint32) bool { return draw(jobID) < m.Share }

// Coin is the chance that a job of these partitions has to be measured.
func (m *Measure) Coin() float64 {
	if !m.Enabled {
		return 0
	}
	return m.Share
}

// draw maps job ids evenly to [0, 1) (splitmix64).
func draw(jobID uint32) float64 {
	z := uint64(jobID) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}

// Workload says what jobeff keeps of a run to find other runs of the same work.
type Workload struct {
	Arguments bool `toml:"arguments"` // as text; their hash always is
}

// Report says how a node's reports reach the server.
type Report struct {
	To      string   `toml:"to"`
	Spool   string   `toml:"spool"`
	Timeout Duration `toml:"timeout"` // of one request
	// ServerUsers are the users, by name or uid, whose signature jobeffd's answers may have. If none is named:
	// root, or any uid below 1000.
	ServerUsers []string `toml:"server_users"`
	// SpoolMiB bounds the room that waiting reports take, MiB.
	SpoolMiB int `toml:"spool_mib"`
	// Interim is the time between two reports on a running job; 0: there are none.
	Interim Duration `toml:"interim"`
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
	Connections   int      `toml:"connections"`    // at once of one user or address; 0: any
	StrictNode    bool     `toml:"strict_node"`
	Grace         Duration `toml:"grace"`      // after a job's end on a node, until its report is late
	HungAfter     Duration `toml:"hung_after"` // nothing of a job moves for so long: it hangs; 0: nobody looks
}

// Who may see other users' jobs, besides coordinators and operators.
const (
	PrivateAlways = "always" // nobody
	PrivateSlurm  = "slurm"  // everybody, unless Slurm's PrivateData has jobs
)

// Retention says how long jobeffd keeps jobs and their ranks; 0 means for ever.
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
	Socket  string `toml:"socket"`
	Cluster string `toml:"cluster"` // of several that jobeffd serves, the one whose key the socket has
}

// check returns the first key with a wrong value, and what is wrong with it.
func (c *Config) check() (key, msg string) {
	for _, v := range []struct{ key, msg string }{
		{"measure.share", checkShare(c.Measure.Share)},
		{"measure.record_mib", checkRange(c.Measure.RecordMiB, 1, 4<<10)},
		{"measure.windows_mib", checkRange(c.Measure.WindowsMiB, 0, 16)},
		{"measure.partitions", checkNames(c.Measure.Partitions)},
		{"measure.exclude_partitions", checkNames(c.Measure.ExcludePartitions)},
		{"report.to", CheckAddress(c.Report.To)},
		{"report.spool", checkPath(c.Report.Spool, false)},
		{"report.timeout", checkPositive(c.Report.Timeout)},
		{"report.server_users", checkNames(c.Report.ServerUsers)},
		{"report.spool_mib", checkRange(c.Report.SpoolMiB, 1, 1<<20)},
		{"report.interim", checkInterim(c.Report.Interim)},
		{"server.socket", checkPath(c.Server.Socket, true)},
		{"server.listen", checkListen(c.Server.Listen)},
		{"server.database", checkDatabase(c.Server.Database)},
		{"server.operators", checkNames(c.Server.Operators)},
		{"server.private", checkPrivate(c.Server.Private)},
		{"server.metrics", checkListen(c.Server.Metrics)},
		{"server.report_rate", checkRange(c.Server.ReportRate, 0, 1<<20)},
		{"server.read_rate", checkRange(c.Server.ReadRate, 0, 1<<20)},
		{"server.connections", checkRange(c.Server.Connections, 0, 1<<20)},
		{"server.grace", checkPositive(c.Server.Grace)},
		{"web.proxy_header", c.Web.checkHeader()},
		{"web.proxy_users", checkNames(c.Web.ProxyUsers)},
		{"retention.ranks", checkRetention(c.Retention)},
		{"client.to", checkOptionalAddress(c.Client.To)},
		{"munge.socket", checkPath(c.Munge.Socket, true)},
		{"munge.cluster", checkClusterName(c.Munge.Cluster, true)},
	} {
		if v.msg != "" {
			return v.key, v.msg
		}
	}
	return checkMail(&c.Mail, &c.Digest, &c.Notice)
}

func checkPrivate(s string) string {
	if s != PrivateAlways && s != PrivateSlurm {
		return fmt.Sprintf("%q is neither %q nor %q", s, PrivateAlways, PrivateSlurm)
	}
	return ""
}

func checkRetention(r Retention) string {
	if r.Jobs > 0 && r.Ranks > r.Jobs {
		return fmt.Sprintf("%s is longer than retention.jobs, %s", r.Ranks, r.Jobs)
	}
	return ""
}

// Version is set by the build (Makefile, -X).
var Version = "dev"
