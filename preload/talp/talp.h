/* talp.h: what programs that were built with DLB's headers expect of libdlb.so.
 *
 * Names, numbers and the layout of dlb_monitor_t are DLB's interface (dlb_errors.h, dlb_talp.h).
 * DLB 3.6 has the fields of GPUs, 3.5 has not (JE_TALP_35), and later headers have further ones,
 * such as num_omp_threads, which we do not serve. Nothing shows at run time which of them a program
 * was built with.
 */
#ifndef JOBEFF_TALP_H
#define JOBEFF_TALP_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define JE_DLB_GLOBAL_NAME "Global"
#define JE_DLB_LAST_OPEN ((dlb_monitor_t *)1)
#ifdef JE_TALP_35
enum { JE_DLB_MAJOR = 3, JE_DLB_MINOR = 5 };
#else
enum { JE_DLB_MAJOR = 3, JE_DLB_MINOR = 6 };
#endif
enum { JE_DLB_NAME_MAX = 128 };
enum {
	DLB_NOUPDT = 2,
	DLB_SUCCESS = 0,
	DLB_ERR_PERM = -8,
	DLB_ERR_NOENT = -11,
	DLB_ERR_NOTALP = -16,
};

typedef struct dlb_monitor_t {
	const char *name;
	int num_cpus;
	float avg_cpus;
	int64_t cycles;
	int64_t instructions;
	int num_measurements;
	int num_resets;
	int64_t num_mpi_calls;
	int64_t num_omp_parallels;
	int64_t num_omp_tasks;
#ifndef JE_TALP_35
	int64_t num_gpu_runtime_calls;
#endif
	int64_t start_time; /* ns, like all times below */
	int64_t stop_time;
	int64_t elapsed_time;
	int64_t useful_time;
	int64_t mpi_time;
	int64_t omp_load_imbalance_time;
	int64_t omp_scheduling_time;
	int64_t omp_serialization_time;
#ifndef JE_TALP_35
	int64_t gpu_runtime_time;
	int64_t gpu_useful_time;
	int64_t gpu_communication_time;
	int64_t gpu_inactive_time;
#endif
	void *_data;
} dlb_monitor_t;

#define JE_AT(field, offset) \
	static_assert(offsetof(dlb_monitor_t, field) == (offset), "DLB's layout of " #field)
#ifdef JE_TALP_35
enum { JE_GPU_CALLS = 0, JE_GPU_TIMES = 0 };
#else
enum { JE_GPU_CALLS = 8, JE_GPU_TIMES = 32 };
JE_AT(num_gpu_runtime_calls, 64);
JE_AT(gpu_runtime_time, 136);
JE_AT(gpu_useful_time, 144);
JE_AT(gpu_communication_time, 152);
JE_AT(gpu_inactive_time, 160);
#endif
JE_AT(name, 0);
JE_AT(num_cpus, 8);
JE_AT(avg_cpus, 12);
JE_AT(cycles, 16);
JE_AT(instructions, 24);
JE_AT(num_measurements, 32);
JE_AT(num_resets, 36);
JE_AT(num_mpi_calls, 40);
JE_AT(num_omp_parallels, 48);
JE_AT(num_omp_tasks, 56);
JE_AT(start_time, 64 + JE_GPU_CALLS);
JE_AT(stop_time, 72 + JE_GPU_CALLS);
JE_AT(elapsed_time, 80 + JE_GPU_CALLS);
JE_AT(useful_time, 88 + JE_GPU_CALLS);
JE_AT(mpi_time, 96 + JE_GPU_CALLS);
JE_AT(omp_load_imbalance_time, 104 + JE_GPU_CALLS);
JE_AT(omp_scheduling_time, 112 + JE_GPU_CALLS);
JE_AT(omp_serialization_time, 120 + JE_GPU_CALLS);
JE_AT(_data, 128 + JE_GPU_CALLS + JE_GPU_TIMES);
static_assert(sizeof(dlb_monitor_t) == 136 + JE_GPU_CALLS + JE_GPU_TIMES, "DLB's dlb_monitor_t");

#endif
