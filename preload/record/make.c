/* make.c: the head of a record, the id of this boot, and one moment on several clocks. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "make.h"

enum { JE_TRIES = 4 };

uint64_t je_clock_ns(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) != 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool ticks_of(uint32_t kind, uint64_t *ticks)
{
	switch (kind) {
	case JE_CLOCK_MONOTONIC_NS:
		*ticks = je_clock_ns(CLOCK_MONOTONIC);
		return true;
#if defined(__x86_64__)
	case JE_CLOCK_TSC:
		*ticks = __builtin_ia32_rdtsc();
		return true;
#elif defined(__aarch64__)
	case JE_CLOCK_CNTVCT:
		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(*ticks));
		return true;
#endif
	default:
		return false;
	}
}

/* Takes the narrowest of several readings. A preemption between two clocks would otherwise distort
 * the rate that the fold computes. */
bool je_pair_read(uint32_t kind, struct je_pair *pair)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < JE_TRIES; i++) {
		uint64_t ticks, before = je_clock_ns(CLOCK_MONOTONIC);

		if (!ticks_of(kind, &ticks))
			return false;

		uint64_t real = je_clock_ns(CLOCK_REALTIME);
		uint64_t width = je_clock_ns(CLOCK_MONOTONIC) - before;

		if (width >= best)
			continue;
		best = width;
		pair->mono_ns = kind == JE_CLOCK_MONOTONIC_NS ? ticks : before + width / 2;
		pair->ticks = ticks;
		pair->real_ns = real;
	}
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool je_boot_id(uint8_t id[16])
{
	char text[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC), digits = 0;
	ssize_t bytes = fd < 0 ? 0 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < bytes && digits < 32; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			continue; /* the dashes */
		id[digits / 2] = (uint8_t)(digits % 2 == 0 ? digit << 4 : id[digits / 2] | digit);
		digits++;
	}
	return digits == 32;
}

bool je_head_make(struct je_head *head, uint64_t bytes, uint32_t uid, const uint8_t nonce[16])
{
	memset(head, 0, sizeof(*head));
	memcpy(head->magic, JE_MAGIC, sizeof(head->magic));
	head->version = JE_VERSION;
	head->head_bytes = JE_HEAD_BYTES;
	head->slot_bytes = JE_SLOT_BYTES;
	head->slots = (uint32_t)((bytes - JE_HEAD_BYTES) / JE_SLOT_BYTES);
	memcpy(head->nonce, nonce, sizeof(head->nonce));
	head->uid = uid;
	head->made_mono_ns = je_clock_ns(CLOCK_MONOTONIC);
	head->made_real_ns = je_clock_ns(CLOCK_REALTIME);
	return je_boot_id(head->boot_id);
}
