package report

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/report/view"
)

// talp is a job as TALP would have written it.
func talp(t *testing.T, j *job.Job) []byte {
	t.Helper()
	v, err := view.NewTALP(j)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := view.Write(&b, v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTALP: each of TALP's figures is the one of jobeff that doc/MEASURED.md names, and its products hold.
func TestTALP(t *testing.T) {
	for _, name := range []string{"good", "bad", "sections", "hybrid", "openmp", "five", "hostile"} {
		j := fixtures()[name]
		if name == "bad" { // MPI-IO, too
			for i := range j.Executions[0].Nodes {
				n := &j.Executions[0].Nodes[i]
				n.MPI, n.IO = n.MPI-sec(5), sec(5)
			}
			j.Executions[0].Metrics, j.Metrics = nil, job.JobMetrics(j.Executions)
		}
		var file struct {
			Version   string `json:"dlbVersion"`
			Time      string `json:"timestamp"`
			Resources map[string]float64
			Regions   map[string]map[string]float64 `json:"Application"`
		}
		if err := json.Unmarshal(talp(t, j), &file); err != nil {
			t.Fatal(err)
		}
		all := file.Regions["Global"]
		m := j.Metrics
		if len(j.Executions) > 1 {
			m = job.ExecutionMetrics(&j.Executions[0])
			for i := range j.Executions {
				if one := job.ExecutionMetrics(&j.Executions[i]); one != nil && one.Elapsed*float64(one.Ranks) > m.Elapsed*float64(m.Ranks) {
					m = one
				}
			}
		}
		cpus, ranks, mpi, useful := m.Ranks, m.Ranks, m.MPITime+m.IOTime, m.Useful
		if h := m.Hybrid; h != nil {
			cpus, mpi, useful = h.Threads, h.MPITime+h.IOTime, h.Useful
		}
		if !job.WithMPI(j.Executions) {
			ranks = 0
		}
		for field, want := range map[string]float64{"numCpus": float64(cpus), "numMpiRanks": float64(ranks), "numNodes": float64(m.Nodes), "parallelEfficiency": m.Parallel,
			"mpiParallelEfficiency": m.MPI.Parallel, "mpiLoadBalance": m.MPI.LoadBalance, "mpiCommunicationEfficiency": m.MPI.Communication,
			"elapsedTime": m.Elapsed * 1e9, "usefulTime": useful * 1e9, "mpiTime": mpi * 1e9, "numGpus": 0} {
			near := 1e-9
			if strings.HasSuffix(field, "Time") {
				near = 1 // whole ns
			}
			if got, there := all[field]; !there || math.Abs(got-want) > near {
				t.Errorf("%s: %s is %v, want %v", name, field, got, want)
			}
		}
		for whole, parts := range map[string][]string{"mpiParallelEfficiency": {"mpiLoadBalance", "mpiCommunicationEfficiency"}, "mpiLoadBalance": {"mpiLoadBalanceIn", "mpiLoadBalanceOut"},
			"ompParallelEfficiency": {"ompLoadBalance", "ompSchedulingEfficiency", "ompSerializationEfficiency"}} {
			product := 1.0
			for _, part := range parts {
				product *= all[part]
			}
			if math.Abs(all[whole]-product) > 1e-9 {
				t.Errorf("%s: %s is %v, its factors' product %v", name, whole, all[whole], product)
			}
		}
		if !strings.HasPrefix(file.Version, "3.6 (jobeff ") || len(file.Time) != len("2006-01-02T15:04:05") || file.Resources["numCpus"] != float64(cpus) || file.Resources["numMpiRanks"] != float64(ranks) {
			t.Errorf("%s: %s, %s, %v", name, file.Version, file.Time, file.Resources)
		}
		if _, section := file.Regions["convolve"]; section != (name == "sections") {
			t.Errorf("%s: regions %v", name, file.Regions)
		}
	}
	for name, why := range map[string]string{"killed": "lacks ranks (coverage 0.75)", "no-mpi": "no figures", "off": "no figures"} {
		if _, err := view.NewTALP(fixtures()[name]); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %s", name, err, why)
		}
	}
}

// readTALP asks TALP-Pages' own reader, and its analyses.
const readTALP = `
import sys, pathlib
from talp_pages.io.run_folders import get_run_folders
from talp_pages.io.dataframe_handling import get_dfs, get_ressource_combinations
from talp_pages.analysis.scaling_analysis import ScalingAnalysis, ScalingAnalysisArguments
from talp_pages.analysis.time_series_analysis import TimeSeriesAnalysis, TimeSeriesAnalysisArguments
for folder in get_run_folders(pathlib.Path(sys.argv[1])):
    df = get_dfs([folder], as_list=False)
    scaling = ScalingAnalysis(ScalingAnalysisArguments(run_folder=folder)).get_results(["Global"])
    series = TimeSeriesAnalysis(TimeSeriesAnalysisArguments(run_folder=folder)).get_results(get_ressource_combinations(folder))
    row = df[df["regionName"] == "Global"].iloc[0]
    print(folder.relative_path, row["executionMode"], row["totalNumCpus"], "%.2f" % row["parallelEfficiency"], "%.2f" % row["elapsedTime"], len(df), len(scaling), len(series))
`

// TestTALPPages: the reader of TALP-Pages takes the files. TALP_PAGES is the folder that holds its package; it needs
// pandas.
func TestTALPPages(t *testing.T) {
	pages := os.Getenv("TALP_PAGES")
	if pages == "" {
		t.Skip("TALP_PAGES names no folder with TALP-Pages")
	}
	dir := t.TempDir()
	for _, name := range []string{"good", "sections", "hybrid", "openmp"} {
		path := filepath.Join(dir, name, "talp.json")
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, talp(t, fixtures()[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/usr/bin/python3", "-c", readTALP, dir)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+pages)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	for _, want := range []string{"good MPI 4 ", "sections MPI ", "hybrid Hybrid MPI+OpenMP ", "openmp OpenMP "} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("no %q: %v", want, err)
		}
	}
}
