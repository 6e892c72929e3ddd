package store

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/wire"
)

// TestExtremes: root of a node sends the largest numbers and texts in every field of a report, one at
// a time, for jobs of which Slurm tells and for others. Whatever is asked of the whole database still
// has an answer, and nothing is in the way of what gets old.
func TestExtremes(t *testing.T) {
	if testing.Short() {
		t.Skip("it reports 1,500 jobs")
	}
	s := open(t)
	paths := map[uint32]string{}
	var lines []slurm.Job
	for _, r := range []*job.NodeReport{nodeReport(1, 1, "a", 0), filledReport(), foldedReport()} {
		extremes(reflect.ValueOf(r).Elem(), "", func(path string) {
			for told := range 2 {
				of := *r
				of.JobID = uint32(100 + len(paths))
				text, err := json.Marshal(&of)
				if err != nil {
					t.Fatal(err)
				}
				got, err := wire.DecodeReport(text)
				if err != nil { // jobeffd refuses it
					continue
				}
				add(t, s, got)
				paths[got.JobID] = path
				if told == 1 {
					lines = append(lines, sacct(got.JobID, fmt.Sprint(got.JobID), "COMPLETED", 0, 0, 20*time.Second))
				}
			}
		})
	}
	if _, err := s.AddSlurm(ctx, lines); err != nil || len(paths) < 500 {
		t.Fatal(len(paths), err)
	}
	for id, path := range paths {
		if text, err := json.Marshal(aJob(t, s, root, fmt.Sprint(id), 0)); err != nil {
			t.Errorf("%s: %v, %s", path, err, text)
		}
	}
	silent := func(int64, int64) {}
	for what, ask := range map[string]func() error{
		"facts":  func() error { _, err := s.TwoWeeks(ctx, root, day.Add(-oneDay), day.Add(oneDay), nil); return err },
		"a day":  func() error { _, err := s.DayUntil(ctx, day.Add(oneDay)); return err },
		"a list": func() error { _, err := s.Jobs(ctx, root, listing.JobQuery{}, nil); return err },
		"workloads": func() error {
			_, err := s.EachWorkload(ctx, root, listing.WorkloadQuery{}, nil, func(*listing.WorkloadSummary) error { return nil })
			return err
		},
		"export": func() error { return s.Export(ctx, io.Discard, silent) },
		"CSV":    func() error { return s.ExportCSV(ctx, io.Discard, false, silent) },
	} {
		if err := ask(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	latest := time.Date(2201, 1, 1, 0, 0, 0, 0, time.UTC) // no report ends later
	if _, err := s.Retain(ctx, Retention{Ranks: oneDay, Jobs: oneDay}, latest, nil); err != nil || count(t, s, "attempts") > 0 {
		t.Errorf("of %d jobs, %d stay: %v", len(paths), count(t, s, "attempts"), err)
	}
}

// extremes sets every number and text below v to the largest that its type, or a report, has, one at a
// time, and calls do.
func extremes(v reflect.Value, path string, do func(path string)) {
	if v.Kind() <= reflect.Float64 && v.Kind() != reflect.Bool || v.Kind() == reflect.String {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		switch v.Kind() {
		case reflect.String:
			v.SetString(longText())
		case reflect.Float64:
			v.SetFloat(math.MaxFloat64)
		case reflect.Int, reflect.Int64:
			v.SetInt(math.MaxInt64)
		default:
			v.SetUint(math.MaxUint64 >> (64 - v.Type().Bits()))
		}
		do(path)
		v.Set(old)
		return
	}
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		extremes(v.Elem(), path, do)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			extremes(v.Index(i), path, do)
		}
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		for i := range v.NumField() {
			extremes(v.Field(i), path+"."+v.Type().Field(i).Name, do)
		}
	}
}

// longText is text that a database cannot make shorter.
func longText() string {
	text := make([]byte, 8<<10)
	for i := range text {
		text[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[rand.IntN(64)]
	}
	return string(text)
}

// filledReport has an execution with every field, but for what folded ones have.
func filledReport() *job.NodeReport {
	r := nodeReport(1, 1, "a", 0)
	x := &r.Executions[0]
	jobtest.Fill(rand.New(rand.NewPCG(1, 3)), x)
	jobtest.MakePossible(x)
	x.Folded, x.Metrics = nil, nil
	return r
}

// foldedReport has executions that a node folded.
func foldedReport() *job.NodeReport {
	r := nodeReport(1, 1, "a", 0)
	x := r.Executions[0]
	for i := range 300 {
		x.Key = fmt.Sprint(i)
		r.Executions = append(r.Executions, x)
	}
	all := assemble.FoldWhole(r.Executions)
	r.Executions = all[len(all)-1:]
	return r
}
