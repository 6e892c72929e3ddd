/* cgroup.c: what the plugin reads of a step's cgroups, for tests without Slurm.
 *
 *   cgroup OWN TREE    takes OWN for /proc/self/cgroup and TREE for /sys/fs/cgroup; prints where
 * the job's is, waits for a line, and prints what it counted meanwhile
 */
#include <stdio.h>

#include "../../jobeff_spank.h"

int main(int argc, char **argv)
{
	static struct je_cgroup c;
	char text[768];

	if (argc != 3)
		return 2;
	je_cgroup_find(&c, argv[1], argv[2]);
	puts(c.job);
	fflush(stdout);
	getchar();
	je_cgroup_tell(&c, text, sizeof(text));
	puts(text);
	return 0;
}
