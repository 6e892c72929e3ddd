package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// mpis are the compilers and launchers of the MPIs that are tested. Nobody binds ranks.
var mpis = []struct {
	name, cc string
	launch   []string
}{
	{"OpenMPI", "mpicc.openmpi", []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}},
	{"MPICH", "mpicc.mpich", []string{"mpirun.mpich"}},
}

// ranOn runs busy.c on some CPUs and folds its record; "": on all CPUs.
func ranOn(t *testing.T, cc string, launch []string, cpus string, ranks int, how string) *job.Execution {
	t.Helper()
	dir, err := os.MkdirTemp("", "n") // Open MPI's session needs a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	library, _ := filepath.Abs("../../build/lib/libjobeff.so")
	run := func(name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OMP_") }), "TMPDIR="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	program, record := filepath.Join(dir, "busy"), filepath.Join(dir, "record")
	run("make", "-s", "-C", "../..", "build/lib/libjobeff.so")
	run(cc, "-O1", "-w", "-fopenmp", "-pthread", "-o", program, "../../test/apps/busy.c")
	command := append(slices.Clone(launch), "-n", strconv.Itoa(ranks), "env", "LD_PRELOAD="+library, "JOBEFF_RECORD="+record, program, "1.5", how)
	if cpus != "" {
		command = append([]string{"taskset", "-c", cpus}, command...)
	}
	run(command[0], command[1:]...)
	r, err := FoldFile(record, ThisMachine())
	if err != nil {
		t.Fatal(err)
	}
	var m assemble.Merger
	m.Add(r)
	return &m.Job().Executions[0]
}

// Real ranks on few CPUs, with threads that nobody asked for, and asleep. Other programs on the
// machine may add contention, so it is only asked for where it must be seen.
func TestLoadOfRealRanks(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs MPI programs for seconds")
	}
	tests := []struct {
		name, cpus string
		ranks      int
		how        string
		threaded   bool
		code, text string // of a warning that must be there
		never      string // … that must not
	}{
		{"plain", "", 2, "alone", false, "", "", doubt.WarnSlept},
		{"two ranks on one core", "0", 2, "alone", false, doubt.WarnContention, "2 busy threads of 2 ranks share CPU 0", doubt.WarnSlept},
		{"four ranks on two CPUs", "0,1", 4, "alone", false, doubt.WarnContention, "4 busy threads of 4 ranks share 2 CPUs (0-1)", doubt.WarnSlept},
		{"OpenMP", "0,1", 1, "openmp", true, "", "", doubt.WarnThreadsCounted},
		{"asleep", "", 2, "sleep", false, doubt.WarnSlept, "used no CPU", doubt.WarnThreadsCounted},
	}
	for _, mpi := range mpis {
		for _, tt := range tests {
			t.Run(mpi.name+"/"+tt.name, func(t *testing.T) {
				e := ranOn(t, mpi.cc, mpi.launch, tt.cpus, tt.ranks, tt.how)
				if got := job.Threaded([]job.Execution{*e}); got != tt.threaded {
					t.Errorf("threaded is %v: %+v", got, e.Nodes[0].Load)
				}
				said := slices.ContainsFunc(e.Warnings, func(w doubt.Warning) bool { return w.Code == tt.code && strings.Contains(doubt.Text(w), tt.text) })
				if said != (tt.code != "") || slices.Contains(codesOf(e), tt.never) {
					t.Errorf("warnings %v, want %s %q and no %s: %+v", e.Warnings, tt.code, tt.text, tt.never, e.Nodes[0].Load)
				}
				if m := job.ExecutionMetrics(e); (m.Hybrid != nil) != tt.threaded {
					t.Errorf("hybrid %+v: %+v", m.Hybrid, e.Nodes[0].Threads)
				}
				if e.Nodes[0].Hardware == nil || e.Nodes[0].Hardware.Cores == 0 {
					t.Errorf("machine %+v", e.Nodes[0].Hardware)
				}
			})
		}
	}
}

func TestHardware(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if h := hardware(root); h != nil {
		t.Errorf("of nothing: %+v", h)
	}
	for cpu := range 8 { // two sockets of two cores of two threads
		dir := "sys/devices/system/cpu/cpu" + strconv.Itoa(cpu)
		write(dir+"/topology/physical_package_id", strconv.Itoa(cpu/2%2)+"\n")
		write(dir+"/topology/core_id", strconv.Itoa(cpu%2)+"\n")
		write(dir+"/cpufreq/cpuinfo_max_freq", "3600000\n")
	}
	write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R)  Xeon(R) Gold 6130\nprocessor\t: 1\nmodel name\t: another\n")
	write("proc/meminfo", "MemTotal:       24683660 kB\nMemFree: 1 kB\n")
	want := job.Hardware{Model: "Intel(R) Xeon(R) Gold 6130", Sockets: 2, Cores: 4, ThreadsPerCore: 2, MaxMHz: 3600, MemoryMiB: 24105}
	if h := hardware(root); h == nil || *h != want {
		t.Errorf("%+v, want %+v", h, want)
	}
}
