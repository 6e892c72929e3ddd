package curve

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// workloads are made-up curves of 6 points with noise of 3 %, half of them with the
// overhead measured.
func workloads(count int) [][]Point {
	rng := rand.New(rand.NewPCG(4, 4))
	all := make([][]Point, count)
	for i := range all {
		m := Amdahl{Serial: 1e-4 + 0.02*rng.Float64(), C: math.Exp(1 + 4*rng.Float64()), T1: 5000}
		m.B = (0.2 + 0.7*rng.Float64()) * (m.C + 1)
		for n := 1; n <= 32; n *= 2 {
			p := Point{N: n, T: m.Time(float64(n)) * math.Exp(0.03*rng.NormFloat64())}
			if i%2 == 0 {
				tau := p.T * math.Min(m.Share(float64(n))*math.Exp(0.05*rng.NormFloat64()), 1)
				p.Tau = &tau
			}
			all[i] = append(all[i], p)
		}
	}
	return all
}

// processorTime is what this process has used so far, seconds: on a busy machine it
// says more than the clock.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkWorkloads fits workloads on all cores and prints what 100,000 would take,
// with all intervals; the limit is 120 s on 2 cores.
func BenchmarkWorkloads(b *testing.B) {
	curves := workloads(1000)
	before := processorTime(b)
	next := make(chan int)
	var done sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		done.Go(func() {
			for i := range next {
				Fit(curves[i%len(curves)], Settings{Level: 0.8})
			}
		})
	}
	for i := range b.N {
		next <- i
	}
	close(next)
	done.Wait()
	seconds := b.Elapsed().Seconds() / float64(b.N) * 1e5
	b.ReportMetric(seconds, "s/100000")
	b.ReportMetric((processorTime(b)-before)/float64(b.N)*1e5, "cpu-s/100000")
}
