// Package replay finds out why ranks wait in MPI: for each other's work (serialisation), or for the
// network (transfer), METRICS 1. It takes the sampled windows of a run, which ingest/node reads
// from the record, and says what it found as a job.Windows. A window lies between two collectives
// that nobody can leave before all have entered.
//
//  1. choose reads which windows the logs of all ranks share, and who is in which communicator.
//  2. A reader turns a rank's entries of one window into acts (read.go). Matching ties each
//     receive to its send, and the ranks of each collective together (match.go). A window in
//     which something does not fit is dropped, and the reason is counted.
//  3. The window is replayed (sim.go) on a network that takes no time, and on three others.
//  4. The sums over the windows give the efficiencies and their intervals (estimate.go).
//
// If a run's ranks are on several nodes, Pack makes the logs of a node small enough to travel
// (wire.NodeLogs), and Unpack reads them at jobeffd, where all are together.
//
// The replay of one window keeps this window's acts only. Time and memory grow with the logged
// calls, whatever a log contains: logs come from users' records.
package replay
