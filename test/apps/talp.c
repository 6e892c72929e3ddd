/* talp.c: a program that was built for TALP. Its way is its first argument:
 *
 *   regions   outer { inner inner inner }, and what the interface says of odd calls. It prints
 *             what it measured itself, "section LABEL COUNT SECONDS OWN_SECONDS MPI_SECONDS", and
 *             what it was told, "told LABEL …" likewise
 *   crossed   one { two one } two: regions that do not nest
 *   threads   another thread's region
 *   openmp    a region with a parallel region of 2 threads, of which one works
 *   off       all calls without libjobeff.so
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "talp.h"

#define CHECK(is)                                                                   \
	do {                                                                        \
		if (!(is)) {                                                        \
			fprintf(stderr, "talp.c:%d: %s is false\n", __LINE__, #is); \
			exit(3);                                                    \
		}                                                                   \
	} while (0)

static int rank;
static double in_mpi; /* seconds */

static void work(double seconds)
{
	struct timespec t = { 0, (long)(seconds * 1e9) };

	nanosleep(&t, NULL);
}

static void wait_for_others(void)
{
	double begin = MPI_Wtime();

	MPI_Barrier(MPI_COMM_WORLD);
	in_mpi += MPI_Wtime() - begin;
}

static void told(const dlb_monitor_t *m)
{
	printf("told %s %d %.9f %.9f %.9f\n", m->name, m->num_measurements,
	       (double)m->elapsed_time / 1e9, (double)m->useful_time / 1e9,
	       (double)m->mpi_time / 1e9);
}

static void odd_calls(dlb_monitor_t *inner)
{
	char metrics[4096];
	double mpi = -1, useful = -1;
	dlb_monitor_t *global = DLB_MonitoringRegionGetGlobal(), *nameless;

	CHECK(DLB_MonitoringRegionRegister("inner") == inner);
	CHECK(DLB_MonitoringRegionRegister("global") == global);
	CHECK(DLB_MonitoringRegionGetImplicit() == global);
	CHECK(DLB_MonitoringRegionRegister("all") == NULL);
	CHECK(DLB_MonitoringRegionStart(DLB_GLOBAL_REGION) == DLB_NOUPDT);
	CHECK(DLB_MonitoringRegionStop(inner) == DLB_NOUPDT);
	nameless = DLB_MonitoringRegionRegister(NULL);
	CHECK(nameless != NULL && nameless != DLB_MonitoringRegionRegister(""));
	CHECK(strncmp(nameless->name, "Anonymous Region ", 17) == 0);
	CHECK(DLB_MonitoringRegionStart(nameless) == DLB_SUCCESS);
	CHECK(DLB_MonitoringRegionStart(nameless) == DLB_NOUPDT);
	CHECK(nameless->start_time > 0 && nameless->stop_time == 0);
	CHECK(DLB_MonitoringRegionStop(DLB_LAST_OPEN_REGION) == DLB_SUCCESS);
	CHECK(nameless->num_measurements == 1 && nameless->stop_time >= nameless->start_time);
	CHECK(DLB_MonitoringRegionReset(nameless) == DLB_SUCCESS);
	CHECK(nameless->num_measurements == 0 && nameless->num_resets == 1);
	CHECK(nameless->elapsed_time == 0);
	CHECK(DLB_TALP_GetTimes(0, &mpi, &useful) == DLB_SUCCESS && mpi >= 0 && useful > 0);
	CHECK(DLB_TALP_CollectPOPMetrics(inner, metrics) == DLB_ERR_NOTALP);
	CHECK(DLB_TALP_CollectPOPNodeMetrics(inner, metrics) == DLB_ERR_NOTALP);
	CHECK(DLB_Lend() == DLB_ERR_NOTALP);
	CHECK(DLB_BarrierNamedRegister("b", 0) == NULL);
	CHECK(DLB_Strerror(DLB_ERR_NOTALP) != NULL);
	CHECK(DLB_SetObserverRole(true) == DLB_SUCCESS);
	CHECK(DLB_MonitoringRegionStart(inner) == DLB_ERR_PERM);
	CHECK(DLB_SetObserverRole(false) == DLB_SUCCESS);
	CHECK(DLB_MonitoringRegionReport(inner) == DLB_SUCCESS);
}

static void regions(void)
{
	dlb_monitor_t *outer = DLB_MonitoringRegionRegister("outer");
	dlb_monitor_t *inner = DLB_MonitoringRegionRegister("inner");
	double begin = MPI_Wtime(), inside = 0;

	CHECK(DLB_MonitoringRegionStart(outer) == DLB_SUCCESS);
	for (int i = 0; i < 3; i++) {
		double entered = MPI_Wtime();

		CHECK(DLB_MonitoringRegionStart(inner) == DLB_SUCCESS);
		work(0.02 + 0.02 * rank);
		wait_for_others();
		CHECK(DLB_MonitoringRegionStop(inner) == DLB_SUCCESS);
		inside += MPI_Wtime() - entered;
	}
	work(0.02);
	CHECK(DLB_MonitoringRegionsUpdate() == DLB_SUCCESS);
	CHECK(outer->elapsed_time >= inner->elapsed_time && outer->num_measurements == 0);
	CHECK(DLB_MonitoringRegionStop(DLB_LAST_OPEN_REGION) == DLB_SUCCESS);

	double all = MPI_Wtime() - begin;

	CHECK(inner->num_mpi_calls == 3 && outer->num_mpi_calls == 3);
	CHECK(inner->num_omp_parallels == 0 && inner->num_cpus == 1 && inner->avg_cpus >= 1);
	printf("section outer 1 %.9f %.9f %.9f\n", all, all - inside, in_mpi);
	printf("section inner 3 %.9f %.9f %.9f\n", inside, inside, in_mpi);
	told(outer);
	told(inner);
	odd_calls(inner);
}

static void crossed(void)
{
	dlb_monitor_t *one = DLB_MonitoringRegionRegister("one");
	dlb_monitor_t *two = DLB_MonitoringRegionRegister("two");

	CHECK(DLB_MonitoringRegionStart(one) == DLB_SUCCESS);
	CHECK(DLB_MonitoringRegionStart(two) == DLB_SUCCESS);
	work(0.02);
	CHECK(DLB_MonitoringRegionStop(one) == DLB_SUCCESS);
	work(0.02);
	CHECK(DLB_MonitoringRegionStop(two) == DLB_SUCCESS);
	CHECK(one->num_measurements == 1 && two->num_measurements == 1);
	CHECK(llabs(two->elapsed_time - one->elapsed_time - 20000000) <
	      1000); /* on the test's clock */
}

static void *other_thread(void *region)
{
	CHECK(DLB_MonitoringRegionStart(region) == DLB_SUCCESS);
	work(0.02);
	CHECK(DLB_MonitoringRegionStop(region) == DLB_SUCCESS);
	return NULL;
}

static void threads(void)
{
	dlb_monitor_t *theirs = DLB_MonitoringRegionRegister("theirs");
	pthread_t thread;

	pthread_create(&thread, NULL, other_thread, theirs);
	pthread_join(thread, NULL);
	CHECK(theirs->num_measurements == 1 && theirs->elapsed_time >= 20000000);
}

static void openmp(void)
{
	dlb_monitor_t *region = DLB_MonitoringRegionRegister("openmp");

#pragma omp parallel num_threads(2)
	;
	CHECK(DLB_MonitoringRegionStart(region) == DLB_SUCCESS);
#pragma omp parallel num_threads(2)
	{
#pragma omp master
		work(0.1);
	}
	work(0.05);
	CHECK(DLB_MonitoringRegionStop(region) == DLB_SUCCESS);
	CHECK(region->num_omp_parallels == 1 && region->num_cpus == 2);
	printf("openmp %.9f %.9f %.9f %.9f %.9f\n", (double)region->elapsed_time / 1e9,
	       (double)region->useful_time / 1e9, (double)region->omp_load_imbalance_time / 1e9,
	       (double)region->omp_scheduling_time / 1e9,
	       (double)region->omp_serialization_time / 1e9);
}

static void off(void)
{
	CHECK(DLB_MonitoringRegionGetGlobal() == NULL);
	CHECK(DLB_MonitoringRegionRegister("outer") == NULL);
	CHECK(DLB_MonitoringRegionStart(NULL) == DLB_ERR_NOTALP);
	CHECK(DLB_MonitoringRegionStop(DLB_LAST_OPEN_REGION) == DLB_ERR_NOTALP);
	CHECK(DLB_MonitoringRegionReset(NULL) == DLB_ERR_NOTALP);
	CHECK(DLB_MonitoringRegionReport(NULL) == DLB_ERR_NOTALP);
	CHECK(DLB_MonitoringRegionsUpdate() == DLB_ERR_NOTALP);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "regions";
	int level;

	CHECK(DLB_Init(0, NULL, "--talp") == DLB_SUCCESS);
	CHECK(DLB_MonitoringRegionStart(DLB_MonitoringRegionRegister("too early")) ==
	      DLB_ERR_NOTALP);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (strcmp(way, "crossed") == 0)
		crossed();
	else if (strcmp(way, "threads") == 0)
		threads();
	else if (strcmp(way, "openmp") == 0)
		openmp();
	else if (strcmp(way, "off") == 0)
		off();
	else
		regions();
	MPI_Finalize();
	if (strcmp(way, "off") != 0) {
		const dlb_monitor_t *global = DLB_MonitoringRegionGetGlobal();

		CHECK(global->num_measurements == 1 && global->elapsed_time > 0);
		CHECK(DLB_MonitoringRegionStart(DLB_MonitoringRegionRegister("late")) ==
		      DLB_ERR_NOTALP);
	}
	CHECK(DLB_Finalize() == DLB_SUCCESS);
	return 0;
}
