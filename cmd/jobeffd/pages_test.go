package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
	views "jobeff/report"
	"jobeff/test/trial"
)

// nginxConf is what doc/ADMIN.md tells a site to write, with the paths of a test around it.
const nginxConf = `
daemon off; master_process on; user www-data; pid DIR/nginx.pid; error_log DIR/error.log;
events {}
http {
  access_log off;
  client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi; uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
  server {
    listen 127.0.0.1:PORT;
    auth_basic "cluster"; auth_basic_user_file DIR/users;
    location /jobeff/ {
      proxy_pass http://unix:SOCKET:/;
      proxy_set_header X-Forwarded-User $remote_user;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header Host $http_host;
    }
  }
}`

// TestPagesBehindNginx: a real proxy that logs people in shows each their own jobs. A header
// that a person adds does not help them.
func TestPagesBehindNginx(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("several users need root")
	}
	d := newDaemon(t)
	os.Chmod(d.dir, 0o755)
	conf := "[server]\nsacct_interval = \"0s\"\n[web]\nproxy_header = \"X-Forwarded-User\"\nproxy_users = [\"www-data\"]\n"
	if err := os.WriteFile(filepath.Join(d.dir, "jobeff.toml"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	c := d.client()
	defer c.Close()
	for id, uid := range map[uint32]uint32{7: 1, 8: 2} { // daemon's and bin's
		r := report(id)
		r.UID = uid
		if err := c.PostReport(ctx, mustJSON(t, r)); err != nil {
			t.Fatal(err)
		}
	}
	base := startNginx(t, d)
	get := func(user, path string, header ...string) (int, string, http.Header) {
		req, err := http.NewRequest("GET", base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			req.SetBasicAuth(user, "secret")
		}
		for i := 0; i+1 < len(header); i += 2 {
			req.Header.Add(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text), resp.Header
	}
	for name, q := range map[string]struct {
		user, path string
		header     []string
		status     int
		text       string
	}{
		"own job":         {"daemon", "jobs/7", nil, 200, "<h1>Job 7"},
		"own jobs":        {"daemon", "", nil, 200, `<a href="jobs/7">7</a>`},
		"another's":       {"daemon", "jobs/8", nil, 404, "job 8 was not found"},
		"forged header":   {"daemon", "jobs/8", []string{"X-Forwarded-User", "bin", "X-Forwarded-User", "root"}, 404, "not found"},
		"not logged in":   {"", "jobs/7", []string{"X-Forwarded-User", "daemon"}, 401, ""},
		"no user here":    {"stranger", "jobs/7", nil, 401, "is no user of this machine"},
		"a list":          {"daemon", "jobs?name=&sort=-start", nil, 200, `<a href="jobs/7">7</a>`},
		"a list, forged":  {"daemon", "jobs?user=bin", []string{"X-Forwarded-User", "bin", "X-Forwarded-User", "root"}, 200, "There are no such jobs"},
		"unknown path":    {"daemon", "job", nil, 404, `<a href="./">jobeff</a>`},
		"comparison":      {"daemon", "jobs/7/compare", nil, 200, `<h1>Job <a href="../../jobs/7">7</a></h1>`},
		"with itself":     {"daemon", "jobs/7/compare/7", nil, 200, "Job 7 cannot be compared with itself."},
		"with another's":  {"daemon", "jobs/8/compare/7", nil, 404, "job 8 was not found"},
		"another's with":  {"daemon", "jobs/7/compare/8", nil, 404, "job 8 was not found"},
		"no job's number": {"daemon", "jobs/x", nil, 400, "is not a job id"},
	} {
		status, text, header := get(q.user, q.path, q.header...)
		if status != q.status || !strings.Contains(text, q.text) {
			t.Errorf("%s: %d %.300s, want %d %s", name, status, text, q.status, q.text)
		}
		if status == 200 && header.Get("Content-Security-Policy") != views.FormPolicy+"; frame-ancestors 'none'" {
			t.Errorf("%s: the policy is %q", name, header.Get("Content-Security-Policy"))
		}
	}
	for origin, want := range map[string]string{base: "you got no notice", strings.Replace(base, "http:", "https:", 1): "no page of jobeff sent this"} {
		req, err := http.NewRequest("POST", base+"jobs/7/wrong?rule=low", strings.NewReader("why=x"))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("daemon", "secret")
		req.Header.Set("Origin", strings.TrimSuffix(origin, "/jobeff/"))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("a button of %s: %d %.300s (%v), want %s", origin, resp.StatusCode, text, err, want)
		}
	}
	guide, err := os.ReadFile("../../doc/ADMIN.md")
	headers := nginxConf[strings.Index(nginxConf, "proxy_set_header"):strings.LastIndex(nginxConf, ";\n    }")]
	if err != nil || !strings.Contains(string(guide), headers) {
		t.Errorf("doc/ADMIN.md has another location (%v)", err)
	}
}

// startNginx runs a proxy before the daemon's socket and returns the address below which
// its pages are.
func startNginx(t *testing.T, d *daemon) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts an nginx")
	}
	path, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("no nginx: make deps installs it")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	users := "daemon:{PLAIN}secret\nstranger:{PLAIN}secret\n"
	conf := strings.NewReplacer("DIR", d.dir, "PORT", port, "SOCKET", d.socket).Replace(nginxConf)
	for name, text := range map[string]string{"users": users, "nginx.conf": conf} {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	proxy := trial.Serve(t, exec.Command(path, "-c", filepath.Join(d.dir, "nginx.conf"), "-p", d.dir), func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	t.Cleanup(func() { proxy.End(syscall.SIGINT) }) // killed, it would leave its workers
	return "http://127.0.0.1:" + port + "/jobeff/"
}

// BenchmarkJobPage measures a page from the request to its last byte: out of the
// database, judged by the shipped rules.
func BenchmarkJobPage(b *testing.B) {
	db, err := store.Open(filepath.Join(b.TempDir(), "jobeff.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	browser, socket := browse(b, db)
	post := client.NewClient("unix:"+socket, time.Minute, nil)
	defer post.Close()
	for id, nodes := range map[uint32]int{1: 1, 2: 80} {
		for n := range nodes {
			if err := post.PostReport(ctx, mustJSON(b, nodeOf(id, n, nodes))); err != nil {
				b.Fatal(err)
			}
		}
	}
	var lines []slurm.Job
	for run := range 60 { // of one workload, on 1 to 32 cores
		ranks := 1 << (run % 6)
		r := nodeOf(uint32(100+run), run, 1)
		e := &r.Executions[0]
		e.Executable, e.BuildID, e.ArgsHash, e.InputHash, e.Size = "/opt/md", "ab", strings.Repeat("c", 32), strings.Repeat("d", 32), ranks
		elapsed := time.Duration((200/float64(ranks) + 2*float64(ranks) + float64(run%7)) * float64(time.Second))
		e.Nodes[0] = job.NodeShare{Node: r.Node, Ranks: ranks, ElapsedMax: elapsed, ElapsedSum: elapsed * time.Duration(ranks),
			Useful: 200 * time.Second, UsefulMax: 200 * time.Second / time.Duration(ranks), RankIDs: fmt.Sprintf("0-%d", ranks-1)}
		e.Nodes[0].MPI = e.Nodes[0].ElapsedSum - e.Nodes[0].Useful
		e.Endings = map[string]int{"finalized": ranks}
		if err := post.PostReport(ctx, mustJSON(b, r)); err != nil {
			b.Fatal(err)
		}
		lines = append(lines, slurmsLine(r))
	}
	if _, err := db.AddSlurm(ctx, lines); err != nil {
		b.Fatal(err)
	}
	if _, err := db.Merge(ctx); err != nil {
		b.Fatal(err)
	}
	for id, name := range map[uint32]string{1: "128 ranks", 2: "10240 ranks", 105: "workload of 60 runs"} {
		b.Run(name, func(b *testing.B) {
			size := 0
			for b.Loop() {
				text, err := opened(browser, fmt.Sprintf("/jobs/%d", id))
				if err != nil {
					b.Fatal(err, string(text))
				}
				if id > 100 && !strings.Contains(string(text), "n_eff") {
					b.Fatalf("no curve: %s", text)
				}
				size = len(text)
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}

// nodeOf is the report of node n of a job of 128 ranks per node.
func nodeOf(id uint32, n, nodes int) *job.NodeReport {
	const ranks = 128
	r := report(id)
	r.Node, r.NNodes = fmt.Sprintf("n%d", n), nodes
	e := &r.Executions[0]
	e.Size, e.Endings = nodes*ranks, map[string]int{"finalized": ranks}
	share := job.NodeShare{Node: r.Node, Ranks: ranks, ElapsedMax: 100 * time.Second, ElapsedSum: ranks * 100 * time.Second,
		RankIDs: fmt.Sprintf("%d-%d", n*ranks, n*ranks+ranks-1)}
	for i := range ranks {
		useful := time.Duration(50+(i*7+n*3)%50) * time.Second
		share.Useful += useful
		share.UsefulMax = max(share.UsefulMax, useful)
		share.MPI += 100*time.Second - useful
		share.UsefulShare = append(share.UsefulShare, byte(255*useful/(100*time.Second)))
	}
	e.Nodes = []job.NodeShare{share}
	return r
}

func mustJSON(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
