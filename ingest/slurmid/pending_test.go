package slurmid

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestStart: tasks that have started are taken out of an array's line, whatever the line's ranges.
func TestStart(t *testing.T) {
	for _, c := range []struct {
		id      string
		started []uint32
		want    string
		tasks   int
		left    bool
	}{
		{"8_[3-60%4]", nil, "8_[3-60%4]", 58, true},
		{"8_[3-60%4]", []uint32{3, 4}, "8_[5-60%4]", 56, true},
		{"8_[3-60%4]", []uint32{2, 5, 60, 61}, "8_[3-4,6-59%4]", 56, true},
		{"8_[0-12:4,20]", []uint32{4, 5}, "8_[0,8-12:4,20]", 4, true},
		{"8_[7]", []uint32{7}, "8_[]", 0, false},
		{"8_[1,3,5,...]", []uint32{1}, "8_[3,5,...]", 0, true},
		{"8_[1,3,5,1...%2]", []uint32{1}, "8_[3,5,...]", 0, true},
		{"8_[0-4294967295:4294967295]", []uint32{0}, "8_[4294967295]", 1, true},
		{"8_9", nil, "8_9", 1, true},
		{"8", []uint32{8}, "8", 0, true},
		{"8+1", nil, "8+1", 0, true},
		{"8_[x]", []uint32{1}, "8_[x]", 0, true},
	} {
		p := &Pending{ID: c.id, ArrayJobID: 8}
		if left := p.Start(c.started); left != c.left || p.ID != c.want || p.Tasks != c.tasks {
			t.Errorf("%s without %v: %s, %d tasks, %v; want %s, %d, %v", c.id, c.started, p.ID, p.Tasks, left, c.want, c.tasks, c.left)
		}
	}
}

// TestStartOneByOne: what is left of random lines is what a count of single tasks leaves.
func TestStartOneByOne(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 7))
		var list []string
		want := map[uint32]bool{}
		for first := r.Uint32N(5); first < 60; {
			one := TaskRange{first, first, 1 + r.Uint32N(4)}
			one.Last += one.Step * r.Uint32N(6)
			for n := one.First; n <= one.Last; n += one.Step {
				want[n] = true
			}
			list = append(list, one.String())
			first = one.Last + 1 + r.Uint32N(9)
		}
		p := &Pending{ID: "8_[" + strings.Join(list, ",") + "%3]", ArrayJobID: 8}
		var started []uint32
		for n := range uint32(70) {
			if r.Uint32N(3) == 0 {
				started = append(started, n)
				delete(want, n)
			}
		}
		before := p.ID
		if left := p.Start(started); left != (len(want) > 0) || p.Tasks != len(want) {
			t.Fatalf("%s without %v: %s, %d tasks, %v; want %d", before, started, p.ID, p.Tasks, left, len(want))
		}
		for n := range uint32(70) {
			if set := (Set{Ref: Ref{ID: 8, ArrayTask: &n}}); set.Holds(p) != want[n] {
				t.Fatalf("%s without %v is %s: task %d is in it: %v", before, started, p.ID, n, !want[n])
			}
		}
	}
}

// TestHolds: what people name finds the lines that it may be in, and no others.
func TestHolds(t *testing.T) {
	lines := []Pending{{ID: "8_[3-60:3%4]", JobID: 8, ArrayJobID: 8}, {ID: "8_1", JobID: 31, ArrayJobID: 8}, {ID: "9+0", JobID: 9, HetJobID: 9}, {ID: "9+10", JobID: 19, HetJobID: 9}, {ID: "31", JobID: 31}}
	for _, c := range []struct{ named, want string }{
		{"8", "8_[3-60:3%4] 8_1"}, {"8_3", "8_[3-60:3%4]"}, {"8_4", ""}, {"8_1", "8_1"}, {"8_[1-2]", "8_1"}, {"8_[1-9]", "8_[3-60:3%4] 8_1"}, {"8_[70-80]", ""}, {"9", "9+0 9+10"},
		{"9+0", "9+0"}, {"9_0", ""}, {"31", "8_1 31"}, {"3", ""}, {"31_8", ""}, {"8+1", ""},
	} {
		sets, err := ParseSets(c.named)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range lines {
			if slices.ContainsFunc(sets, func(s Set) bool { return s.Holds(&lines[i]) }) {
				got = append(got, lines[i].ID)
			}
		}
		if fmt.Sprint(got) != "["+c.want+"]" {
			t.Errorf("%s finds %v, want %s", c.named, got, c.want)
		}
	}
}
