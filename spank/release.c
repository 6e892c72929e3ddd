/* release.c: one plugin for several releases of Slurm.
 *
 * Slurm loads a plugin only if the major and minor of its plugin_version are Slurm's own. Else each
 * srun prints a line. What we use of spank.h is the same in all releases below. So the version is
 * not a constant here: a constructor sets it to the process's own before Slurm reads it.
 *
 * slurm_api_version() numbers the releases one by one, as Slurm's protocol does: 38 is 22.05.
 */
#include "jobeff_spank.h"

#define JE_EXPORT __attribute__((visibility("default")))
#define JE_RELEASE(major, minor) ((unsigned int)(major) << 16 | (unsigned int)(minor) << 8)
#define JE_OLDEST JE_RELEASE(22, 5)
#define JE_NEWEST JE_RELEASE(26, 5)

extern long slurm_api_version(void) __attribute__((weak));

/* In place of SPANK_PLUGIN, whose plugin_version is a constant. */
JE_EXPORT const char plugin_name[] = "jobeff";
JE_EXPORT const char plugin_type[] = "spank";
JE_EXPORT unsigned int plugin_version = JE_NEWEST;
JE_EXPORT const unsigned int spank_plugin_version = 1;

/* The doctor reads from the plugin's file which releases it is for. */
JE_EXPORT const unsigned int jobeff_releases[2] = { JE_OLDEST, JE_NEWEST };

/* Since 23.11, which is 40, there was a release each May and each November. If that changes, Slurm
 * does not load the plugin. */
static unsigned int release_of(unsigned int api)
{
	if (api == 38)
		return JE_RELEASE(22, 5);
	if (api == 39)
		return JE_RELEASE(23, 2);
	return JE_RELEASE(23 + (api - 39) / 2, api % 2 == 0 ? 11 : 5);
}

__attribute__((constructor)) static void take_release(void)
{
	unsigned int api = 0;

	if (slurm_api_version != NULL)
		api = (unsigned int)slurm_api_version() >> 16 & 0xff;
	if (api >= 38)
		plugin_version = release_of(api);
}

/* Whether the plugin may do more than take its options. */
bool je_release_known(void)
{
	return plugin_version >= JE_OLDEST && plugin_version <= JE_NEWEST;
}
