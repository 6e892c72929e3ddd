package job_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
)

// FuzzUnmarshalFast: it accepts what encoding/json accepts, and reads the same values.
func FuzzUnmarshalFast(f *testing.F) {
	body, _ := json.Marshal(jobtest.Report(7, "n1", jobtest.Nonce))
	f.Add(body)
	for _, s := range []string{`{"VERSION":1,"version":2}`, `{"node":"\ud800"}`, `{"node":null,"steps":[null]}`, `{"job_id":1e3}`, `{"job_id":-1}`,
		`{"start":"2026-01-01T00:00:00+24:00"}`, `[]`, `null`, ` {} `, `{}{}`, `{"executions":[{"nodes":[{"useful_ns":1.0}]}]}`, `{"node":"` + "\xff" + `"}`,
		`{"executions":[{"nodes":[{"useful_share":"AAA="},{"useful_share":"!"}],"endings":{"a":1,"a":2}}]}`, `{"array_task_id":null}`, `{"unknown":[[[{}]]]}`,
		`{"executions":null}`, `{"executions":{}}`, `{"executions":[null,{}]}`, `{"executions":[{"size":1},{}],"executions":[{}]}`, `{"executions":[{}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var want, got job.NodeReport
		wantErr, gotErr := json.Unmarshal(body, &want), job.UnmarshalFast(body, &got)
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("encoding/json says %v, UnmarshalFast %v", wantErr, gotErr)
		}
		if wantErr == nil && !cmp.Equal(want, got) {
			t.Error(cmp.Diff(want, got))
		}
		var bounded job.NodeReport // accepts less, but reads nothing else
		if err := job.UnmarshalReport(body, &bounded); err == nil && (wantErr != nil || !cmp.Equal(want, bounded)) {
			t.Error(wantErr, cmp.Diff(want, bounded))
		}
	})
}
