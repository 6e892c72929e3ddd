package vm

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// become leaves a machine so many sockets switched on, tells Slurm, and waits for it. Slurm 22.05 binds to the wrong CPUs where
// others between them are off, so hardware threads are left out as it boots.
const become = `
for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
	if [ -e $cpu/online ]; then echo 1 >$cpu/online; fi
done
off=''
for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
	if [ %d = 1 ] && [ $(cat $cpu/topology/physical_package_id) != $(cat /sys/devices/system/cpu/cpu0/topology/physical_package_id) ]; then off="$off $cpu"; fi
done
for cpu in $off; do echo 0 >$cpu/online; done
sed -i '/^NodeName=/d; s/CR_CPU_Memory/CR_Core_Memory/' /etc/slurm/slurm.conf
echo "$(slurmd -C | sed -n 's/RealMemory=.*/RealMemory=2600/p') NodeAddr=10.79.0.1" >>/etc/slurm/slurm.conf
systemctl restart slurmctld slurmd
until sinfo -h -o %%t 2>/dev/null | grep -qE '^(idle|mix|alloc|comp)$'; do sleep 1; done
tail -n 1 /etc/slurm/slurm.conf`

// starters start ranks on CPU 0, whatever the job has; %d is their number.
var starters = []struct{ name, mpi, wrong string }{
	{"srun", "openmpi", "srun --mpi=pmix --ntasks=%d --cpu-bind=none"},
	{"mpirun", "openmpi", "mpirun.openmpi -n %d --bind-to none"},
	{"mpiexec", "mpich", "mpiexec.mpich -n %d"},
}

var (
	theLine = regexp.MustCompile("start it with `([^`]+)`")
	aThread = regexp.MustCompile(`(?m)^(\d+)/(\d+) ([\d,]+)$`)
)

// TestBind: jobs whose threads were kept on one CPU are told a line. It runs, and each thread then has a core of its own, or a
// CPU where Slurm's count promises no more; on two sockets srun and mpirun put ranks onto both.
func TestBind(t *testing.T) {
	for threads := 2; threads >= 1; threads-- {
		// of AMD's processors QEMU tells no hardware threads
		m := boot(t, append(drive(newDisk(t)), "-smp", fmt.Sprintf("%d,sockets=2,cores=2,threads=%d", 4*threads, threads), "-cpu", "max,vendor=GenuineIntel")...)
		m.must(t, "slurm-ready")
		for _, mpi := range []string{"openmpi", "mpich"} {
			m.must(t, "cd /root/jobeff/test/apps; for app in busy binding; do mpicc."+mpi+" -O1 -fopenmp -pthread -o /home/alice/$app."+mpi+" $app.c; done")
		}
		for sockets := 2; sockets >= 1; sockets-- {
			t.Run(fmt.Sprintf("%d_sockets,_%d_threads_a_core", sockets, threads), func(t *testing.T) { m.bindAll(t, sockets, threads) })
		}
		m.kill()
	}
}

// bindAll tries each launcher.
func (m *machine) bindAll(t *testing.T, sockets, threads int) {
	said := strings.Split(strings.TrimSpace(m.must(t, fmt.Sprintf(become, sockets))), "\n")
	t.Logf("result: %s", said[len(said)-1])
	cores := 2 * sockets
	for _, s := range starters {
		shapes := [][2]int{{2, cores / 2}} // ranks, threads of each
		if s.name == "srun" && threads > 1 {
			shapes = append(shapes, [2]int{cores, threads})
		}
		for _, n := range shapes {
			t.Run(fmt.Sprintf("%s,_%d_x_%d", s.name, n[0], n[1]), func(t *testing.T) { m.bind(t, s.mpi, s.wrong, n[0], n[1], cores) })
		}
	}
}

// bind runs a job wrongly, and what jobeff tells of it.
func (m *machine) bind(t *testing.T, mpi, wrong string, ranks, each, cores int) {
	args := fmt.Sprintf("-N1 -n%d --exclusive --mem=1500", ranks)
	id := m.submit(t, fmt.Sprintf("export OMP_NUM_THREADS=%d\n"+wrong+" taskset -c 0 ./busy.%s 5 %s", each, ranks, mpi, map[bool]string{true: "openmp", false: "alone"}[each > 1]), args)
	d := m.reported(t, id)
	if d.CauseText == nil || !theLine.MatchString(*d.CauseText) {
		t.Fatalf("job %s: no line: cause %v, %s", id, d.Cause, m.output(t, id))
	}
	line := theLine.FindStringSubmatch(*d.CauseText)[1]
	t.Logf("result: %s", line)
	run := strings.NewReplacer("YOUR-PROGRAM", "./binding."+mpi, "srun ", "srun --mpi=pmix ", "mpirun ", "mpirun.openmpi ", "mpiexec ", "mpiexec.mpich ").Replace(line)
	id = m.submit(t, run, args+" -W")
	out := m.output(t, id)
	of := m.places(t)
	on, sockets := map[string][]string{}, map[string]string{} // threads' ranks by place, sockets by rank
	for _, thread := range aThread.FindAllStringSubmatch(out, -1) {
		rank, its := thread[1], map[string]bool{}
		for cpu := range strings.SplitSeq(thread[3], ",") {
			place, socket := of[cpu][0], of[cpu][1]
			if ranks*each > cores {
				place = cpu
			}
			if its[place] = true; !strings.Contains(sockets[rank], socket) {
				sockets[rank] += socket
			}
		}
		for place := range its {
			on[place] = append(on[place], rank)
		}
		if len(its) != 1 || thread[2] != strconv.Itoa(ranks) {
			t.Errorf("a thread of rank %s of %s may run on %s", rank, thread[2], thread[3])
		}
	}
	for place, of := range on { // threads that nobody asked for have the core of their rank
		if each > 1 && len(of) != 1 || len(slices.Compact(of)) != 1 {
			t.Errorf("%s is of threads of ranks %v", place, of)
		}
	}
	if len(on) != ranks*each || len(sockets) != ranks {
		t.Errorf("%d ranks with %d threads each have %d places", ranks, each, len(on))
	}
	if both := regexp.MustCompile("cyclic|socket").MatchString(line); both && sockets["0"]+sockets["1"] != "01" && sockets["0"]+sockets["1"] != "10" {
		t.Errorf("ranks are on sockets %v", sockets)
	}
	if t.Failed() {
		t.Logf("%s prints\n%s", run, out)
	}
}

// places are the core and the socket of each CPU.
func (m *machine) places(t *testing.T) map[string][2]string {
	t.Helper()
	of := map[string][2]string{}
	for line := range strings.Lines(m.must(t, "lscpu -p=CPU,CORE,SOCKET | grep -v '#'")) {
		if f := strings.Split(strings.TrimSpace(line), ","); len(f) == 3 {
			of[f[0]] = [2]string{"core " + f[1], f[2]}
		}
	}
	return of
}
