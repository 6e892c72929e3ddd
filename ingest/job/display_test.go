package job_test

import (
	"math"
	"testing"

	"jobeff/ingest/job"
)

func TestDisplayID(t *testing.T) {
	task, offset := uint32(4), uint32(1)
	tests := []struct {
		job  job.Job
		want string
	}{
		{job.Job{JobID: 7}, "7"},
		{job.Job{JobID: 9, ArrayJobID: 7, ArrayTaskID: &task}, "7_4"},
		{job.Job{JobID: 9, HetJobID: 7}, "7+2"},
		{job.Job{JobID: 9, HetJobID: 7, HetOffset: &offset}, "7+1"},
	}
	for _, tt := range tests {
		if got := job.DisplayID(&tt.job); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestSumsStopAtTheLargestNumber(t *testing.T) {
	c := job.Call{Count: math.MaxUint64 - 1, Time: math.MaxInt64 - 1}
	c.Add(job.Call{Count: 5, Time: 5})
	if c.Count != math.MaxUint64 || c.Time != math.MaxInt64 {
		t.Errorf("got %+v", c)
	}
}
