/* outofmemory.h: for programs that the kernel is to kill for their memory. */
#ifndef OUTOFMEMORY_H
#define OUTOFMEMORY_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a job's processes the kernel kills the largest, and slurmstepd may be that: then nobody sees
 * how the ranks end, and the job does not. So the caller asks to be the first. */
static void take_all_memory(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY);

	if (fd < 0 || write(fd, "1000", 4) != 4)
		abort();
	close(fd);
	for (;;)
		memset(malloc(1 << 20), 1, 1 << 20);
}

#endif
