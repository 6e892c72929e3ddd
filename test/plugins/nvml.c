/* A stand-in for NVIDIA's libnvidia-ml.so.1. It tells what the file `gpus` beside it says, in
 * lines:
 *
 *   init CODE              nvmlInit_v2 returns this
 *   delay MS               each question about a process takes so long
 *   hang                   … and all of them never end
 *   gpu UUID MINOR BUS     the next GPU, of which the lines below are:
 *   mig | off | lost CODE | transient | deny CODE | room N
 *                          MIG is on, accounting is off, its handle or its accounts fail,
 *                          persistence mode is off, how many processes it keeps (4000)
 *   process PID START_US LIFE_MS SAMPLES BUSY MEMORY RUNNING
 *   many N START_US LIFE_MS SAMPLES BUSY MEMORY RUNNING       so many of them, pids from 1000
 *   include FILE           lines of another file
 *
 * BUSY is in 1/10000. OLD leaves out what older libraries lack. Who may have rights gets no answer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../../ingest/node/gpu/je_nvml.h"

enum { GPUS = 16, KEPT = 20000 };

struct kept {
	unsigned pid;
	struct je_gpu_process p;
};

static struct {
	char uuid[96];
	unsigned minor, bus, mig, off, lost, transient, deny, room, n;
	struct kept kept[KEPT];
} gpus[GPUS];
static unsigned n_gpus, init_code, delay_ms, hangs;

static void keep(unsigned pid, const struct je_gpu_process *p)
{
	if (n_gpus > 0 && gpus[n_gpus - 1].n < KEPT)
		gpus[n_gpus - 1].kept[gpus[n_gpus - 1].n++] = (struct kept){ pid, *p };
}

static void line(const char *text);

static void lines(const char *path)
{
	char text[512];
	FILE *f = fopen(path, "r");

	while (f != NULL && fgets(text, sizeof(text), f) != NULL)
		line(text);
	if (f != NULL)
		fclose(f);
}

static void line(const char *text)
{
	struct je_gpu_process p;
	char word[32], file[256];
	unsigned n, *of = NULL;

	if (sscanf(text, "%31s", word) != 1)
		return;
	if (strcmp(word, "gpu") == 0 && n_gpus < GPUS) {
		gpus[n_gpus].room = 4000;
		sscanf(text, "gpu %95s %u %u", gpus[n_gpus].uuid, &gpus[n_gpus].minor,
		       &gpus[n_gpus].bus);
		n_gpus++;
	}
	for (int i = 0; i < 2; i++)
		if (sscanf(text,
			   i == 0 ? "process %u %ld %ld %ld %ld %ld %u"
				  : "many %u %ld %ld %ld %ld %ld %u",
			   &n, &p.start_us, &p.life_ms, &p.samples, &p.busy, &p.memory,
			   &p.is_running) == 7)
			for (unsigned k = 0; k < (i == 0 ? 1 : n); k++)
				keep(i == 0 ? n : 1000 + k, &p);
	if (sscanf(text, "include %255s", file) == 1)
		lines(file);
	if (strcmp(word, "hang") == 0)
		hangs = 1;
	sscanf(text, "init %u", &init_code);
	sscanf(text, "delay %u", &delay_ms);
	if (n_gpus == 0)
		return;
	of = strcmp(word, "mig") == 0	      ? &gpus[n_gpus - 1].mig
	     : strcmp(word, "off") == 0	      ? &gpus[n_gpus - 1].off
	     : strcmp(word, "transient") == 0 ? &gpus[n_gpus - 1].transient
					      : NULL;
	if (of != NULL)
		*of = 1;
	sscanf(text, "lost %u", &gpus[n_gpus - 1].lost);
	sscanf(text, "deny %u", &gpus[n_gpus - 1].deny);
	sscanf(text, "room %u", &gpus[n_gpus - 1].room);
}

#define GPU(handle) (&gpus[(size_t)(handle)-1])

unsigned nvmlInit_v2(void)
{
	Dl_info me;
	char path[512];

	dladdr((void *)nvmlInit_v2, &me);
	snprintf(path, sizeof(path), "%.*s/gpus", (int)(strrchr(me.dli_fname, '/') - me.dli_fname),
		 me.dli_fname);
	lines(path);
	/* jobeff asks without rights, and without a way to gain some */
	return geteuid() == 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ? 999 : init_code;
}

unsigned nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = n_gpus;
	return 0;
}

unsigned nvmlDeviceGetHandleByIndex_v2(unsigned i, void **handle)
{
	*handle = (void *)((size_t)i + 1);
	return gpus[i].lost;
}

unsigned nvmlDeviceGetUUID(void *h, char *text, unsigned size)
{
	snprintf(text, size, "%s", GPU(h)->uuid);
	return 0;
}

unsigned nvmlDeviceGetMinorNumber(void *h, unsigned *minor)
{
	*minor = GPU(h)->minor;
	return 0;
}

unsigned nvmlDeviceGetPciInfo_v3(void *h, struct je_nvml_pci *pci)
{
	*pci = (struct je_nvml_pci){ .bus = GPU(h)->bus };
	return 0;
}

unsigned nvmlDeviceGetPersistenceMode(void *h, unsigned *on)
{
	*on = !GPU(h)->transient;
	return 0;
}

unsigned nvmlDeviceGetAccountingMode(void *h, unsigned *on)
{
	*on = !GPU(h)->off && !GPU(h)->mig;
	return GPU(h)->deny;
}

unsigned nvmlDeviceGetAccountingBufferSize(void *h, unsigned *n)
{
	*n = GPU(h)->room;
	return 0;
}

unsigned nvmlDeviceGetAccountingPids(void *h, unsigned *n, unsigned *pids)
{
	unsigned room = *n;

	*n = GPU(h)->n;
	if (room < *n)
		return JE_NVML_INSUFFICIENT_SIZE;
	for (unsigned i = 0; i < *n; i++)
		pids[i] = GPU(h)->kept[i].pid;
	return 0;
}

static const struct je_gpu_process *stats_of(void *h, unsigned pid)
{
	const struct je_gpu_process *latest = NULL;

	if (delay_ms > 0)
		usleep(delay_ms * 1000);
	while (hangs)
		pause();
	for (unsigned i = 0; i < GPU(h)->n; i++)
		if (GPU(h)->kept[i].pid == pid)
			latest = &GPU(h)->kept[i].p;
	return latest;
}

unsigned nvmlDeviceGetAccountingStats(void *h, unsigned pid, struct je_nvml_stats *s)
{
	const struct je_gpu_process *p = stats_of(h, pid);

	if (p == NULL)
		return JE_NVML_NOT_FOUND;
	s->gpu_percent = p->busy < 0 ? (unsigned)-1 : (unsigned)p->busy / 100;
	s->most_memory = p->memory;
	s->life_ms = p->is_running ? 0 : p->life_ms;
	s->start_us = p->start_us;
	s->is_running = p->is_running;
	return 0;
}

#ifndef OLD
unsigned nvmlDeviceGetMigMode(void *h, unsigned *now, unsigned *pending)
{
	*now = *pending = GPU(h)->mig;
	return GPU(h)->mig ? 0 : JE_NVML_NOT_SUPPORTED;
}

unsigned nvmlDeviceGetAccountingStats_v2(void *h, struct je_nvml_stats_v2 *s)
{
	const struct je_gpu_process *p = stats_of(h, s->pid);

	if (p == NULL)
		return JE_NVML_NOT_FOUND;
	s->gpu_percent = p->busy < 0 ? (unsigned)-1 : (unsigned)p->busy / 100;
	s->most_memory = p->memory;
	s->samples = p->samples;
	s->gpu_sum = p->busy < 0 ? 0 : (unsigned long long)p->busy * p->samples;
	s->life_ms = p->is_running ? 0 : p->life_ms;
	s->start_us = p->start_us;
	s->is_running = p->is_running;
	return 0;
}
#endif
