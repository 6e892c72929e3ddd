package server

import (
	"errors"
	"io"
	"net/http"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/compare"
	views "jobeff/report"
	"jobeff/report/view"
)

// getComparison answers why a job took longer than another: GET /v1/jobs/BEFORE/compare/ID, or than earlier runs of its
// workload: GET /v1/jobs/ID/compare. ?force=1 compares different work, too.
func (s *Server) getComparison(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r, "force")
	if !ok {
		return
	}
	v, why, e := s.comparison(r, by)
	if e == nil && why != nil {
		e = &refusal{Status: http.StatusConflict, Reason: "not_comparable", Message: why.Why}
		if why.Force {
			e.Hint = "jobeff compare --force, or force=1 over HTTP, compares them all the same"
		}
	}
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	answer(w, r, v)
}

// comparePage is the page of that. If the reason cannot be found, it says so.
func (s *Server) comparePage(r *http.Request, by viewer) ([]byte, error) {
	v, _, e := s.comparison(r, by)
	if e != nil {
		return nil, e
	}
	return written(func(w io.Writer) error { return views.PageOfComparison(w, v, menu(r, by.Viewer, "")) })
}

// comparison makes the view of why a job took longer than the one that the path names before it. If the path names none, it
// compares the job with the median of earlier runs of its workload. why says that they cannot be compared; the view then has
// only these words.
func (s *Server) comparison(r *http.Request, by viewer) (v *view.Comparison, why *compare.Refusal, e *refusal) {
	force := false
	if e := readParameters(r.URL.Query(), listing.Parameters{"force": &force}); e != nil {
		return nil, nil, e
	}
	after, e := s.findJob(r, by)
	if e != nil {
		return nil, nil, e
	}
	c, err := s.compared(r, by, after, force)
	if errors.As(err, &why) {
		return view.NoComparison(after.Job, why.Why, true), why, nil
	} else if err != nil {
		return nil, nil, refuse(err)
	}
	return view.NewComparison(c, true), nil, nil
}

func (s *Server) compared(r *http.Request, by viewer, after *listing.JobAndWorkload, force bool) (*compare.Comparison, error) {
	if id := r.PathValue("before"); id != "" {
		before, e := s.jobOf(r, by, id, 0)
		if e != nil {
			return nil, e
		}
		return compare.New(before, after, force)
	}
	return compare.WithMedian(after, force, func(run *job.Run) (*listing.JobAndWorkload, error) {
		found, e := s.jobOf(r, by, run.DisplayID, run.Attempt)
		if e != nil {
			return nil, errors.New(e.Message)
		}
		return found, nil
	})
}
