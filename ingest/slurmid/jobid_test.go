package slurmid

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseJobID(t *testing.T) {
	n := func(v uint32) *uint32 { return &v }
	for _, c := range []struct {
		in   string
		want Ref
	}{
		{"123", Ref{ID: 123}},
		{" 123 ", Ref{ID: 123}},
		{"123_4", Ref{ID: 123, ArrayTask: n(4)}},
		{"123_0", Ref{ID: 123, ArrayTask: n(0)}},
		{"123+1", Ref{ID: 123, HetOffset: n(1)}},
		{"123.0", Ref{ID: 123, Step: "0"}},
		{"123.007", Ref{ID: 123, Step: "7"}},
		{"123.batch", Ref{ID: 123, Step: "batch"}},
		{"123_4.extern", Ref{ID: 123, ArrayTask: n(4), Step: "extern"}},
		{"123+1.interactive", Ref{ID: 123, HetOffset: n(1), Step: "interactive"}},
		{"4294967295", Ref{ID: 4294967295}},
		{"carbon:123", Ref{Cluster: "carbon", ID: 123}},
		{"a_b.c-1:123_4.0", Ref{Cluster: "a_b.c-1", ID: 123, ArrayTask: n(4), Step: "0"}},
	} {
		got, err := Parse(c.in)
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q: %s", c.in, d)
		}
		if again, err := Parse(got.String()); err != nil || !cmp.Equal(again, got) {
			t.Errorf("%q: %s is read as %+v, %v", c.in, got, again, err)
		}
	}
}

func TestParseJobIDRefuses(t *testing.T) {
	const forms = "): give 123, 123_4 (a task of an array), 123+1 (a part of a het job), or a step, 123.0 or 123.batch"
	for in, why := range map[string]string{
		"":                       `"" is not a job id (it begins with no number above 0`,
		"0":                      `"0" is not a job id (it begins with no number above 0`,
		"x":                      `"x" is not a job id (it begins with no number above 0`,
		"-1":                     `"-1" is not a job id (it begins with no number above 0`,
		"1019895x":               `"1019895x" is not a job id (after "1019895" stands "x"`,
		"4294967296":             `"4294967296" is not a job id (it begins with no number above 0`,
		"123_":                   `"123_" is not a job id (after "_" stands no number`,
		"123_[1-3]":              `"123_[1-3]" is not a job id (after "_" stands no number`,
		"123+x":                  `"123+x" is not a job id (after "+" stands no number`,
		"123_1+2":                `"123_1+2" is not a job id (after "_" stands no number`,
		"123.":                   `"123." is not a job id (after the point stands no step`,
		"123.batches":            `"123.batches" is not a job id (after the point stands no step`,
		"123.-1":                 `"123.-1" is not a job id (after the point stands no step`,
		":7":                     `":7" is not a job id (before the colon stands no cluster's name`,
		"a b:7":                  `"a b:7" is not a job id (before the colon stands no cluster's name`,
		"carbon:":                `"carbon:" is not a job id (it begins with no number above 0`,
		"carbon:gold:7":          `"carbon:gold:7" is not a job id (it begins with no number above 0`,
		"1\x1b[31m":              `"1\x1b[31m" is not a job id (after "1" stands "\x1b[31m"`,
		strings.Repeat("9", 100): `"` + strings.Repeat("9", 40) + `..." is not a job id (it begins with no number above 0`,
	} {
		if _, err := Parse(in); err == nil || err.Error() != why+forms {
			t.Errorf("%q: got  %v\nwant %s", in, err, why+forms)
		}
	}
}

func FuzzParseJobID(f *testing.F) {
	f.Add("123_4.batch")
	f.Add("9+9.0")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(r.String())
		if err != nil || again.String() != r.String() {
			t.Errorf("%q -> %q -> %q, %v", s, r, again, err)
		}
	})
}

func FuzzParseJobSets(f *testing.F) {
	for _, s := range []string{"1", "1,2_3", "4_[5-6,8:2%3],7+0", "1.batch", "[,],_[", "1_[0-4294967295]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sets, err := ParseSets(s)
		if err != nil {
			return
		}
		for _, set := range sets {
			if set.ID == 0 || set.Step != "" {
				t.Errorf("%q: %+v", s, set)
			}
			for _, r := range set.Tasks {
				if r.First > r.Last || r.Step == 0 {
					t.Errorf("%q: %+v", s, r)
				}
			}
		}
	})
}
