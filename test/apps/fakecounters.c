/* fakecounters.c: counters.c of the library with made-up events, for machines without. Each
 * reading of an event is STEP more than the one before. With -DREADS=n the events lose their
 * CPU after n readings; with -DWITH_MAIN it is a program that tests the arithmetic. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STEP = 1000, WIDTH = 48, OFFSET = 7000 };

#ifndef READS
#define READS -1
#endif

static struct perf_event_mmap_page *pages[2];
static uint64_t counts[2];
static uint64_t raw; /* what the CPU says in the program */
static int opened, reads = READS, disturb;

static long fake_open(void)
{
	int fd = memfd_create("event", MFD_CLOEXEC);

	if (fd < 0 || opened == 2 || ftruncate(fd, 4096) != 0)
		return -1;
	pages[opened] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pages[opened]->cap_user_rdpmc = 1;
	pages[opened]->index = (uint32_t)opened + 1;
	pages[opened]->pmc_width = WIDTH;
	pages[opened++]->offset = OFFSET;
	return fd;
}

static uint64_t fake_rdpmc(int counter)
{
#ifdef WITH_MAIN
	if (disturb > 0 && disturb--) /* the thread was moved meanwhile */
		pages[0]->lock += 2;
	(void)counter;
	return raw;
#else
	if (reads > 0 && --reads == 0)
		pages[counter]->index = 0;
	return counts[counter] += STEP;
#endif
}

#define syscall(...) fake_open()
#define JE_RDPMC(counter) fake_rdpmc(counter)
#include "../../preload/lib/counters.c"

#ifdef WITH_MAIN
__thread struct je_thread je_me;

static int check(uint64_t cpu, int64_t offset, uint16_t width, uint64_t want)
{
	uint64_t got = 1;

	raw = cpu;
	pages[0]->offset = offset;
	pages[0]->pmc_width = width;
	if (je_counter_read(pages[0], &got) && got == want)
		return 0;
	printf("rdpmc %llx, offset %lld, width %u: %llx, want %llx\n", (unsigned long long)cpu,
	       (long long)offset, width, (unsigned long long)got, (unsigned long long)want);
	return 1;
}

int main(void)
{
	uint64_t value = 42;
	int wrong = 0;

	fake_open();
	wrong += check(5, 0, 48, 5);
	wrong += check(5, 100, 48, 105);
	wrong += check(0xffffffffffff, 100, 48, 99); /* -1: counters start below zero */
	wrong += check(0x800000000001, 1ll << 47, 48, 1);
	wrong += check(0xabcd000000000005, 0, 48, 5); /* what is over the width is nothing */
	wrong += check(0x7fffffffff, 1ll << 40, 40, (1ull << 40) + 0x7fffffffff);
	wrong += check(0xffffffff, 10, 32, 9);
	wrong += check(UINT64_MAX, 10, 64, 9);
	disturb = 3;
	wrong += check(6, 1, 48, 7);
	wrong += disturb != 0;
	pages[0]->index = 0;
	wrong += je_counter_read(pages[0], &value) || value != 42;
	pages[0]->index = 1;
	pages[0]->cap_user_rdpmc = 0;
	wrong += je_counter_read(pages[0], &value) || value != 42;
	printf("%d wrong\n", wrong);
	return wrong != 0;
}
#endif
