package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
)

// TestEachJobOnce: pages of a list give every job once, each by the place that the one before named.
func TestEachJobOnce(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before := 11
		if after := r.URL.Query().Get("after"); after != "" {
			before, _ = strconv.Atoi(after)
		}
		var list listing.JobList
		for id := before - 1; id > max(0, before-5); id-- {
			list.Jobs = append(list.Jobs, job.Job{JobID: uint32(id)})
		}
		if before > 5 {
			list.More, list.Next = true, fmt.Sprint("/v1/jobs?limit=4&after=", before-4)
		}
		json.NewEncoder(w).Encode(list)
	})}
	go srv.Serve(l)
	defer srv.Close()
	c := client.NewClient("unix:"+socket, 10*time.Second, nil)
	defer c.Close()
	times := map[uint32]int{}
	if err := eachJob(context.Background(), c, listing.JobQuery{Limit: 4, Detail: true}, func(j *job.Job) error {
		times[j.JobID]++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for id := uint32(1); id <= 10; id++ {
		if times[id] != 1 {
			t.Errorf("job %d: %d times", id, times[id])
		}
	}
}
