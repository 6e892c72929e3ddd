package curve

import "math"

// Amdahl is the extended Amdahl model of Höfinger and Haunschmid (METRICS 4): the
// run time on n cores is Amdahl's, lengthened by an overhead whose share of the run
// time grows from 0 on one core to b/(c+1) on infinitely many.
type Amdahl struct {
	Serial float64 // f_s, the part of the one-core work that stays serial, 0 <= f_s < 1
	B      float64 // b of eq. (1), positive
	C      float64 // c of eq. (1), positive, in cores
	T1     float64 // t_1, seconds on one core
}

// Beta is the limit of the overhead's share of the run time, b/(c+1), eq. (1).
func (m Amdahl) Beta() float64 { return m.B / (m.C + 1) }

// Share is tau_n/t_n, the overhead as a part of the run time, eq. (1).
func (m Amdahl) Share(n float64) float64 { return m.Beta() * (n - 1) / (m.C + n) }

// Time is t_n in seconds, eq. (6).
func (m Amdahl) Time(n float64) float64 {
	return m.T1 * (m.Serial + (1-m.Serial)/n) / (1 - m.Share(n))
}

// Overhead is tau_n in seconds, eq. (5).
func (m Amdahl) Overhead(n float64) float64 { return m.Time(n) * m.Share(n) }

// Fastest is n*, where t_n is least, from the identities under METRICS 4. It is +Inf if t_n falls for ever, and
// never below 1.
func (m Amdahl) Fastest() float64 {
	beta, a := m.Beta(), (1-m.Serial)/m.Serial
	d := (m.C + beta) / (1 - beta)
	if math.IsInf(a, 1) || d <= a+m.C {
		return math.Inf(1)
	}
	ac := a * m.C
	return math.Max(1, (ac+math.Sqrt(ac*ac+(d-a-m.C)*ac*d))/(d-a-m.C))
}

// Efficient is the n above which the parallel efficiency is below line: 0.8 gives n_eff. It is +Inf if the
// efficiency never falls that far.
func (m Amdahl) Efficient(line float64) float64 {
	beta, lost := m.Beta(), 1-line
	if beta <= lost {
		return math.Inf(1)
	}
	return (beta + lost*m.C) / (beta - lost)
}

// mirrored returns the model with the same t_n and another overhead: a = (1-f_s)/f_s and c change places. It
// returns false if that leaves no positive b.
func (m Amdahl) mirrored() (Amdahl, bool) {
	beta, a := m.Beta(), (1-m.Serial)/m.Serial
	d := (m.C + beta) / (1 - beta)
	if math.IsInf(a, 1) || d <= a || a <= 0 {
		return m, false
	}
	k := m.T1 * m.Serial / (1 - beta)
	swapped := (d - a) / (1 + d)
	serial := 1 / (1 + m.C)
	return Amdahl{Serial: serial, B: swapped * (a + 1), C: a, T1: k * (1 - swapped) / serial}, true
}

// logShape is ln t_n of the model with t_1 = 1 second.
func logShape(serial, beta, c, n float64) float64 {
	return math.Log(serial+(1-serial)/n) - math.Log1p(-beta*(n-1)/(c+n))
}
