/* The part of libnvidia-ml.so.1 (NVML) that jobeff uses, found at run time: neither building nor
 * starting a jobeff program needs it. Structures and names are NVML's ABI, which header_test.go
 * compares with NVIDIA's nvml.h. Functions return NVML's codes, 0 for success. */
#ifndef JE_NVML_H
#define JE_NVML_H

#include <stdint.h>

enum {
	JE_NVML_NOT_SUPPORTED = 3,
	JE_NVML_NO_PERMISSION = 4,
	JE_NVML_NOT_FOUND = 6,
	JE_NVML_INSUFFICIENT_SIZE = 7,
	JE_NVML_NO_DRIVER = 9,
};

struct je_nvml_pci { /* nvmlPciInfo_t */
	char bus_id_legacy[16];
	unsigned int domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

struct je_nvml_stats { /* nvmlAccountingStats_t */
	unsigned int gpu_percent, memory_percent;
	unsigned long long most_memory; /* bytes */
	unsigned long long life_ms, start_us;
	unsigned int is_running, reserved[5];
};

struct je_nvml_stats_v2 { /* nvmlAccountingStats_v2_t */
	unsigned int pid, is_running, gpu_percent, memory_percent;
	unsigned long long most_memory; /* bytes */
	unsigned int samples;
	unsigned long long gpu_sum, memory_sum; /* over the samples, in 1/100 of a percent */
	unsigned long long life_ms, start_us;
};

struct je_gpu {
	void *handle;
	char uuid[96];
	unsigned int minor; /* of /dev/nvidiaN */
	uint64_t place;	    /* on the PCI buses: it sorts as they do */
	unsigned int is_mig;
};

struct je_gpu_accounts {
	unsigned int is_persistent, is_on, room; /* how many processes are kept */
};

/* What is not known of a process is -1. */
struct je_gpu_process {
	int64_t start_us, life_ms, samples, memory;
	int64_t busy; /* part of its life in which a kernel ran, in 1/10000 */
	unsigned int is_running;
};

/* Loads the library; NULL if it did, else what is missing (static text). */
const char *je_nvml_load(void);
unsigned int je_nvml_init(unsigned int *gpus);
unsigned int je_gpu_open(unsigned int index, struct je_gpu *gpu);
unsigned int je_gpu_accounts(const struct je_gpu *gpu, struct je_gpu_accounts *accounts);
/* *n: the room in pids, then how many there are. */
unsigned int je_gpu_pids(const struct je_gpu *gpu, unsigned int *n, unsigned int *pids);
unsigned int je_gpu_process(const struct je_gpu *gpu, unsigned int pid, struct je_gpu_process *p);

#endif
