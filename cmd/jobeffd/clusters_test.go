package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/listing"
	"jobeff/ingest/munge"
	"jobeff/ingest/node"
	"jobeff/test/mungetest"
	"jobeff/test/pgtest"
)

// TestClustersOfOneServer: nodes of three clusters, each with its own key, send the reports of jobs with the same ids to one
// jobeffd, which is killed after each. Each node asks about its cluster, and root on the server about all. One jobeffd of
// one cluster serves the rows afterwards, and one of three again.
func TestClustersOfOneServer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("root of each cluster reports")
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			d := newDaemon(t)
			if engine == "postgres" {
				d.db = pgtest.Start(t, pgtest.Quick...).Database(t)
			}
			names, keys := []string{"carbon", "gold", "iron"}, map[string]string{}
			one := fmt.Sprintf("[server]\nsacct_interval = \"0s\"\nlisten = \"127.0.0.1:%d\"\n", freePort(t))
			three := one
			for i, name := range names {
				keys[name] = mungetest.Start(t)
				if three += fmt.Sprintf("[[cluster]]\nname = %q\n", name); i > 0 {
					three += fmt.Sprintf("munge = %q\n", keys[name])
				}
			}
			one, three = one+fmt.Sprintf("[munge]\nsocket = %q\n", keys["carbon"]), three+fmt.Sprintf("[munge]\nsocket = %q\n", keys["carbon"])
			serve := func(conf string) {
				t.Helper()
				d.stop(syscall.SIGKILL)
				if err := os.WriteFile(filepath.Join(d.dir, "jobeff.toml"), []byte(conf), 0o644); err != nil {
					t.Fatal(err)
				}
				d.start(t)
			}
			from := func(name string) *client.Client {
				c := client.NewClient("http://"+listenOf(one), 8*time.Second, munge.Site{Socket: keys[name], Of: name})
				t.Cleanup(c.Close)
				return c
			}
			rows := func(what string, c *client.Client, want ...string) {
				t.Helper()
				list, err := c.Jobs(ctx, listing.JobQuery{Limit: 100})
				var got []string
				for i := range list.Jobs {
					got = append(got, list.Jobs[i].DisplayID)
				}
				if err != nil || len(got) != len(want) {
					t.Fatalf("%s: %v, %v", what, got, err)
				}
				for _, id := range want {
					if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+id+" ") {
						t.Errorf("%s: %v, without %s", what, got, id)
					}
				}
			}
			var all []string
			for id := range uint32(3) {
				for _, name := range names {
					serve(three)
					spool, r := t.TempDir(), report(id+1)
					r.Cluster = name
					if _, err := (node.Outbox{Spool: spool, Most: 1 << 20}).Write(r); err != nil {
						t.Fatal(err)
					}
					res, err := (&client.Sender{Spool: spool, Client: from(name)}).Send(ctx)
					if err != nil || res.Sent != 1 {
						t.Fatalf("%s: %+v, %v", name, res, err)
					}
					all = append(all, fmt.Sprintf("%s:%d", name, id+1))
				}
			}
			serve(three)
			for _, name := range names {
				rows(name, from(name), name+":1", name+":2", name+":3")
			}
			rows("root on the server", d.client(), all...)
			serve(one)
			rows("of one cluster", d.client(), "1", "2", "3", "1", "2", "3", "1", "2", "3")
			rows("of one cluster, under its key", from("carbon"), "1", "2", "3", "1", "2", "3", "1", "2", "3")
			serve(three)
			rows("of three again", d.client(), all...)
		})
	}
}

// TestSameKey: jobeffd does not start where two clusters have the same key.
func TestSameKey(t *testing.T) {
	key, gold := mungetest.Start(t), mungetest.Start(t)
	conf := func(other string) string {
		return fmt.Sprintf("[server]\nsacct_interval = \"0s\"\n[munge]\nsocket = %q\n[[cluster]]\nname = \"carbon\"\n[[cluster]]\nname = \"gold\"\nmunge = %q\n", key, other)
	}
	d := newDaemon(t)
	write := func(text string) string {
		path := filepath.Join(d.dir, "jobeff.toml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := write(conf(gold))
	d.start(t)
	d.stop(syscall.SIGTERM)
	mungetest.Restart(t, gold, key)
	var said bytes.Buffer
	if code := run(ctx, []string{"--config", path, "--database", d.db, "--socket", d.socket}, &said); code != exitConfig || !strings.Contains(said.String(), "clusters carbon and gold have the same munge key") {
		t.Errorf("%d, %s", code, said.String())
	}
}
