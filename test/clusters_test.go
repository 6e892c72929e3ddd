package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"jobeff/report/view"
)

// several are clusters of one jobeffd, which runs on the first one's ctl. Each has a munge key, uids and a Slurm of its own.
type several struct {
	of    map[string]*cluster
	names []string
}

// threeClusters starts three clusters of one node. Their networks are routed into each other, as a site's are.
// alice and bob have each other's uids on gold.
func threeClusters(t *testing.T) *several {
	t.Helper()
	s := &several{map[string]*cluster{}, []string{"carbon", "gold", "iron"}}
	users := map[string]string{"carbon": "alice bob", "gold": "bob alice", "iron": "carol alice"}
	var all sync.WaitGroup
	started, errs := make([]*cluster, len(s.names)), make([]error, len(s.names))
	for i, name := range s.names {
		all.Go(func() {
			started[i], errs[i] = newCluster("-"+name, 1, "CLUSTER_NAME="+name, fmt.Sprint("CLUSTER_NET=10.78.", i), "CLUSTER_USERS="+users[name])
		})
	}
	all.Wait()
	for i, c := range started {
		if errs[i] != nil {
			t.Error(errs[i])
			continue
		}
		t.Cleanup(c.down)
		s.of[s.names[i]] = c
	}
	if t.Failed() {
		t.FailNow()
	}
	server := s.of["carbon"]
	conf := "[server]\nlisten = \"0.0.0.0:6822\"\nsacct_interval = \"1s\"\n[[cluster]]\nname = \"carbon\"\n"
	for i, name := range s.names[1:] {
		c := s.of[name]
		c.must(t, "", "jobeffd", "stop")
		s.route(t, c, i+1)
		key, err := os.ReadFile(filepath.Join(c.dir, "etc/munge.key"))
		if err != nil {
			t.Fatal(err)
		}
		of := strings.NewReplacer("OF", name, "NET", fmt.Sprint("10.78.", i+1))
		server.must(t, string(key), "exec", "ctl", "sh", "-c", of.Replace(`install -d -m 755 -o munge -g munge /run/munge-OF /etc/munge-OF /var/lib/munge-OF && install -d /etc/slurm-OF &&
			install -m 400 -o munge -g munge /dev/stdin /etc/munge-OF/munge.key &&
			setpriv --reuid munge --regid munge --clear-groups munged --key-file=/etc/munge-OF/munge.key --socket=/run/munge-OF/munge.socket.2 --pid-file=/run/munge-OF/munged.pid --seed-file=/var/lib/munge-OF/munge.seed --log-file=/run/munge-OF/munged.log`))
		slurm, err := os.ReadFile(filepath.Join(c.dir, "etc/slurm.conf"))
		if err != nil {
			t.Fatal(err)
		}
		there := strings.NewReplacer("AccountingStorageHost=ctl", of.Replace("AccountingStorageHost=NET.1"), "AuthType=auth/munge", of.Replace("AuthType=auth/munge\nAuthInfo=socket=/run/munge-OF/munge.socket.2\nAccountingStoragePass=/run/munge-OF/munge.socket.2")).Replace(string(slurm))
		server.must(t, there, "exec", "ctl", "sh", "-c", of.Replace("cat >/etc/slurm-OF/slurm.conf"))
		conf += of.Replace("[[cluster]]\nname = \"OF\"\nmunge = \"/run/munge-OF/munge.socket.2\"\nslurm_conf = \"/etc/slurm-OF/slurm.conf\"\n")
		c.configure(t, "ctl", name)
		c.configure(t, "n1", name)
	}
	server.exec(t, "n1", "ip", "route", "add", "10.79.0.1", "via", "10.78.0.1")
	server.configure(t, "n1", "carbon")
	server.must(t, "", "jobeffd", "stop")
	server.must(t, conf, "exec", "ctl", "sh", "-c", "cat >/etc/jobeff/jobeff.toml")
	server.must(t, "", "jobeffd", "start")
	return s
}

// configure makes a machine report and ask for this cluster.
func (c *cluster) configure(t *testing.T, node, cluster string) {
	t.Helper()
	c.must(t, fmt.Sprintf("[report]\nto = \"http://10.79.0.1:6822\"\n[munge]\ncluster = %q\n", cluster), "exec", node, "sh", "-c", "cat >/etc/jobeff/jobeff.toml")
}

// route connects a cluster to the server's: its ctl routes, and 10.79.0.1 is the server for all.
func (s *several) route(t *testing.T, c *cluster, number int) {
	t.Helper()
	pid := func(c *cluster) string {
		b, err := os.ReadFile(filepath.Join(c.dir, "ns/ctl.pid"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	server := s.of["carbon"]
	of := strings.NewReplacer("SERVER", pid(server), "CTL", pid(c), "NET", fmt.Sprint("10.78.", number), "LINK", fmt.Sprint("10.79.", number), "NUMBER", fmt.Sprint(number))
	for _, line := range []string{
		"nsenter -t SERVER -n ip link add linkNUMBER type veth peer name server netns CTL",
		"nsenter -t SERVER -n ip addr replace 10.79.0.1/32 dev lo",
		"nsenter -t SERVER -n ip addr add LINK.1/24 dev linkNUMBER",
		"nsenter -t SERVER -n ip link set linkNUMBER up",
		"nsenter -t CTL -n ip addr add LINK.2/24 dev server",
		"nsenter -t CTL -n ip link set server up",
		"nsenter -t CTL -n ip route add 10.79.0.1 via LINK.1",
		"nsenter -t SERVER -n ip route add NET.0/24 via LINK.2",
	} {
		if out, err := exec.Command("sh", "-c", of.Replace(line)).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	c.exec(t, "ctl", "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
	c.exec(t, "n1", "ip", "route", "add", "10.79.0.1", "via", fmt.Sprintf("10.78.%d.1", number))
}

// TestClusters: three Slurm clusters report to one jobeffd. Their jobs have the same ids, and their users each other's uids.
func TestClusters(t *testing.T) {
	onlyInApps(t, "two minutes")
	s := threeClusters(t)
	server := s.of["carbon"]
	each := func(do func(name string, c *cluster)) {
		var all sync.WaitGroup
		for _, name := range s.names {
			all.Go(func() { do(name, s.of[name]) })
		}
		all.Wait()
	}
	const script = "srun sleep 1"
	each(func(name string, c *cluster) {
		if id := c.run(t, "alice", script, "-n1"); id != "1" {
			t.Errorf("%s: the first job is %s", name, id)
		}
	})
	for _, name := range s.names {
		d := s.of[name].jobeff(t, "alice", "1")
		if d.Cluster != name || d.User != "alice" || d.ID != name+":1" {
			t.Errorf("on %s: job %s of %s, user %s", name, d.ID, d.Cluster, d.User)
		}
	}

	// liars: a node and a login node of gold say that they are carbon's, root of gold asks for another's job
	gold := s.of["gold"]
	gold.configure(t, "n1", "carbon")
	gold.configure(t, "ctl", "carbon")
	lied := gold.run(t, "alice", script, "-n1")
	kept := func() bool { return gold.exec(t, "n1", "ls", "/var/spool/jobeff/outbox") != "" }
	until(t, "a report under another cluster's name is kept", func() bool { // send does nothing while the epilog's one waits
		return gold.try(t, "", "exec", "n1", "jobeff-ingest", "send").code != 0 && kept()
	})
	for _, who := range []string{"alice", "bob"} {
		if r := gold.try(t, "", "as", who, "jobeff", "--json", "1"); r.code == 0 {
			t.Errorf("%s asks under another cluster's name, and is answered:\n%s", who, r.stdout)
		}
	}
	gold.configure(t, "n1", "gold")
	gold.configure(t, "ctl", "gold")
	gold.exec(t, "n1", "jobeff-ingest", "send") // what was refused then is taken now
	if d := gold.jobeff(t, "alice", lied); d.Cluster != "gold" {
		t.Errorf("job %s is of %s", lied, d.Cluster)
	}

	// bob, who has alice's uid of carbon, sees nothing of hers on gold until he coordinates her account there
	if r := gold.try(t, "", "as", "bob", "jobeff", "1"); r.code == 0 {
		t.Errorf("bob sees alice's job:\n%s", r.stdout)
	}
	gold.exec(t, "ctl", "sacctmgr", "-iQ", "add", "coordinator", "account=proj", "names=bob")
	gold.jobeff(t, "bob", gold.run(t, "bob", script, "-n1")) // which tells bob's uid
	gold.jobeff(t, "bob", "1")
	if r := server.try(t, "", "as", "bob", "jobeff", "1"); r.code == 0 {
		t.Errorf("a coordinator of gold sees a job of carbon:\n%s", r.stdout)
	}

	// gold's accounting is away, and jobeffd is killed: the others' jobs come, and gold's after it
	gold.exec(t, "ctl", "sh", "-c", "kill -9 $(cat /run/slurm/slurmdbd.pid)")
	each(func(name string, c *cluster) { c.run(t, "alice", script, "-n1") })
	server.must(t, "", "jobeffd", "kill9")
	server.must(t, "", "jobeffd", "start")
	each(func(name string, c *cluster) { c.try(t, "", "exec", "n1", "jobeff-ingest", "send") })
	last := map[string]string{"carbon": "2", "gold": "4", "iron": "2"}
	for _, name := range []string{"carbon", "iron"} {
		s.of[name].jobeff(t, "alice", last[name])
	}
	var known view.Job
	if out := gold.try(t, "", "as", "alice", "jobeff", "--json", last["gold"]); json.Unmarshal([]byte(out.stdout), &known) == nil && complete(&known) {
		t.Errorf("gold's slurmdbd is away, and jobeffd knows how its job ended: %s", known.State)
	}
	gold.exec(t, "ctl", "setpriv", "--reuid", "slurm", "--regid", "slurm", "--clear-groups", "slurmdbd")
	gold.jobeff(t, "alice", last["gold"])

	list := server.exec(t, "ctl", "jobeff", "-a", "-S", "-1days")
	for name, n := range map[string]int{"carbon": 2, "gold": 4, "iron": 2} {
		for id := range n {
			if !strings.Contains(list, fmt.Sprintf("%s:%d ", name, id+1)) {
				t.Errorf("root's list is without job %d of %s:\n%s", id+1, name, list)
			}
		}
	}
	for _, name := range s.names {
		out := s.of[name].exec(t, "ctl", "jobeff", "-a", "-S", "-1days")
		for _, other := range s.names {
			if strings.Contains(out, other+":") != (other == name || name == "carbon") {
				t.Errorf("on %s, root's list has jobs of %s: %v\n%s", name, other, other != name, out)
			}
		}
	}
	for _, name := range append([]string{"all"}, s.names...) {
		of := server.exec(t, "ctl", "jobeff", "-a", "-S", "-1days", "-M", name) + server.exec(t, "ctl", "jobeff", "workload", "-a", "-M", name) + server.exec(t, "ctl", "jobeff", "admin", "coverage", "-M", name)
		for _, other := range s.names {
			if strings.Contains(of, other+":1 ") != (name == "all" || name == other) {
				t.Errorf("of %s:\n%s", name, of)
			}
		}
	}
	for _, who := range []string{"alice", "bob"} {
		if r := server.try(t, "", "as", who, "jobeff", "workload", "-M", "gold"); r.code == 0 || !strings.Contains(r.stderr, "you are told of cluster carbon alone") {
			t.Errorf("%s of carbon asks about gold: exit %d\n%s%s", who, r.code, r.stdout, r.stderr)
		}
	}
}
