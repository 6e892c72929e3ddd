package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"jobeff/ingest/job"
)

// JobWorkload fetches one attempt of one job, and the workload of its main execution, nil if
// it belongs to none; id is what ParseJobID takes.
func (c *Client) JobWorkload(ctx context.Context, id string) (*job.Job, *job.Workload, error) {
	both := job.JobAndWorkload{Job: new(job.Job)}
	err := c.ask(ctx, "GET", "/v1/jobs/"+url.PathEscape(id)+"?workload=1", nil, &both, "job")
	if err != nil {
		return nil, nil, err
	}
	return both.Job, both.Workload, nil
}

// Workloads lists workloads, the last one to run first.
func (c *Client) Workloads(ctx context.Context, q job.WorkloadQuery) (*job.WorkloadList, error) {
	path := "/v1/workloads"
	if v := q.Values().Encode(); v != "" {
		path += "?" + v
	}
	list := new(job.WorkloadList)
	if err := c.ask(ctx, "GET", path, nil, list, "list of workloads"); err != nil {
		return nil, err
	}
	return list, nil
}

// Workload fetches a workload with its runs. name is its name, its key or the beginning of
// either; user is its owner, a name or a uid; "" leaves the choice to the server.
func (c *Client) Workload(ctx context.Context, name, user string) (*job.Workload, error) {
	return c.onWorkload(ctx, "GET", name, "", user, nil)
}

// SetMute mutes a workload until m.Until, for m.Reason. It returns the workload without runs.
func (c *Client) SetMute(ctx context.Context, name, user string, m job.Mute) (*job.Workload, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return c.onWorkload(ctx, "PUT", name, "/mute", user, body)
}

// ClearMute ends the mute of a workload. It returns the workload without runs, and with the
// mute that it had.
func (c *Client) ClearMute(ctx context.Context, name, user string) (*job.Workload, error) {
	return c.onWorkload(ctx, "DELETE", name, "/mute", user, nil)
}

func (c *Client) onWorkload(ctx context.Context, method, name, what, user string, body []byte) (*job.Workload, error) {
	if strings.Trim(name, ".") == "" { // servers change such a path
		return nil, fmt.Errorf("%q names no workload: give one of its jobs, or its key, which `jobeff workload --json` lists", name)
	}
	path := "/v1/workloads/" + url.PathEscape(name) + what
	if user != "" {
		path += "?user=" + url.QueryEscape(user)
	}
	w := new(job.Workload)
	if err := c.ask(ctx, method, path, body, w, "workload"); err != nil {
		return nil, err
	}
	return w, nil
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
	if err := job.UnmarshalFast(answer, into); err != nil {
		return fmt.Errorf("jobeffd at %s gave an answer that is no %s: %w", c.addr, what, err)
	}
	return nil
}
