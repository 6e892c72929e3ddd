/* jobeff_section.h: sections of an MPI program (MPI_Section of Besnard et al.).
 *
 * A section is a phase of the program that every rank of a communicator goes through. To enter or
 * leave a section needs no communication. Sections nest: leave the one first that you entered
 * last. The whole run is the section MPI_MAIN.
 *
 *     #include <jobeff_section.h>             cc … -ljobeff_section
 *
 *     MPIX_Section_enter(MPI_COMM_WORLD, "halo");
 *     …
 *     MPIX_Section_exit(MPI_COMM_WORLD, "halo");
 *
 * The library does nothing by itself. If jobeff measures the job, it records for each label and
 * rank how often the section ran, how long, and how much of that was MPI. Only the first 63
 * bytes of a label count. In C++, jobeff_section.hpp has an object that leaves its section. In
 * Fortran, use the module of jobeff_section.f90, include jobeff_section.inc, or without either
 *     call MPIX_Section_enter(MPI_COMM_WORLD, 'halo', ierror)   ! mpi_f08: comm%MPI_VAL
 */
#ifndef JOBEFF_SECTION_H
#define JOBEFF_SECTION_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPIX_SECTION_DATA 32

/* Both return MPI_SUCCESS, or an error if the section to leave is not the innermost open one. The
 * exit then leaves the sections inside, too. If no such section is open, it leaves none. */
int MPIX_Section_enter(MPI_Comm comm, const char *label);
int MPIX_Section_exit(MPI_Comm comm, const char *label);

/* A tool defines these to be called. `data` belongs to the tool: it is zero at first, and both
 * calls of one instance of a section get the same bytes. */
int MPIX_Section_enter_cb(MPI_Comm comm, const char *label, char data[MPIX_SECTION_DATA]);
int MPIX_Section_leave_cb(MPI_Comm comm, const char *label, char data[MPIX_SECTION_DATA]);

/* The same under their profiling names. These callbacks do nothing. */
int PMPIX_Section_enter(MPI_Comm comm, const char *label);
int PMPIX_Section_exit(MPI_Comm comm, const char *label);
int PMPIX_Section_enter_cb(MPI_Comm comm, const char *label, char data[MPIX_SECTION_DATA]);
int PMPIX_Section_leave_cb(MPI_Comm comm, const char *label, char data[MPIX_SECTION_DATA]);

#ifdef __cplusplus
}
#endif

#endif
