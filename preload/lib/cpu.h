/* cpu.h: CPU time, threads and CPUs of the process, as the kernel counts them. */
#ifndef JOBEFF_CPU_H
#define JOBEFF_CPU_H

#include "jobeff.h"

#pragma GCC visibility push(hidden)

/* MPI_Init begins: notes which threads there are. */
void je_cpu_before_init(void);

/* MPI_Init returns: what is counted from here on belongs to the region. */
void je_cpu_start(struct je_thread *me, struct je_slot *slot);

/* A call begins and a reading is due, or the region ends. Nothing is read if this is not the
 * thread of the slot. */
void je_cpu_read(struct je_thread *me, struct je_slot *slot);

#pragma GCC visibility pop

#endif
