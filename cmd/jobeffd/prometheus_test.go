package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
	"jobeff/ingest/store/storetest"
	"jobeff/ingest/wire"
	"jobeff/test/trial"
)

const (
	alertRules = "../../packaging/prometheus/jobeff.rules.yml"
	dashboard  = "../../packaging/grafana/jobeff.json"
)

// TestPrometheus: a real Prometheus reads jobeffd's metrics, those of accounts with hostile names too, and our
// alert rules. Every query of the dashboard for Grafana has an answer there. promtool finds no fault in the
// metrics' names, and each alert fires where its test says.
func TestPrometheus(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a Prometheus")
	}
	d := newDaemon(t)
	hostile := fillHostile(t, d.db)
	metrics, at := fmt.Sprintf("127.0.0.1:%d", freePort(t)), fmt.Sprintf("127.0.0.1:%d", freePort(t))
	if err := os.WriteFile(filepath.Join(d.dir, "jobeff.toml"), fmt.Appendf(nil, "[server]\nsacct_interval = \"0s\"\nmetrics = %q\n", metrics), 0o644); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	if err := d.client().PostReport(ctx, mustJSON(t, report(7))); err != nil {
		t.Fatal(err)
	}
	if _, err := d.client().Job(ctx, "none"); err == nil { // a refusal is counted
		t.Error("job none is there")
	}
	for _, check := range [][]string{{"check", "rules", alertRules}, {"test", "rules", filepath.Join(filepath.Dir(alertRules), "jobeff.test.yml")}, {"check", "metrics"}} {
		promtool := exec.Command("promtool", check...)
		promtool.Stdin = strings.NewReader(fetched(t, "http://"+metrics+"/metrics"))
		if said, err := promtool.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", check, err, said)
		}
	}
	p := startPrometheus(t, at, metrics)
	for _, q := range queriesOf(t) {
		p.answers(t, q, "query?query="+url.QueryEscape(q))
	}
	for _, name := range []string{"partition", "account"} {
		if all := p.answers(t, name, "label/"+name+"/values?match[]=jobeff_used_core_seconds_total"); !strings.Contains(all, string(mustJSON(t, hostile))) {
			t.Errorf("%s has %s, not %q", name, all, hostile)
		}
	}
	p.answers(t, "alert rules", "rules?type=alert")
}

// fillHostile makes a database with a job whose partition and account have a hostile name.
func fillHostile(t *testing.T, database string) (name string) {
	t.Helper()
	db, err := store.Open(database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	name = `a"} 1 b\c{é'`
	r := report(9)
	line := slurmsLine(r)
	line.State, line.End, line.Elapsed, line.CPUs = "COMPLETED", r.End, r.End.Sub(r.Start), 4
	line.Account, line.Partition, line.User = name, name, name
	_, err = db.AddReport(ctx, store.Sender{}, r, wire.Compress(mustJSON(t, r)))
	if err == nil {
		_, err = db.AddSlurm(ctx, []slurm.Job{line})
	}
	if err == nil {
		err = storetest.Merge(ctx, db)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// queriesOf are the queries of the dashboard, with what Grafana puts for its variables.
func queriesOf(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Editable bool
		Panels   []struct {
			Type, Title, Description string
			Datasource               struct{ UID string }
			FieldConfig              struct{ Defaults struct{ Unit string } }
			Targets                  []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Type, Query string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	as := strings.NewReplacer("$job", ".+", "$instance", ".+", "$partition", ".*", "$account", ".*", "$__rate_interval", "1m", "$__range", "1h")
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.Title == "" || p.Description == "" || p.Datasource.UID != "${datasource}" || p.FieldConfig.Defaults.Unit == "" || d.Editable {
			t.Errorf("the dashboard's panel %q lacks what grafana/dashboard-linter asks for", p.Title)
		}
		for _, target := range p.Targets {
			if strings.Count(target.Expr, "{") != strings.Count(target.Expr, `{job=~"$job", instance=~"$instance"`) {
				t.Errorf("%s does not select job and instance", target.Expr)
			}
			all = append(all, as.Replace(target.Expr))
		}
	}
	values := regexp.MustCompile(`^label_values\((.+), \w+\)$`)
	for _, v := range d.Templating.List {
		if m := values.FindStringSubmatch(v.Query); v.Type == "query" && m != nil {
			all = append(all, as.Replace(m[1]))
		} else if v.Type == "query" {
			t.Errorf("%s is no label_values", v.Query)
		}
	}
	if len(all) < 30 {
		t.Errorf("only %d queries", len(all))
	}
	return all
}

// prometheus is the address of a Prometheus that runs.
type prometheus string

// startPrometheus starts a Prometheus that scrapes a jobeffd once a second.
func startPrometheus(t *testing.T, at, metrics string) prometheus {
	t.Helper()
	rules, err := filepath.Abs(alertRules)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	conf := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs: [{job_name: jobeff, static_configs: [{targets: [%q]}]}]\n", rules, metrics)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	trial.Serve(t, exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at), func() bool {
		resp, err := http.Get("http://" + at + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return prometheus("http://" + at + "/api/v1/")
}

// answers waits for an answer that is not empty: a rate needs two scrapes, a rule its first evaluation. A wrong
// query gets another status at once.
func (p prometheus) answers(t *testing.T, what, path string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		text := fetched(t, string(p)+path)
		empty := strings.Contains(text, `"result":[]`) || strings.Contains(text, `"data":[]`) || strings.Contains(text, `"health":"unknown"`)
		switch {
		case !strings.Contains(text, `"status":"success"`) || strings.Contains(text, `"health":"err"`):
			t.Fatalf("%s: %s", what, text)
		case !empty:
			return text
		case time.Now().After(end):
			t.Errorf("%s: no answer in a minute: %s", what, text)
			return ""
		}
	}
}

func fetched(t *testing.T, at string) string {
	t.Helper()
	resp, err := http.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
