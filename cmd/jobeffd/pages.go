package main

import (
	"bytes"
	"io"
	"time"

	"jobeff/etc"
	"jobeff/ingest"
	"jobeff/ingest/server"
	"jobeff/policy"
	views "jobeff/report"
)

// Where pages link to: relative, so that a proxy may put them below a path of its own.
var (
	fromTop  = views.Links{Home: "./", Jobs: "jobs/", Workloads: "workloads/"}
	fromPage = views.Links{Home: "../", Jobs: "../jobs/", Workloads: "../workloads/"}
)

// pages are what jobeffd shows in a browser, judged by the configuration's rules.
func pages(cfg *etc.Config) (server.Pages, error) {
	rules, err := policy.Compile(cfg.Rules)
	if err != nil {
		return server.Pages{}, err
	}
	return server.Pages{
		Policy: views.ContentSecurityPolicy,
		Jobs: func(list *ingest.JobList) ([]byte, error) {
			return written(func(w io.Writer) error { return views.JobsHTML(w, list.Jobs, list.More, fromTop) })
		},
		Job: func(j *ingest.Job, workload *ingest.Workload) ([]byte, error) {
			study := policy.NewStudy(workload, j, time.Now(), policy.Settings{})
			return written(func(w io.Writer) error { return views.JobHTML(w, j, study, rules.Judge(j, study), fromPage) })
		},
		Workload: func(workload *ingest.Workload) ([]byte, error) {
			study := policy.NewStudy(workload, nil, time.Now(), policy.Settings{})
			return written(func(w io.Writer) error { return views.WorkloadHTML(w, study, fromPage) })
		},
	}, nil
}

func written(write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	err := write(&b)
	return b.Bytes(), err
}

// proxy is whom to believe.
func proxy(cfg etc.Web) (p server.Proxy, err error) {
	p.Header = cfg.ProxyHeader
	if p.Users, err = userIDs("web.proxy_users", cfg.ProxyUsers); err == nil && cfg.Listen != "" {
		p.Secret, err = server.ReadSecret(cfg.ProxySecret)
	}
	return p, err
}
