/* plugin.c: every entry point of the plugin, and the map of it.
 *
 *   where                     what
 *   sbatch, srun, salloc      options.c: --jobeff, --jobeff-workload; nothing else
 *   slurmd                    nothing
 *   slurmstepd spank prolog   prolog.c, front.c: a child loads the Go body, which
 *                             decides and makes the job's directory
 *   slurmstepd                step.c, inject.c, ranks.c: the record file and the
 *                             tasks' environment; notes exits. C only: Go there
 *                             loses SIGCHLD and hangs after fork
 *   slurmstepd spank epilog   epilog.c, front.c: children fold and ship
 *
 * Each returns 0 whatever happens: a job never notices. Only the submitting
 * commands may refuse a wrong option.
 */
#include "jobeff_spank.h"

#define JE_EXPORT __attribute__((visibility("default")))

#pragma GCC visibility push(default)
SPANK_PLUGIN(jobeff, 1)
#pragma GCC visibility pop

JE_EXPORT int slurm_spank_init(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() != S_CTX_SLURMD)
		je_options_register(sp);
	return 0;
}

/* In slurmstepd: root, before any task, with the options read. */
JE_EXPORT int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	if (spank_context() == S_CTX_REMOTE)
		je_step_begin(sp, je_settings(ac, av));
	return 0;
}

/* In slurmstepd: the effective user is the job's. */
JE_EXPORT int slurm_spank_user_init(spank_t sp, int ac, char **av)
{
	if (spank_context() == S_CTX_REMOTE)
		je_step_user(sp, je_settings(ac, av));
	return 0;
}

/* In the task, as the user, after the containers' plugins (we are named zz-). */
JE_EXPORT int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	if (spank_context() == S_CTX_REMOTE)
		je_step_task(sp, je_settings(ac, av));
	return 0;
}

JE_EXPORT int slurm_spank_task_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE)
		je_step_task_exit(sp);
	return 0;
}

JE_EXPORT int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE)
		je_step_end(sp);
	return 0;
}

JE_EXPORT int slurm_spank_job_prolog(spank_t sp, int ac, char **av)
{
	je_prolog(sp, je_settings(ac, av));
	return 0;
}

JE_EXPORT int slurm_spank_job_epilog(spank_t sp, int ac, char **av)
{
	je_epilog(sp, je_settings(ac, av));
	return 0;
}
