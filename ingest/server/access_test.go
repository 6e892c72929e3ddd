package server

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
)

// Users that every Debian has.
const daemon, bin, sys = 1, 2, 3

// TestViewer: own jobs, a coordinator's accounts, operators all; PrivateData opens
// only where the site says that it may.
func TestViewer(t *testing.T) {
	access := func(private bool) *slurm.Access {
		return &slurm.Access{Admins: []string{"bin", "nosuchuser"}, Private: private,
			Coordinators: map[string][]string{"daemon": {"chem", "chem2"}, "nosuchuser": {"bio"}}}
	}
	for _, c := range []struct {
		name   string
		open   bool
		access *slurm.Access
		want   map[uint32]store.Viewer
	}{
		{"Slurm was not asked yet", true, nil, map[uint32]store.Viewer{daemon: {UID: daemon}, bin: {UID: bin}, 0: {All: true}, 61002: {UID: 61002, All: true}}},
		{"own jobs only, whatever PrivateData says", false, access(false), map[uint32]store.Viewer{
			sys: {UID: sys}, daemon: {UID: daemon, Accounts: []string{"chem", "chem2"}}, bin: {UID: bin, All: true}}},
		{"as Slurm, which hides jobs", true, access(true), map[uint32]store.Viewer{
			sys: {UID: sys}, daemon: {UID: daemon, Accounts: []string{"chem", "chem2"}}, bin: {UID: bin, All: true}}},
		{"as Slurm, which hides nothing", true, access(false), map[uint32]store.Viewer{
			sys: {UID: sys, All: true}, daemon: {UID: daemon, All: true, Accounts: []string{"chem", "chem2"}}}},
	} {
		s := New(Options{Log: zerolog.Nop(), Operators: []uint32{61002}, Open: c.open})
		if c.access != nil {
			s.SetAccess(c.access)
		}
		for uid, want := range c.want {
			if d := cmp.Diff(want, s.viewer(who{uid: uid})); d != "" {
				t.Errorf("%s, uid %d: %s", c.name, uid, d)
			}
		}
	}
}

// TestCoordinator reads jobs of his accounts and no others.
func TestCoordinator(t *testing.T) {
	db, err := store.Open(filepath.Join(t.TempDir(), "jobeff.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for id, account := range map[uint32]string{1: "chem", 2: "bio", 3: ""} {
		r := report(id, alice)
		r.Account = account
		if _, err := keep(db, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name     string
		accounts []string
		want     []uint32
	}{
		{"of none", nil, nil}, {"of chem", []string{"chem"}, []uint32{1}}, {"of both", []string{"chem", "bio"}, []uint32{1, 2}},
		{"of an account without a name", []string{""}, nil}, {"of an injected one", []string{"x') OR ('1' = '1"}, nil},
	} {
		v := store.Viewer{UID: daemon, Accounts: c.accounts}
		list, err := db.Jobs(ctx, v, job.JobQuery{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[uint32]bool{}
		for _, j := range list.Jobs {
			seen[j.JobID] = true
		}
		for id := uint32(1); id <= 3; id++ {
			_, err := db.Job(ctx, v, job.JobRef{ID: id}, 0)
			want := false
			for _, w := range c.want {
				want = want || w == id
			}
			if (err == nil) != want || seen[id] != want {
				t.Errorf("a coordinator %s, job %d: %v, listed %v", c.name, id, err, seen[id])
			}
		}
	}
}

func TestReadAccessNowAndThen(t *testing.T) {
	fakeCommand(t, "sacctmgr", `case "$*" in *account*) echo 'chem|daemon';; *user*) echo 'bin|Operator';; *) echo 'PrivateData = none';; esac`)
	now := time.Now()
	var got []*slurm.Access
	p := &Poller{Interval: time.Minute, now: func() time.Time { return now }, Access: func(a *slurm.Access) { got = append(got, a) }}
	for i, step := range []time.Duration{0, time.Minute, 8 * time.Minute, time.Minute, -time.Hour} {
		now = now.Add(step)
		if err := p.readAccess(ctx); err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 1, 1, 2, 3}[i]; len(got) != want {
			t.Errorf("after %d looks it was read %d times, want %d", i+1, len(got), want)
		}
	}
	want := &slurm.Access{Admins: []string{"bin"}, Coordinators: map[string][]string{"daemon": {"chem"}}}
	if d := cmp.Diff(want, got[0]); d != "" {
		t.Error(d)
	}
	fakeCommand(t, "sacctmgr", "exit 1")
	now = now.Add(time.Hour)
	if err := p.readAccess(ctx); err == nil || len(got) != 3 {
		t.Errorf("a sacctmgr that fails: %v, read %d times", err, len(got))
	}
}

// fakeCommand puts a script in front of PATH.
func fakeCommand(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/bash\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}
