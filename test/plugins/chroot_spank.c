/* chroot_spank.c: a site's container plugin in small. A job with JAIL=DIR in its
 * environment has its tasks' root changed to DIR, where nothing of jobeff is. */
#include <stdlib.h>
#include <unistd.h>

#include <slurm/spank.h>

SPANK_PLUGIN(chroot, 1)

int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av)
{
	char jail[4096];

	(void)ac;
	(void)av;
	if (spank_getenv(sp, "JAIL", jail, sizeof(jail)) != ESPANK_SUCCESS)
		return 0;
	return chroot(jail) < 0 || chdir("/") < 0 ? -1 : 0;
}
