/* prolog.c: the start of a job on a node. It runs in `slurmstepd spank prolog`, a fresh process of
 * root, in slurmd's mount namespace.
 *
 * The Go body decides whether to measure the job, and makes the job's directory. If it fails, the
 * directory is made here. Then the record gets its file system, before the first step starts.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "jobeff_spank.h"

#define JE_PROLOG_MS 1900

static uint32_t number(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL ? (uint32_t)strtoul(value, NULL, 10) : 0;
}

/* Completes what the body began. Without a record, the job is not measured. */
static void complete(int run, const struct je_ids *ids, const struct je_settings *set,
		     bool unwanted)
{
	char why[256];
	int dir = je_jobdir_open(run, ids->job_id);

	if (dir < 0 && !je_killed()) {
		je_append(run, JE_FAILED, "x", 1);
		dir = je_jobdir_make(run, ids, set->config);
		if (dir >= 0 && unwanted)
			je_jobdir_refuse(dir, "asked by the job (--jobeff=off)");
	}
	if (dir < 0)
		return;
	if (je_jobdir_measured(dir) && !je_ranks_prepare(run, dir, ids, why, sizeof(why)))
		je_jobdir_refuse(dir, why);
	close(dir);
}

void je_prolog(spank_t sp, const struct je_settings *set)
{
	char request[PATH_MAX + 256];
	const struct je_body body = { "jobeff_body_prolog", request, -1 };
	struct je_ids ids = { .gid = number("SLURM_JOB_GID"),
			      .nnodes = number("SLURM_JOB_NUM_NODES"),
			      .prolog = 2 };
	bool unwanted = je_options_of_job(sp) == JE_WISH_OFF;
	int run;

	je_fill_stdio();
	if (spank_get_item(sp, S_JOB_ID, &ids.job_id) != ESPANK_SUCCESS ||
	    ids.job_id >= JE_NO_ALLOCATION || /* no epilog would remove anything */
	    spank_get_item(sp, S_JOB_UID, &ids.uid) != ESPANK_SUCCESS || (run = je_run_open()) < 0)
		return;
	je_jobdir_retire_stranger(run, ids.job_id, ids.uid, getenv("SLURM_JOB_RESTART_COUNT"));
	snprintf(request, sizeof(request), "run_dir %s\nconfig %s\njob_id %u\nuid %u\nasked %s\n",
		 JE_NOTES_DIR, set->config, ids.job_id, ids.uid, unwanted ? "off" : "");
	je_bodies_run(set, &body, 1, JE_PROLOG_MS);
	complete(run, &ids, set, unwanted);
	close(run);
}
