/* jobeff.h: what the parts of libjobeff.so share.
 *
 * The library stands between a program and its MPI and OpenMP. It writes the record
 * (../record/record.h). The next stage of the flow, ingest, reads it through the Go package record.
 *
 * Law 1 (FLOW 2): a job never notices. Nothing here prints, exits, allocates memory or changes
 * errno.
 *
 * Each file uses only files above it:
 *
 *   ../record/make.c         a record's head, the boot id, one moment on several clocks
 *   ticks.c, ticks.h         the clock of the hot path
 *   hash.c, hash.h           BLAKE2b
 *   files.c, files.h         small readers of files and of the kernel
 *   objects.c, objects.h     the loaded objects, and which library each of them reaches behind us
 *   next.c, next.h, libc.h   finds the real functions behind the wrappers
 *   recordfile.c             finds, makes and opens the record file
 *   slot.c                   takes a slot of the record, and maps it
 *   reuse.c                  packs slots of finished processes, so that others can use them
 *   claim.c                  claims a slot for a process, a thread, sections, OpenMP or windows
 *   state.c                  the state of the process and of each thread
 *   openmp.c, openmp.h       what each OpenMP thread does: its entry, and the changes of its state
 *   thread.c                 the slots of further threads
 *   who.c                    who the process is: host, executable, MPI, rank, world
 *   workload.c               what it works on: hashes of arguments and input files
 *   counters.c, counters.h   hardware counters, if the site or the user wants them
 *   cpu.c, cpu.h             CPU time, threads and CPUs, as the kernel counts them
 *   timeline.c, timeline.h   how the region was spent over time
 *   places.c, places.h       where in the program's code its calls were made
 *   process.c                the slot of the process, with MPI and without it
 *   bytes.c, bytes.h         how many bytes a call moved
 *   detail.c, detail.h       what a section keeps besides its sums: instances, threads
 *   windows.c, windows.h     the log of calls in sampled windows: entries, ends of windows
 *   windowsites.c            where in the code the logged calls were made
 *   windowcomms.c            communicators: their ranks, and an identity alike on all of them
 *   windowargs.c             what the log takes from a call's arguments
 *   windowcalls.c            what a call writes into the log
 *   section.c, section.h     the program's sections
 *   sectioncalls.c           the calls that name sections
 *   kokkos.c                 Kokkos' profile regions, as sections
 *   region.c, region.h       TALP's regions, as sections, and their figures while they run
 *   calls.c, spell.h         the wrappers, and the hot path
 *   parallel.h               an OpenMP region begins and ends
 *   gompnext.c, gomp.h       which OpenMP runtime a caller of libgomp's functions reaches
 *   gomp.c                   the wrappers of libgomp's functions: regions, tasks, waiting
 *   ompt.c                   what LLVM's and Intel's OpenMP runtimes report
 *   launcher.c               mpirun notes when its ranks were gone, or that they run without us
 *   static.c                 notices a rank whose MPI this library did not see
 *   life.c                   MPI_Init to MPI_Finalize, and how a process ends
 *   asan.c                   lets a program with AddressSanitizer start
 *   exports.map              the symbols that a program sees
 */
#ifndef JOBEFF_JOBEFF_H
#define JOBEFF_JOBEFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../record/record.h"

/* The pragma also covers what is only declared: an access is then one instruction, not two. */
#pragma GCC visibility push(hidden)

#define JE_LIKELY(x) __builtin_expect(!!(x), 1)
#define JE_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define JE_EXPORT __attribute__((visibility("default")))
#define JE_COLD __attribute__((noinline, cold))
#define JE_HOT static inline __attribute__((always_inline))

/* Keeps the compiler from moving stores to the record across this line. That is enough where a
 * record is read after its writer is dead. What is read while the writer runs is guarded by
 * je_timeline.changes, or did not change for long. */
#define JE_IN_ORDER() __asm__ volatile("" ::: "memory")

/* the number of each function, from the table */
enum je_number {
#define JE_CALL(number, name, ...) JE_NUMBER_##name = number,
#include "../mpi_calls.def"
};

/* The index of a wrapped symbol is binding * JE_STRIDE + number of the function. */
enum je_binding { JE_C, JE_FORTRAN, JE_F08, JE_F08TS, JE_BINDINGS };
enum { JE_STRIDE = 512 };
_Static_assert(JE_STRIDE >= JE_FUNCS, "JE_STRIDE");

/* recordfile.c */
bool je_record_find(void);
int je_record_open(struct je_head *head);
struct je_head *je_record_map(int *fd);
void je_record_unmap(struct je_head *head, int fd);
void je_record_count(size_t at);

/* slot.c */
bool je_slot_take(struct je_head *head, uint32_t most, uint32_t *index);
void *je_slot_map_new(int fd, uint32_t index);
void *je_slot_map(int fd, uint32_t index);
void je_slot_unmap(void *slot);

/* Where slot `index` begins in the file, in bytes. */
static inline uint64_t je_slot_at(uint32_t index)
{
	return JE_HEAD_BYTES + (uint64_t)index * JE_SLOT_BYTES;
}

/* reuse.c */
void je_reuse_pack(int fd, struct je_head *head);

/* claim.c */
struct je_slot *je_claim(uint32_t *index);
struct je_sections *je_claim_sections(uint32_t *index);
struct je_openmp *je_claim_openmp(uint32_t *index);
struct je_windows *je_claim_windows(uint32_t *index, uint32_t most);

/* state.c */

/* what a wrapper does in this thread */
enum je_mode {
	JE_MODE_COLD,	/* look whether to measure: MPI_Init was not called, or a new thread */
	JE_MODE_READY,	/* measure; what an open call calls itself is part of that call */
	JE_MODE_INSIDE, /* MPI_Init is open */
	JE_MODE_OFF,	/* pass every call through, from now on */
};

/* je_thread.windows: LOGGING makes the thread's calls take the common body */
enum je_windows_is { JE_WINDOWS_OFF, JE_WINDOWS_COUNTING, JE_WINDOWS_LOGGING };

struct je_type { /* the size of a datatype, remembered */
	uintptr_t handle;
	int64_t bytes;
	uint64_t generation; /* valid while it equals je_types_generation */
};
struct je_comm { /* an intracommunicator, remembered */
	uintptr_t handle;
	int32_t rank, size;
	uint64_t generation; /* valid while it equals je_comms_generation */
};
#define JE_NO_COMM UINTPTR_MAX
enum { JE_TYPES_BITS = 3, JE_TYPES = 1 << JE_TYPES_BITS };
enum { JE_COMMS_BITS = 2, JE_COMMS = 1 << JE_COMMS_BITS };

struct je_thread {
	struct je_slot *ready; /* == slot: measure the next call; NULL: see mode */
	struct je_slot *slot;
	uint32_t mode;	  /* enum je_mode */
	uint32_t index;	  /* which wrapper was entered, from its stub to the common body */
	uint32_t windows; /* enum je_windows_is */
	uint32_t skips;	  /* borders to pass until one is looked at (windows.h) */
	uintptr_t border; /* communicator whose borders count, as calls name it; JE_NO_COMM: none */
	uint64_t due;	  /* ticks: a call that begins later does more, see `read` and `edge` */
	uint64_t mark;	  /* ticks in MPI at which a place may have to be noted (places.h) */
	struct je_type types[JE_TYPES];
	struct je_comm comms[JE_COMMS];

	/* With counters, with another clock than the TSC, or in a logged window, `ready` stays
	 * NULL. `ready_slow` takes its place, and every call takes the common body. Other threads
	 * pay nothing. */
	struct je_slot *ready_slow;
	struct je_counters *counters; /* NULL: none */

	int32_t ierror; /* for an mpi_f08 call that passes none */

	/* its entry in a slot of OpenMP threads; NULL: it was in no measured region yet */
	struct je_openmp_thread *openmp;
	uint32_t gomp;		    /* which wrapper of libgomp was entered */
	struct je_runtime *runtime; /* of the innermost region or task that it is in */
	bool deep;		    /* it began a nest of too many loops (gomp.c) */
	uint32_t ompt_open;	    /* regions that it began and that OMPT reported (ompt.c) */

	/* Communicators, as calls name them. On `borders`, collectives are counted as borders, too.
	 * Those in `beside` have fewer ranks than MPI_COMM_WORLD. */
	uintptr_t borders[JE_COMMS], beside[JE_COMMS];

	uint64_t read; /* ticks: when to read CPU times (cpu.c) */
	uint64_t edge; /* ticks: the next one of the timeline; 0: this thread has none */

	uintptr_t stack_top; /* where frames of this thread end; 0: not known */
	uint64_t sample;     /* ticks: the time in MPI at which the drawn moment lies */
	uint64_t samples;    /* moments that were drawn */
	uint32_t failures;   /* addresses on the stack that were no code */
	uint32_t unloaded;   /* objects that had been unloaded when its modules were checked */
	bool passes;	     /* the function that je_find_next() found is not measured */
};

/* initial-exec: the static TLS block has room for a preloaded library, and an access is one
 * instruction. */
extern __thread struct je_thread je_me __attribute__((tls_model("initial-exec")));

struct je_process {
	struct je_slot *slot; /* JE_KIND_PROCESS; NULL: not measured */
	uint32_t index;	      /* of the slot in the file */
	bool tried;	      /* MPI_Init was seen */
	bool running;	      /* between MPI_Init and MPI_Finalize: threads may claim slots */
	bool by_init;	      /* MPI_Init was called: MPI_Finalize ends MPI, no session does */
	bool between;	      /* the last session was finalized: another may begin */
	bool sections;	      /* the process has slots of sections */
	uint32_t sessions;    /* open ones */
	uint32_t openmp;      /* atomic: enum je_openmp_is */
	struct je_windows *windows; /* the first slot of its log; NULL: there is none */
};
extern struct je_process je_process;

/* whether OpenMP is measured */
enum je_openmp_is {
	JE_OPENMP_UNSEEN,   /* there was no region yet */
	JE_OPENMP_STARTING, /* a thread claims the slots */
	JE_OPENMP_ON,	    /* while je_process.running is true */
	JE_OPENMP_OFF,	    /* never again */
};

/* thread.c */

void je_thread_start(struct je_thread *me, struct je_slot *slot);
void je_thread_ready(struct je_thread *me, struct je_slot *slot);
bool je_thread_claim(struct je_thread *me);

/* `read` or `edge` changed. */
JE_HOT void je_thread_plan(struct je_thread *me)
{
	me->due = me->edge != 0 && me->edge < me->read ? me->edge : me->read;
}

/* The slot of a thread that is measured and inside no call, else NULL. */
JE_HOT struct je_slot *je_ready(const struct je_thread *me)
{
	return JE_LIKELY(me->ready != NULL) ? me->ready : me->ready_slow;
}

/* who.c */
struct dl_phdr_info;
const uint8_t *je_build_id(const struct dl_phdr_info *info, uint32_t *bytes);
bool je_mpi_initialized(void);
bool je_mpi_is_stub(const void *init);
void je_who_at_enter(struct je_slot *slot);
uint32_t je_who_at_leave(struct je_slot *slot, const intptr_t *session, bool fortran);

/* workload.c */
void je_workload_note(struct je_slot *slot);

/* process.c */
bool je_process_claim(struct je_thread *me, uint64_t entered);
void je_process_note_ending(struct je_slot *slot, uint32_t ending, int32_t code);
bool je_process_openmp(struct je_thread *me, uint32_t runtimes, uint32_t why);
void je_process_becomes_mpi(struct je_thread *me, uint64_t entered);
bool je_process_owns(const struct je_slot *slot);
void je_process_exit(struct je_slot *slot);

/* calls.c */
int je_body4(intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3);

/* launcher.c */
void je_launcher_at_exit(void);

/* static.c */
void je_static_at_load(void);
void je_static_at_exit(void);

#pragma GCC visibility pop

#endif
