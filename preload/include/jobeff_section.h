/* jobeff_section.h: sections of an MPI program, MPI_Section of Besnard et al.
 *
 * A section is a phase of the program that every rank of a communicator goes through.
 * Entering and leaving one costs no communication. Sections nest perfectly: the one
 * entered last is left first. The whole run is the section MPI_MAIN.
 *
 *     #include <jobeff_section.h>             cc … -ljobeff_section
 *
 *     MPIX_Section_enter(MPI_COMM_WORLD, "halo");
 *     …
 *     MPIX_Section_exit(MPI_COMM_WORLD, "halo");
 *
 * The library does nothing by itself. Where jobeff measures the job it keeps for each
 * label and rank how often and how long, and what of it was MPI. The first 63 bytes of a
 * label count. In Fortran: jobeff_section.inc, or without it
 *     call MPIX_Section_enter(MPI_COMM_WORLD, 'halo', ierror)   ! mpi_f08: comm%MPI_VAL
 */
#ifndef JOBEFF_SECTION_H
#define JOBEFF_SECTION_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPIX_SECTION_DATA 32

/* Both return MPI_SUCCESS, or an error where the exit does not fit what is open: it then
 * leaves the sections inside too, or nothing where no such section is open. */
int MPIX_Section_enter(MPI_Comm comm, const char *label);
int MPIX_Section_exit(MPI_Comm comm, const char *label);

/* For tools: define them to be told. `data` is the tool's own, zero at first and the same
 * bytes in both calls of one instance of a section. */
int MPIX_Section_enter_cb(MPI_Comm comm, const char *label, char data[MPIX_SECTION_DATA]);
int MPIX_Section_leave_cb(MPI_Comm comm, const char *label, char data[MPIX_SECTION_DATA]);

/* The same under their profiling names; the callbacks of these do nothing. */
int PMPIX_Section_enter(MPI_Comm comm, const char *label);
int PMPIX_Section_exit(MPI_Comm comm, const char *label);
int PMPIX_Section_enter_cb(MPI_Comm comm, const char *label, char data[MPIX_SECTION_DATA]);
int PMPIX_Section_leave_cb(MPI_Comm comm, const char *label, char data[MPIX_SECTION_DATA]);

#ifdef __cplusplus
}
#endif

#endif
