package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
)

// at is a place of a made-up program: how long each rank was there, s.
type at struct {
	offset  uint64
	seconds float64
	symbol  string
	line    int
	samples uint64 // that stand for all of its time
}

// placed is a run of 32 ranks that called MPI_Barrier at these places of a build, s of dropped ones beside.
func placed(id uint32, build string, dropped float64, all ...at) *listing.JobAndWorkload {
	const ranks = 32
	found := base.with(func(m *made) { m.id, m.useful = id, 90+float64(20*id) }).job()
	p := &job.Places{Looked: true, Modules: []job.Module{{Path: "/opt/" + build + "/solver", BuildID: build}}, Dropped: time.Duration(dropped * ranks * 1e9)}
	for _, one := range all {
		place := job.Place{Function: "MPI_Barrier", Time: time.Duration(one.seconds * ranks * 1e9), Samples: one.samples,
			Frames: []job.Frame{{Offset: one.offset, Symbol: one.symbol, File: "/src/solver.f90", Line: one.line}}}
		if one.samples > 0 {
			place.Sampled = place.Time
		}
		p.List = append(p.List, place)
	}
	p.List = append(p.List, job.Place{Function: "MPI_Send", Time: time.Hour}) // it is not known whose code it is
	found.Job.Executions[0].Places = p
	return found
}

// TestPlacesThatChanged: places are compared where both runs tell of the same one.
func TestPlacesThatChanged(t *testing.T) {
	const anew = "places in solver are not compared: it was built anew"
	for _, tt := range []struct {
		name          string
		before, after *listing.JobAndWorkload
		want          []string
		doubt         string
	}{
		{"lines", placed(1, "aa", 0, at{0x10, 2, "halo", 212, 0}, at{0x90, 1, "norm", 9, 0}), placed(2, "aa", 0, at{0x10, 12, "halo", 212, 0}, at{0x90, 1.1, "norm", 9, 0}),
			[]string{"MPI_Barrier at solver.f90:212 in halo 2 12"}, ""},
		{"two addresses of a line", placed(1, "aa", 0, at{0x10, 2, "halo", 212, 0}, at{0x18, 3, "halo", 212, 0}), placed(2, "aa", 0, at{0x18, 12, "halo", 212, 0}),
			[]string{"MPI_Barrier at solver.f90:212 in halo 5 12"}, ""},
		{"no names", placed(1, "aa", 0, at{0x10, 2, "", 0, 0}), placed(2, "aa", 0, at{0x10, 12, "", 0, 0}), []string{"MPI_Barrier at solver+0x10 2 12"}, ""},
		{"names of one side", placed(1, "aa", 0, at{0x10, 2, "", 0, 0}), placed(2, "aa", 0, at{0x10, 12, "halo", 212, 0}), []string{"MPI_Barrier at solver.f90:212 in halo 2 12"}, ""},
		{"built anew", placed(1, "aa", 0, at{0x10, 2, "", 0, 0}), placed(2, "bb", 0, at{0x10, 12, "halo", 212, 0}), nil, anew},
		{"built anew, functions are known", placed(1, "aa", 0, at{0x10, 2, "halo", 212, 0}), placed(2, "bb", 0, at{0x18, 12, "halo", 215, 0}), []string{"MPI_Barrier in halo 2 12"}, ""},
		{"a file without build-id", placed(1, "", 0, at{0x10, 2, "", 0, 0}), placed(2, "", 0, at{0x10, 12, "", 0, 0}), nil, anew},
		{"samples", placed(1, "aa", 0, at{0x10, 2, "halo", 212, 4}, at{0x90, 2, "norm", 9, 4000}), placed(2, "aa", 0, at{0x10, 3, "halo", 212, 4}, at{0x90, 3, "norm", 9, 4000}),
			[]string{"MPI_Barrier at solver.f90:9 in norm 2 3"}, ""},
		{"a new place", placed(1, "aa", 0), placed(2, "aa", 0, at{0x10, 12, "halo", 212, 0}), []string{"MPI_Barrier at solver.f90:212 in halo 0 12"}, ""},
		{"one that may have been dropped", placed(1, "aa", 13, at{0x90, 9, "norm", 9, 0}), placed(2, "aa", 0, at{0x10, 12, "halo", 212, 0}, at{0x90, 9, "norm", 9, 0}), nil, ""},
	} {
		c, err := New(tt.before, tt.after, true)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var got []string
		for _, g := range c.Places {
			got = append(got, fmt.Sprintf("%s %.0f %.0f", g.Name, g.Before, g.After))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if doubts := strings.Join(c.Doubts, "\n"); strings.Contains(doubts, "places in") != (tt.doubt != "") || !strings.Contains(doubts, tt.doubt) {
			t.Errorf("%s: doubts %q, want %q", tt.name, doubts, tt.doubt)
		}
		if !c.Named {
			t.Errorf("%s: nobody looked for names", tt.name)
		}
	}
}
