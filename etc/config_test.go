package etc

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/test/trial"
)

// bare leaves out the rules, which rule_test.go looks at.
var bare = cmpopts.IgnoreFields(Config{}, "Rules")

var update = flag.Bool("update", false, "write the got texts as the golden ones")

func TestShippedIsTheDefault(t *testing.T) {
	want := &Config{
		Retention: Retention{Ranks: Days(90 * 24 * time.Hour), Jobs: Days(400 * 24 * time.Hour)},
		Measure:   Measure{Enabled: true, Share: 1, Partitions: []string{}, ExcludePartitions: []string{}, RecordMiB: 64, WindowsMiB: 4},
		Report:    Report{To: "unix:/run/jobeffd/jobeffd.sock", Spool: "/var/spool/jobeff", Timeout: Duration(5 * time.Second), ServerUsers: []string{}, SpoolMiB: 256, Interim: Duration(10 * time.Minute)},
		Server: Server{Socket: "/run/jobeffd/jobeffd.sock", Database: "/var/lib/jobeff/jobeff.db",
			Operators: []string{}, SacctInterval: Duration(30 * time.Second), Private: PrivateAlways,
			ReportRate: 1000, ReadRate: 50, Connections: 100, Grace: Duration(10 * time.Minute), HungAfter: Duration(30 * time.Minute)},
		Web: Web{ProxyUsers: []string{}},
		Mail: Mail{Port: 25, TLS: TLSIfOffered, Sendmail: []string{}, From: "jobeff <jobeff@localhost>", Address: "{user}@localhost",
			AddressCommand: []string{}, Help: "your site's support", Templates: "/etc/jobeff/templates"},
		Digest: Digest{To: []string{}, Day: "monday", Hour: 7, Zone: "Local", Accounts: map[string][]string{}},
		Notice: Notice{Enabled: true, Shadow: true, Day: "tuesday", Hour: 9, QuietFrom: 20, QuietTo: 7, CoolDown: Duration(672 * time.Hour), LeastCoreHours: 100, LeastShare: 0.05},
	}
	if d := cmp.Diff(want, Default(), bare); d != "" {
		t.Fatal(d)
	}
}

// mostKeys bounds the settings that an admin has to read.
const mostKeys = 35

// TestEveryKeyIsShipped: each key is in one of the two files, else it would have no default, or two. Few are in jobeff.toml.
func TestEveryKeyIsShipped(t *testing.T) {
	read := 0
	for _, table := range []string{"measure", "workload", "report", "server", "retention", "web", "client", "munge", "mail", "digest", "notice", "rule"} {
		known, _ := knownKeys(configType, []string{table, "x"})
		for _, key := range known {
			in := func(text []byte) bool { return NewFile("", text).lineOf([]string{table, key}) > 1 }
			if in(shipped) == in(rare) {
				t.Errorf("%s.%s: in jobeff.toml %v, in rare.toml %v", table, key, in(shipped), in(rare))
			}
			if in(shipped) && table != "rule" {
				read++
			}
		}
	}
	if read > mostKeys {
		t.Errorf("jobeff.toml has %d settings apart from rules", read)
	}
}

// TestClusterExample: the example of a [[cluster]] in rare.toml is a right one, and has each key. Two are told apart.
func TestClusterExample(t *testing.T) {
	_, example, found := strings.Cut(string(rare), "\n# [[cluster]]\n")
	table := "\n[[cluster]]\n"
	for line := range strings.Lines(example) {
		text, is := strings.CutPrefix(line, "# ")
		if !is {
			break
		}
		table += text
	}
	known, _ := knownKeys(configType, []string{"cluster", "x"})
	for _, key := range known {
		if NewFile("", []byte(table)).lineOf([]string{"cluster", key}) == 1 {
			t.Errorf("cluster.%s is not in rare.toml", key)
		}
	}
	one, err := Load(write(t, table))
	both, err2 := Load(write(t, table+"[[cluster]]\nname = \"gold\"\n"))
	want := []Cluster{{Name: "carbon", Munge: "/run/munge-carbon/munge.socket.2", SlurmConf: "/etc/slurm-carbon/slurm.conf", SlurmVia: []string{"/usr/bin/ssh", "carbon-login"}}, {Name: "gold"}}
	if !found || err != nil || err2 != nil || one.Several() != nil || cmp.Diff(want, both.Several()) != "" {
		t.Errorf("%v, %v, %v, %s", one, err, err2, table)
	}
}

// TestBadFiles: the errors of wrong configurations.
func TestBadFiles(t *testing.T) {
	trial.WrongFiles(t, "testdata/conf.txtar", 50, *update, func(path string, _ []byte) error {
		_, err := Load(path)
		return err
	})
}

func TestLoadOverDefaults(t *testing.T) {
	path := write(t, "[report]\ntimeout = \"250ms\"\n[server]\noperators = [\"ann\"]\n[client]\nto = \"http://head:6822\"\n")
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Report.Timeout = Duration(250 * time.Millisecond)
	want.Server.Operators = []string{"ann"}
	want.Client.To = "http://head:6822"
	if d := cmp.Diff(want, got, bare); d != "" {
		t.Fatal(d)
	}
	if got.Address() != "http://head:6822" || Default().Address() != "unix:/run/jobeffd/jobeffd.sock" {
		t.Errorf("addresses %q, %q", got.Address(), Default().Address())
	}
}

// TestNodeNeedsNoRules: a node reads and checks everything but the rules.
func TestNodeNeedsNoRules(t *testing.T) {
	path := write(t, "[measure]\nshare = 0.5\n[[rule]]\nname = \"low-efficiency\"\nwhen = 3\n")
	if _, err := Load(path); err == nil {
		t.Error("a rule may be a number")
	}
	got, err := LoadNode(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Measure.Share, want.Rules = 0.5, nil
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, text := range []string{"[measure]\nshar = 1\n", "[measure]\nshare = 7\n", "[[rule]]\nname = \n"} {
		path := write(t, text)
		_, want := Load(path)
		if _, got := LoadNode(path); got == nil || got.Error() != want.Error() {
			t.Errorf("%q: %v, not %v", text, got, want)
		}
	}
}

func TestMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.toml")
	_, err := Load(path)
	want := "configuration " + path + " does not exist: name another with JOBEFF_CONFIG, or unset it to use /etc/jobeff/jobeff.toml"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := os.Stat(DefaultPath); err == nil {
		t.Skip(DefaultPath + " exists on this machine")
	}
	got, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Default(), got, bare); d != "" {
		t.Fatal(d)
	}
}

func TestUnreadable(t *testing.T) {
	if _, err := Load(t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "configuration cannot be read: ") {
		t.Errorf("a directory: %v", err)
	}
	huge := write(t, strings.Repeat("# comment\n", maxFileBytes/10+1))
	if _, err := Load(huge); err == nil || !strings.HasSuffix(err.Error(), "is larger than 256 KiB") {
		t.Errorf("a huge file: %v", err)
	}
}

func TestPath(t *testing.T) {
	t.Setenv("JOBEFF_CONFIG", "")
	if got := Path(); got != DefaultPath {
		t.Errorf("got %q", got)
	}
	t.Setenv("JOBEFF_CONFIG", "/x/y.toml")
	if got := Path(); got != "/x/y.toml" {
		t.Errorf("got %q", got)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(shipped)
	f.Add([]byte("[measure]\nshare = nan\n[[server]]\n"))
	f.Add([]byte("rule = [{name = \"a\"},\n {name = \"b\", text = \"x\", condition = \"true\"}]\n"))
	f.Add([]byte("[[rule]]\nname = \"low-efficiency\"\n[[rule]]\nname = \"c\"\ncodition = 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := Default()
		if err := decode(c, "f", text); err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("no file and line: %v", err)
			}
			return
		}
		if key, msg := c.check(); msg != "" {
			t.Errorf("accepted, but %s: %s", key, msg)
		}
		for _, r := range c.Rules {
			if key, msg := r.check(); msg != "" || !strings.Contains(r.At("condition"), ":") {
				t.Errorf("accepted, but rule %s, %s: %s", r.Name, key, msg)
			}
		}
	})
}

func write(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "jobeff.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDays(t *testing.T) {
	for text, want := range map[string]string{"90d": "90d", "1day": "1d", "180days": "180d", "0": "0d", "0d": "0d",
		"": "", "d": "", "9s": "", "90": "", "-1d": "", "1.5d": "", "999999d": "", "9 d": ""} {
		var d Days
		if err := d.UnmarshalText([]byte(text)); err != nil && want != "" || err == nil && d.String() != want {
			t.Errorf("%q: %v, %v", text, d, err)
		}
	}
}

// TestLoadFIFO: a program would hang on a FIFO.
func TestLoadFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path+" is a FIFO") {
		t.Error(err)
	}
}

// TestDrawIsEven: the share of jobs drawn is the share asked for. That holds also for ids in a
// row or with a stride, as arrays and busy sites have them.
func TestDrawIsEven(t *testing.T) {
	for _, stride := range []uint32{1, 2, 64, 1000} {
		const jobs = 20000
		for _, share := range []float64{0.01, 0.5, 0.9} {
			n := 0
			for i := range uint32(jobs) {
				if (&Measure{Share: share}).Draws(i * stride) {
					n++
				}
			}
			sigma := math.Sqrt(share * (1 - share) / jobs)
			if got := float64(n) / jobs; math.Abs(got-share) > 5*sigma {
				t.Errorf("stride %d: %.4f of the jobs drawn, want %.2f", stride, got, share)
			}
		}
	}
}
