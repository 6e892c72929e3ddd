package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/admit"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/munge"
	"jobeff/ingest/node"
	"jobeff/ingest/replay"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
	"jobeff/policy/notice"
	"jobeff/report/mail"
	"jobeff/test/mungetest"
)

// threeClusters is a server of three clusters with keys of their own, on a machine of the first.
type threeClusters struct {
	*testServer
	keys map[string]string // sockets by cluster
}

var clusterNames = []string{"carbon", "gold", "iron"}

func startThree(t *testing.T, change ...func(*Options)) *threeClusters {
	t.Helper()
	keys := map[string]string{}
	var all []admit.Cluster
	for i, name := range clusterNames {
		keys[name] = mungetest.Start(t)
		all = append(all, admit.Cluster{Name: name, Munge: keys[name], Own: i == 0})
	}
	s := start(t, append([]func(*Options){func(o *Options) { o.Clusters = all }}, change...)...)
	return &threeClusters{s, keys}
}

// from is a request with a cluster's key, which also names the cluster.
func (s *threeClusters) from(cluster, method, path string, body []byte) request {
	return request{Addr: s.tcp, Method: method, Path: path, Body: body, Munge: s.keys[cluster], Header: map[string]string{wire.ClusterHeader: cluster}}
}

func (s *threeClusters) client(t *testing.T, cluster string) *client.Client {
	c := client.NewClient(s.tcp, 20*time.Second, munge.Site{Socket: s.keys[cluster], Of: cluster})
	t.Cleanup(c.Close)
	return c
}

// reportOf is a report of job 7 of alice's uid on node n1, which each of the clusters has.
func reportOf(cluster string) *job.NodeReport {
	r := report(7, alice)
	r.Cluster, r.User, r.Account, r.Executions[0].Executable = cluster, "user-of-"+cluster, "chem", "/bin/program-of-"+cluster
	r.Executions[0].Workload = "same-work"
	return r
}

// kept has the same job on all clusters, as reports and Slurm tell of it.
func (s *threeClusters) kept(t *testing.T) {
	t.Helper()
	for _, name := range clusterNames {
		r := reportOf(name)
		if err := s.client(t, name).PostReport(ctx, textOf(r)); err != nil {
			t.Fatal(err)
		}
		line := slurm.Job{Cluster: name, ID: "7", RawID: 7, UID: alice, User: r.User, Account: r.Account, State: "COMPLETED", Name: "name-of-" + name, Partition: "p",
			Submit: r.Start.Add(-time.Minute), Start: r.Start, End: r.End, Elapsed: r.End.Sub(r.Start), Nodes: 1, CPUs: 1, NodeList: "n1"}
		if _, err := s.store.AddSlurm(ctx, []slurm.Job{line}); err != nil {
			t.Fatal(err)
		}
		told := listing.Told{Cluster: name, UID: alice, User: r.User, At: r.End, Subject: "s", Workload: job.WorkloadKey(name, alice, &r.Executions[0]), Name: "notice-of-" + name, Job: "7", Rule: "rule", Cores: 1, Advised: 2}
		if _, err := s.store.DecideMail(ctx, &notice.Mail{Key: "notice:" + name, Kind: notice.MailNotice, MessageID: name, Cluster: name, UID: alice, Decided: r.End, NotBefore: r.End, Told: []listing.Told{told}}); err != nil {
			t.Fatal(err)
		}
	}
	s.merged(t)
}

// TestLyingNodes: root of each cluster reports for its own. For another one, its reports and logs are refused, alone
// and in a batch, whatever cluster it names and under whichever key.
func TestLyingNodes(t *testing.T) {
	s := startThree(t)
	for _, key := range clusterNames {
		for _, named := range clusterNames {
			for _, says := range clusterNames {
				post := s.from(key, "POST", "/v1/reports", textOf(reportOf(says)))
				post.Header[wire.ClusterHeader] = named
				status, text := 200, `{"new":true}`
				switch {
				case key != named:
					status, text = 401, "is munge.cluster right in this machine's jobeff.toml? It names "+named
				case says != key:
					status, text = 421, fmt.Sprintf("a report of cluster %s came with the key of cluster %s", says, key)
				}
				s.check(t, fmt.Sprintf("key of %s, named %s, report of %s", key, named, says), post.do(), status, text)
			}
		}
		for _, header := range []map[string]string{nil, {wire.ClusterHeader: "lead"}, {wire.ClusterHeader: ""}} {
			post := s.from(key, "POST", "/v1/reports", textOf(reportOf(key)))
			post.Header = header
			s.check(t, fmt.Sprint("named ", header), post.do(), 401, "does not name one of them")
		}
		l := wire.NodeLogs{Cluster: "lead", JobID: 7, Nonce: reportOf(key).Nonce, Node: "n1", Key: "k", Size: 2, Ranks: 1, Start: time.Now()}
		logs := packed(t, &l, []replay.Log{byTurns(0, l.Start)})
		post := s.from(key, "POST", "/v1/logs", logs)
		post.Header["Content-Encoding"] = wire.Encoding(logs)
		s.check(t, "logs", post.do(), 421, "came with the key of cluster "+key)
		lines := [][]byte{textOf(reportOf(key)), textOf(reportOf("lead")), textOf(reportOf(key))}
		answers, err := s.client(t, key).PostReports(ctx, lines)
		var no *client.ServerError
		if err != nil || answers[0] != nil || answers[2] != nil || !errors.As(answers[1], &no) || no.Status != 421 {
			t.Errorf("a batch of %s: %v, %v", key, answers, err)
		}
	}
	list, err := s.store.Jobs(ctx, store.Viewer{All: true}, listing.JobQuery{}, nil)
	if err != nil || len(list.Jobs) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	nodes, err := s.store.Nodes(ctx)
	if err != nil || len(nodes) != 0 {
		t.Errorf("%+v, %v", nodes, err)
	}
}

// TestMismatchStaysOnNode: a report of another cluster stays on its node, and no other waits behind it.
func TestMismatchStaysOnNode(t *testing.T) {
	s := startThree(t)
	spool := t.TempDir()
	box := node.Outbox{Spool: spool, Most: 16 << 20}
	for id := range uint32(10) {
		r := reportOf("gold")
		if r.JobID, r.Nonce = id+1, fmt.Sprintf("%032x", id+1); id < 8 {
			r.Cluster = "carbon"
		}
		if _, err := box.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	sender := client.Sender{Spool: spool, Client: s.client(t, "gold")}
	res, err := sender.Send(ctx)
	state, err2 := node.ReadOutbox(spool)
	if err != nil || err2 != nil || res.Sent != 2 || res.Refused != 0 || state.Waiting != 8 || state.Refused != 0 || state.Lost != 0 {
		t.Errorf("%+v, %+v, %v, %v", res, state, err, err2)
	}
	sender.Client = s.client(t, "carbon")
	if res, err := sender.Send(ctx); err != nil || res.Sent != 8 {
		t.Errorf("with the right key: %+v, %v", res, err)
	}
}

// TestClustersAreKeptApart: whoever asks with a cluster's key, and each user of the server's machine, gets no word of
// another cluster, by whatever path and parameter.
func TestClustersAreKeptApart(t *testing.T) {
	s := startThree(t, func(o *Options) { o.Open = true })
	s.kept(t)
	for _, cluster := range clusterNames { // whom Slurm of one cluster lets see all
		if err := s.store.SetGrants(ctx, cluster, []store.Grant{{UID: bin}, {UID: daemon, Account: "chem"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.store.SetGrants(ctx, "iron", []store.Grant{{UID: sys}, {UID: store.Everybody}}); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for path := range s.server.lists() {
		paths = append(paths, strings.TrimSuffix(path, "{$}"))
	}
	gold, err := s.store.Workload(ctx, store.Viewer{All: true, Cluster: "gold"}, "same-work", nil)
	if err != nil {
		t.Fatal(err)
	}
	key := gold.Key
	paths = append(paths, "/jobs/7", "/jobs?user=61001", "/jobs?job=7", "/jobs?cluster=gold", "/digest", "/status", "/workloads/"+key, "/workloads/same-work", "/jobs/7/wrong?rule=rule", "/v1/jobs", "/v1/jobs?detail=1", "/v1/jobs?stored=1",
		"/v1/jobs?cluster=gold", "/v1/jobs?job=7", "/v1/jobs?user=user-of-gold", "/v1/jobs?account=chem", "/v1/jobs/7", "/v1/jobs/7?attempt=1", "/v1/jobs/7/compare",
		"/v1/pending", "/v1/workloads", "/v1/workloads?named=1", "/v1/workloads/"+key, "/v1/workloads/same-work", "/v1/workloads/same", "/v1/workloads/name-of-gold", "/v1/months", "/v1/users", "/v1/accounts", "/v1/programs",
		"/v1/months?cluster=gold", "/v1/users?cluster=gold", "/v1/workloads?cluster=gold", "/v1/workloads/same-work?cluster=gold", "/v1/digest?cluster=gold", "/months?cluster=gold", "/workloads?cluster=gold",
		"/v1/digest", "/v1/digest?account=chem", "/v1/coverage", "/v1/cost", "/v1/status", "/metrics", "/healthz")
	for _, c := range []struct {
		of   string
		uids []int
		addr string // of the socket; "": by TCP with the cluster's key
		sees []int  // who sees job 7 of the cluster
	}{
		{"carbon", []int{0, alice, bob, daemon}, "", []int{0, alice, bob, daemon}},
		{"gold", []int{0, alice, bob, daemon, bin}, "", []int{0, alice, daemon, bin}},
		{"iron", []int{0, daemon, sys}, "", []int{0, daemon, sys}},
		{"carbon", []int{alice, daemon, sys}, s.unix, []int{alice, daemon}},
	} {
		for _, uid := range c.uids {
			for _, path := range paths {
				ask := s.from(c.of, "GET", path, nil)
				if c.addr != "" {
					ask = request{Addr: c.addr, Method: "GET", Path: path}
				}
				ask.Header = map[string]string{wire.ClusterHeader: c.of, "Accept": "text/html"}
				if strings.HasPrefix(path, "/v1/") {
					delete(ask.Header, "Accept")
				}
				got := ask.as(t, uid)
				if c.of != "gold" && strings.Contains(got.Text, key) && !strings.Contains(path, key) {
					t.Errorf("uid %d of %s, %s: a workload of gold: %s", uid, c.of, path, got.Text)
				}
				for _, other := range clusterNames {
					if told := "-of-" + other; other != c.of && strings.Contains(got.Text, told) && !strings.Contains(path, told) {
						t.Errorf("uid %d of %s, %s: %d %s", uid, c.of, path, got.Status, got.Text)
					}
				}
				if slices.Contains([]string{"/v1/jobs", "/v1/jobs/7"}, path) || uid == alice && c.of != "iron" && slices.Contains([]string{"/v1/workloads", "/v1/workloads/same-work", "/workloads/same-work", "/notices"}, path) {
					if sees := strings.Contains(got.Text, "-of-"+c.of); sees != slices.Contains(c.sees, uid) {
						t.Errorf("uid %d of %s, %s: sees %v: %d %s", uid, c.of, path, sees, got.Status, got.Text)
					}
				}
			}
		}
	}
	for do, body := range map[string][]byte{"PUT": fmt.Appendf(nil, `{"until":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339)), "DELETE": nil} {
		for who, of := range map[int]string{alice: "carbon", 0: "iron"} {
			s.check(t, do+" another's mute", s.from(of, do, "/v1/workloads/"+key+"/mute", body).as(t, who), 404, "was not found")
		}
	}
	for _, root := range []int{0, bob} { // bob is one of the server's operators
		got := request{Addr: s.unix, Method: "GET", Path: "/v1/jobs"}.as(t, root)
		for _, name := range clusterNames {
			s.check(t, fmt.Sprint("uid ", root, " on the server"), got, 200, "user-of-"+name)
		}
	}
	for _, site := range []string{"/v1/status", "/v1/coverage", "/v1/cost", "/metrics", "/v1/digest"} {
		s.check(t, "root of one cluster asks for "+site, s.from("gold", "GET", site, nil).do(), http.StatusForbidden, "operators")
	}
}

// TestAboutOneCluster: whoever sees several clusters may ask about one of them, and is told of it alone. A user's name
// stands for a person of a cluster.
func TestAboutOneCluster(t *testing.T) {
	letters, err := mail.Load("")
	if err != nil {
		t.Fatal(err)
	}
	s := startThree(t, func(o *Options) { o.Letters, o.Weeks = letters, notice.Weekly{Zone: time.UTC} })
	s.store.TellApart(clusterNames)
	s.kept(t)
	ask := func(path string) response { return request{Addr: s.unix, Method: "GET", Path: path}.do() }
	week := "from=" + reportOf("gold").End.Add(-time.Hour).UTC().Format(time.RFC3339) + "&to=" + reportOf("gold").End.Add(time.Hour).UTC().Format(time.RFC3339)
	for _, path := range []string{"/v1/months?", "/v1/users?", "/v1/accounts?", "/v1/programs?", "/v1/workloads?", "/v1/workloads/same-work?", "/v1/digest?" + week + "&", "/v1/coverage?start=2020-01-01T00:00:00Z&", "/v1/cost?start=2020-01-01T00:00:00Z&",
		"/months?", "/users?", "/programs?", "/workloads?", "/digest?", "/jobs?", "/v1/jobs?", "/v1/jobs?user=user-of-gold&"} {
		got := ask(path + "cluster=gold")
		if got.Status != 200 || strings.Contains(got.Text, "of-carbon") || strings.Contains(got.Text, "of-iron") {
			t.Errorf("%s: %d %s", path, got.Status, got.Text)
		}
		if path == "/v1/users?" || strings.HasPrefix(path, "/v1/jobs") || strings.HasPrefix(path, "/v1/work") {
			s.check(t, path, got, 200, "of-gold")
		}
		if !strings.Contains(path, "jobs") {
			s.check(t, path, ask(path+"cluster=lead"), 404, "there is no cluster")
			s.check(t, path+" from carbon", s.from("carbon", "GET", path+"cluster=gold", nil).do(), 403, map[bool]string{false: "you are told of cluster carbon alone", true: "for root and operators"}[strings.HasPrefix(path, "/v1/co")])
		}
	}
	var one, all struct {
		Total     listing.Hours
		Lines     []listing.LedgerLine
		ByCluster []listing.NamedHours `json:"by_cluster"`
	}
	for path, jobs := range map[string]func() int{"/v1/digest?" + week: func() int { return all.Total.Jobs - 2*one.Total.Jobs }, "/v1/coverage?start=2020-01-01T00:00:00Z": func() int { return int(all.Lines[0].Jobs - 2*one.Lines[0].Jobs) }} {
		if err := errors.Join(json.Unmarshal([]byte(ask(path).Text), &all), json.Unmarshal([]byte(ask(path+"&cluster=gold").Text), &one)); err != nil || jobs() != 1 {
			t.Errorf("%s: %+v, of gold %+v, %v", path, all, one, err)
		}
	}
	if len(all.ByCluster) != 3 || all.ByCluster[0].Jobs != 1 || one.ByCluster != nil {
		t.Errorf("by cluster: %+v, of gold %+v", all.ByCluster, one.ByCluster)
	}
	for _, path := range []string{"/v1/jobs?user=user-of-gold", "/jobs?user=user-of-gold", "/v1/workloads?user=user-of-gold"} {
		s.check(t, path, ask(path), 400, "may be another person on each cluster")
	}
	s.check(t, "a uid", ask(fmt.Sprint("/v1/jobs?user=", alice)), 200, "of-iron")
	s.check(t, "oneself", ask("/v1/jobs?user=root"), 200, `"jobs":[]`)
}

// TestNoOwnCluster: on a machine that is of none of the clusters, only those who may read all ask by the socket.
func TestNoOwnCluster(t *testing.T) {
	s := startThree(t, func(o *Options) { o.Clusters = o.Clusters[1:] })
	ask := request{Addr: s.unix, Method: "GET", Path: "/v1/jobs"}
	s.check(t, "a user", ask.as(t, alice), 403, "its machine is of none of them")
	s.check(t, "an operator", ask.as(t, bob), 200, `{"jobs":[]}`)
	s.check(t, "root", ask.do(), 200, `{"jobs":[]}`)
}

// TestOneCluster: where jobeffd serves one, it does not matter whether its name is given, or a wrong one.
func TestOneCluster(t *testing.T) {
	s := start(t)
	for i, header := range []map[string]string{nil, {wire.ClusterHeader: "carbon"}} {
		r := report(uint32(7+i), alice)
		s.check(t, "a report", request{Addr: s.tcp, Method: "POST", Path: "/v1/reports", Body: textOf(r), Munge: s.munge, Header: header}.do(), 200, `{"new":true}`)
	}
}

// TestIDsNeverCollide: whoever sees several clusters is told which ones have a job's id, and each id that jobeffd writes
// can be asked for.
func TestIDsNeverCollide(t *testing.T) {
	s := startThree(t)
	s.store.TellApart(clusterNames)
	s.kept(t)
	for _, name := range clusterNames {
		for _, path := range []string{"/v1/jobs/" + name + ":7", "/v1/jobs/" + name + ":7.0", "/v1/jobs?job=" + name + ":7", "/v1/jobs?cluster=" + name + "&job=7"} {
			got := request{Addr: s.unix, Method: "GET", Path: path}.do()
			if strings.HasSuffix(path, ".0") {
				s.check(t, path, got, 404, "step") // none is known of it
				continue
			}
			s.check(t, path, got, 200, `"id":"`+name+`:7"`)
			s.check(t, path, got, 200, "user-of-"+name)
			if strings.Count(got.Text, `"user":"user-of-`) != 1 {
				t.Errorf("%s: %s", path, got.Text)
			}
		}
		s.check(t, "under the key of "+name, s.from(name, "GET", "/v1/jobs/7", nil).do(), 200, `"id":"`+name+`:7"`)
		other := clusterNames[(slices.Index(clusterNames, name)+1)%3]
		s.check(t, "another's under the key of "+name, s.from(name, "GET", "/v1/jobs/"+other+":7", nil).do(), 404, "was not found")
	}
	for _, path := range []string{"/v1/jobs/7", "/jobs/7", "/v1/jobs/7/compare"} {
		s.check(t, path, request{Addr: s.unix, Method: "GET", Path: path}.do(), 409, "several clusters have this job: ask for carbon:7 or gold:7 or iron:7")
	}
	s.check(t, "of two clusters", request{Addr: s.unix, Method: "GET", Path: "/v1/jobs?job=gold:7,7"}.do(), 400, "gold:7 and 7 are not of the same cluster")
	page := request{Addr: s.unix, Method: "GET", Path: "/jobs", Header: map[string]string{"Accept": "text/html"}}.do()
	for _, name := range clusterNames {
		s.check(t, "the page links to each", page, 200, "jobs/"+name+":7")
	}
}
