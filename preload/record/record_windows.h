/* record_windows.h: the log of calls in sampled windows. Part of record.h.
 *
 * A window holds the calls of a process between two collectives that no rank leaves before all have
 * entered. It begins when the first one is left, and ends when the second one is left. Windows are
 * counted from 0. One window of each block of 2^k (je_windows.k) is kept: je_window_of says which.
 * k grows when the slots are full, or when the log costs too much. A process has up to
 * JE_WINDOWS_SLOTS such slots, and their entries are one stream. COMM and INIT entries stay when k
 * grows; other entries belong to a window. A window ends with the entry that has JE_LOG_BORDER; one
 * without did not end.
 */
#ifndef JOBEFF_RECORD_WINDOWS_H
#define JOBEFF_RECORD_WINDOWS_H

#include "record.h"

#define JE_WINDOWS_HEAD 128u
#define JE_LOG_BYTES 48u
#define JE_LOGS_PER_SLOT 655u
#define JE_SITES 64u
#define JE_SITE_MODULE 48 /* where the module begins in je_windows.sites */
#define JE_WINDOWS_SLOTS 8u
#define JE_WORLD_IDENTITY 1u /* of MPI_COMM_WORLD; 0: not known */
#define JE_SELF_IDENTITY 2u  /* of MPI_COMM_SELF */
#define JE_LOG_NOBODY (-1)   /* peer: MPI_PROC_NULL */
#define JE_LOG_ANY (-2)	     /* peer and tag: a wildcard, and no status shows what came */

/* je_log.op: what an entry is */
enum je_log_op {
	JE_LOG_NONE = 0,
	JE_LOG_WINDOW = 1, /* a window begins: the collective that opens it; request: its number */
	JE_LOG_COMM = 2,   /* comm: its number here; bytes: identity; tag: size; peer: own rank */
	JE_LOG_INIT_SEND = 3, /* a persistent request was made */
	JE_LOG_INIT_RECV = 4,
	JE_LOG_INIT_COLL = 5, /* tag: enum je_log_op of what it starts */
	JE_LOG_LOCAL = 6,     /* waits for nobody, or found nothing */
	JE_LOG_POLL = 7,      /* unsuccessful tests in a row; bytes: ticks in MPI; request: calls */
	JE_LOG_IO = 8,	      /* JE_CLASS_IO */
	JE_LOG_SEND = 9,      /* bytes, peer, tag, comm */
	JE_LOG_RECV = 10,     /* peer and tag as they came */
	JE_LOG_SEND_START = 11,
	JE_LOG_RECV_START = 12, /* peer and tag as they were asked for */
	JE_LOG_START = 13,	/* of a persistent request */
	JE_LOG_DONE = 14,     /* request: as it was before the call; peer, tag, bytes: its status */
	JE_LOG_PROBE = 15,    /* found a message: peer, tag */
	JE_LOG_COLL_ALL = 16, /* all wait for the last. peer of a collective: its root */
	JE_LOG_COLL_FROM = 17,	 /* all wait for the root */
	JE_LOG_COLL_TO = 18,	 /* the root waits for the last */
	JE_LOG_COLL_SCAN = 19,	 /* a rank waits for those of lower rank */
	JE_LOG_COLL_NOBODY = 20, /* moves nothing */
	JE_LOG_UNSUPPORTED = 21, /* tag: enum je_log_unsupported */
	JE_LOG_OPS = 22,
};

/* je_log.flags */
enum je_log_flag {
	JE_LOG_CONTINUED = 1, /* another part of the call that the entry before began */
	JE_LOG_SYNC = 2,      /* a synchronous send */
	JE_LOG_EXACT = 4,     /* bytes is what came; else the buffer's size */
	JE_LOG_NONBLOCKING = 8,
	JE_LOG_INTER = 16,   /* COMM: an intercommunicator */
	JE_LOG_BORDER = 32,  /* the collective that closes the window */
	JE_LOG_TOO_LONG = 64 /* WINDOW: it did not fit; bytes: its ticks, border to border */
};

/* je_log.tag of JE_LOG_UNSUPPORTED */
enum je_log_unsupported {
	JE_LOG_RMA = 1,
	JE_LOG_NEIGHBOUR = 2,
	JE_LOG_INTER_CALL = 3, /* on an intercommunicator */
	JE_LOG_MPROBE = 4,
	JE_LOG_PARTITIONED = 5,
	JE_LOG_CANCEL = 6, /* MPI_Cancel, or MPI_Request_free of an active request */
	JE_LOG_JOIN = 7,   /* spawn, connect, sessions */
	JE_LOG_OTHER = 8,
};

/* je_windows.why: why nothing is logged, or no longer. */
enum je_windows_why {
	JE_WINDOWS_LOGGED = 0,
	JE_WINDOWS_THREADS = 1, /* a second thread calls MPI */
	JE_WINDOWS_SPAWN = 2,
	JE_WINDOWS_SESSIONS = 3,
	JE_WINDOWS_NO_ROOM = 4,
	JE_WINDOWS_NO_GROUPS = 5, /* which ranks are in a communicator is not known */
	JE_WINDOWS_WHYS = 6,
};

struct je_log {
	uint64_t enter_ticks; /* of the outermost call; CONTINUED, COMM, INIT: 0 */
	uint64_t leave_ticks;
	uint64_t bytes;
	uint64_t request; /* the handle's bits */
	int32_t peer;	  /* in MPI_COMM_WORLD */
	int32_t tag;
	uint32_t comm; /* the process's own number of the communicator, from 1 */
	uint16_t call; /* row of mpi_calls.def */
	uint8_t op;
	uint8_t flags;
};

struct je_windows {
	/* as in struct je_slot */
	uint32_t magic;
	uint16_t kind;
	uint16_t reserved1;
	uint32_t bytes;
	uint32_t parent;
	uint32_t state;
	uint32_t reserved2[2];
	uint32_t seq; /* odd while entries are moved */

	int32_t pid;
	uint32_t order;		/* 0: the process's first slot, 1: the second … */
	uint64_t process_ticks; /* je_slot.claimed_at.ticks of the process */
	uint32_t used;		/* entries of this slot; grows when an entry is whole */
	/* the rest of the head, in the first slot only */
	uint32_t k;
	uint32_t why;	    /* enum je_windows_why */
	uint32_t lost;	    /* COMM and INIT entries that found no room */
	uint32_t has_sites; /* 1 in each slot; only readers of earlier releases look at it */
	uint32_t reserved3[15];
	struct je_log entries[JE_LOGS_PER_SLOT];

	/* Where in the code the calls are, in the first slot only. A site is a return address - 1,
	 * and from bit JE_SITE_MODULE on its module: index + 1 in je_slot.places.module of the
	 * process. If no entry names a site, another may replace it. 0: none */
	uint64_t sites[JE_SITES];
	uint8_t site[JE_LOGS_PER_SLOT]; /* of each entry: index + 1; 0: not known */
	uint8_t reserved4[33];
};

/* The window that is kept of block i, which has 2^k windows. Two such blocks make a larger one, and
 * a mixed bit chooses which of their two windows it keeps. So the choice follows no period of the
 * program, and what is kept at k + 1 is kept at k, too. */
static inline uint64_t je_window_of(uint64_t i, uint32_t k)
{
	for (; k > 0; k--)
		i = i << 1 | je_mixed((i << 6) + k + UINT64_C(0x9e3779b97f4a7c15)) >> 63;
	return i;
}

_Static_assert(sizeof(struct je_log) == JE_LOG_BYTES, "je_log has no padding");
_Static_assert(offsetof(struct je_windows, entries) == JE_WINDOWS_HEAD, "no padding");
_Static_assert(sizeof(struct je_windows) == JE_SLOT_BYTES, "je_windows fills its slot");

#endif
