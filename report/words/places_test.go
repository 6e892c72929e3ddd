package words

import (
	"strings"
	"testing"
	"time"

	"jobeff/report/wordstest"
)

var placedJob = wordstest.Placed

func TestPlacesPart(t *testing.T) {
	part := placesPart(placedJob())
	want := []string{
		"MPI_Allreduce 40 % at solver.f90:212 in exchange_halo",
		`MPI_Wait 30 % (24 % to 36 %) at ` + "\x1b[2Jx.so+0x1234",
		"MPI_Send 1 % at a place that is not known",
	}
	if strings.Join(part.Items, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", part.Items, want)
	}
	notes := strings.Join(part.Notes, "\n")
	if !strings.Contains(notes, "70 % of the time in MPI") || !strings.Contains(notes, "x.so: rebuilt since") {
		t.Errorf("notes %q", notes)
	}
	j := placedJob()
	j.Executions[0].Places.Looked = false
	if notes := strings.Join(placesPart(j).Notes, "\n"); !strings.Contains(notes, "`jobeff where 123` names") {
		t.Errorf("where nobody looked: %q", notes)
	}
}

// TestPlacesAgree: places and all of them together do not contradict each other where samples tell of more time than
// there was.
func TestPlacesAgree(t *testing.T) {
	j := placedJob()
	j.Executions[0].Places.List[1].Time, j.Executions[0].Places.List[1].Sampled = 90*time.Second, 90*time.Second
	part := placesPart(j)
	if said := strings.Join(part.Items, "\n"); !strings.Contains(said, "MPI_Wait 59 % (41 % to 77 %) at") || !strings.Contains(said, "MPI_Allreduce 40 % at") {
		t.Errorf("%s", said)
	}
	if said := strings.Join(part.Notes, "\n"); !strings.Contains(said, "all places together: 99 % of the time in MPI") {
		t.Errorf("%s", said)
	}
}
