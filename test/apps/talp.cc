/* talp.cc: a C++ program that was built for TALP: a region that ends with its block. */
#include "talp.h"

#include <mpi.h>

struct region {
	dlb_monitor_t *handle;
	explicit region(const char *name) : handle(DLB_MonitoringRegionRegister(name))
	{
		DLB_MonitoringRegionStart(handle);
	}
	~region() { DLB_MonitoringRegionStop(handle); }
};

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	for (int i = 0; i < 3; i++) {
		region loop("loop");
		region inner("inner");
	}
	const dlb_monitor_t *loop = DLB_MonitoringRegionRegister("loop");
	int as_it_should = loop == NULL || (loop->num_measurements == 3 && loop->elapsed_time > 0);
	MPI_Finalize();
	return as_it_should ? 0 : 3;
}
