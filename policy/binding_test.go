package policy

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"jobeff/ingest/job"
)

// crowded is a job on all of a node, whose busy threads were kept on one CPU. It has this many CPUs.
func crowded(h *job.Hardware, cpus, ranks, each int, from string) *job.Job {
	e := loaded(world(1, ranks, 0, alike(ranks, work(900, 100))...), job.Load{Ranks: ranks, CrowdRanks: ranks, CrowdBusy: ranks * each, CrowdCPUs: "0"})
	e.Nodes[0].Hardware = h
	e.Key, e.KeyFrom = map[string]string{"srun": "pmix:slurm.pmix.1.0", "mpirun": "pmix:1", "mpiexec": "hydra:1"}[from], "pmix"
	switch from {
	case "mpiexec":
		e.KeyFrom, e.MPI = "hydra", "MPICH"
	case "":
		e.KeyFrom = "start"
	}
	return with(aJob(e), func(j *job.Job) { j.CPUs, j.Nodes = cpus, 1 })
}

// machineOf has four cores on each socket.
func machineOf(sockets, threads int) *job.Hardware {
	return &job.Hardware{Sockets: sockets, Cores: 4 * sockets, ThreadsPerCore: threads}
}

// TestBindingOfSrun: what srun is told on one and two sockets, with one and two hardware threads a core, and what nobody is
// told. `make test-vm PART=bind` starts these lines for real.
func TestBindingOfSrun(t *testing.T) {
	for _, c := range []struct {
		name              string
		h                 *job.Hardware
		cpus, ranks, each int
		from, want        string
	}{
		{"one socket", machineOf(1, 1), 4, 4, 1, "srun", "srun --ntasks=4 --cpus-per-task=1 --cpu-bind=cores YOUR-PROGRAM"},
		{"two sockets", machineOf(2, 1), 8, 8, 1, "srun", "srun --ntasks=8 --cpus-per-task=1 --cpu-bind=cores --distribution=block:cyclic YOUR-PROGRAM"},
		{"threads on two sockets", machineOf(2, 1), 8, 2, 4, "srun", "OMP_NUM_THREADS=4 OMP_PLACES=cores OMP_PROC_BIND=close srun --ntasks=2 --cpus-per-task=4 --cpu-bind=cores --distribution=block:cyclic YOUR-PROGRAM"},
		{"a rank larger than a socket", machineOf(2, 1), 8, 1, 8, "srun", "OMP_NUM_THREADS=8 OMP_PLACES=cores OMP_PROC_BIND=close srun --ntasks=1 --cpus-per-task=8 --cpu-bind=cores YOUR-PROGRAM"},
		{"hardware threads, and cores enough", machineOf(1, 2), 8, 4, 1, "srun", "srun --ntasks=4 --cpus-per-task=1 --threads-per-core=1 --cpu-bind=cores YOUR-PROGRAM"},
		{"as many CPUs as threads, which may be hardware threads", machineOf(1, 2), 4, 4, 1, "srun", "srun --ntasks=4 --cpus-per-task=1 --cpu-bind=threads YOUR-PROGRAM"},
		{"the same with OpenMP", machineOf(2, 2), 16, 4, 4, "srun", "OMP_NUM_THREADS=4 OMP_PLACES=threads OMP_PROC_BIND=close srun --ntasks=4 --cpus-per-task=4 --cpu-bind=threads YOUR-PROGRAM"},
		{"the same under another launcher", machineOf(1, 2), 4, 4, 1, "mpirun", "none"},
		{"a machine that is not known", nil, 4, 4, 1, "srun", "srun --ntasks=4 --cpus-per-task=1 --cpu-bind=threads YOUR-PROGRAM"},
		{"another launcher on a machine that is not known", nil, 4, 4, 1, "mpiexec", "none"},
		{"too few CPUs", machineOf(1, 1), 3, 4, 1, "srun", "none"},
		{"an unknown launcher", machineOf(1, 1), 4, 4, 1, "", ""},
	} {
		got := "none"
		if b := BindingOf(crowded(c.h, c.cpus, c.ranks, c.each, c.from)); b != nil {
			got = b.Line
		}
		if got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
}

var (
	openMPIBinds = regexp.MustCompile(`Binding: *(\S*)`) // "": all cores
	hydraBinds   = regexp.MustCompile(`process \d+ binding: ([01]+)`)
)

// TestBindingsRun: mpirun and mpiexec take the lines on made-up machines of hwloc's, and bind as promised: each rank to as many
// cores as it has busy threads, none of them another rank's, and with mpirun on two sockets to cores of one socket, on both.
func TestBindingsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts the launchers of both MPIs")
	}
	for from, program := range map[string]string{"mpirun": "mpirun.openmpi --allow-run-as-root --host localhost:16 --do-not-launch --display-devel-map ", "mpiexec": "mpiexec.mpich "} {
		if _, err := exec.LookPath(strings.Fields(program)[0]); err != nil {
			t.Skip(err)
		}
		for sockets := 1; sockets <= 2; sockets++ {
			for threads := 1; threads <= 2; threads++ {
				for _, n := range [][2]int{{4, 1}, {2, 2}, {4 * sockets, 1}, {sockets, 4}} { // ranks, threads of each
					t.Run(fmt.Sprintf("%s on %d sockets of %d hardware threads a core: %d x %d", from, sockets, threads, n[0], n[1]), func(t *testing.T) {
						h := machineOf(sockets, threads)
						b := BindingOf(crowded(h, h.Cores*threads, n[0], n[1], from))
						if b == nil || b.Line == "" {
							t.Fatalf("no line: %+v", b)
						}
						// Hydra's mpiexec dies of SIGPIPE where its program is over before it has sent it all of its standard input.
						cmd := exec.Command("sh", "-c", strings.NewReplacer("mpirun ", program, "mpiexec ", program, "YOUR-PROGRAM", "sleep .1").Replace(b.Line))
						cmd.Env = append(os.Environ(), fmt.Sprintf("HWLOC_SYNTHETIC=pack:%d core:4 pu:%d", sockets, threads), "HYDRA_TOPO_DEBUG=1")
						out, err := cmd.CombinedOutput()
						if err != nil {
							t.Fatalf("%s: %v\n%s", b.Line, err, out)
						}
						wantBound(t, boundCores(string(out), h), n[0], n[1], from == "mpirun" && sockets == 2)
						if t.Failed() {
							t.Logf("%s\n%s", b.Line, out)
						}
					})
				}
			}
		}
	}
}

// boundCores are the cores of each rank, as its launcher prints them: [BB/../..][../../..], or 11000000.
func boundCores(said string, h *job.Hardware) (all [][]int) {
	for _, of := range openMPIBinds.FindAllStringSubmatch(said, -1) {
		var cores []int
		for i, core := range strings.FieldsFunc(of[1], func(r rune) bool { return strings.ContainsRune("[]/", r) }) {
			if strings.Contains(core, "B") {
				cores = append(cores, i)
			}
		}
		for core := 0; of[1] == "" && core < h.Cores; core++ {
			cores = append(cores, core)
		}
		all = append(all, cores)
	}
	for _, of := range hydraBinds.FindAllStringSubmatch(said, -1) {
		var cores []int
		for core := range len(of[1]) / h.ThreadsPerCore {
			if strings.Contains(of[1][core*h.ThreadsPerCore:][:h.ThreadsPerCore], "1") {
				cores = append(cores, core)
			}
		}
		all = append(all, cores)
	}
	return all
}

func wantBound(t *testing.T, bound [][]int, ranks, each int, bothSockets bool) {
	t.Helper()
	rankOf, sockets := map[int]int{}, map[int]bool{}
	for rank, cores := range bound {
		on := map[int]bool{}
		for _, core := range cores {
			if other, taken := rankOf[core]; taken {
				t.Errorf("ranks %d and %d have core %d", other, rank, core)
			}
			rankOf[core], on[core/4], sockets[core/4] = rank, true, true
		}
		if len(cores) != each || bothSockets && len(on) != 1 {
			t.Errorf("rank %d has cores %v, want %d", rank, cores, each)
		}
	}
	if len(bound) != ranks || bothSockets && len(sockets) != 2 {
		t.Errorf("%d ranks are bound, on %d sockets, want %d", len(bound), len(sockets), ranks)
	}
}
