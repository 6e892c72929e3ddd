/* record.h: THE format of what a process leaves behind.
 *
 * spank/ makes the empty file, as root. preload/ writes into it in the job, as the user. The Go
 * package record beside this file reads it through cgo. There is no other definition of it.
 *
 * A file is a head of JE_HEAD_BYTES, and then slots of JE_SLOT_BYTES each. A process that calls
 * MPI claims one slot, and each further thread that calls MPI claims one more. A process that
 * uses OpenMP claims slots in which each of its threads has an entry. To claim a slot is an
 * atomic add on je_head.next, or an atomic change of je_head.free_map. Only the thread that
 * claimed a slot or an entry writes to it, so no store in the hot path is atomic.
 *
 * Fixed-width, little-endian, append-only: a field never moves and never gets a new meaning. A
 * new field takes room from `reserved`; zero means "not known". JE_VERSION stays the same as
 * long as an old reader still understands the rest. All `_ticks` are readings of the slot's own
 * clock (je_slot.clock), never nanoseconds. The fold converts them, see je_pair.
 *
 * The reader distrusts every byte, because the file belongs to the user. FLOW 3 tells the life of
 * a record.
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

#define JE_FREE_WORDS 256u /* the first 16,384 slots can be used again */

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

/* je_slot.state. It only grows, unless a program opens a session after it closed its last one. */
enum je_state {
	JE_STATE_FREE = 0,
	JE_STATE_CLAIMED = 1,	/* the slot is filled in, MPI_Init has not returned */
	JE_STATE_RUNNING = 2,	/* between MPI_Init and MPI_Finalize */
	JE_STATE_FINALIZED = 3, /* MPI_Finalize entered */
	JE_STATE_DONE = 4, /* it returned, and the process exits: nobody writes here any more */
};

/* je_slot.ending: how the process itself says that it ended */
enum je_ending {
	JE_ENDING_NONE = 0,	/* it said nothing: killed, or still running */
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
	uint8_t nonce[16];   /* random; root keeps a copy beside the file */
	uint8_t boot_id[16]; /* /proc/sys/kernel/random/boot_id, binary */
	uint32_t uid;	     /* who may write here */
	uint32_t by_hand;    /* 1: the library itself made the file (JOBEFF_RECORD) */
	uint64_t made_mono_ns;
	uint64_t made_real_ns;
	uint32_t next;		/* atomic: next slot to claim; may run past `slots` */
	uint32_t lost_full;	/* atomic: processes and threads that found no slot */
	uint32_t lost_memory;	/* atomic: … that found a slot, but no memory for it (ENOSPC) */
	uint32_t lost_sections; /* atomic: processes that got no slot for their sections */
	uint32_t lost_static;	/* atomic: ranks whose program has an MPI linked in */
	uint32_t summary;	/* index + 1 of the slot that takes packed ones; 0: none yet */
	uint32_t pack_from;	/* packing begins when `next` is so large; 0: the default */
	uint32_t lost_preload;	/* atomic: LD_PRELOAD hid MPI: ranks of a tool, and launchers */
	uint64_t free_map[JE_FREE_WORDS]; /* atomic; bit i: slot i is filled with zeros and free */
};

/* one per row of mpi_calls.def, index = its number */
struct je_func {
	uint64_t count; /* outermost calls between MPI_Init and MPI_Finalize */
	uint64_t ticks;
	uint64_t sent;	   /* bytes */
	uint64_t received; /* bytes, from the arguments: a receive counts its buffer's size */
	uint64_t largest;  /* bytes of the largest message of one call */
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
	uint32_t seq; /* odd while the counters below change: the slot is torn */

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
	uint32_t open_call;  /* number of the open outermost call + 1; 0: computing */
	uint32_t reserved4;

	/* sums over the outermost calls between init_leave and fini_enter */
	uint64_t calls;			    /* 0 since 0.2: the reader adds up funcs */
	uint64_t mpi_ticks;		    /* of all calls except those of JE_CLASS_IO */
	struct je_func classes[JE_CLASSES]; /* 0 since 0.2, likewise */
	uint64_t hist_p2p[JE_BINS];	    /* messages by bytes sent, classes P2P and P2P_START */
	uint64_t hist_coll[JE_BINS];	    /* collectives, by this rank's bytes */
	struct je_func funcs[JE_FUNCS];
	uint64_t io_ticks; /* of the calls of JE_CLASS_IO */

	/* CLOCK_MONOTONIC when the launcher exited, which wrote this: the process was gone by
	 * then. 0: no launcher was seen, or the process itself says how it ended. */
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
	uint8_t exe_hash[16];	/* without a build-id: of its size and content */
	uint32_t input;		/* enum je_input */
	uint32_t inputs;	/* files in input_hash */
	uint32_t args_bytes;	/* of args_text; 0 unless JOBEFF_ARGUMENTS=1 */
	uint32_t args_cut;	/* 1: args_text does not have all arguments */
	char args_text[JE_ARGS_TEXT];	 /* whole arguments, a zero after each */
	char workload[JE_WORKLOAD_NAME]; /* JOBEFF_WORKLOAD */
	uint8_t reserved6[7];

	/* What the kernel counted up to read_ticks; 0: it was never read. A thread's slot has
	 * only the first and the third. Unless another begin is named, it began when MPI_Init
	 * returned. */
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

	/* 1: the process uses OpenMP and has not called MPI. It is rank 0 of 1, of no MPI. Its
	 * region begins at its first parallel region (init_leave_ticks) and ends when it exits. */
	uint32_t without_mpi;
	uint32_t reserved7;
	uint64_t began_mono_ns; /* without MPI: when the process began, 10 ms exact; 0: not known */

	uint8_t reserved[JE_SLOT_BYTES - JE_SLOT_HEAD - (JE_CLASSES + JE_FUNCS) * 40 -
			 2 * JE_BINS * 8 - 40 - 64 - JE_ARGS_TEXT - 72 - 88 - JE_MASK_WORDS * 8 -
			 16];
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

/* Sections of the program (MPIX_Section_enter, MPI_Pcontrol). A process claims its first such
 * slot at its first section, and more when it has more labels. `parent` names the slot of the
 * process, and init_ticks tells whether that slot still belongs to the same process. The section
 * MPI_MAIN is the process's own slot, from MPI_Init to MPI_Finalize. Only the thread that called
 * MPI_Init writes. The time of an open section runs to the end of the region or of the process. */
#define JE_SECTION_LABEL 64u		     /* with the zero at its end */
#define JE_SECTION_OTHERS "(other sections)" /* label of entry 0 of the first slot */
#define JE_SECTION_LABELS 10000u	     /* of a process, not counting (other sections) */
#define JE_SECTION_DEPTH 64u		     /* sections open at once */
#define JE_SECTION_WRONGS 8u		     /* so many different wrong exits are kept */
#define JE_SECTIONS_PER_SLOT 218u
#define JE_SECTIONS_SLOTS 46u /* of a process: enough for all labels */

/* one per label of a process */
struct je_section {
	char label[JE_SECTION_LABEL];
	uint64_t count; /* times entered */
	/* sums over the instances that are not inside another one of the same label */
	uint64_t ticks;	    /* from enter to exit */
	uint64_t mpi_ticks; /* the part that je_slot.mpi_ticks counts */
	uint64_t io_ticks;  /* the part that je_slot.io_ticks counts */
	/* sums over all instances, without the sections inside */
	uint64_t own_ticks;
	uint64_t own_mpi_ticks;
	uint64_t own_io_ticks;
	uint32_t detail; /* number of its je_section_detail in this slot + 1; 0: it has none */
	uint32_t reserved;
};

/* One time that a rank was in a section. */
struct je_instance {
	uint64_t number; /* 1: the first time that it entered the label */
	uint64_t in_ticks;
	uint64_t out_ticks;
};

/* What more is known of a section. It lies at the end of the slot, in entries that no label needs
 * yet; when one does, the last detail is given up.
 *
 * An instance is kept if the k lowest bits of its mixed number are 0. k grows when there is no
 * room, so what one rank kept at a large k, all ranks kept. */
#define JE_INSTANCES 37u
#define JE_DETAIL_BYTES 1024u
#define JE_DETAILS (JE_SECTIONS_PER_SLOT * 128u / JE_DETAIL_BYTES) /* most of a slot */

/* What OpenMP threads did in a section: growth of je_openmp_thread's sums, over all threads, but
 * the first three of the process's main thread. */
enum je_part {
	JE_PART_REGION = 0, /* region_ticks */
	JE_PART_REGION_MPI = 1,
	JE_PART_REGION_IO = 2,
	JE_PART_TEAM = 3, /* team_ticks */
	JE_PART_USEFUL = 4,
	JE_PART_MPI = 5,
	JE_PART_IO = 6,
	JE_PART_SCHEDULING = 7,
	JE_PART_LOCKED = 8,
	JE_SECTION_PARTS = 12, /* room for parts */
};

/* je_section_detail.openmp */
enum je_section_openmp {
	JE_SECTION_OPENMP_KNOWN = 1,  /* of each instance that was left; 0: an older library */
	JE_SECTION_OPENMP_INSIDE = 2, /* entered or left in a region, or other threads began some */
};

struct je_section_detail {
	uint32_t used; /* of `kept` */
	uint32_t k;
	uint64_t parts[JE_SECTION_PARTS]; /* sums over instances, as je_section.ticks; enum je_part
					   */
	uint32_t openmp;		  /* enum je_section_openmp */
	uint32_t reserved1;
	uint64_t reserved[3];
	struct je_instance kept[JE_INSTANCES];
};

struct je_section_open {
	uint32_t section;      /* number of the entry, over all slots of the process */
	uint32_t number;       /* of the instance; UINT32_MAX: that or more */
	uint64_t in_ticks;     /* when the program entered it */
	uint64_t in_mpi_ticks; /* je_slot.mpi_ticks then */
	uint64_t in_io_ticks;
	uint64_t inner_ticks; /* in sections inside that were left */
	uint64_t inner_mpi_ticks;
	uint64_t inner_io_ticks;
};

/* a wrong exit: which section was open, and which one the program wanted to leave */
struct je_section_wrong {
	char open[JE_SECTION_LABEL]; /* empty: only MPI_MAIN was open */
	char exited[JE_SECTION_LABEL];
	uint64_t count;
};

struct je_sections {
	/* as in struct je_slot */
	uint32_t magic;
	uint16_t kind;
	uint16_t reserved1;
	uint32_t bytes;
	uint32_t parent;
	uint32_t state;
	uint32_t reserved2[2];
	uint32_t seq; /* odd while entries or the stack below change */

	int32_t pid;
	uint32_t order;	     /* 0: the process's first slot of sections, 1: the second … */
	uint64_t init_ticks; /* je_slot.init_enter_ticks of the process */
	uint32_t used;	     /* entries of this slot that are in use */
	/* the rest of the head, in the first slot only */
	uint32_t depth;	     /* of `open`, the innermost last */
	uint64_t wrong;	     /* wrong exits */
	uint64_t deep;	     /* sections entered deeper than JE_SECTION_DEPTH: not counted */
	uint64_t ignored;    /* atomic: enters and exits by other threads, or inside MPI */
	uint64_t last_ticks; /* when a section was last entered or left: the process lived then */
	/* in each slot */
	uint32_t details; /* struct je_section_detail at its end */
	uint32_t reserved5;
	uint64_t reserved3[6];
	struct je_section_wrong wrongs[JE_SECTION_WRONGS];
	struct je_section_open open[JE_SECTION_DEPTH];
	struct je_section entries[JE_SECTIONS_PER_SLOT];
	uint8_t reserved4[JE_SLOT_BYTES - 144 - JE_SECTION_WRONGS * 136 - JE_SECTION_DEPTH * 56 -
			  JE_SECTIONS_PER_SLOT * 128];
};

/* Entry of a slot at which its detail number i begins. */
static inline uint32_t je_detail_at(uint32_t i)
{
	return JE_SECTIONS_PER_SLOT - (i + 1) * (JE_DETAIL_BYTES / 128u);
}

/* splitmix64's finaliser. Plain numbers would follow the program's own periods: every second
 * step writes its output. */
static inline uint64_t je_mixed(uint64_t number)
{
	number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
	return number ^ (number >> 31);
}

/* Whether an instance is kept at k. */
static inline int je_is_kept(uint64_t number, uint32_t k)
{
	return (je_mixed(number) & ((UINT64_C(1) << (k & 63)) - 1)) == 0;
}

/* OpenMP threads of a process. The process claims its first such slot at its first parallel
 * region, and more when it has more threads at once. `parent` names the slot of the process, and
 * pid and process_ticks tell whether that slot still belongs to it.
 *
 * A thread has one clock and at each moment one state. A change of state adds the time since the
 * last change to the state that ends. A region takes `team` threads for its time, so the thread
 * that began it counts team times ticks. What the team's states do not explain of it is waiting
 * at the end of regions: threads that are done with a region do not see its end.
 *
 * An entry belongs to one thread at a time. Only that thread writes to it, except that it is taken
 * with an atomic change of `tid`. The sums stay when a thread ends: the next one adds to them. */
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
	JE_OPENMP_NO_RUNTIME = 5, /* which runtime a caller wants was not sure */
	JE_OPENMP_WHYS = 6,
};

/* bits of je_openmp.untimed: calls that are there, and whose waiting counts as useful */
enum je_openmp_untimed {
	JE_OPENMP_BIG_TASKS = 1, /* tasks whose arguments are too large to be wrapped */
};

struct je_openmp_thread {
	int32_t tid;			  /* atomic; whose entry it is, or was last. 0: nobody's */
	uint32_t state;			  /* enum je_openmp_state */
	uint64_t since_ticks;		  /* when the state began */
	uint64_t ticks[JE_OPENMP_STATES]; /* by state; that of OUTSIDE means nothing */

	/* USEFUL is without these: the thread was in MPI, or in its files */
	uint64_t mpi_ticks;
	uint64_t io_ticks;
	uint64_t mpi_seen; /* je_slot.mpi_ticks of the thread at the last change */
	uint64_t io_seen;

	/* regions that this thread began */
	uint64_t regions;      /* all of them */
	uint64_t nested;       /* … that were inside another one */
	uint64_t region_ticks; /* of the outermost ones */
	uint64_t team_ticks;   /* of each region, times its threads; nested: less the beginner */
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

/* Windows: the calls of a process between two collectives that no rank leaves before all have
 * entered. A window begins where one such collective is left, and ends where the next one is.
 * Windows are counted from 0. Window i is kept when the je_windows.k lowest bits of a mixed i are
 * 0; k grows when the slots are full. i is mixed by splitmix64: its step 0x9e3779b97f4a7c15 is
 * added, and its finaliser follows. A process has up to JE_WINDOWS_SLOTS such slots, and their
 * entries are one stream. COMM and INIT entries stay when k grows; other entries belong to a
 * window. A window ends with the entry that has JE_LOG_BORDER; one without did not end. */
#define JE_WINDOWS_HEAD 128u
#define JE_LOG_BYTES 48u
#define JE_LOGS_PER_SLOT 680u
#define JE_WINDOWS_SLOTS 8u
#define JE_WORLD_IDENTITY 1u /* of MPI_COMM_WORLD; 0: not known */
#define JE_SELF_IDENTITY 2u  /* of MPI_COMM_SELF */
#define JE_LOG_NOBODY (-1)   /* peer: MPI_PROC_NULL */
#define JE_LOG_ANY (-2)	     /* peer and tag: a wildcard, and no status tells what came */

/* je_log.op: what an entry is */
enum je_log_op {
	JE_LOG_NONE = 0,
	JE_LOG_WINDOW = 1, /* a window begins: the collective that opens it; request: i */
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
	JE_LOG_CONTINUED = 1, /* a further part of the call in the entry before */
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

/* je_windows.why: why nothing is logged, or no longer. The first reason stays. */
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
	uint32_t why;  /* enum je_windows_why */
	uint32_t lost; /* COMM and INIT entries that found no room */
	uint32_t reserved3[16];
	struct je_log entries[JE_LOGS_PER_SLOT];
};

_Static_assert(sizeof(struct je_head) <= JE_HEAD_BYTES, "je_head");
_Static_assert(sizeof(struct je_func) == 40, "je_func has no padding");
_Static_assert(offsetof(struct je_slot, classes) == JE_SLOT_HEAD, "je_slot has no padding");
_Static_assert(sizeof(struct je_slot) == JE_SLOT_BYTES, "je_slot fills its slot");
_Static_assert(offsetof(struct je_summary, data) == 48, "je_summary has no padding");
_Static_assert(sizeof(struct je_summary) == JE_SLOT_BYTES, "je_summary fills its slot");
_Static_assert(offsetof(struct je_sections, wrongs) == 144, "je_sections has no padding");
_Static_assert(sizeof(struct je_section) == 128, "je_section has no padding");
_Static_assert(sizeof(struct je_section_detail) == JE_DETAIL_BYTES, "no padding");
_Static_assert(JE_DETAIL_BYTES % sizeof(struct je_section) == 0, "details fill entries");
_Static_assert(sizeof(struct je_section_open) == 56, "je_section_open has no padding");
_Static_assert(sizeof(struct je_sections) == JE_SLOT_BYTES, "je_sections fills its slot");
_Static_assert(offsetof(struct je_sections, seq) == offsetof(struct je_slot, seq), "same start");
_Static_assert(sizeof(struct je_openmp_thread) == JE_OPENMP_THREAD_BYTES, "no padding");
_Static_assert(offsetof(struct je_openmp, threads) == JE_OPENMP_HEAD, "je_openmp has no padding");
_Static_assert(sizeof(struct je_openmp) == JE_SLOT_BYTES, "je_openmp fills its slot");
_Static_assert(sizeof(struct je_log) == JE_LOG_BYTES, "je_log has no padding");
_Static_assert(offsetof(struct je_windows, entries) == JE_WINDOWS_HEAD, "no padding");
_Static_assert(sizeof(struct je_windows) == JE_SLOT_BYTES, "je_windows fills its slot");
_Static_assert((JE_SECTIONS_SLOTS * JE_SECTIONS_PER_SLOT) > JE_SECTION_LABELS, "all labels");

#endif
