package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
)

// fakeSlurms acts as the Slurms of clusters, each with a folder that SLURM_CONF names. What stands in its file sacct
// is what sacct prints of the jobs there. An empty folder's Slurm is away.
type fakeSlurms struct{ dir string }

func startSlurms(t *testing.T) fakeSlurms {
	t.Helper()
	f := fakeSlurms{t.TempDir()}
	fakeCommand(t, "sacct", `for a; do case $a in --json) echo "no --json: unrecognized option" >&2; exit 1;; --delimiter=*) d=${a#*=};; --starttime=*) echo "${a#*=}" >>$SLURM_CONF/asked;; esac; done
[ -e $SLURM_CONF/sacct ] || { echo "slurmdbd is away" >&2; exit 1; }
sed "s/|/$d/g" $SLURM_CONF/sacct`)
	fakeCommand(t, "sacctmgr", `case "$*" in *account*) printf '%-300s %-4000s \n' chem user-of-gold;; *user*) printf '%-300s %-300s \n' bin Operator;; *) echo 'PrivateData = jobs';; esac`)
	fakeCommand(t, "scontrol", `case "$*" in *config*) cat $SLURM_CONF/config;; *partition*) echo 'PartitionName=p MaxTime=UNLIMITED';; *node*) echo 'NodeName=n1 CPUTot=4 RealMemory=1000 Partitions=p';; esac`)
	fakeCommand(t, "squeue", "exit 0")
	return f
}

// tells lets sacct of a cluster tell of job 7, which is one of the cluster that it says.
func (f fakeSlurms) tells(t *testing.T, of, says string) {
	t.Helper()
	r := reportOf(says)
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }
	line := fmt.Sprintf("%s|7|7|%d|%s|COMPLETED|0:0|%s|%s|%s|20|1|1|n1|chem|q|p|||||||n\n", says, r.UID, r.User, stamp(r.Start), stamp(r.Start), stamp(r.End))
	f.write(t, of, "sacct", line)
	f.write(t, of, "config", "ClusterName = "+says+"\n")
}

func (f fakeSlurms) write(t *testing.T, of, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Join(f.dir, of), 0o755), os.WriteFile(filepath.Join(f.dir, of, name), []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestPollersOfSeveral: each cluster's Slurm is asked by itself. While one is away, or answers for another, the others are
// read as ever; then it is read from where it was.
func TestPollersOfSeveral(t *testing.T) {
	slurms, db := startSlurms(t), openStore(t)
	db.WaitForSlurm(time.Hour)
	now, pollers := time.Now().Truncate(time.Second).Add(time.Second), map[string]*Poller{}
	for i, name := range clusterNames {
		if _, err := keep(db, reportOf(name)); err != nil {
			t.Fatal(err)
		}
		slurms.tells(t, name, name)
		p := NewPoller(db, zerolog.Nop(), time.Minute).Of(name, slurm.Commands{Conf: filepath.Join(slurms.dir, name), Foreign: i > 0})
		p.now = func() time.Time { return now }
		pollers[name] = p
	}
	state := func(name string) string {
		j, err := db.Job(ctx, store.Viewer{All: true, Cluster: name}, slurmid.Ref{ID: 7}, 0)
		if err != nil {
			return err.Error()
		}
		return j.State
	}
	mark := func(name string) time.Time {
		at, err := db.Mark(ctx, store.MarkOf(markRead, name))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	os.Remove(filepath.Join(slurms.dir, "gold", "sacct"))
	slurms.tells(t, "iron", "carbon")
	for range 60 { // an hour
		now = now.Add(time.Minute)
		for _, name := range clusterNames {
			_, err := pollers[name].look(ctx)
			want := map[string]string{"gold": "slurmdbd is away", "iron": `cluster iron: Slurm answers for cluster "carbon"`}[name]
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Fatalf("%s: %v, want %q", name, err, want)
			}
		}
	}
	if got := state("carbon"); got != "COMPLETED" || !mark("carbon").Equal(now) || !mark("gold").IsZero() || !mark("iron").IsZero() {
		t.Errorf("carbon is %s, read %v; gold %v, iron %v", got, mark("carbon"), mark("gold"), mark("iron"))
	}
	if err := pollers["iron"].keepQueue(ctx, now); err == nil || !strings.Contains(err.Error(), "Slurm answers for cluster") {
		t.Errorf("iron's queue is carbon's: %v", err)
	}
	if err := pollers["iron"].keepRooms(ctx, now); err == nil || !strings.Contains(err.Error(), "Slurm answers for cluster") {
		t.Errorf("iron's rooms are carbon's: %v", err)
	}
	for _, name := range clusterNames[1:] {
		slurms.tells(t, name, name)
		if _, err := pollers[name].look(ctx); err != nil || state(name) != "COMPLETED" || !mark(name).Equal(now) {
			t.Errorf("%s is %s, %v, read %v", name, state(name), err, mark(name))
		}
	}
}

// TestFromOneToSeveral: a cluster's Slurm is read on from where it was read before jobeffd told clusters apart.
func TestFromOneToSeveral(t *testing.T) {
	slurms, db := startSlurms(t), openStore(t)
	slurms.tells(t, "gold", "gold")
	now := time.Now().Truncate(time.Second).UTC()
	if err := errors.Join(db.SetMark(ctx, markRead, now.Add(-2*time.Hour)), db.SetMark(ctx, markSwept, now)); err != nil {
		t.Fatal(err)
	}
	p := NewPoller(db, zerolog.Nop(), time.Minute).Of("gold", slurm.Commands{Conf: filepath.Join(slurms.dir, "gold"), Foreign: true})
	p.now = func() time.Time { return now }
	asked := func() string {
		if _, err := p.look(ctx); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(slurms.dir, "gold", "asked"))
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(slurms.dir, "gold", "asked"))
		first, _, _ := strings.Cut(string(text), "\n")
		return first
	}
	if first, want := asked(), now.Add(-sweepBack-overlap).Format("2006-01-02T15:04:05"); first != want { // its first look sweeps
		t.Errorf("the first look is from %s, want %s", first, want)
	}
	now = now.Add(time.Minute)
	if first, want := asked(), now.Add(-time.Minute-overlap).Format("2006-01-02T15:04:05"); first != want {
		t.Errorf("the next look is from %s, want %s", first, want)
	}
	if read, err := db.Mark(ctx, markRead); err != nil || !read.Equal(now.Add(-2*time.Hour-time.Minute)) {
		t.Errorf("the mark of one cluster is %v, %v", read, err)
	}
}

// TestGrantsOfSeveral: what one cluster's Slurm grants is of its own uids, as its jobs tell them, and no other's.
func TestGrantsOfSeveral(t *testing.T) {
	slurms, db := startSlurms(t), openStore(t)
	for i, name := range clusterNames {
		slurms.tells(t, name, name)
		if _, err := keep(db, reportOf(name)); err != nil {
			t.Fatal(err)
		}
		p := NewPoller(db, zerolog.Nop(), time.Minute).Of(name, slurm.Commands{Conf: filepath.Join(slurms.dir, name), Foreign: i > 0})
		if _, err := p.look(ctx); err != nil {
			t.Fatal(err)
		}
		if err := p.readAccess(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		cluster string
		uid     uint32
		want    store.Viewer
	}{
		{"carbon", bin, store.Viewer{UID: bin, All: true, Cluster: "carbon"}}, // this machine's uid of the name
		{"gold", bin, store.Viewer{UID: bin, Cluster: "gold"}},                // no job tells who bin is there
		{"gold", alice, store.Viewer{UID: alice, Accounts: []string{"chem"}, Cluster: "gold"}},
		{"carbon", alice, store.Viewer{UID: alice, Cluster: "carbon"}}, // user-of-carbon
		{"iron", alice, store.Viewer{UID: alice, Cluster: "iron"}},
		{"", bin, store.Viewer{UID: bin}},
	} {
		if got, err := db.Viewer(ctx, c.cluster, c.uid, true); err != nil || cmp.Diff(c.want, got) != "" {
			t.Errorf("uid %d of %q: %+v, %v", c.uid, c.cluster, got, err)
		}
	}
}
