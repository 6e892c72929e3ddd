package job_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
)

// typicalReport is 6 KB of JSON: two executions of 64 ranks on this node, with calls and
// sections.
func typicalReport() *job.NodeReport {
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	x := &r.Executions[0]
	x.Executable, x.MPI, x.Size = "/home/user/software/model/bin/model.exe", "Open MPI", 256
	x.Nodes[0].Ranks, x.Nodes[0].RankIDs = 64, "64-127"
	x.Nodes[0].UsefulShare, x.Nodes[0].MPIShare = make([]byte, 64), make([]byte, 64)
	for i := range 12 {
		x.Calls = append(x.Calls, job.Call{Name: fmt.Sprintf("MPI_Call_%d", i), Count: uint64(1000 * i), Time: time.Duration(i) * 1234567890,
			Sent: 1 << (2 * i), Received: 1 << (2 * i), Largest: 1 << i})
	}
	for i := range 4 {
		x.Sections = append(x.Sections, job.Section{Label: fmt.Sprint("section ", i), Ranks: 64, Count: 640,
			Elapsed: time.Second, ElapsedMax: time.Second, Useful: time.Second, UsefulMax: time.Second})
	}
	second := *x
	second.Key = "k2"
	r.Executions = append(r.Executions, second)
	return r
}

// BenchmarkTakeReport is what jobeffd does with a report before the database gets it.
func BenchmarkTakeReport(b *testing.B) {
	r := typicalReport()
	text, err := json.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	packed, into := job.Compress(text), []byte(nil)
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"decode", func() error { return job.UnmarshalReport(text, new(job.NodeReport)) }},
		{"validate", r.Validate},
		{"encode", func() error { _, err := json.Marshal(r); return err }},
		{"compress", func() error { job.Compress(text); return nil }},
		{"decompress", func() (err error) { into, err = job.DecompressReport(into, packed); return err }},
	} {
		b.Run(step.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if err := step.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestPacked: reports in today's and the earlier compression can be read. A damaged one is an
// error, and so is one that decompresses to too much. A report does not hold the text's memory.
func TestPacked(t *testing.T) {
	want := typicalReport()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	z.Write(text)
	z.Close()
	into := make([]byte, 0, 64<<10)
	for encoding, packed := range map[string][]byte{"zstd": job.Compress(text), "gzip": gz.Bytes()} {
		if job.Encoding(packed) != encoding || job.Encoding(text) != "" {
			t.Errorf("%s is %q", encoding, job.Encoding(packed))
		}
		got, err := job.DecompressReport(into, packed)
		if err != nil || !bytes.Equal(got, text) || &got[0] != &into[:1][0] {
			t.Fatalf("%s: %v", encoding, err)
		}
		r, err := job.DecodeReport(got)
		if err != nil {
			t.Fatal(err)
		}
		clear(got)
		if d := cmp.Diff(want, r); d != "" {
			t.Errorf("%s: %s", encoding, d)
		}
		if own, err := job.Decompress(packed); err != nil || !bytes.Equal(own, text) {
			t.Errorf("%s: %v", encoding, err)
		}
		for i := range packed {
			if got, err := job.DecompressReport(nil, packed[:i]); err == nil && len(got) > 0 {
				t.Errorf("%s: its first %d bytes are taken", encoding, i)
			}
		}
	}
	if _, err := job.DecompressReport(nil, job.Compress(make([]byte, job.MaxReportBytes+1))); !errors.Is(err, job.ErrTooLarge) {
		t.Error(err)
	}
}
