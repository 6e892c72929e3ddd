/* tally.h: what a test program itself says that it called, to be compared with the record. */
#ifndef TALLY_H
#define TALLY_H

#include <stdio.h>
#include <string.h>

struct tally {
	char name[64];
	long count, sent, received;
};

static struct tally tallies[256];

/* Notes one call of function `name` (without MPI_) and its bytes. */
static void tally(const char *name, long sent, long received)
{
	struct tally *t = tallies;

	while (t->name[0] != '\0' && strcmp(t->name, name) != 0)
		t++;
	strcpy(t->name, name);
	t->count++;
	t->sent += sent;
	t->received += received;
}

/* One line per function: called NAME COUNT SENT RECEIVED. */
static void tally_print(void)
{
	for (struct tally *t = tallies; t->name[0] != '\0'; t++)
		printf("called MPI_%s %ld %ld %ld\n", t->name, t->count, t->sent, t->received);
}

#endif
