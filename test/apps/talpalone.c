/* talpalone.c: a program with OpenMP and TALP's regions, without MPI. Nothing is measured before
 * its first parallel region. */
#include <stdio.h>
#include <stdlib.h>

#include "talp.h"

static void must(bool is, int line)
{
	if (is)
		return;
	fprintf(stderr, "talpalone.c:%d\n", line);
	exit(3);
}

static void work(void)
{
#pragma omp parallel num_threads(2)
	for (volatile long i = 0; i < 10000000; i++)
		;
}

int main(void)
{
	dlb_monitor_t *region = DLB_MonitoringRegionRegister("region");

	must(DLB_MonitoringRegionStart(region) == DLB_ERR_NOTALP, __LINE__);
	work();
	must(DLB_MonitoringRegionStart(region) == DLB_SUCCESS, __LINE__);
	work();
	must(DLB_MonitoringRegionStop(region) == DLB_SUCCESS, __LINE__);
	must(region->num_omp_parallels == 1 && region->num_mpi_calls == 0, __LINE__);
	must(region->useful_time > 0 && region->useful_time <= 2 * region->elapsed_time, __LINE__);
	must(region->mpi_time == 0 && region->num_cpus == 2, __LINE__);
	return 0;
}
