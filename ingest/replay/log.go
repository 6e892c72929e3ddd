package replay

import (
	"time"

	"jobeff/ingest/job"
)

// Op says what an entry of a log is. The numbers are those of enum je_log_op in record.h.
type Op uint8

// What an entry may be. Those from OpLocal on are calls inside a window.
const (
	OpNone     Op = iota
	OpWindow      // a window begins; the entry has the times of the collective that opens it
	OpComm        // a communicator was made: Comm is its number here, Bytes its identity
	OpInitSend    // a persistent request was made
	OpInitRecv
	OpInitColl // Tag is the Op of what it starts
	OpLocal    // waits for nobody
	OpPoll     // unsuccessful tests in a row; Bytes is their time in MPI, ns
	OpIO       // a file: neither MPI nor useful
	OpSend
	OpRecv
	OpSendStart
	OpRecvStart
	OpStart // of a persistent request
	OpDone  // a request is complete
	OpProbe
	OpCollAll    // every rank waits for the last
	OpCollFrom   // every rank waits for the root
	OpCollTo     // the root waits for the last
	OpCollScan   // a rank waits for those of lower rank
	OpCollNobody // moves nothing
	OpUnsupported
)

// Flags of an entry, as in record.h.
type Flags uint8

// What a flag says of its entry.
const (
	Continued   Flags = 1 << iota // a further part of the call in the entry before
	Sync                          // the send waits for its receive
	Exact                         // Bytes came from a status; else it is the buffer's size
	NonBlocking                   // the collective ends with the OpDone of its request
	Inter                         // the communicator joins two groups
	Border                        // the collective that closes the window
	TooLong                       // the window did not fit; Bytes is its length, ns
)

// Values of Peer and Tag that are no rank and no tag.
const (
	noPeer  = -1 // MPI_PROC_NULL
	unknown = -2 // a wildcard, and no status shows what came
)

// Entry is one entry of a rank's log, struct je_log in record.h. Times are ns of CLOCK_REALTIME
// as the rank's node has it; all ranks of a node use one clock.
type Entry struct {
	Enter, Leave int64 // of the outermost MPI call
	Bytes        uint64
	Request      uint64 // the handle
	Peer         int32  // rank in MPI_COMM_WORLD; of a rooted collective, the root
	Tag          int32
	Comm         uint32 // the rank's own number of the communicator
	Call         uint16 // row of mpi_calls.def
	Op           Op
	Flags        Flags
	Site         uint16 // in Log.Sites, + 1; 0: not known
}

// Site is a place in the code that calls MPI.
type Site struct {
	Module job.Module
	Offset uint64 // address in its file
}

// MostSites bounds the sites of a node's ranks.
const MostSites = 1024

// Log is what one rank of a run logged.
type Log struct {
	Rank int    // in MPI_COMM_WORLD
	Node string // ranks of one node share its clock
	// ClockError bounds how far that clock is from the true time; 0: not known.
	ClockError time.Duration
	K          int // windows are sampled 1 in 2^K
	Why        Why // "": it logged
	Entries    []Entry
	Sites      []Site // of all ranks of the node
}

// Kept reports whether window i is among those that are sampled 1 in 2^k. Two neighbouring blocks of
// windows form a larger one. A mixed bit (splitmix64) decides which block's window the larger one
// keeps (je_window_of in record_windows.h). So what is kept with k + 1 is kept with k, and ranks with
// different k share the windows of the largest. Without mixing, a loop with two collectives would show
// only one of them.
func Kept(i uint64, k int) bool {
	for level := uint64(1); level <= uint64(k); level++ {
		z := i>>level<<6 + level + 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		if i>>(level-1)&1 != z>>63 {
			return false
		}
	}
	return true
}

// usefulSince is the useful time from prev, when the call before was left, to the end of this
// one, ns.
func (e *Entry) usefulSince(prev int64) float64 {
	useful := e.Enter - prev
	if e.Op == OpPoll {
		useful = e.Leave - prev - int64(e.polled())
	}
	return float64(max(useful, 0))
}

// polled is the time in MPI of an OpPoll, ns.
func (e *Entry) polled() uint64 { return min(e.Bytes, uint64(e.Leave-e.Enter)) }
