/* plugin.c: every entry point of the plugin, and what runs where.
 *
 *   where                     what
 *   sbatch, srun, salloc      options.c: --jobeff, --jobeff-workload; nothing else
 *   slurmd                    nothing
 *   slurmstepd spank prolog   prolog.c, front.c: a child loads the Go body. That
 *                             decides, and makes the job's directory. Then
 *                             recordfs.c, ranks.c: the record and its tmpfs
 *   slurmstepd                step.c, inject.c: the tasks' environment, and
 *                             notes of their exits, with what the kernel
 *                             counted (cgroup.c). C only: Go here loses
 *                             SIGCHLD and hangs after fork
 *   slurmstepd spank epilog   epilog.c, front.c: children fold and ship
 *
 * In a release of Slurm that jobeff does not know, only the options work. Each entry point returns
 * 0 whatever happens: a job never notices. Only sbatch, srun and salloc may refuse a wrong option.
 */
#include "jobeff_spank.h"

#define JE_EXPORT __attribute__((visibility("default")))

static bool in_step(void)
{
	return spank_context() == S_CTX_REMOTE && je_release_known();
}

JE_EXPORT int slurm_spank_init(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() != S_CTX_SLURMD)
		je_options_register(sp);
	return 0;
}

/* In slurmstepd, as root, before any task. The options are read by now. */
JE_EXPORT int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	if (in_step())
		je_step_begin(sp, je_settings(ac, av));
	return 0;
}

/* In slurmstepd. The effective user is the job's. */
JE_EXPORT int slurm_spank_user_init(spank_t sp, int ac, char **av)
{
	if (in_step())
		je_step_user(sp, je_settings(ac, av));
	return 0;
}

/* In the task, as the user, after the plugins of containers: our file's name begins with zz-. */
JE_EXPORT int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	if (in_step())
		je_step_task(sp, je_settings(ac, av));
	return 0;
}

/* In slurmstepd, as root, for each task. */
JE_EXPORT int slurm_spank_task_post_fork(spank_t sp, int ac, char **av)
{
	(void)sp;
	(void)ac;
	(void)av;
	if (in_step())
		je_step_forked();
	return 0;
}

JE_EXPORT int slurm_spank_task_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (in_step())
		je_step_task_exit(sp);
	return 0;
}

JE_EXPORT int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (in_step())
		je_step_end(sp);
	return 0;
}

JE_EXPORT int slurm_spank_job_prolog(spank_t sp, int ac, char **av)
{
	if (je_release_known())
		je_prolog(sp, je_settings(ac, av));
	return 0;
}

JE_EXPORT int slurm_spank_job_epilog(spank_t sp, int ac, char **av)
{
	if (je_release_known())
		je_epilog(sp, je_settings(ac, av));
	return 0;
}
