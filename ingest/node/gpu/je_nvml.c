#include "je_nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

typedef unsigned int code;

static struct {
	code (*init)(void);
	code (*count)(unsigned int *n);
	code (*handle)(unsigned int index, void **gpu);
	code (*uuid)(void *gpu, char *text, unsigned int size);
	code (*minor)(void *gpu, unsigned int *minor);
	code (*pci)(void *gpu, struct je_nvml_pci *pci);
	code (*persistence)(void *gpu, unsigned int *on);
	code (*accounting)(void *gpu, unsigned int *on);
	code (*room)(void *gpu, unsigned int *n);
	code (*pids)(void *gpu, unsigned int *n, unsigned int *pids);
	code (*stats)(void *gpu, unsigned int pid, struct je_nvml_stats *stats);
	/* NULL where the library is older */
	code (*stats_v2)(void *gpu, struct je_nvml_stats_v2 *stats);
	code (*mig)(void *gpu, unsigned int *now, unsigned int *pending);
} je_lib;

static const struct {
	const char *name;
	void *slot;
	int optional;
} je_functions[] = {
	{ "nvmlInit_v2", &je_lib.init, 0 },
	{ "nvmlDeviceGetCount_v2", &je_lib.count, 0 },
	{ "nvmlDeviceGetHandleByIndex_v2", &je_lib.handle, 0 },
	{ "nvmlDeviceGetUUID", &je_lib.uuid, 0 },
	{ "nvmlDeviceGetMinorNumber", &je_lib.minor, 0 },
	{ "nvmlDeviceGetPciInfo_v3", &je_lib.pci, 0 },
	{ "nvmlDeviceGetPersistenceMode", &je_lib.persistence, 0 },
	{ "nvmlDeviceGetAccountingMode", &je_lib.accounting, 0 },
	{ "nvmlDeviceGetAccountingBufferSize", &je_lib.room, 0 },
	{ "nvmlDeviceGetAccountingPids", &je_lib.pids, 0 },
	{ "nvmlDeviceGetAccountingStats", &je_lib.stats, 0 },
	{ "nvmlDeviceGetAccountingStats_v2", &je_lib.stats_v2, 1 },
	{ "nvmlDeviceGetMigMode", &je_lib.mig, 1 },
};

const char *je_nvml_load(void)
{
	void *h = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	if (h == NULL)
		return "libnvidia-ml.so.1";
	for (size_t i = 0; i < sizeof(je_functions) / sizeof(*je_functions); i++) {
		void *symbol = dlsym(h, je_functions[i].name);

		if (symbol == NULL && !je_functions[i].optional)
			return je_functions[i].name;
		memcpy(je_functions[i].slot, &symbol, sizeof(symbol));
	}
	return NULL;
}

unsigned int je_nvml_init(unsigned int *gpus)
{
	code c = je_lib.init();

	return c != 0 ? c : je_lib.count(gpus);
}

unsigned int je_gpu_open(unsigned int index, struct je_gpu *gpu)
{
	struct je_nvml_pci pci = { 0 };
	unsigned int pending;
	code c;

	*gpu = (struct je_gpu){ 0 };
	if ((c = je_lib.handle(index, &gpu->handle)) != 0 ||
	    (c = je_lib.uuid(gpu->handle, gpu->uuid, sizeof(gpu->uuid))) != 0 ||
	    (c = je_lib.minor(gpu->handle, &gpu->minor)) != 0 ||
	    (c = je_lib.pci(gpu->handle, &pci)) != 0)
		return c;
	gpu->uuid[sizeof(gpu->uuid) - 1] = '\0';
	gpu->place = (uint64_t)pci.domain << 32 | pci.bus << 16 | pci.device;
	if (je_lib.mig == NULL)
		return 0;
	c = je_lib.mig(gpu->handle, &gpu->is_mig, &pending);
	return c == JE_NVML_NOT_SUPPORTED ? 0 : c; /* a GPU without MIG */
}

unsigned int je_gpu_accounts(const struct je_gpu *gpu, struct je_gpu_accounts *accounts)
{
	code c;

	*accounts = (struct je_gpu_accounts){ 0 };
	if ((c = je_lib.persistence(gpu->handle, &accounts->is_persistent)) != 0 ||
	    !accounts->is_persistent)
		return c;
	if ((c = je_lib.accounting(gpu->handle, &accounts->is_on)) != 0 || !accounts->is_on)
		return c;
	return je_lib.room(gpu->handle, &accounts->room);
}

unsigned int je_gpu_pids(const struct je_gpu *gpu, unsigned int *n, unsigned int *pids)
{
	return je_lib.pids(gpu->handle, n, pids);
}

static int64_t je_known(unsigned long long n)
{
	return n > LLONG_MAX ? -1 : (int64_t)n;
}

/* NVML_VALUE_NOT_AVAILABLE is -1, and a percentage is at most 100. */
static int64_t je_share(unsigned int percent)
{
	return percent > 100 ? -1 : 100 * (int64_t)percent;
}

static unsigned int je_process_v2(const struct je_gpu *gpu, unsigned int pid,
				  struct je_gpu_process *p)
{
	struct je_nvml_stats_v2 s = { .pid = pid };
	code c = je_lib.stats_v2(gpu->handle, &s);

	*p = (struct je_gpu_process){ .start_us = je_known(s.start_us),
				      .life_ms = je_known(s.life_ms),
				      .samples = s.samples,
				      .memory = je_known(s.most_memory),
				      .busy = je_share(s.gpu_percent),
				      .is_running = s.is_running };
	if (s.samples > 0 && p->busy >= 0 && s.gpu_sum / s.samples <= 10000)
		p->busy = (int64_t)(s.gpu_sum / s.samples);
	return c;
}

unsigned int je_gpu_process(const struct je_gpu *gpu, unsigned int pid, struct je_gpu_process *p)
{
	struct je_nvml_stats s = { 0 };
	code c;

	if (je_lib.stats_v2 != NULL && (c = je_process_v2(gpu, pid, p)) != JE_NVML_NOT_SUPPORTED)
		return c;
	c = je_lib.stats(gpu->handle, pid, &s);
	*p = (struct je_gpu_process){ .start_us = je_known(s.start_us),
				      .life_ms = je_known(s.life_ms),
				      .samples = -1,
				      .memory = je_known(s.most_memory),
				      .busy = je_share(s.gpu_percent),
				      .is_running = s.is_running };
	return c;
}
