/* record_openmp.h: OpenMP threads of a process. Part of record.h.
 *
 * A process claims its first such slot at its first parallel region, and more when it has more
 * threads at once. `parent` names the slot of the process, and pid and process_ticks show whether
 * that slot still belongs to it.
 *
 * A thread has one clock and at each moment one state. A change of state adds the time since the
 * last change to the state that ends. A region takes `team` threads for its time, so the thread
 * that began it counts team times its ticks. The part of that which the team's states do not
 * explain is waiting at the region's end: threads that are done with a region do not see its end.
 *
 * An entry belongs to one thread at a time. Only that thread writes to it, except that it is taken
 * with an atomic change of `tid`. The sums stay when a thread ends: the next one adds to them.
 */
#ifndef JOBEFF_RECORD_OPENMP_H
#define JOBEFF_RECORD_OPENMP_H

#include "record.h"

#define JE_OPENMP_THREAD_BYTES 256u /* two threads never share a cache line, nor its neighbour */
#define JE_OPENMP_HEAD 1024u
#define JE_OPENMP_PER_SLOT 124u
#define JE_OPENMP_SLOTS 32u /* of a process */

/* what an OpenMP thread does */
enum je_openmp_state {
	JE_OPENMP_OUTSIDE = 0,	  /* in no region, or done with its part of one */
	JE_OPENMP_USEFUL = 1,	  /* the program's code inside a region, or a task */
	JE_OPENMP_WAITING = 2,	  /* for others: barrier, taskwait, end of a taskgroup */
	JE_OPENMP_SCHEDULING = 3, /* a region begins, a loop hands out work, a task is made */
	JE_OPENMP_LOCKED = 4,	  /* waits to enter critical, ordered or atomic */
	JE_OPENMP_STATES = 8,	  /* room for states */
};

/* bits of je_openmp.runtimes: which runtimes the process used */
enum je_openmp_runtime { JE_OPENMP_LIBGOMP = 1, JE_OPENMP_OMPT = 2 };

/* je_openmp.why: why its times are not known, or not whole. The first reason stays. */
enum je_openmp_why {
	JE_OPENMP_KNOWN = 0,
	JE_OPENMP_OLD_CODE = 1,	  /* a compiler older than gcc 4.9 made some of the program */
	JE_OPENMP_NO_OMPT = 2,	  /* the runtime has no OMPT, or did not start it */
	JE_OPENMP_OTHER_TOOL = 3, /* another OMPT tool is there, or OMP_TOOL_LIBRARIES is set */
	JE_OPENMP_TSAN = 4,	  /* ThreadSanitizer is in the process */
	JE_OPENMP_NO_RUNTIME = 5, /* it was not sure which runtime a caller wants */
	JE_OPENMP_WHYS = 6,
};

/* bits of je_openmp.untimed: what was not timed, so that its waiting counts as useful */
enum je_openmp_untimed {
	JE_OPENMP_BIG_TASKS = 1, /* tasks whose arguments are too large to be wrapped */
};

struct je_openmp_thread {
	int32_t tid;			  /* atomic; whose entry it is, or was last. 0: nobody's */
	uint32_t state;			  /* enum je_openmp_state */
	uint64_t since_ticks;		  /* when the state began */
	uint64_t ticks[JE_OPENMP_STATES]; /* by state; that of OUTSIDE means nothing */

	/* not part of USEFUL: the thread was in MPI, or in its files */
	uint64_t mpi_ticks;
	uint64_t io_ticks;
	uint64_t mpi_seen; /* je_slot.mpi_ticks of the thread at the last change */
	uint64_t io_seen;

	/* regions that this thread began */
	uint64_t regions;      /* all of them */
	uint64_t nested;       /* … that were inside another one */
	uint64_t region_ticks; /* of the outermost ones */
	uint64_t team_ticks;   /* each region's time times threads; nested: without the beginner */
	uint64_t region_since; /* when the open outermost one began; 0: none is open */
	uint32_t team;	       /* threads of the last one that was not nested */
	uint32_t team_most;    /* … of the largest */

	uint64_t tasks_made; /* a taskloop counts as one */
	uint64_t tasks_run;
	uint64_t dispatches; /* loops and sections: begins, and chunks asked for */
	uint64_t locks;	     /* critical, ordered and atomic: entered */
	uint64_t waits;	     /* barriers, taskwaits and ends of taskgroups inside regions */
	uint64_t reserved[7];
};

struct je_openmp {
	/* as in struct je_slot */
	uint32_t magic;
	uint16_t kind;
	uint16_t reserved1;
	uint32_t bytes;
	uint32_t parent;
	uint32_t state; /* JE_STATE_DONE: the process exits */
	uint32_t reserved2[2];
	uint32_t seq; /* 0 */

	int32_t pid;
	uint32_t order;		/* 0: the process's first slot, 1: the second … */
	uint64_t process_ticks; /* je_slot.claimed_at.ticks of the process */
	uint32_t used;		/* atomic: entries of this slot that were ever in use */
	/* the rest of the head, in the first slot only */
	uint32_t runtimes; /* enum je_openmp_runtime, bits */
	uint32_t why;	   /* enum je_openmp_why */
	uint32_t untimed;  /* enum je_openmp_untimed, bits */
	uint32_t lost;	   /* atomic: threads that found no entry, so that times are too short */
	uint32_t reserved3;
	uint64_t reserved4[119];
	struct je_openmp_thread threads[JE_OPENMP_PER_SLOT];
};

_Static_assert(sizeof(struct je_openmp_thread) == JE_OPENMP_THREAD_BYTES, "no padding");
_Static_assert(offsetof(struct je_openmp, threads) == JE_OPENMP_HEAD, "je_openmp has no padding");
_Static_assert(sizeof(struct je_openmp) == JE_SLOT_BYTES, "je_openmp fills its slot");

#endif
