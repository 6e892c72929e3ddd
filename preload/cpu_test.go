package preload

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"jobeff/preload/record"
)

// kernelOf is what the kernel counted in each rank of a run of busy.c.
func kernelOf(t *testing.T, f family, ranks int, args ...string) []record.Kernel {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs MPI programs for seconds")
	}
	program := compile(t, f.cc, "busy.c", "-fopenmp", "-pthread")
	file := filepath.Join(t.TempDir(), "record")
	mustRun(t, mpirun(t, f, byHand(file), ranks, program, args...))
	var all []record.Kernel
	for _, s := range readSlots(t, file) {
		if s.Kind == record.KindProcess {
			all = append(all, s.Kernel)
		}
	}
	if len(all) != ranks {
		t.Fatalf("%d ranks left a slot, want %d", len(all), ranks)
	}
	return all
}

// Both MPIs have threads of their own; in a plain program they hardly use a CPU.
func TestPlainRanksHaveNoBusyThread(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		for _, k := range kernelOf(t, f, 2, "1.5", "alone") {
			if k.At == 0 || !k.TasksKnown || k.Tasks < 1 || k.Thread == 0 || k.GPU != record.GPUNone {
				t.Errorf("not all is known: %+v", k)
			}
			if other := k.Process - min(k.Thread, k.Process); other > k.Process/20 {
				t.Errorf("threads other than the rank's had %v of %v of CPU time", time.Duration(other), time.Duration(k.Process))
			}
			if k.BusiestName != "" || k.Mask == [record.MaskBytes]byte{} {
				t.Errorf("busiest thread %q, mask %x", k.BusiestName, k.Mask)
			}
		}
	})
}

// The kernel's other counts are those of the process since MPI_Init, as the process itself finds them.
func TestUsageOfARank(t *testing.T) {
	const (
		written = 3 << 20
		apart   = 1e6 // ns; the two counts are read one after the other
	)
	eachFamily(t, func(t *testing.T, f family) {
		k := kernelOf(t, f, 1, "1.5", "write")[0]
		if !k.UsageKnown || k.MaxRSS < 1<<20 || k.Waits == 0 || k.System > k.Process+apart {
			t.Errorf("not all is known: %+v", k)
		}
		if text, err := os.ReadFile("/proc/self/io"); err == nil && (!k.IOKnown || k.Written < written || k.Written > 2*written) {
			t.Errorf("it wrote %d bytes, as the kernel has it %d: %s", written, k.Written, text)
		}
	})
}

// A thread that never calls MPI is counted, and named.
func TestBusyThreadIsNamed(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		k := kernelOf(t, f, 1, "1.5", "thread")[0]
		if other := k.Process - min(k.Thread, k.Process); other < k.Process/10 || k.Busiest < k.Process/10 {
			t.Errorf("the second thread had %v (%v) of %v of CPU time", time.Duration(other), time.Duration(k.Busiest), time.Duration(k.Process))
		}
		if k.BusiestName == "" || k.BusiestOfMPI || k.BusiestTID == 0 {
			t.Errorf("busiest thread: %+v", k)
		}
	})
}

// An asynchronous progress thread is one that MPI_Init started.
func TestProgressThreadIsOfMPI(t *testing.T) {
	program := compile(t, mpich.cc, "busy.c", "-fopenmp", "-pthread")
	file := filepath.Join(t.TempDir(), "record")
	mustRun(t, mpirun(t, mpich, append(byHand(file), "MPIR_CVAR_ASYNC_PROGRESS=1"), 1, program, "1.5", "alone"))
	k := readSlots(t, file)[0].Kernel
	// On a busy machine it gets little of a CPU, since it gives way; but no other thread has any.
	if other := k.Process - min(k.Thread, k.Process); !k.BusiestOfMPI || k.BusiestTID == 0 || k.MPIThreads < other*9/10 {
		t.Errorf("MPICH's progress thread: %+v", k)
	}
}

// What stood at the last reading counts where a rank is killed: there is no timer, only calls.
func TestKilledRankKeepsItsLastReading(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		if testing.Short() {
			t.Skip("it runs MPI programs for seconds")
		}
		program := compile(t, f.cc, "busy.c", "-fopenmp", "-pthread")
		file := filepath.Join(t.TempDir(), "record")
		cmd := exec.Command(program, "600", "alone")
		cmd.Env = append(plainEnvironment(), byHand(file)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		must(t, cmd.Start())
		defer cmd.Wait()
		defer cmd.Process.Signal(syscall.SIGKILL)
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			if f, closer, err := record.Open(file, record.Options{}); err == nil {
				read := false
				f.Each(func(s *record.Slot) error { read = read || s.Kernel.At != 0; return nil })
				closer.Close()
				if read {
					break
				}
			}
		}
		must(t, cmd.Process.Signal(syscall.SIGKILL))
		cmd.Wait()
		s := readSlots(t, file)[0]
		const apart = 1e6 // ns; the two clocks are read one after the other
		if k := s.Kernel; k.At <= s.InitLeft || k.Thread == 0 || k.Process+apart < k.Thread || s.Ending != record.EndingNone {
			t.Errorf("%+v, ending %v\n%s", k, s.Ending, out.String())
		}
	})
}
