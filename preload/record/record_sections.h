/* record_sections.h: sections of the program (MPIX_Section_enter, MPI_Pcontrol). Part of record.h.
 *
 * A process claims its first such slot at its first section, and more when it has more labels.
 * `parent` names the slot of the process, and init_ticks shows whether that slot still belongs to
 * the same process. The section MPI_MAIN is the process's own slot, from MPI_Init to MPI_Finalize.
 * Only the thread that called MPI_Init writes. The time of an open section runs to the end of the
 * region or of the process.
 */
#ifndef JOBEFF_RECORD_SECTIONS_H
#define JOBEFF_RECORD_SECTIONS_H

#include "record.h"

#define JE_SECTION_LABEL 64u		     /* with the zero at its end */
#define JE_SECTION_OTHERS "(other sections)" /* label of entry 0 of the first slot */
#define JE_SECTION_LABELS 10000u	     /* of a process, not counting (other sections) */
#define JE_SECTION_DEPTH 64u		     /* sections open at once */
#define JE_SECTION_WRONGS 8u		     /* different wrong exits that are kept */
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

/* What a section keeps besides its sums. It lies at the end of the slot, in entries that no label
 * needs yet. When a label needs them, the last detail is given up.
 *
 * An instance is kept if the k lowest bits of its mixed number are 0. k grows when there is no
 * room. So what the rank with the largest k kept, all ranks kept. */
#define JE_INSTANCES 37u
#define JE_DETAIL_BYTES 1024u
#define JE_DETAILS (JE_SECTIONS_PER_SLOT * 128u / JE_DETAIL_BYTES) /* most details in a slot */

/* What OpenMP threads did in a section: the growth of je_openmp_thread's sums, added up over all
 * threads unless one thread is named. */
enum je_part {
	JE_PART_REGION = 0, /* region_ticks of the main thread, and what it was in MPI there */
	JE_PART_REGION_MPI = 1,
	JE_PART_REGION_IO = 2,
	JE_PART_TEAM = 3, /* team_ticks */
	JE_PART_USEFUL = 4,
	JE_PART_MPI = 5,
	JE_PART_IO = 6,
	JE_PART_SCHEDULING = 7,
	JE_PART_LOCKED = 8,
	JE_PART_USEFUL_MAIN = 9,  /* of the main thread */
	JE_PART_USEFUL_MOST = 10, /* of the other thread with the most */
	JE_SECTION_PARTS = 12,	  /* room for parts */
};

/* je_section_detail.openmp */
enum je_section_openmp {
	JE_SECTION_OPENMP_KNOWN = 1,  /* of each instance that was left; 0: not known */
	JE_SECTION_OPENMP_INSIDE = 2, /* entered or left in a region, or other threads began some */
};

struct je_section_detail {
	uint32_t used; /* of `kept` */
	uint32_t k;
	uint64_t parts[JE_SECTION_PARTS]; /* sums over instances, as je_section.ticks; enum je_part
					   */
	uint32_t openmp;		  /* enum je_section_openmp */
	uint32_t busiest;		  /* 1: the last two parts are known */
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
	uint64_t last_ticks; /* when a section was last entered or left: a sign of life */
	/* in each slot */
	uint32_t details; /* number of je_section_detail at its end */
	uint32_t reserved5;
	uint64_t reserved3[6];
	struct je_section_wrong wrongs[JE_SECTION_WRONGS];
	struct je_section_open open[JE_SECTION_DEPTH];
	struct je_section entries[JE_SECTIONS_PER_SLOT];
};

/* The entry of a slot at which detail number i begins. */
static inline uint32_t je_detail_at(uint32_t i)
{
	return JE_SECTIONS_PER_SLOT - (i + 1) * (JE_DETAIL_BYTES / 128u);
}

/* splitmix64's finaliser. Plain numbers would follow the program's own periods, such as output at
 * every second step. */
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

_Static_assert(offsetof(struct je_sections, wrongs) == 144, "je_sections has no padding");
_Static_assert(sizeof(struct je_section) == 128, "je_section has no padding");
_Static_assert(sizeof(struct je_section_detail) == JE_DETAIL_BYTES, "no padding");
_Static_assert(JE_DETAIL_BYTES % sizeof(struct je_section) == 0, "details fill entries");
_Static_assert(sizeof(struct je_section_open) == 56, "je_section_open has no padding");
_Static_assert(offsetof(struct je_sections, seq) == offsetof(struct je_slot, seq), "same start");
_Static_assert((JE_SECTIONS_SLOTS * JE_SECTIONS_PER_SLOT) > JE_SECTION_LABELS, "all labels");

#endif
