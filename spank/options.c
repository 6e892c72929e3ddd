/* options.c: --jobeff=off|on and --jobeff-workload=NAME.
 *
 * They are a convenience. They do not exist while the plugin does not load; JOBEFF=off in the
 * environment always works. A wrong value is an error at submission only. On the node, only a
 * job's owner can have forged it, and it is ignored.
 */
#include <string.h>

#include "jobeff_spank.h"

static struct je_wishes wishes;

static bool read_measure(const char *text, enum je_wish *wish)
{
	if (strcmp(text, "on") == 0)
		*wish = JE_WISH_ON;
	else if (strcmp(text, "off") == 0)
		*wish = JE_WISH_OFF;
	else
		return false;
	return true;
}

/* A workload's name is one printable word, because event lines contain it. */
static bool read_workload(const char *text, char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+:@/-";
	size_t n = strspn(text, allowed);

	if (n == 0 || n >= JE_WORKLOAD || text[n] != '\0')
		return false;
	memcpy(name, text, n + 1);
	return true;
}

static int on_measure(int val, const char *arg, int remote)
{
	(void)val;
	if (arg != NULL && read_measure(arg, &wishes.measure))
		return 0;
	if (remote != 0)
		return 0;
	slurm_error("jobeff: --jobeff takes on or off, as in --jobeff=off");
	return -1;
}

static int on_workload(int val, const char *arg, int remote)
{
	(void)val;
	if (arg != NULL && read_workload(arg, wishes.workload))
		return 0;
	if (remote != 0)
		return 0;
	slurm_error("jobeff: --jobeff-workload takes a name of 1 to %d letters, digits and . _ + : "
		    "@ / -",
		    JE_WORKLOAD - 1);
	return -1;
}

static struct spank_option measure = {
	"jobeff",
	"off|on",
	"measure this job's parallel efficiency, where the site does (default: on)",
	1,
	1,
	on_measure
};
static struct spank_option workload = {
	"jobeff-workload", "NAME", "jobs of one NAME are compared with each other", 1, 2,
	on_workload
};

/* sbatch and salloc do not read the static table of options, so they are registered here. */
void je_options_register(spank_t sp)
{
	spank_option_register(sp, &measure);
	spank_option_register(sp, &workload);
}

const struct je_wishes *je_options(void)
{
	return &wishes;
}

enum je_wish je_options_of_job(spank_t sp)
{
	enum je_wish wish = JE_WISH_NONE;
	char *arg = NULL;

	if (spank_option_getopt(sp, &measure, &arg) == ESPANK_SUCCESS && arg != NULL)
		read_measure(arg, &wish);
	return wish;
}
