package replay

// Reason says why a window was dropped (job.WindowDrop).
type Reason = string

// Why windows are dropped. Each is what a person reads.
const (
	Matched        Reason = ""
	ReasonMissing  Reason = "not in the logs of all ranks"
	ReasonTooLong  Reason = "more calls than a rank can log"
	ReasonLarge    Reason = "more calls of all ranks than are replayed at once"
	ReasonOdd      Reason = "entries that no program can have made"
	ReasonBorder   Reason = "the ranks do not agree on the collectives at its ends"
	ReasonClock    Reason = "the nodes' clocks moved against each other"
	ReasonOpen     Reason = "a request was open at one of its ends"
	ReasonWildcard Reason = "a receive from any source or with any tag, and no status"
	ReasonComm     Reason = "a communicator that is not known on all its ranks"
	ReasonSends    Reason = "a send or a receive without its counterpart"
	ReasonBytes    Reason = "a receive and its send of unequal bytes"
	ReasonOrder    Reason = "a receive that ended before its send began"
	ReasonColl     Reason = "collectives that differ among their ranks"
	ReasonEndless  Reason = "calls that wait for each other"

	ReasonRMA       Reason = "one-sided communication"
	ReasonNeighbour Reason = "a neighbourhood collective"
	ReasonInter     Reason = "an intercommunicator"
	ReasonMprobe    Reason = "a matched probe"
	ReasonPart      Reason = "partitioned communication"
	ReasonCancel    Reason = "a request that was cancelled or freed while it was open"
	ReasonSpawn     Reason = "processes that join the run"
	ReasonOther     Reason = "a call that is not replayed"
)

// unsupported are the reasons of OpUnsupported, by the entry's tag: enum je_log_unsupported.
var unsupported = []Reason{ReasonOther, ReasonRMA, ReasonNeighbour, ReasonInter, ReasonMprobe, ReasonPart, ReasonCancel, ReasonSpawn}

func unsupportedBy(tag int32) Reason {
	if tag < 0 || int(tag) >= len(unsupported) {
		return ReasonOther
	}
	return unsupported[tag]
}

// Why says why nothing is determined (job.Windows); "": it is.
type Why = string

// Why nothing is determined, as the end of "not determined: …". The ranks themselves give the first
// five (enum je_windows_why).
const (
	Determined Why = ""
	WhyThreads Why = "several threads of a rank call MPI"
	WhySpawn   Why = "the program starts or joins other processes"
	WhySession Why = "the program uses MPI sessions"
	WhyRoom    Why = "there was no room for the logs"
	WhyGroups  Why = "the groups of the communicators are not known"

	WhyRanks   Why = "the logs of its ranks are not all in one place"
	WhyOdd     Why = "a log contains what no program can have made"
	WhyFew     Why = "too few collectives in which all ranks wait for each other"
	WhyShare   Why = "the windows that could be replayed hold too little of the time"
	WhyNotLike Why = "the windows that could be replayed are not like the run"
)
