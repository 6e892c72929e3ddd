// Package curve is overhead curves and nothing else: S. Höfinger and E. Haunschmid,
// "Modelling parallel overhead from simple run-time records", The Journal of
// Supercomputing 73, 4390-4406 (2017). Symbols and equation numbers are the paper's;
// METRICS 4 has them, and what real curves say about prediction.
//
//	tau_n / t_n = b/(c+1) - b/(c+n)                                            (1)
//	t_n = t_n(Amdahl) [1 + b (n-1) / ((1+c-b) n + (b + c + c^2))]              (6)
//
// A curve goes through these steps:
//
//  1. Read or a workload's runs give Points: cores, run time, overhead
//  2. Fit groups them by core count and refuses what no curve can be drawn through
//  3. fit.go finds the extended Amdahl model nearest to them, ensemble.go all the
//     fits that the data cannot tell apart from it; hoefinger.go fits as the paper does
//  4. slopes.go continues the run time by its local slope; the predicted time is
//     the mean of both (METRICS 4 has the reason), efficiency.go adds the overhead
//  5. inflexion.go and efficiency.go state n_fast and n_eff, nextrun.go what run
//     would teach most, rivals.go what Amdahl's law and the USL make of the same points
//
// It is pure, but for reading a file through an io.Reader. Before it comes ingest, which measures
// the runs; after it policy, which judges jobs by the curve of their workload.
package curve
