/* fakedlb.c: stands for DLB: its handles begin with the name, and it tells of each start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct monitor {
	const char *name;
	int others[200];
};

struct monitor *DLB_MonitoringRegionRegister(const char *name)
{
	static struct monitor loop, inner;
	struct monitor *m = strcmp(name, "loop") == 0 ? &loop : &inner;

	m->name = strcmp(name, "loop") == 0 ? "loop" : "inner";
	m->others[6] = 3;  /* num_measurements */
	m->others[20] = 1; /* elapsed_time */
	return m;
}

int DLB_MonitoringRegionStart(struct monitor *m)
{
	fprintf(stderr, "DLB: start %s\n", m->name);
	return 0;
}

int DLB_MonitoringRegionStop(struct monitor *m)
{
	return m->name == NULL;
}
