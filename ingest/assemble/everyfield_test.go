package assemble_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
)

// ofOnePart are the fields of an Execution that only the part with the lowest rank gives, since
// all ranks have the same, and those that assemble.Merger.Job fills in.
var ofOnePart = []string{".Spawned", ".MPI", ".MPIVersion", ".Executable", ".BuildID", ".ThreadLevel", ".CPUsPerTask", ".OMPThreads",
	".ExecutableHash", ".ArgsHash", ".Args", ".InputHash", ".Inputs", ".InputNote", ".Workload", ".RankIDs", ".Metrics", ".Costly", ".Windows"}

// topOf is the field of the whole that a path leads through.
func topOf(path string) string {
	if i := strings.Index(path[1:], "."); i >= 0 {
		return path[:i+1]
	}
	return path
}

// notOfJob are the fields of a NodeReport that the merged job leaves out: the store uses them,
// or keeps them with the report.
var notOfJob = []string{".Version", ".Sequence", ".Nonce", ".SLUID", ".GID", ".NodeList", ".BootID", ".OnlineCPUs", ".Prolog", ".Processes", ".Progress", ".Still"}

// forgotten changes each field of one of two merged parts. It lists the fields whose change
// does not show in the result.
func forgotten(t *testing.T, part any, result func() any) []string {
	t.Helper()
	text := func() string {
		b, err := json.Marshal(result())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want, counts := text(), map[string]bool{}
	jobtest.Changed(part, func(path string) { counts[path] = counts[path] || text() != want })
	if len(counts) < 20 {
		t.Fatalf("%d fields were tried", len(counts))
	}
	maps.DeleteFunc(counts, func(_ string, does bool) bool { return does })
	return slices.Sorted(maps.Keys(counts))
}

// filledParts are two parts of an execution with every field filled, of ranks 0-2 and 3-5.
func filledParts(rng *rand.Rand) (parts [2]job.Execution) {
	for i := range parts {
		p := &parts[i]
		jobtest.Fill(rng, p)
		p.Key, p.KeyFrom, p.Size, p.RankIDs, p.Metrics = "k", "pmix", 6, "", nil
		p.Folded = nil
		p.Timeline.Shift, p.Timeline.First = 0, 7
		p.Places.List[0].Function, p.Places.List[0].Frames = "MPI_Send", []job.Frame{{Offset: 5}}
		p.Start, p.End = jobtest.Start.Add(time.Duration(i)*time.Second), jobtest.Start.Add(time.Duration(60-i)*time.Second)
		p.Calls[0].Name, p.Classes[0].Name, p.Sections[0].Label = "MPI_Send", "p2p", "halo"
		p.Nodes[0].Node, p.Nodes[0].RankIDs = fmt.Sprint("n", i), []string{"0-2", "3-5"}[i]
		p.Slowest[0].Rank = 3 * i
		p.Sections[0].Instances.Kept[0].Number = 1
	}
	return parts
}

// TestMergeForgetsNothing: every field of a part shows in the whole, except those that one part
// gives.
func TestMergeForgetsNothing(t *testing.T) {
	parts := filledParts(rand.New(rand.NewPCG(1, 3)))
	got := forgotten(t, &parts[1], func() any { return assemble.Merge(parts[:]) })
	for _, path := range got {
		if !slices.Contains(ofOnePart, topOf(path)) {
			t.Errorf("Merge forgets %s: add it up in job.whole.join, or name it in ofOnePart", path)
		}
	}
	for _, path := range ofOnePart {
		if !slices.ContainsFunc(got, func(g string) bool { return topOf(g) == path }) && path != ".Executable" && path != ".BuildID" && path != ".Spawned" && path != ".RankIDs" && path != ".Metrics" {
			t.Errorf("%s is named in ofOnePart, and more than one part tells it", path)
		}
	}
}

// TestMergerForgetsNothing: every field of a report shows in the job.
func TestMergerForgetsNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	parts := filledParts(rng)
	var reports [2]job.NodeReport
	for i := range reports {
		r := &reports[i]
		jobtest.Fill(rng, r)
		r.Cluster, r.JobID, r.Node, r.Decision, r.Executions = "c", 7, fmt.Sprint("n", i), "off", nil
		r.Steps[0].ID, r.GPUs[0].Why = "0", ""
		if i == 0 { // the other one's fields are changed
			r.UID, r.ArrayTaskID, r.Steps[0].Container, r.GPUs[0].AtMost = 1001, nil, false, false
			r.Executions = parts[:1]
		}
	}
	got := forgotten(t, &reports[1], func() any {
		var m assemble.Merger
		for i := range reports {
			m.Add(&reports[i])
		}
		return m.Job()
	})
	for _, path := range got {
		if !slices.Contains(notOfJob, topOf(path)) && !slices.Contains(notOfJob, path) {
			t.Errorf("Merger forgets %s: add it in Add, or name it in notOfJob", path)
		}
	}
}
