/* steady.c: how long a core of 3 GHz would take for blocks of calls, for calls.c and calls.F90.
 *
 * The clock of a shared machine's core changes by a fifth within a second. So each block runs
 * between two chains of multiplications, which take a known number of cycles, and its time is
 * converted to cycles. The names end in _ because Fortran calls them so.
 */
#include <stdlib.h>

#include "steady.h"
#include "times.h"

enum { BLOCKS = 101, CALLS = 1000, GHZ = 3, LINKS = 3000, CYCLES = 3 /* per multiplication */ };

static double took[BLOCKS], start, cycle;
static int blocks;

static double ns_of_cycle(void)
{
	unsigned long x = 3;
	double from = now_ns();

	for (int i = 0; i < LINKS; i++) {
		x *= x;
		__asm__ volatile("" : "+r"(x));
	}
	return (now_ns() - from) / (LINKS * CYCLES);
}

int block_begin_(void)
{
	if (blocks == BLOCKS)
		return 0;
	cycle = ns_of_cycle();
	start = now_ns();
	return CALLS;
}

void block_end_(void)
{
	double ns = now_ns() - start;

	took[blocks++] = ns / CALLS / ((cycle + ns_of_cycle()) / 2) / GHZ;
}

double blocks_quick_(void)
{
	qsort(took, BLOCKS, sizeof(took[0]), by_size);
	blocks = 0;
	return took[BLOCKS / 4];
}
