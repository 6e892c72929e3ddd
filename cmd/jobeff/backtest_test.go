package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
)

// TestEachJobOnce: pages of a list that grows in between give every job once.
func TestEachJobOnce(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	newest := 10
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		list := job.JobList{More: newest-offset > 4}
		for id := newest - offset; id > max(0, newest-offset-4); id-- {
			list.Jobs = append(list.Jobs, job.Job{JobID: uint32(id)})
		}
		newest++ // a job begins
		json.NewEncoder(w).Encode(list)
	})}
	go srv.Serve(l)
	defer srv.Close()
	c := client.NewClient("unix:"+socket, 10*time.Second, nil)
	defer c.Close()
	times := map[uint32]int{}
	if err := eachJob(context.Background(), c, job.JobQuery{Limit: 4, Detail: true}, func(j *job.Job) error {
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
