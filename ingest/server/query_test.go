package server

import (
	"net/http"
	"net/url"
	"testing"

	"jobeff/ingest/job"
)

// FuzzQuery: filters that are taken are asked for again in the same words. A page that leaves one
// out, or reads another, would show what nobody asked for.
func FuzzQuery(f *testing.F) {
	for _, text := range []string{
		"job=7_[1-3],8&user=0,1000&state=FAILED&limit=20&offset=40&sort=lost&detail=1",
		"start=2026-11-20T08:00:00Z&end=2026-11-20T08:00:00%2B14:00&account=a%26b",
		"user=0&since=2026-11-20T08:00:00.5-01:00&muted=1&limit=2",
		"limit=1&limit=2", "detail=yes", "%zz", "a=1;b=2", "limit=9223372036854775808", "start=0001-01-01T00:00:00Z",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := &http.Request{URL: &url.URL{RawQuery: text}}
		if onlyKnown(r, listParameters) == nil {
			again(t, r.URL.Query(), job.JobQuery.Values, func(v url.Values) (job.JobQuery, *refusal) {
				q, uids, e := parseQuery(v)
				if e == nil && (len(uids) > mostNames || (len(uids) == 0) != (q.User == "")) {
					t.Errorf("%d users of %q", len(uids), q.User)
				}
				return q, e
			})
		}
		if onlyKnown(r, workloadParameters) == nil {
			again(t, r.URL.Query(), job.WorkloadQuery.Values, func(v url.Values) (job.WorkloadQuery, *refusal) {
				q, _, e := parseWorkloads(v)
				return q, e
			})
		}
	})
}

// again reads a query, writes it and reads that: what is written must stay.
func again[Q any](t *testing.T, v url.Values, values func(Q) url.Values, parse func(url.Values) (Q, *refusal)) {
	t.Helper()
	q, e := parse(v)
	if e != nil {
		if e.Status != http.StatusBadRequest || e.Message == "" {
			t.Errorf("%v: %+v", v, e)
		}
		return
	}
	written := values(q)
	q, e = parse(written)
	if e != nil {
		t.Fatalf("%v was taken, but written as %v it is refused: %s", v, written, e.Message)
	}
	if text := values(q).Encode(); text != written.Encode() {
		t.Errorf("%v was written as %s, then as %s", v, written.Encode(), text)
	}
}
