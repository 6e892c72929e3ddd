package replay

import "slices"

// kind is what an act does in the replay.
type kind uint8

const (
	actLocal     kind = iota
	actIO             // lasts as long as it lasted
	actSend           // ref is the message
	actRecv           // ref is the message
	actProbe          // ref is the message
	actSendStart      // ref is the message
	actRecvStart      // ref is the message
	actColl           // ref is the collective
	actCollStart      // ref is the collective
	actWait           // ref is the act that started what this one waits for
)

// mostActs bounds the acts of a window, and with them what a replay takes besides the logs. Logs have
// no room for as many larger windows as an estimate needs.
const mostActs = MostEntries / windowsLeast

// none stands for no act, message or rank.
const none = -1

// act is a part of an MPI call that does one thing.
type act struct {
	gap          float64 // useful time of the rank before it, ns
	cost         float64 // of the call beyond what it waited for, ns; at its last part
	enter, leave int64   // of the call, on the rank's own clock
	bytes        uint64
	rank         int32
	peer, tag    int32 // of a message; a collective's root, and the rank's place among its ranks
	comm         int32
	ref          int32
	also         int32 // of a start: the other one of the same request
	same         int32 // of a start: an earlier one with the same handle that is not complete
	site         int32 // of the call: choice.sites
	call         uint16
	op           Op // of a collective
	kind         kind
	sync         bool
	exact        bool
	last         bool // it is the last part of its call
}

// message is a send and its receive.
type message struct {
	send, recv int32 // acts
	next       int32 // in its channel
}

// collective is what the ranks of a communicator enter together.
type collective struct {
	root    int32 // in MPI_COMM_WORLD
	op      Op
	call    uint16
	size    int32 // of the communicator
	entered int32
	places  int32 // OpCollScan: where its ranks' places begin

	// the moments at which its ranks entered it, on the common clock
	lastEnter, rootEnter int64
}

// channelKey is where messages stay in order: one sender, receiver, tag and communicator.
type channelKey struct{ from, to, tag, comm int32 }

// queue are the messages of a channel whose receive was not found yet.
type queue struct{ first, last int32 }

// window is one window on its way through the replay. It is used again for the next one.
type window struct {
	number int // counts the windows
	acts   []act
	first  []int32 // the acts of rank r are acts[first[r]:first[r+1]]
	msgs   []message
	colls  []collective
	// of ranks
	open, close []border
	nodeOf      []int32
	shift       []int64 // of nodes: their clock less the common one, ns
	clocks      []int64 // of nodes: see choice
	doubt       []int64 // of nodes: of their shift, ns
	placeEnter  []int64 // of scans: the latest entry of the ranks up to a place

	active   map[uint64]int32 // request → the act that started it
	channels map[channelKey]int32
	queues   []queue
}

// border is one rank's part of a collective that opens or closes a window.
type border struct {
	enter, leave int64
	comm         int32
	call         uint16
}

// newWindow is for ranks on these nodes, with their clocks.
func newWindow(nodeOf []int32, clocks []int64) *window {
	n, nodes := len(nodeOf), len(clocks)
	return &window{first: make([]int32, n+1), open: make([]border, n), close: make([]border, n), nodeOf: nodeOf, clocks: clocks,
		shift: make([]int64, nodes), doubt: make([]int64, nodes), active: map[uint64]int32{}, channels: map[channelKey]int32{}}
}

// elapsed is how long the window took, ns: the mean over the ranks.
func (w *window) elapsed() float64 {
	sum := 0.0
	for r := range w.open {
		sum += float64(w.close[r].leave - w.open[r].leave)
	}
	return sum / float64(len(w.open))
}

// common converts a moment of a rank's clock to the clock that all ranks share.
func (w *window) common(rank int32, at int64) int64 { return at - w.shift[w.nodeOf[rank]] }

// again returns a slice of n zeros, in the memory of s if it suffices.
func again[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}
