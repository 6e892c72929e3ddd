package test

import (
	"encoding/json"
	"testing"
)

// TestRoom: jobeffd knows what Slurm gives a job of the partition, and tells it with the job.
func TestRoom(t *testing.T) {
	t.Parallel()
	id := site.submit(t, "alice", "true", "-n1")
	type kind struct {
		Nodes, CPUs int
		Memory      int64
	}
	var found struct {
		Room struct {
			kind
			Time  int64 `json:"time_ns"`
			Kinds []kind
		}
	}
	until(t, "what Slurm gives job "+id, func() bool {
		r := site.try(t, "", "as", "alice", "curl", "-sf", "--unix-socket", "/run/jobeffd/jobeffd.sock", "http://jobeffd/v1/jobs/"+id+"?stored=1")
		return r.code == 0 && json.Unmarshal([]byte(r.stdout), &found) == nil && len(found.Room.Kinds) > 0
	})
	all := kind{nodes, 4, 8000 << 20}
	if r := found.Room; r.kind != all || r.Time != 0 || len(r.Kinds) != 1 || r.Kinds[0] != all {
		t.Errorf("%+v, want %+v without a limit of time", r, all)
	}
}
