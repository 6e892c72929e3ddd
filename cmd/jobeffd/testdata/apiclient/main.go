// Command apiclient lists the jobs of the jobeffd at a socket, by a client that oapi-codegen makes of
// doc/openapi.yaml. cmd/jobeffd's TestGeneratedClient makes it, and reads what this prints.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"

	"apiclient/client"
)

func main() {
	if err := list(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func list(socket string) error {
	through := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	c, err := client.NewClientWithResponses("http://jobeffd", client.WithHTTPClient(through))
	if err != nil {
		return err
	}
	ctx, limit := context.Background(), 100
	p := client.ListJobsParams{Limit: &limit}
	for {
		answer, err := c.ListJobsWithResponse(ctx, &p)
		if err != nil {
			return err
		}
		if answer.JSON200 == nil {
			return errors.New(answer.Status())
		}
		for _, j := range answer.JSON200.Jobs {
			pe := "-"
			if j.ParallelEfficiency != nil {
				pe = fmt.Sprintf("%.6f", *j.ParallelEfficiency)
			}
			fmt.Println(*j.Id, j.Ranks, pe)
		}
		if answer.JSON200.Next == nil {
			break
		}
		next, err := url.Parse(*answer.JSON200.Next)
		if err != nil {
			return err
		}
		after := next.Query().Get("after")
		p.After = &after
	}
	missing, err := c.GetJobWithResponse(ctx, "7", nil)
	if err != nil {
		return err
	}
	problem := missing.ApplicationproblemJSON404
	fmt.Println(problem.Status, *problem.Detail)
	return nil
}
