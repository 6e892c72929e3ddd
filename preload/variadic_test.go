package preload

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// nestProgram is C whose iterations wait for others in a nest of so many loops. It prints a hash of
// their order. Each iteration runs a nest of two loops, too.
func nestProgram(loops int, number string) string {
	var at []string
	for i := 1; i < loops; i++ {
		at = append(at, fmt.Sprintf("i%d", i))
	}
	var inner strings.Builder
	for _, v := range at {
		fmt.Fprintf(&inner, "for (%s %s = 1; %s < 2; %s++)\n", number, v, v, v)
	}
	return `#include <stdio.h>
static int pairs(int base)
{
	int sum[5] = { base };
#pragma omp parallel for ordered(2) num_threads(2) schedule(static, 1)
	for (int i = 1; i < 5; i++) for (int j = 1; j < 2; j++) {
#pragma omp ordered depend(sink : i - 1, j)
		sum[i] = sum[i - 1] * 3 + i;
#pragma omp ordered depend(source)
	}
	return sum[4];
}
int main(void)
{
	unsigned hash = 1;
#pragma omp parallel for ordered(` + fmt.Sprint(loops) + `) num_threads(2) schedule(static, 1)
	for (` + number + ` i0 = 1; i0 < 13; i0++)
	` + inner.String() + `{
		int more = pairs((int)i0);
#pragma omp ordered depend(sink : i0 - 1, ` + strings.Join(at, ", ") + `)
		hash = hash * 31 + (unsigned)i0 + (unsigned)more;
#pragma omp ordered depend(source)
	}
	printf("%u\n", hash);
	return 0;
}
`
}

// A wait for another iteration takes an argument for each loop of its nest, however many there are. Up to
// six are measured.
func TestNestsOfAnyDepth(t *testing.T) {
	runsMPI(t)
	for _, c := range []struct {
		number string
		loops  int
	}{{"long", 2}, {"long", 6}, {"long", 7}, {"long", 15}, {"long", 40}, {"unsigned long long", 6}, {"unsigned long long", 15}} {
		source := write(t, "nest.c", []byte(nestProgram(c.loops, c.number)))
		program := filepath.Join(t.TempDir(), "nest")
		if out, err := exec.Command("gcc", "-O2", "-fopenmp", source, "-o", program).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		file := filepath.Join(t.TempDir(), "record")
		nested := []string{quietThreads, "OMP_MAX_ACTIVE_LEVELS=2"}
		wantSame(t, mustRun(t, run(t, nested, program)), run(t, append(byHand(file), nested...), program))
		_, o := openMPOf(t, file)
		measured := uint64(11 + 12*3) // waits of the nest, and those in the 12 ones of two loops
		if c.loops > 6 {
			measured = 12 * 2 // those of the threads that never were in the deep one
		}
		if o.Locks != measured {
			t.Errorf("%d loops of %s: %d waits, want %d", c.loops, c.number, o.Locks, measured)
		}
	}
}

// A tool's MPI_Pcontrol gets all arguments that the program hands over, numbers among them.
func TestPcontrolHandsAllOn(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		tool := compile(t, f.cc, "pcontrol.c", "-DTOOL", "-shared", "-fPIC", "-O2")
		program := compile(t, f.cc, "pcontrol.c", "-O2", tool)
		file := filepath.Join(t.TempDir(), "record")
		without := mustRun(t, mpirun(t, f, nil, 1, program))
		wantSame(t, without, mpirun(t, f, byHand(file), 1, program))
		if !strings.Contains(without.stdout, " 12 12.50 end\n") || len(readSlots(t, file)) != 1 {
			t.Errorf("it prints %q", without.stdout)
		}
	})
}

// The same on aarch64, where eight arguments have registers.
func TestNestsOnAArch64(t *testing.T) {
	runsMPI(t)
	ours := built(t, "build/test/libjobeff-aarch64.so")
	for _, loops := range []int{6, 15} {
		source := write(t, "nest.c", []byte(nestProgram(loops, "long")))
		program := filepath.Join(t.TempDir(), "nest")
		if out, err := exec.Command("aarch64-linux-gnu-gcc", "-O2", "-fopenmp", source, "-o", program).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		file := filepath.Join(t.TempDir(), "record")
		emulated := []string{"-L", "/usr/aarch64-linux-gnu", program}
		without := mustRun(t, run(t, []string{quietThreads}, "qemu-aarch64", emulated...))
		wantSame(t, without, run(t, []string{quietThreads}, "qemu-aarch64", append([]string{"-E", "LD_PRELOAD=" + ours, "-E", "JOBEFF_RECORD=" + file}, emulated...)...))
		if _, o := openMPOf(t, file); o.Regions == 0 {
			t.Errorf("%d loops: %+v", loops, o)
		}
	}
}
