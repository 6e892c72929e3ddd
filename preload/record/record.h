/* record.h: THE format of what a process leaves behind.
 *
 * spank/ makes the empty file, as root. preload/ writes into it in the job, as the user. The Go
 * package record in this folder reads it through cgo. There is no other definition of it. The slots
 * of sections, OpenMP threads and windows are defined in headers that this one includes.
 *
 * A file is a head of JE_HEAD_BYTES, and then slots of JE_SLOT_BYTES each. A process that calls MPI
 * claims one slot, and each further thread that calls MPI claims one more. A process that uses
 * OpenMP claims slots in which each of its threads has an entry. Claiming a slot is an atomic add
 * on je_head.next, or an atomic change of je_head.free_map. Only the thread that claimed a slot or
 * an entry counts in it, so no store in the hot path is atomic.
 *
 * Fixed-width, little-endian, append-only: a field never moves and never gets a new meaning. A new
 * field goes to the end of its struct; zero means "not known". JE_VERSION stays the same as long as
 * an old reader still understands the rest. All `_ticks` are readings of the slot's own clock
 * (je_slot.clock), never nanoseconds. The fold converts them, see je_pair.
 *
 * The reader distrusts every byte, because the file belongs to the user. FLOW 3 describes the life
 * of a record.
 */
#ifndef JOBEFF_RECORD_H
#define JOBEFF_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define JE_MAGIC "JOBEFFR1" /* 8 bytes, no terminator in the file */
#define JE_VERSION 1u
#define JE_HEAD_BYTES 4096u
#define JE_SLOT_BYTES 32768u
#define JE_SLOT_MAGIC 0x534c454au	  /* "JELS" */
#define JE_FILE_BYTES_DEFAULT (64u << 20) /* sparse: only claimed slots take memory */
#define JE_SLOT_HEAD 784u		  /* bytes before the counters */
#define JE_FUNCS 448u			  /* room for functions, rows of mpi_calls.def */
#define JE_BINS 40u /* bin b of a histogram counts sizes in [2^(b-1), 2^b), bin 0 size 0 */

#define JE_FREE_WORDS 256u /* only the first 16,384 slots are used again */

/* je_slot.kind */
enum je_kind {
	JE_KIND_PROCESS = 1,  /* who the process is, its life line, its first thread's calls */
	JE_KIND_THREAD = 2,   /* a further thread of process je_slot.parent: only its calls */
	JE_KIND_SUMMARY = 3,  /* struct je_summary: packed slots of finished processes */
	JE_KIND_SECTIONS = 4, /* struct je_sections of process je_slot.parent */
	JE_KIND_OPENMP = 5,   /* struct je_openmp of process je_slot.parent */
	JE_KIND_WINDOWS = 6,  /* struct je_windows of process je_slot.parent */
};

/* je_slot.input: whether input_hash is known, and if not, why */
enum je_input {
	JE_INPUT_NOT_LOOKED = 0, /* an older library, no /proc, or not rank 0 */
	JE_INPUT_KNOWN = 1,
	JE_INPUT_NONE = 2,	 /* no argument names a file */
	JE_INPUT_MANY = 3,	 /* … more than JE_INPUTS_MOST files */
	JE_INPUT_LATE = 4,	 /* the files could not be read in the time allowed */
	JE_INPUT_UNREADABLE = 5, /* a file could not be read, or not whole */
	JE_INPUT_IN_USE = 6,	 /* … is the program's standard input, or open for changes */
	JE_INPUT_FUSE = 7,	 /* … lies on a file system of a user's process */
	JE_INPUT_LONG = 8,	 /* the command line is too long and was not read */
};
#define JE_INPUTS_MOST 16u
#define JE_ARGS_TEXT 1024u
#define JE_MASK_WORDS 16u /* of a CPU mask: CPUs 0 to 1023 */
#define JE_THREAD_NAME 16u
#define JE_WORKLOAD_NAME 65u /* with the zero at its end */

/* je_slot.gpu: whether the process had a GPU's device file open */
enum je_gpu { JE_GPU_NOT_LOOKED = 0, JE_GPU_NONE = 1, JE_GPU_OPEN = 2 };

enum je_clock { JE_CLOCK_MONOTONIC_NS = 1, JE_CLOCK_TSC = 2, JE_CLOCK_CNTVCT = 3 };

/* je_slot.state. It only grows, with two exceptions: a program opens a session after it closed its
 * last one, or a process that was measured for OpenMP alone calls MPI_Init. */
enum je_state {
	JE_STATE_FREE = 0,
	JE_STATE_CLAIMED = 1,	/* the slot is filled in, MPI_Init has not returned */
	JE_STATE_RUNNING = 2,	/* between MPI_Init and MPI_Finalize */
	JE_STATE_FINALIZED = 3, /* MPI_Finalize entered */
	JE_STATE_DONE = 4, /* the process exits and is done with MPI: nobody writes here any more */
};

/* je_slot.ending: what the process itself wrote about its end */
enum je_ending {
	JE_ENDING_NONE = 0,	/* it wrote nothing: killed, or still running */
	JE_ENDING_FINALIZE = 1, /* MPI_Finalize */
	JE_ENDING_EXIT =
		2, /* exit() or return from main without MPI_Finalize, ending_code = status */
	JE_ENDING_ABORT = 3, /* MPI_Abort, ending_code = its error code */
	JE_ENDING_EXEC = 4,  /* reserved for exec() of another program after MPI_Init */
};

enum je_family { JE_MPI_UNKNOWN = 0, JE_MPI_OPENMPI = 1, JE_MPI_MPICH = 2, JE_MPI_ABI5 = 3 };

/* the source of je_slot.world_text */
enum je_world_from {
	JE_WORLD_NONE = 0,  /* unknown: the fold uses step, size and start instead */
	JE_WORLD_PMIX = 1,  /* PMIX_NAMESPACE */
	JE_WORLD_HYDRA = 2, /* control port and process group of its proxy */
	JE_WORLD_PMI = 3,   /* PMI_JOBID, or the job and step with srun --mpi=pmi2 */
};

/* call classes, second column of mpi_calls.def */
enum je_class {
	JE_CLASS_OTHER = 0,	/* MPI_Init, MPI_Finalize, MPI_Abort … */
	JE_CLASS_P2P = 1,	/* blocking point-to-point */
	JE_CLASS_P2P_START = 2, /* non-blocking, persistent: only starts a transfer */
	JE_CLASS_WAIT = 3,	/* MPI_Wait*: waits for what an earlier call started */
	JE_CLASS_COLL = 4,	/* collectives, blocking or not */
	JE_CLASS_RMA = 5,
	JE_CLASS_IO = 6,   /* files: neither communication nor useful */
	JE_CLASS_COMM = 7, /* creation of communicators and windows: synchronises ranks */
	JE_CLASS_RECV = 8, /* blocking receives and probes: they wait, too */
	JE_CLASS_TEST = 9, /* tests and probes that do not wait */
	JE_CLASSES = 12,   /* room for classes */
};

/* One moment on three clocks. Two such moments convert ticks to seconds. */
struct je_pair {
	uint64_t ticks;
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
	uint64_t real_ns; /* CLOCK_REALTIME */
};

struct je_head {
	char magic[8];
	uint32_t version;
	uint32_t head_bytes;
	uint32_t slot_bytes;
	uint32_t slots;	     /* how many slots the file has */
	uint8_t nonce[16];   /* random; root keeps a copy in its notes */
	uint8_t boot_id[16]; /* /proc/sys/kernel/random/boot_id, binary */
	uint32_t uid;	     /* who may write here */
	uint32_t by_hand;    /* 1: the library itself made the file (JOBEFF_RECORD) */
	uint64_t made_mono_ns;
	uint64_t made_real_ns;
	uint32_t next;		/* atomic: next slot to claim; may run past `slots` */
	uint32_t lost_full;	/* atomic: processes, threads and OpenMP that found no slot */
	uint32_t lost_memory;	/* atomic: … that found a slot, but no memory for it (ENOSPC) */
	uint32_t lost_sections; /* atomic: processes that got no slot for their sections */
	uint32_t lost_static;	/* atomic: ranks whose program has an MPI linked in */
	uint32_t summary;	/* index + 1 of the slot that takes packed ones; 0: none yet */
	uint32_t pack_from;	/* packing begins when `next` reaches it; 0: the default */
	uint32_t lost_preload;	/* atomic: LD_PRELOAD hid MPI: ranks of a tool, and launchers */
	uint64_t free_map[JE_FREE_WORDS]; /* atomic; bit i: slot i is filled with zeros and free */
	uint32_t windows;		  /* atomic: how often a slot for windows was asked for */
	uint32_t lost_unseen; /* atomic: processes whose calls reach their MPI past the library */
	uint32_t lost_stub;   /* atomic: processes whose MPI is a stand-in for one process */
	uint32_t reserved1;
};

/* where the address begins in je_slot.open_call: JE_FUNCS is below 2^16, an address below 2^48 */
#define JE_OPEN_ADDRESS 16

/* one per row of mpi_calls.def, index = its number */
struct je_func {
	uint64_t count; /* outermost calls between MPI_Init and MPI_Finalize */
	uint64_t ticks;
	uint64_t sent;	   /* bytes */
	uint64_t received; /* bytes, from the arguments: a receive counts its buffer's size */
	uint64_t largest;  /* bytes of the largest message of one call */
};

/* How the region was spent over time: the sums of a slot at moments that all processes share. These
 * edges are the multiples of 2^shift s of CLOCK_REALTIME. They are computed from claimed_at, so
 * setting the clock moves none of them. Edge i is multiple number `first` + i. If there is no room
 * for the next one, every other edge is dropped and `shift` grows by 1. */
#define JE_EDGES 63u /* so that there are at most 64 buckets */
#define JE_EDGE_SHIFT (-6)
struct je_edge {
	uint64_t ticks;	       /* when the clock showed the edge */
	uint64_t mpi_ticks;    /* je_slot.mpi_ticks up to then */
	uint64_t io_ticks;     /* … io_ticks */
	uint64_t openmp_ticks; /* useful time in parallel regions, of all OpenMP threads; 0: none */
	uint64_t late_ticks;   /* how much later than the edge openmp_ticks was taken */
};
struct je_timeline {
	uint32_t changes; /* only grows; odd while what follows changes */
	uint32_t used;	  /* edges */
	int32_t shift;
	uint32_t reserved;
	int64_t first; /* since 1970, in units of 2^shift s */
	struct je_edge edges[JE_EDGES];
};

/* Where in the program's code its outermost calls were made, those of files left out. Each call
 * that took long_ticks or more is counted. The time in shorter ones is cut into pieces of
 * every_ticks, and one moment of each piece is drawn: the call in which it lies is a sample that
 * stands for the piece. If there is no room for another place, one that took little time is
 * dropped. */
#define JE_PLACES 80u
#define JE_FRAMES 4u /* the call itself, and up to three callers */
#define JE_PLACE_MODULES 16u
#define JE_PLACE_PATHS 1456u
#define JE_PLACE_BUILD_ID 20u
struct je_place {
	/* return addresses - 1, the innermost first; 0: not known. The callers are only what looked
	 * like frames: a reader has to check that the code has calls there. */
	uint64_t frames[JE_FRAMES];
	uint64_t calls; /* long ones */
	uint64_t ticks; /* … of these */
	uint64_t samples;
	uint64_t short_calls;	    /* calls that the samples stand for, in 1/256 */
	uint64_t longest_ticks;	    /* of the longest of all these calls */
	uint16_t function;	    /* number of the function + 1; 0: nothing is here */
	uint8_t modules[JE_FRAMES]; /* the module of each frame: index + 1; 0: not known */
	uint16_t reserved;
};
struct je_place_module {
	uint64_t bias;	   /* what is added to the addresses in the file */
	uint64_t from, to; /* of its code in memory; 0: it was unloaded */
	uint8_t build_id[JE_PLACE_BUILD_ID];
	uint8_t build_id_bytes; /* 0: not known */
	uint8_t reserved;
	uint16_t path; /* in je_place_table.paths, + 1; 0: not known; JE_PLACE_PROGRAM: je_slot.exe
			*/
};
#define JE_PLACE_PROGRAM 0xffffu
struct je_place_table {
	uint32_t changes;     /* as in struct je_timeline, for frames, function, modules, paths */
	uint16_t modules;     /* that are in use */
	uint16_t paths_bytes; /* likewise */
	uint64_t long_ticks;
	uint64_t every_ticks; /* 0: no call was made */
	uint64_t dropped_calls;
	uint64_t dropped_ticks;
	uint64_t dropped_samples;
	struct je_place places[JE_PLACES];
	struct je_place_module module[JE_PLACE_MODULES];
	char paths[JE_PLACE_PATHS]; /* zero-terminated */
};

struct je_slot {
	uint32_t magic; /* JE_SLOT_MAGIC, written when the slot is filled in */
	uint16_t kind;	/* enum je_kind */
	uint16_t reserved1;
	uint32_t bytes;	 /* JE_SLOT_BYTES */
	uint32_t parent; /* JE_KIND_THREAD: index of the slot of its process */
	uint32_t state;	 /* enum je_state */
	uint32_t ending; /* enum je_ending */
	int32_t ending_code;
	uint32_t seq; /* odd while the counters below change: the slot is torn. It goes back to 0,
		       * so two equal readings do not show that nothing changed */

	/* who */
	int32_t pid, ppid, tid;
	int32_t rank, size;    /* in MPI_COMM_WORLD; -1 until MPI_Init returns */
	uint32_t family;       /* enum je_family */
	uint32_t thread_level; /* from MPI_Query_thread: 0..3 for SINGLE..MULTIPLE */
	uint32_t threads;      /* threads that called MPI, including the first */
	uint32_t world_from;   /* enum je_world_from */
	uint32_t spawned;      /* 1: MPI_Comm_spawn started it */
	uint32_t cpus;	       /* CPUs that it may run on, by sched_getaffinity at the claim */
	uint32_t build_id_bytes;
	uint8_t build_id[32]; /* GNU build-id of the executable */
	char world_text[128]; /* like all texts: zero-terminated, cut if too long */
	char host[64];
	char exe[256];	      /* /proc/self/exe */
	char mpi_version[64]; /* first line of MPI_Get_library_version */

	/* what the environment claims; never used for access rights or sums */
	int64_t claimed_step; /* SLURM_STEP_ID; -1: none, as in the batch script outside of srun */
	int32_t claimed_procid;	       /* SLURM_PROCID, -1 none */
	int32_t claimed_ntasks;	       /* SLURM_NTASKS or SLURM_STEP_NUM_TASKS, -1 none */
	int32_t claimed_nodeid;	       /* SLURM_NODEID, -1 none */
	int32_t claimed_cpus_per_task; /* SLURM_CPUS_PER_TASK, -1 none */
	int32_t claimed_omp_threads;   /* OMP_NUM_THREADS, -1 none */
	uint32_t reserved2;

	/* clock */
	uint32_t clock; /* enum je_clock */
	uint32_t reserved3;
	struct je_pair claimed_at;  /* when the slot was claimed */
	struct je_pair finished_at; /* MPI_Finalize or exit; zero: neither happened */

	/* life line, in ticks; 0: did not happen */
	uint64_t init_enter_ticks, init_leave_ticks;
	uint64_t fini_enter_ticks, fini_leave_ticks;

	/* what the thread does now; for a killed rank: what it was doing */
	uint64_t open_ticks; /* when the open call began */
	uint64_t last_ticks; /* when the last outermost call (or MPI_Init) returned */
	uint64_t open_call;  /* number of the open outermost call + 1, and from bit
			      * JE_OPEN_ADDRESS on where it returns to; 0: computing */

	/* sums over the outermost calls between init_leave and fini_enter */
	uint64_t calls;			    /* 0 since 0.2: the reader adds up funcs */
	uint64_t mpi_ticks;		    /* of all calls except those of JE_CLASS_IO */
	struct je_func classes[JE_CLASSES]; /* 0 since 0.2, likewise */
	uint64_t hist_p2p[JE_BINS];	    /* messages by bytes sent, classes P2P and P2P_START */
	uint64_t hist_coll[JE_BINS];	    /* collectives, by this rank's bytes */
	struct je_func funcs[JE_FUNCS];
	uint64_t io_ticks; /* of the calls of JE_CLASS_IO */

	/* CLOCK_MONOTONIC when the launcher exited, which wrote this: the process was gone by then.
	 * 0: no launcher was seen, or the process itself wrote how it ended. */
	uint64_t gone_mono_ns;

	/* What the thread that called MPI_Init did in user mode between outermost calls. What it
	 * did since the last call is not included. */
	uint64_t useful_instructions;
	uint64_t useful_cycles;
	uint32_t counters; /* 1: these two are known */
	uint32_t left; /* 1: the program jumped out of a call; the region ends where that began */

	/* What identifies the workload, from rank 0 only. BLAKE2b, 128 bits; zero: not known. */
	uint8_t args_hash[16];	/* of the arguments after the program's name, with their zeros */
	uint8_t input_hash[16]; /* of the files that they name, in order: size, content */
	uint8_t exe_hash[16];	/* of the executable's size and content, if it has no build-id */
	uint32_t input;		/* enum je_input */
	uint32_t inputs;	/* files in input_hash */
	uint32_t args_bytes;	/* of args_text; 0 unless JOBEFF_ARGUMENTS=1 */
	uint32_t args_cut;	/* 1: args_text does not have all arguments */
	char args_text[JE_ARGS_TEXT];	 /* whole arguments, a zero after each */
	char workload[JE_WORKLOAD_NAME]; /* JOBEFF_WORKLOAD */
	uint8_t reserved6[7];

	/* What the kernel counted up to read_ticks; 0: it was never read. A thread's slot has only
	 * the first and the third. Counting began when MPI_Init returned, unless a comment names
	 * another start. */
	uint64_t read_ticks;
	uint64_t cpu_ns;	 /* CPU time of all threads of the process */
	uint64_t thread_cpu_ns;	 /* of this thread; in a thread's slot, since the thread began */
	uint64_t queue_ns;	 /* how long threads waited for a CPU, summed up */
	uint64_t mpi_threads_ns; /* CPU time of the threads that MPI_Init started */
	uint64_t busiest_ns;	 /* CPU time of the busiest thread other than this one */
	int32_t busiest_tid;
	uint32_t busiest_of_mpi;	   /* 1: MPI_Init started it */
	char busiest_name[JE_THREAD_NAME]; /* its comm, if it used 5 % of the time or more */
	uint32_t tasks;			   /* most threads at once; 0: not known */
	uint32_t busy_tasks;  /* threads that ran or waited for a CPU half of the time or more */
	uint32_t tasks_known; /* 1: each thread was read, so queue_ns to busy_tasks are known */
	uint32_t gpu;	      /* enum je_gpu */
	uint64_t mask[JE_MASK_WORDS]; /* CPUs that this thread and the busy ones may run on */

	/* 1: the process uses OpenMP and has not called MPI. It counts as rank 0 of 1. Its region
	 * begins at its first parallel region (init_leave_ticks) and ends when it exits. */
	uint32_t without_mpi;
	uint32_t reserved7;
	uint64_t began_mono_ns; /* without MPI: when the process began, 10 ms exact; 0: not known */

	struct je_timeline timeline; /* of the thread that called MPI_Init */

	/* What else the kernel counted of all threads up to read_ticks, since MPI_Init returned */
	uint32_t usage_known; /* 1: system_ns to preempted are known */
	uint32_t io_known;    /* 1: read_bytes and written_bytes are known */
	uint64_t system_ns;   /* of cpu_ns, in the kernel */
	uint64_t faults;      /* page faults that read from a disk */
	uint64_t waits;	      /* context switches: it waited for something */
	uint64_t preempted;   /* … the kernel took the CPU away */
	uint64_t max_rss;     /* most memory in RAM since the process began, bytes; 0: not known */
	uint64_t read_bytes;  /* from disks and some network file systems */
	uint64_t written_bytes;

	struct je_place_table places; /* of this thread's calls */
};

#define JE_SUMMARY_BYTES (JE_SLOT_BYTES - 48u)

/* Packed slots of finished processes. Each begins with a word that holds its length in bytes,
 * including this word. Then come runs. A run is a word (first word in the slot << 32 | number of
 * words), and then those words. All words outside of runs are zero. A process may be here and
 * also in a slot of its own: it is the same process. */
struct je_summary {
	/* as in struct je_slot */
	uint32_t magic;
	uint16_t kind;
	uint16_t reserved1;
	uint32_t bytes;
	uint32_t parent;
	uint32_t state;
	uint32_t reserved2[2];
	uint32_t seq; /* 0 */

	uint32_t used; /* of data, bytes */
	uint32_t reserved3[3];
	uint8_t data[JE_SUMMARY_BYTES];
};

_Static_assert(sizeof(struct je_head) <= JE_HEAD_BYTES, "je_head");
_Static_assert(sizeof(struct je_func) == 40, "je_func has no padding");
_Static_assert(offsetof(struct je_slot, classes) == JE_SLOT_HEAD, "je_slot has no padding");
_Static_assert(sizeof(struct je_timeline) <= 2560, "je_timeline");
_Static_assert(sizeof(struct je_place) == 80, "je_place has no padding");
_Static_assert(sizeof(struct je_place_module) == 48, "je_place_module has no padding");
_Static_assert(sizeof(struct je_place_table) <= 8704, "je_place_table");
_Static_assert(sizeof(struct je_slot) <= JE_SLOT_BYTES, "je_slot");
_Static_assert(offsetof(struct je_summary, data) == 48, "je_summary has no padding");
_Static_assert(sizeof(struct je_summary) == JE_SLOT_BYTES, "je_summary fills its slot");

#include "record_openmp.h"
#include "record_sections.h"
#include "record_windows.h"

/* A slot of any kind. What a kind does not use is zero. */
union je_any_slot {
	struct je_slot slot;
	struct je_summary summary;
	struct je_sections sections;
	struct je_openmp openmp;
	struct je_windows windows;
	uint8_t bytes[JE_SLOT_BYTES];
};
_Static_assert(sizeof(union je_any_slot) == JE_SLOT_BYTES, "each kind fits into a slot");

#endif
