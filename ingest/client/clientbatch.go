package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"jobeff/ingest/job"
)

// PostReports sends the JSON of several reports, none with a newline in it, in one request.
// The server decides about each report by itself. of has what PostReport would return for
// each; err means that nothing is known about any of them.
func (c *Client) PostReports(ctx context.Context, reports [][]byte) (of []error, err error) {
	if len(reports) == 0 {
		return nil, nil
	}
	var text []byte
	err = patiently(ctx, func() (err error) {
		text, err = c.post(ctx, "/v1/reports/batch", "application/x-ndjson", bytes.Join(reports, []byte("\n")))
		return err
	})
	var answer *ServerError
	if errors.As(err, &answer) && answer.Status == http.StatusNotFound && !answer.Foreign {
		return c.postEach(ctx, reports) // an older jobeffd
	}
	if err != nil {
		return nil, err
	}
	var said struct {
		Answers []job.BatchAnswer `json:"answers"`
	}
	if json.Unmarshal(text, &said) != nil || len(said.Answers) != len(reports) {
		return nil, fmt.Errorf("jobeffd at %s did not answer for each of %d reports: is it another version?", c.addr, len(reports))
	}
	for _, a := range said.Answers {
		var e error
		if a.Status != http.StatusOK {
			e = &ServerError{Status: a.Status, Message: a.Error, Hint: a.Hint}
		}
		of = append(of, e)
	}
	return of, nil
}

// postEach is PostReports with one request per report.
func (c *Client) postEach(ctx context.Context, reports [][]byte) (of []error, err error) {
	for _, body := range reports {
		err := patiently(ctx, func() error { return c.PostReport(ctx, body) })
		if away := new(UnreachableError); errors.As(err, &away) {
			return nil, err // the others would only wait for the same time-out
		}
		of = append(of, err)
	}
	return of, nil
}
