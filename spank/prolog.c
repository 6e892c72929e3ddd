/* prolog.c: the start of a job on a node. It runs in `slurmstepd spank prolog`, a fresh process of
 * root.
 *
 * The Go body decides whether to measure the job, and makes the job's directory. If it fails, the
 * first step makes one.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobeff_spank.h"

#define JE_PROLOG_MS 1900

void je_prolog(spank_t sp, const struct je_settings *set)
{
	char request[PATH_MAX + 256];
	const struct je_body body = { "jobeff_body_prolog", request, -1 };
	uint32_t job_id;
	uid_t uid;
	int run;

	je_fill_stdio();
	if (spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS || (run = je_run_open()) < 0)
		return;
	je_jobdir_retire_stranger(run, job_id, uid, getenv("SLURM_JOB_RESTART_COUNT"));
	close(run);
	snprintf(request, sizeof(request), "run_dir %s\nconfig %s\njob_id %u\nuid %u\nasked %s\n",
		 JE_RUN_DIR, set->config, job_id, uid,
		 je_options_of_job(sp) == JE_WISH_OFF ? "off" : "");
	je_bodies_run(set, &body, 1, JE_PROLOG_MS);
}
