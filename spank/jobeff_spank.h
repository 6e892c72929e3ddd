/* jobeff_spank.h: what the parts of the plugin share.
 *
 * The plugin works at both ends of a job on a node. At the start it makes the place into which
 * preload/ writes. At the end it hands what lies there to ingest/.
 *
 * Law 1 (FLOW 2): nothing here may change what happens to a job. Every entry point returns 0.
 *
 * Each file uses only files above it; plugin.c says which of them runs where:
 *
 *   ../preload/record/make.c   a record's head, the boot id, one moment on several clocks
 *   release.c                  which release of Slurm this is
 *   text.c                     lines `key value`, and random names
 *   cgroup.c                   what the kernel counted of a step and its job
 *   preload_list.c             LD_PRELOAD as a list
 *   options.c                  --jobeff and --jobeff-workload
 *   jobdir.c                   the directory of a job
 *   recordfs.c                 the file system of its record
 *   ranks.c                    the record file in that file system
 *   inject.c                   the environment of the tasks
 *   settings.c                 where the plugin's other parts lie
 *   front.c                    runs the Go body in child processes
 *   step.c                     a step, from its start to its end
 *   prolog.c                   the start of a job on a node
 *   epilog.c                   the end of a job on a node
 *   plugin.c                   every entry point
 */
#ifndef JOBEFF_SPANK_H
#define JOBEFF_SPANK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <slurm/spank.h>

#define JE_RUN_DIR "/run/jobeff" /* <job>/: where its user finds the record */
#define JE_NOTES_DIR \
	JE_RUN_DIR "/notes" /* <job>/: root's notes on it, which nobody else may enter */
#define JE_DONE ".done-"    /* then <job>-<run>: the job has ended, and waits to be folded */
#define JE_GONE ".gone-"    /* likewise: its report is in the outbox */
#define JE_FAILED "failed"  /* a file in JE_NOTES_DIR: a byte for each prolog whose body failed */
#define JE_SITE "site"	    /* another: the site's settings, if it measures every job */
#define JE_NO_ALLOCATION 0xffff0000u /* srun --no-allocate makes up such job ids */
#define JE_RECORD_DIR "record"
#define JE_RANKS JE_RECORD_DIR "/ranks"
#define JE_KILL_SWITCH "/etc/jobeff/off"
#define JE_CONFIG "/etc/jobeff/jobeff.toml"
#define JE_LIB "/$PLATFORM"	 /* ld.so replaces it with the name of the process's processor */
#define JE_HEX 33		 /* 128 bits in hex, and the zero */
#define JE_TEXT 4096		 /* most bytes that are read of a job's `job` file */
#define JE_NOTES_MOST (32 << 20) /* most bytes of a file in root's notes */
#define JE_WORKLOAD 65		 /* the NAME of --jobeff-workload, and the zero */
#define JE_CGROUP_PATH 1024

struct je_ids {
	uint32_t job_id;
	uid_t uid;
	gid_t gid;
	uint32_t nnodes;
	uint32_t array_job, array_task; /* array_job 0: none */
	int prolog; /* 0: none ran, 1: the Go body, 2: that failed or was too slow */
};

/* release.c */
bool je_release_known(void);

/* text.c */
bool je_text_read(int dir, const char *name, char *text, size_t size);
bool je_text_value(const char *text, const char *key, char *value, size_t size);
bool je_append(int dir, const char *name, const char *text, size_t size);
void je_clean(char *text);
bool je_random_hex(char hex[JE_HEX]);
bool je_boot_hex(char hex[JE_HEX]);
bool je_unhex(const char *hex, uint8_t bytes[16]);

/* cgroup.c */
struct je_throttled {
	bool known;
	uint64_t times, us;
};
struct je_cgroup {
	char step[JE_CGROUP_PATH],
		job[JE_CGROUP_PATH]; /* folders of the memory controller; "": not known */
	char cpu[JE_CGROUP_PATH];    /* of the CPU controller, where limits are looked for */
	size_t cpu_top;		     /* length of the topmost path that is looked at */
	bool v2;		     /* false: version 1 */
	struct je_throttled before;  /* what limits had cost when the step's tasks began */
};
void je_cgroup_find(struct je_cgroup *c, const char *own, const char *tree);
void je_cgroup_tell(const struct je_cgroup *c, char *text, size_t size); /* ` key=number` … */

/* preload_list.c: results are malloc'd; NULL: no memory */
char *je_preload_strip(const char *list, const char *library);
char *je_preload_join(const char *list, const char *library);
bool je_preload_other(const char *list, const char *library);

/* options.c */
enum je_wish { JE_WISH_NONE, JE_WISH_ON, JE_WISH_OFF };
struct je_wishes {
	enum je_wish measure;
	char workload[JE_WORKLOAD];
};
void je_options_register(spank_t sp);
const struct je_wishes *je_options(void);
enum je_wish je_options_of_job(spank_t sp); /* in the prolog, where Slurm calls no callback */

/* jobdir.c */
bool je_killed(void); /* whether the kill switch is there */
int je_run_open(void);
int je_jobdir_open(int run, uint32_t job_id);
int je_jobdir_make(int run, const struct je_ids *ids, const char *config);
bool je_jobdir_measured(int dir);		    /* whether `decision` says on */
void je_jobdir_refuse(int dir, const char *reason); /* changes `decision` */
void je_jobdir_complete(int dir); /* adds to `job` what slurmd's environment knows */
void je_jobdir_retire(int run, uint32_t job_id);
void je_jobdir_retire_stranger(int run, uint32_t job_id, uid_t uid, const char *restart);

/* recordfs.c */
struct je_held {
	uint64_t bytes;
	unsigned records;
};
bool je_recordfs_mount(int dir, const struct je_ids *ids, uint64_t bytes);
bool je_recordfs_show(const struct je_ids *ids);
struct je_held je_recordfs_held(int run, uid_t uid);

/* ranks.c */
bool je_ranks_prepare(int run, int dir, const struct je_ids *ids, char *why, size_t size);
bool je_ranks_ready(int dir, uid_t uid);
bool je_ranks_empty(int dir);

/* inject.c */
void je_inject(spank_t sp, const char *library, uint32_t job_id);
void je_withdraw(spank_t sp, const char *library);
bool je_library_file(const char *library, char file[PATH_MAX]);
bool je_readable(const char *library);
const char *je_job_env(spank_t sp, const char *name);

/* settings.c: the words behind the plugin's path in plugstack.conf */
struct je_settings {
	char config[PATH_MAX];	/* config=FILE */
	char preload[PATH_MAX]; /* preload=FILE, else $PLATFORM/libjobeff.so beside the plugin */
	char body[PATH_MAX];	/* body=FILE, else jobeff_spank_body.so beside the plugin */
	char sender[PATH_MAX];	/* sender=FILE, else where the packages put it; may be "" */
};
const struct je_settings *je_settings(int ac, char **av);

/* front.c */
struct je_body {
	const char *entry;   /* function of the body: int entry(const char *request) */
	const char *request; /* lines `key value` */
	int fd;		     /* the one descriptor that the body gets, closed here; -1: none */
};
void je_fill_stdio(void); /* call it before anything is opened */
bool je_bodies_run(const struct je_settings *set, const struct je_body *bodies, int n,
		   int timeout_ms);

/* step.c */
void je_step_begin(spank_t sp, const struct je_settings *set);
void je_step_user(spank_t sp, const struct je_settings *set);
void je_step_task(spank_t sp, const struct je_settings *set);
void je_step_forked(void);
void je_step_task_exit(spank_t sp);
void je_step_end(spank_t sp);

/* prolog.c, epilog.c */
void je_prolog(spank_t sp, const struct je_settings *set);
void je_epilog(spank_t sp, const struct je_settings *set);

#endif
