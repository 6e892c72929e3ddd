/* talp.c: libdlb.so, for programs that were built for TALP, where DLB is not installed.
 *
 * A user puts its folder into LD_LIBRARY_PATH. TALP's regions are then sections of jobeff, and the
 * program can ask for a region's figures while it runs: they come from the record of libjobeff.so.
 * Without libjobeff.so each call answers as DLB does without TALP.
 *
 * If DLB itself is behind this library, it gets each call first and gives the answer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../lib/libc.h"

#pragma GCC visibility push(default)
#include "../lib/region.h"
#pragma GCC visibility pop
#include "talp.h"

#pragma weak jobeff_region_now
#pragma weak jobeff_region_enter
#pragma weak jobeff_region_exit

#define JE_EXPORT __attribute__((visibility("default")))

typedef intptr_t (*dlb_fn)(intptr_t, intptr_t, intptr_t, intptr_t);

/* A region. The program's handle points to it. */
struct region {
	dlb_monitor_t shown;  /* what the program reads */
	struct region *next;  /* in the list of all regions */
	struct region *outer; /* the open region that was started before this one */
	bool started;
	bool section;		    /* started, and not left by a region around it */
	struct je_region_now since; /* when it was started */
	struct je_region_now sums;  /* until it was stopped last */
	char name[JE_DLB_NAME_MAX];
};

static struct region global = { .shown.name = JE_DLB_GLOBAL_NAME, .name = JE_DLB_GLOBAL_NAME };
static struct region *all = &global, *open_ones;
static int unnamed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool observes;

/* The same function of a DLB behind this library, NULL if there is none. */
static dlb_fn behind(const char *name)
{
	static int is_there = -1;
	int there = __atomic_load_n(&is_there, __ATOMIC_RELAXED);

	if (there < 0) {
		there = dlsym(RTLD_NEXT, "DLB_MonitoringRegionStart") != NULL;
		if (there == 0)
			dlerror(); /* the program must not see our error */
		__atomic_store_n(&is_there, there, __ATOMIC_RELAXED);
	}
	return there == 0 ? NULL : (dlb_fn)dlsym(RTLD_NEXT, name);
}

#define JE_DLB(otherwise, name)                                               \
	JE_EXPORT intptr_t name(intptr_t, intptr_t, intptr_t, intptr_t);      \
	intptr_t name(intptr_t a, intptr_t b, intptr_t c, intptr_t d)         \
	{                                                                     \
		dlb_fn dlb = behind(#name);                                   \
                                                                              \
		return dlb != NULL ? dlb(a, b, c, d) : (intptr_t)(otherwise); \
	}
#include "dlb_calls.def"

/* Sums grow, except that the guess about an open parallel region may have been too high. */
static uint64_t grown(uint64_t to, uint64_t from)
{
	return to > from ? to - from : 0;
}

/* Adds to a region's sums what it did since it was started. */
static void add(struct je_region_now *sums, const struct region *r, const struct je_region_now *now)
{
#define JE_ADD(field) sums->field = r->sums.field + grown(now->field, r->since.field)
	JE_ADD(elapsed_ticks);
	JE_ADD(outside_ticks);
	JE_ADD(useful_ticks);
	JE_ADD(mpi_ticks);
	JE_ADD(imbalance_ticks);
	JE_ADD(scheduling_ticks);
	JE_ADD(mpi_calls);
	JE_ADD(parallels);
	JE_ADD(tasks);
	JE_ADD(instructions);
	JE_ADD(cycles);
#undef JE_ADD
}

/* Shows the program what a region did so far. */
static void show(struct region *r, const struct je_region_now *now)
{
	struct je_region_now sums = r->sums;
	dlb_monitor_t *to = &r->shown;

	if (r->started)
		add(&sums, r, now);
#define JE_NS(field) ((int64_t)((double)sums.field * now->ns_per_tick))
	to->num_cpus = (int)now->threads;
	to->avg_cpus = (float)now->cpus;
	to->cycles = (int64_t)sums.cycles;
	to->instructions = (int64_t)sums.instructions;
	to->num_mpi_calls = (int64_t)sums.mpi_calls;
	to->num_omp_parallels = (int64_t)sums.parallels;
	to->num_omp_tasks = (int64_t)sums.tasks;
	to->elapsed_time = JE_NS(elapsed_ticks);
	to->useful_time = JE_NS(useful_ticks);
	to->mpi_time = JE_NS(mpi_ticks);
	to->omp_load_imbalance_time = JE_NS(imbalance_ticks);
	to->omp_scheduling_time = JE_NS(scheduling_ticks);
	to->omp_serialization_time = JE_NS(outside_ticks) * (int64_t)(now->threads - 1);
#undef JE_NS
}

static void stop(struct region *r, const struct je_region_now *now)
{
	struct region **at = &open_ones;

	while (*at != r)
		at = &(*at)->outer;
	if (r->section) {
		for (struct region *inner = open_ones; inner != r; inner = inner->outer)
			inner->section = false; /* the section's end is theirs, too */
		jobeff_region_exit(r->name);
	}
	*at = r->outer;
	add(&r->sums, r, now);
	r->started = r->section = false;
	r->shown.stop_time = (int64_t)now->mono_ns;
	r->shown.num_measurements++;
	show(r, now);
}

static void start(struct region *r, const struct je_region_now *now)
{
	r->since = *now;
	r->started = true;
	r->shown.start_time = (int64_t)now->mono_ns;
	r->shown.stop_time = 0;
	r->outer = open_ones;
	open_ones = r;
	if (r == &global)
		return;
	r->section = true;
	jobeff_region_enter(r->name);
}

/* The global region begins with the measured part of the process, and ends with it. */
static void follow_global(const struct je_region_now *now)
{
	static bool begun;

	if (!begun) {
		begun = true;
		start(&global, now);
		memset(&global.since, 0, sizeof(global.since));
		global.shown.start_time -= (int64_t)((double)now->elapsed_ticks * now->ns_per_tick);
	}
	if (now->running == 0 && global.started)
		stop(&global, now);
}

/* Brings all open regions up to date; false: the process is not measured now. */
static bool update(struct je_region_now *now)
{
	memset(now, 0, sizeof(*now));
	if (jobeff_region_now == NULL || !jobeff_region_now(now, sizeof(*now)))
		return false;
	follow_global(now);
	for (struct region *r = open_ones; r != NULL; r = r->outer)
		show(r, now);
	return true;
}

static struct region *find(const char *name)
{
	if (strcasecmp(name, JE_DLB_GLOBAL_NAME) == 0)
		return &global;
	for (struct region *r = all; r != NULL; r = r->next)
		if (strncmp(r->name, name, JE_DLB_NAME_MAX - 1) == 0)
			return r;
	return NULL;
}

/* NULL: there is no memory. */
static struct region *find_or_make(const char *name)
{
	struct region *r = name[0] != '\0' ? find(name) : NULL;

	if (r != NULL)
		return r;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return NULL;
	if (name[0] != '\0')
		strncpy(r->name, name, JE_DLB_NAME_MAX - 1);
	else
		snprintf(r->name, sizeof(r->name), "Anonymous Region %d", ++unnamed);
	r->shown.name = r->name;
	r->next = all;
	all = r;
	return r;
}

/* The region of a handle; NULL: there is none. What DLB's handle points to begins with the name,
 * too. */
static struct region *region_of(const dlb_monitor_t *handle, bool of_dlb)
{
	if (handle == NULL)
		return &global;
	if (handle == JE_DLB_LAST_OPEN)
		return open_ones;
	return of_dlb ? find_or_make(handle->name) : (struct region *)handle;
}

JE_EXPORT dlb_monitor_t *DLB_MonitoringRegionRegister(const char *name)
{
	dlb_fn dlb = behind("DLB_MonitoringRegionRegister");
	struct region *r;

	if (dlb != NULL)
		return (dlb_monitor_t *)dlb((intptr_t)name, 0, 0, 0);
	if (jobeff_region_now == NULL || name == (const char *)JE_DLB_LAST_OPEN ||
	    (name != NULL && strcasecmp(name, "all") == 0))
		return NULL;
	pthread_mutex_lock(&lock);
	r = find_or_make(name != NULL ? name : "");
	pthread_mutex_unlock(&lock);
	return r != NULL ? &r->shown : NULL;
}

JE_EXPORT dlb_monitor_t *DLB_MonitoringRegionGetGlobal(void)
{
	dlb_fn dlb = behind("DLB_MonitoringRegionGetGlobal");
	struct je_region_now now;

	if (dlb != NULL)
		return (dlb_monitor_t *)dlb(0, 0, 0, 0);
	if (jobeff_region_now == NULL)
		return NULL;
	pthread_mutex_lock(&lock);
	update(&now);
	pthread_mutex_unlock(&lock);
	return &global.shown;
}

extern JE_EXPORT dlb_monitor_t *DLB_MonitoringRegionGetImplicit(void)
	__attribute__((alias("DLB_MonitoringRegionGetGlobal")));
extern JE_EXPORT dlb_monitor_t *DLB_MonitoringRegionGetMPIRegion(void)
	__attribute__((alias("DLB_MonitoringRegionGetGlobal")));

static int act_start(struct region *r, const struct je_region_now *now)
{
	if (observes)
		return DLB_ERR_PERM;
	if (now->running == 0)
		return DLB_ERR_NOTALP;
	if (r->started)
		return DLB_NOUPDT;
	start(r, now);
	return DLB_SUCCESS;
}

static int act_stop(struct region *r, const struct je_region_now *now)
{
	if (observes)
		return DLB_ERR_PERM;
	if (!r->started)
		return DLB_NOUPDT;
	stop(r, now);
	return DLB_SUCCESS;
}

static int act_reset(struct region *r, const struct je_region_now *now)
{
	int resets = r->shown.num_resets + 1;

	if (r->started)
		stop(r, now);
	memset(&r->sums, 0, sizeof(r->sums));
	r->shown = (dlb_monitor_t){ .name = r->name, .num_resets = resets };
	return DLB_SUCCESS;
}

static int act_report(struct region *r, const struct je_region_now *now)
{
	const dlb_monitor_t *m = &r->shown;

	(void)now;
	fprintf(stderr,
		"jobeff: region \"%s\" of process %d\n"
		"  measured %d times, %.6f s; useful %.6f s, MPI %.6f s in %lld calls\n"
		"  OpenMP: imbalance %.6f s, scheduling %.6f s, serial %.6f s in %lld regions\n",
		m->name, (int)getpid(), m->num_measurements, (double)m->elapsed_time / 1e9,
		(double)m->useful_time / 1e9, (double)m->mpi_time / 1e9,
		(long long)m->num_mpi_calls, (double)m->omp_load_imbalance_time / 1e9,
		(double)m->omp_scheduling_time / 1e9, (double)m->omp_serialization_time / 1e9,
		(long long)m->num_omp_parallels);
	return DLB_SUCCESS;
}

/* Does something with a region. If DLB is there, its answer counts: if it refuses, nothing is done,
 * and if it reports, we do not. */
static int with_region(const char *name, const dlb_monitor_t *handle,
		       int (*act)(struct region *r, const struct je_region_now *now))
{
	dlb_fn dlb = behind(name);
	int answer = dlb != NULL ? (int)dlb((intptr_t)handle, 0, 0, 0) : DLB_SUCCESS;
	int own = DLB_ERR_NOTALP;
	struct je_region_now now;

	if (answer != DLB_SUCCESS || (dlb != NULL && act == act_report))
		return answer;
	pthread_mutex_lock(&lock);
	if (update(&now)) {
		struct region *r = region_of(handle, dlb != NULL);

		own = r != NULL ? act(r, &now) : DLB_ERR_NOENT;
	}
	pthread_mutex_unlock(&lock);
	return dlb != NULL ? answer : own;
}

JE_EXPORT int DLB_MonitoringRegionStart(dlb_monitor_t *handle)
{
	return with_region("DLB_MonitoringRegionStart", handle, act_start);
}

JE_EXPORT int DLB_MonitoringRegionStop(dlb_monitor_t *handle)
{
	return with_region("DLB_MonitoringRegionStop", handle, act_stop);
}

JE_EXPORT int DLB_MonitoringRegionReset(dlb_monitor_t *handle)
{
	return with_region("DLB_MonitoringRegionReset", handle, act_reset);
}

JE_EXPORT int DLB_MonitoringRegionReport(const dlb_monitor_t *handle)
{
	return with_region("DLB_MonitoringRegionReport", handle, act_report);
}

JE_EXPORT int DLB_MonitoringRegionsUpdate(void)
{
	dlb_fn dlb = behind("DLB_MonitoringRegionsUpdate");
	struct je_region_now now;
	bool measured;

	if (dlb != NULL)
		return (int)dlb(0, 0, 0, 0);
	pthread_mutex_lock(&lock);
	measured = update(&now);
	pthread_mutex_unlock(&lock);
	return measured ? DLB_SUCCESS : DLB_ERR_NOTALP;
}

/* Seconds of this process. Other processes are not asked. */
JE_EXPORT int DLB_TALP_GetTimes(int pid, double *mpi_time, double *useful_time)
{
	dlb_fn dlb = behind("DLB_TALP_GetTimes");
	int updated;

	if (dlb != NULL)
		return (int)dlb(pid, (intptr_t)mpi_time, (intptr_t)useful_time, 0);
	updated = pid == 0 || pid == getpid() ? DLB_MonitoringRegionsUpdate() : DLB_ERR_NOTALP;
	if (updated != DLB_SUCCESS)
		return updated;
	*mpi_time = (double)global.shown.mpi_time / 1e9;
	*useful_time = (double)global.shown.useful_time / 1e9;
	return DLB_SUCCESS;
}

/* An observer may not start or stop regions. */
JE_EXPORT int DLB_SetObserverRole(bool is_observer)
{
	dlb_fn dlb = behind("DLB_SetObserverRole");

	observes = is_observer;
	return dlb != NULL ? (int)dlb(is_observer, 0, 0, 0) : DLB_SUCCESS;
}

JE_EXPORT int DLB_GetVersion(int *major, int *minor, int *patch)
{
	dlb_fn dlb = behind("DLB_GetVersion");

	if (dlb != NULL)
		return (int)dlb((intptr_t)major, (intptr_t)minor, (intptr_t)patch, 0);
	if (major != NULL)
		*major = JE_DLB_MAJOR;
	if (minor != NULL)
		*minor = JE_DLB_MINOR;
	if (patch != NULL)
		*patch = 0;
	return DLB_SUCCESS;
}

JE_EXPORT const char *DLB_Strerror(int code)
{
	dlb_fn dlb = behind("DLB_Strerror");

	if (dlb != NULL)
		return (const char *)dlb(code, 0, 0, 0);
	switch (code) {
	case DLB_SUCCESS:
		return "Success";
	case DLB_NOUPDT:
		return "Nothing was to be done";
	case DLB_ERR_PERM:
		return "This thread may not do that";
	case DLB_ERR_NOENT:
		return "There is no such region";
	case DLB_ERR_NOTALP:
		return "TALP is off: jobeff does not measure this process, or does not serve this";
	default:
		return "Unknown code";
	}
}

/* DLB's newer Fortran interface hands texts on with their lengths. */
JE_EXPORT dlb_monitor_t *dlb_monitoringregionregister_(const char *name, size_t bytes)
{
	char text[JE_DLB_NAME_MAX];

	while (bytes > 0 && name[bytes - 1] == ' ')
		bytes--;
	if (bytes >= sizeof(text))
		bytes = sizeof(text) - 1;
	memcpy(text, name, bytes);
	text[bytes] = '\0';
	return DLB_MonitoringRegionRegister(text);
}
