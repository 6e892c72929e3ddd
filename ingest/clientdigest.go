package ingest

import (
	"context"
	"net/url"
	"time"
)

// TwoWeeks are the facts of a span of time and of the one before it: the answer of
// GET /v1/digest?from=&to=&account=…
type TwoWeeks struct {
	This   *Facts `json:"this"`
	Before *Facts `json:"before"` // without comparisons
}

// Digest fetches what a digest is made of; without accounts, of all.
func (c *Client) Digest(ctx context.Context, from, to time.Time, accounts []string) (*TwoWeeks, error) {
	v := url.Values{"from": {from.UTC().Format(time.RFC3339)}, "to": {to.UTC().Format(time.RFC3339)}, "account": accounts}
	both := new(TwoWeeks)
	if err := c.ask(ctx, "GET", "/v1/digest?"+v.Encode(), nil, both, "digest"); err != nil {
		return nil, err
	}
	return both, nil
}
