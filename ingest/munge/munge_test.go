package munge_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"jobeff/ingest/munge"
	"jobeff/test/mungetest"
)

func TestEncodeDecode(t *testing.T) {
	socket := mungetest.Start(t)
	before := time.Now().Truncate(time.Second)
	cred, err := munge.Encode(socket, []byte("some\x00payload"), 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := munge.Decode(socket, cred)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Payload) != "some\x00payload" || got.UID != uint32(os.Getuid()) || got.GID != uint32(os.Getgid()) {
		t.Errorf("got %+v", got)
	}
	if got.Encoded.Before(before) || got.Encoded.After(time.Now()) || got.TTL != 300*time.Second || !got.Addr.Is4() {
		t.Errorf("got %+v", got)
	}
}

func TestRefused(t *testing.T) {
	socket := mungetest.Start(t)
	encode := func() string {
		cred, err := munge.Encode(socket, []byte("x"), 0)
		if err != nil {
			t.Fatal(err)
		}
		return cred
	}
	twice := encode()
	if _, err := munge.Decode(socket, twice); err != nil {
		t.Fatal(err)
	}
	other := mungetest.Start(t) // another key
	foreign, err := munge.Encode(other, []byte("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	altered := []byte(encode())
	altered[len(altered)/2] ^= 1
	expired, err := munge.Encode(mungetest.Skewed(t, socket, "-1h"), []byte("x"), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, socket, cred string
		want               error
	}{
		{"replayed", socket, twice, munge.ErrReplayed},
		{"expired", socket, expired, munge.ErrExpired},
		{"another key", socket, foreign, munge.ErrInvalid},
		{"altered", socket, string(altered), munge.ErrInvalid},
		{"empty", socket, "", munge.ErrInvalid},
		{"garbage", socket, "MUNGE:AAAA:", munge.ErrInvalid},
		{"no terminator", socket, "hello", munge.ErrInvalid},
		{"NUL", socket, "MUNGE:\x00:", munge.ErrInvalid},
		{"huge", socket, "MUNGE:" + strings.Repeat("A", 1<<20) + ":", munge.ErrInvalid},
		{"no munged", filepath.Join(t.TempDir(), "none"), encode(), munge.ErrAway},
	} {
		got, err := munge.Decode(c.socket, c.cred)
		if !errors.Is(err, c.want) || got != nil {
			t.Errorf("%s: %v, %+v; want %v", c.name, err, got, c.want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	if _, err := munge.Encode(filepath.Join(t.TempDir(), "none"), []byte("x"), 0); !errors.Is(err, munge.ErrAway) {
		t.Errorf("no munged: %v", err)
	}
	for _, size := range []int{0, 1 << 20} {
		if _, err := munge.Encode("", make([]byte, size), 0); err == nil {
			t.Errorf("payload of %d bytes accepted", size)
		}
	}
}

// TestStoppedMunged: a munged that takes questions and never answers costs a bounded number of
// threads, however many ask.
func TestStoppedMunged(t *testing.T) {
	cred, err := munge.Encode(mungetest.Start(t), []byte("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "munge") // short: a socket's path has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	stopped, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	const asking = 500
	var all sync.WaitGroup
	for range asking {
		all.Go(func() {
			if _, err := munge.Decode(stopped.Addr().String(), cred); !errors.Is(err, munge.ErrAway) {
				t.Errorf("%v, want %v", err, munge.ErrAway)
			}
		})
	}
	time.Sleep(time.Second) // all that ever ask at once do so now
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil || len(threads) > asking/2 {
		t.Errorf("%d threads, %v", len(threads), err)
	}
	stopped.Close() // the others are told at once
	all.Wait()
}
