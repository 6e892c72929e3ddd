package replay

import (
	"math"

	"jobeff/ingest/job"
)

// efficiencies are METRICS 1's of the windows that were replayed: PE = LB CommE, CommE = SerE TE.
type efficiencies struct{ PE, LB, CommE, SerE, TE float64 }

// sums are what windows add up to, ns.
type sums struct {
	windows int
	elapsed float64
	nets    times
	useful  []float64 // of ranks
}

func newSums(ranks int) sums { return sums{useful: make([]float64, ranks)} }

func (s *sums) add(elapsed float64, nets *times, useful []float64) {
	s.windows++
	s.elapsed += elapsed
	for i := range nets {
		s.nets[i] += nets[i]
	}
	for r, u := range useful {
		s.useful[r] += u
	}
}

// without returns the efficiencies of s without the windows of b. The windows cannot have taken less
// time than on the ideal network. If they seem to, because ranks left a border at different moments,
// the ideal time stands for both.
func (s *sums) without(b *sums) efficiencies {
	sum, most := 0.0, 0.0
	for r := range s.useful {
		u := s.useful[r] - b.useful[r]
		sum, most = sum+u, max(most, u)
	}
	mean := sum / float64(len(s.useful))
	idealTime := s.nets[ideal] - b.nets[ideal]
	elapsed := max(s.elapsed-b.elapsed, idealTime)
	if most <= 0 || elapsed <= 0 {
		return efficiencies{}
	}
	return efficiencies{PE: mean / elapsed, LB: mean / most, CommE: most / elapsed, SerE: most / idealTime, TE: idealTime / elapsed}
}

// blocksMost is the number of blocks of consecutive windows into which the run is divided.
const blocksMost = 20

// student has the 97.5 % quantiles of Student's distribution for 1 to 19 degrees of freedom.
var student = [blocksMost]float64{1: 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
	2.131, 2.120, 2.110, 2.101, 2.093}

// jackknife gives the intervals of all's SerE and TE: each block is left out in turn. Windows near
// each other are alike, so blocks of them are left out and not single ones.
func jackknife(e efficiencies, all *sums, blocks []sums) (serE, te job.Estimate) {
	var ser, tra []float64
	for i := range blocks {
		if blocks[i].windows > 0 {
			rest := all.without(&blocks[i])
			ser, tra = append(ser, rest.SerE), append(tra, rest.TE)
		}
	}
	return spread(e.SerE, ser), spread(e.TE, tra)
}

// spread is value with the interval around it, from the values with one block left out.
func spread(value float64, left []float64) job.Estimate {
	n := float64(len(left))
	mean, sum := 0.0, 0.0
	for _, x := range left {
		mean += x / n
	}
	for _, x := range left {
		off := x - mean
		sum += off * off
	}
	half := student[len(left)-1] * math.Sqrt(sum*(n-1)/n)
	return job.Estimate{Value: value, Low: max(value-half, 0), High: min(value+half, 1)}
}
