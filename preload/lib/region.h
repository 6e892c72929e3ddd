/* region.h: what our libdlb.so (../talp) asks of libjobeff.so. libdlb.so finds these functions by
 * name, and does without them if libjobeff.so is not in the process. */
#ifndef JOBEFF_REGION_H
#define JOBEFF_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a process did since MPI_Init returned, or since its first parallel region where there is no
 * MPI. `_ticks` are ticks of its clock. They are sums over its OpenMP threads unless a comment says
 * otherwise. A new field comes at the end: the two libraries may be of different releases. */
struct je_region_now {
	uint64_t elapsed_ticks; /* of the process, until now or until MPI_Finalize */
	uint64_t outside_ticks; /* … in which its main thread was in no parallel region */
	uint64_t useful_ticks;
	uint64_t mpi_ticks; /* of the main thread, and of the others in regions; with MPI's files */
	uint64_t imbalance_ticks;
	uint64_t scheduling_ticks; /* with waiting for locks */
	uint64_t mpi_calls;	   /* of the main thread */
	uint64_t parallels;
	uint64_t tasks;
	uint64_t instructions, cycles; /* useful ones of the main thread; 0: not counted */
	uint64_t mono_ns;	       /* when this was: CLOCK_MONOTONIC */
	double ns_per_tick;
	uint32_t threads; /* of the main thread's last parallel region; 1: there was none */
	uint32_t cpus;	  /* that the process may run on */
	uint32_t running; /* 1: MPI_Finalize was not called */
	uint32_t reserved;
};

/* Fills in the first `bytes` bytes; false: the process is not measured, or not yet. */
bool jobeff_region_now(struct je_region_now *now, size_t bytes);

/* A region is a section. */
void jobeff_region_enter(const char *name);
void jobeff_region_exit(const char *name);

#endif
