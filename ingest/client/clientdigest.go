package client

import (
	"context"
	"net/url"
	"time"

	"jobeff/ingest/job"
)

// Digest fetches the figures of a digest, of all accounts if none is given.
func (c *Client) Digest(ctx context.Context, from, to time.Time, accounts []string) (*job.TwoWeeks, error) {
	v := url.Values{"from": {from.UTC().Format(time.RFC3339)}, "to": {to.UTC().Format(time.RFC3339)}, "account": accounts}
	both := new(job.TwoWeeks)
	if err := c.ask(ctx, "GET", "/v1/digest?"+v.Encode(), nil, both, "digest"); err != nil {
		return nil, err
	}
	return both, nil
}
