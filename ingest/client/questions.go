package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/wire"
)

// Job fetches a job or a step, its workload and the verdicts on it; id is what slurmid.Parse reads.
func (c *Client) Job(ctx context.Context, id string) (*listing.JobAndWorkload, error) {
	found := &listing.JobAndWorkload{Job: new(job.Job)}
	if err := c.ask(ctx, "GET", "/v1/jobs/"+url.PathEscape(id)+"?stored=1", nil, found, "job"); err != nil {
		return nil, err
	}
	return found, nil
}

// JobDocument fetches the JSON document of a job or a step.
func (c *Client) JobDocument(ctx context.Context, id string) (document json.RawMessage, err error) {
	err = c.ask(ctx, "GET", "/v1/jobs/"+url.PathEscape(id), nil, &document, "job")
	return document, err
}

// CompareDocument fetches the JSON document of why the second of two jobs took longer than the first; of one job, why it
// took longer than earlier runs of its workload. force compares different work, too.
func (c *Client) CompareDocument(ctx context.Context, ids []string, force bool) (document json.RawMessage, err error) {
	path := "/v1/jobs/" + url.PathEscape(ids[0]) + "/compare"
	if len(ids) > 1 {
		path += "/" + url.PathEscape(ids[1])
	}
	if force {
		path += "?force=1"
	}
	err = c.ask(ctx, "GET", path, nil, &document, "comparison")
	return document, err
}

// Lines lists jobs, an array in one line, newest first or as q.Sort says.
func (c *Client) Lines(ctx context.Context, q listing.JobQuery) (*listing.LineList, error) {
	q.Stored = true
	list := new(listing.LineList)
	if err := c.ask(ctx, "GET", "/v1/jobs?"+q.Values().Encode(), nil, list, "list of jobs"); err != nil {
		return nil, err
	}
	return list, nil
}

// Jobs lists jobs likewise, each task of an array by itself.
func (c *Client) Jobs(ctx context.Context, q listing.JobQuery) (*listing.JobList, error) {
	q.Stored, q.Tasks = true, true
	list := new(listing.JobList)
	if err := c.ask(ctx, "GET", "/v1/jobs?"+q.Values().Encode(), nil, list, "list of jobs"); err != nil {
		return nil, err
	}
	return list, nil
}

// JobDocuments lists the JSON documents of jobs, newest first. next is JobQuery.After for the jobs
// that are left; "": none.
func (c *Client) JobDocuments(ctx context.Context, q listing.JobQuery) (documents []json.RawMessage, next string, err error) {
	var list struct {
		Jobs []json.RawMessage
		Next string
	}
	err = c.ask(ctx, "GET", "/v1/jobs?"+q.Values().Encode(), nil, &list, "list of jobs")
	return list.Jobs, listing.After(list.Next), err
}

// Pending lists the waiting jobs that a query selects.
func (c *Client) Pending(ctx context.Context, q listing.JobQuery) (*slurmid.PendingList, error) {
	q = listing.JobQuery{Jobs: q.Jobs, User: q.User, Account: q.Account, Partition: q.Partition, QOS: q.QOS, Cluster: q.Cluster, Name: q.Name, End: q.End}
	list := new(slurmid.PendingList)
	if err := c.ask(ctx, "GET", "/v1/pending?"+q.Values().Encode(), nil, list, "list of what waits"); err != nil {
		return nil, err
	}
	return list, nil
}

// Workloads lists workloads, the last one to run first.
func (c *Client) Workloads(ctx context.Context, q listing.WorkloadQuery) (*listing.WorkloadList, error) {
	q.Stored = true
	list := new(listing.WorkloadList)
	if err := c.ask(ctx, "GET", "/v1/workloads?"+q.Values().Encode(), nil, list, "list of workloads"); err != nil {
		return nil, err
	}
	return list, nil
}

// WorkloadDocuments lists the JSON documents of workloads, likewise. next is as in JobDocuments.
func (c *Client) WorkloadDocuments(ctx context.Context, q listing.WorkloadQuery) (documents []json.RawMessage, next string, err error) {
	var list struct {
		Workloads, Named []json.RawMessage
		Next             string
	}
	err = c.ask(ctx, "GET", "/v1/workloads?"+q.Values().Encode(), nil, &list, "list of workloads")
	return append(list.Workloads, list.Named...), listing.After(list.Next), err
}

// Workload fetches a workload with its runs. name is its name, its key, the beginning of either, or the id of a job of it;
// user is its owner, a name or a uid; "" leaves the choice to the server. cluster is where its runs were; "": anywhere.
func (c *Client) Workload(ctx context.Context, name, user, cluster string) (*listing.FoundWorkload, error) {
	w := &listing.FoundWorkload{Workload: new(job.Workload)}
	if err := c.onWorkload(ctx, "GET", name, "", user, ofCluster(url.Values{"stored": {"1"}}, cluster), nil, w); err != nil {
		return nil, err
	}
	return w, nil
}

// WorkloadDocument fetches the JSON document of a workload, with the expected times on the core counts of predict.
func (c *Client) WorkloadDocument(ctx context.Context, name, user, cluster string, predict []int) (document json.RawMessage, err error) {
	v := ofCluster(url.Values{}, cluster)
	counts := make([]string, len(predict))
	for i, n := range predict {
		counts[i] = strconv.Itoa(n)
	}
	if len(counts) > 0 {
		v.Set("predict", strings.Join(counts, ","))
	}
	err = c.onWorkload(ctx, "GET", name, "", user, v, nil, &document)
	return document, err
}

// SetMute mutes a workload until m.Until, for m.Reason. It returns the workload without runs.
func (c *Client) SetMute(ctx context.Context, name, user string, m job.Mute) (*job.Workload, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	w := new(job.Workload)
	return w, c.onWorkload(ctx, "PUT", name, "/mute", user, url.Values{}, body, w)
}

// ClearMute ends the mute of a workload. It returns the workload without runs, and with the
// mute that it had.
func (c *Client) ClearMute(ctx context.Context, name, user string) (*job.Workload, error) {
	w := new(job.Workload)
	return w, c.onWorkload(ctx, "DELETE", name, "/mute", user, url.Values{}, nil, w)
}

func (c *Client) onWorkload(ctx context.Context, method, name, what, user string, v url.Values, body []byte, into any) error {
	if strings.Trim(name, ".") == "" { // HTTP servers rewrite such a path
		return fmt.Errorf("%q names no workload: give one of its jobs, or its key, which `jobeff workload --json` lists", name)
	}
	if user != "" {
		v.Set("user", user)
	}
	path := "/v1/workloads/" + url.PathEscape(name) + what
	if len(v) > 0 {
		path += "?" + v.Encode()
	}
	return c.ask(ctx, method, path, body, into, "workload")
}

// ask makes one request, repeats it when the server asks it to wait, and reads the answer.
func (c *Client) ask(ctx context.Context, method, path string, body []byte, into any, what string) error {
	var header http.Header
	if body != nil {
		header = http.Header{"Content-Type": {"application/json"}}
	}
	var answer []byte
	err := patiently(ctx, func() (err error) {
		answer, err = c.do(ctx, method, path, header, body)
		return err
	})
	if err != nil {
		return err
	}
	if err := wire.UnmarshalFast(answer, into); err != nil {
		return fmt.Errorf("jobeffd at %s gave an answer that is no %s: %w", c.addr, what, err)
	}
	return nil
}

// ofCluster asks about one cluster; "": all that the caller sees.
func ofCluster(v url.Values, cluster string) url.Values {
	if cluster != "" {
		v.Set("cluster", cluster)
	}
	return v
}

// DigestQuery names the time of a digest: a week by its ISO number, "2026-W46", or From and To.
// Without either it is the week of the last digest that was due. jobeffd says which days a week has.
type DigestQuery struct {
	Week     string
	From, To time.Time
	Cluster  string   // "": all
	Accounts []string // empty: all
}

func (q *DigestQuery) values() url.Values {
	v := ofCluster(url.Values{"account": q.Accounts}, q.Cluster)
	if q.Week != "" {
		v.Set("week", q.Week)
	}
	if !q.From.IsZero() {
		v.Set("from", q.From.UTC().Format(time.RFC3339))
		v.Set("to", q.To.UTC().Format(time.RFC3339))
	}
	return v
}

// DigestDocument fetches the JSON document of a digest.
func (c *Client) DigestDocument(ctx context.Context, q DigestQuery) (document json.RawMessage, err error) {
	err = c.ask(ctx, "GET", "/v1/digest?"+q.values().Encode(), nil, &document, "digest")
	return document, err
}

// Digest fetches what a digest is made of.
func (c *Client) Digest(ctx context.Context, q DigestQuery) (*listing.TwoWeeks, error) {
	v := q.values()
	v.Set("stored", "1")
	both := new(listing.TwoWeeks)
	if err := c.ask(ctx, "GET", "/v1/digest?"+v.Encode(), nil, both, "digest"); err != nil {
		return nil, err
	}
	return both, nil
}

// Coverage fetches the ledger of the jobs that ended in a span. A time that is zero is left to jobeffd. cluster "": of all.
func (c *Client) Coverage(ctx context.Context, from, to time.Time, cluster string) (*listing.Ledger, error) {
	l := new(listing.Ledger)
	return l, c.askSpan(ctx, "/v1/coverage", from, to, cluster, l, "ledger")
}

// Cost fetches what jobeff costs the jobs that ended in a span, likewise.
func (c *Client) Cost(ctx context.Context, from, to time.Time, cluster string) (*listing.Cost, error) {
	of := new(listing.Cost)
	return of, c.askSpan(ctx, "/v1/cost", from, to, cluster, of, "cost")
}

// Status fetches how jobeff itself does.
func (c *Client) Status(ctx context.Context) (*listing.Status, error) {
	is := new(listing.Status)
	return is, c.ask(ctx, "GET", "/v1/status", nil, is, "status")
}

func (c *Client) askSpan(ctx context.Context, path string, from, to time.Time, cluster string, into any, what string) error {
	q := listing.JobQuery{Cluster: cluster, Start: from, End: to}
	return c.ask(ctx, "GET", path+"?"+q.Values().Encode(), nil, into, what)
}
