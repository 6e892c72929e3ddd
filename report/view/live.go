package view

import (
	"jobeff/policy"
	"jobeff/report/words"
)

// Live is the view of a job that runs: the figures of its Job so far, and words on what it did in the last moment, too.
type Live struct {
	Job

	Words words.Live `json:"-"`
}

// NewLive makes the view of a running job. wide means that its reader sees characters outside ASCII.
func NewLive(of words.Watched, wide bool) *Live {
	return &Live{Job: whole(of.SoFar, nil, nil, policy.RequestFor(nil, of.SoFar)), Words: words.OfLive(of, wide)}
}
