/* host.c: a process that loads the plugin as Slurm does, for tests without Slurm.
 *
 *   host PLUGIN WORD…     obeys the words in their order
 *     context=remote|local|allocator|slurmd|script
 *     job= uid= gid= step= tasks= ntasks= nnodes= nodeid= array= arraytask= cpus= task=
 *     pid= status=        what spank_get_item answers
 *     arg=WORD            a word after the plugin in plugstack.conf
 *     command=WORD        the step's command, or a further word of it
 *     option=NAME:VALUE   an option on the command line: calls its callback
 *     asked=VALUE         what spank_option_getopt answers
 *     env=NAME=VALUE      sets a variable of the job's environment, not of this process's
 *     call=HOOK           calls slurm_spank_HOOK; prints a line if it does not return 0
 *     unlink=FILE         removes a file, as if another root directory hid it
 *     print=env           prints the job's environment
 *     print=version       prints the plugin_version that Slurm would see
 *
 * The environment's HOST_API is the release that this process has; see ../../release.c.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <slurm/spank.h>

static struct {
	const char *name;
	spank_item_t item;
	uint32_t value;
	int is_set;
} items[] = {
	{ "job", S_JOB_ID, 0, 0 },
	{ "uid", S_JOB_UID, 0, 0 },
	{ "gid", S_JOB_GID, 0, 0 },
	{ "step", S_JOB_STEPID, 0, 0 },
	{ "tasks", S_JOB_LOCAL_TASK_COUNT, 0, 0 },
	{ "ntasks", S_JOB_TOTAL_TASK_COUNT, 0, 0 },
	{ "nnodes", S_JOB_NNODES, 0, 0 },
	{ "nodeid", S_JOB_NODEID, 0, 0 },
	{ "array", S_JOB_ARRAY_ID, 0, 0 },
	{ "arraytask", S_JOB_ARRAY_TASK_ID, 0, 0 },
	{ "cpus", S_STEP_CPUS_PER_TASK, 0, 0 },
	{ "task", S_TASK_GLOBAL_ID, 0, 0 },
	{ "pid", S_TASK_PID, 0, 0 },
	{ "status", S_TASK_EXIT_STATUS, 0, 0 },
};

static spank_context_t context = S_CTX_REMOTE;
static struct spank_option *options[8];
static int noptions;
static char *asked;
static char *args[16];
static int nargs;
static char **job_env;
static char *command[8]; /* the step's */
static int words_of_command;
static size_t njob_env;

spank_context_t spank_context(void)
{
	return context;
}

long slurm_api_version(void)
{
	const char *api = getenv("HOST_API");

	return (long)(api ? atoi(api) : 38) << 16;
}

void slurm_error(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("error: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
}

spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
	va_list ap;
	void *out, *words;

	(void)sp;
	va_start(ap, item);
	out = va_arg(ap, void *);
	words = item == S_JOB_ARGV ? va_arg(ap, void *) : NULL;
	va_end(ap);
	if (item == S_JOB_ARGV && words_of_command > 0) {
		*(int *)out = words_of_command;
		*(char ***)words = command;
		return ESPANK_SUCCESS;
	}
	if (item == S_JOB_ENV) {
		*(char ***)out = job_env;
		return ESPANK_SUCCESS;
	}
	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++)
		if (items[i].item == item && items[i].is_set) {
			*(uint32_t *)out = items[i].value;
			return ESPANK_SUCCESS;
		}
	return ESPANK_NOT_AVAIL;
}

static char **find_env(const char *name)
{
	size_t n = strlen(name);

	for (char **e = job_env; *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return e;
	return NULL;
}

spank_err_t spank_setenv(spank_t sp, const char *name, const char *value, int overwrite)
{
	char **at = find_env(name), *entry;

	(void)sp;
	if (at && !overwrite)
		return ESPANK_ENV_EXISTS;
	if (asprintf(&entry, "%s=%s", name, value) < 0)
		return ESPANK_ERROR;
	if (!at) {
		job_env = realloc(job_env, (njob_env + 2) * sizeof(*job_env));
		at = &job_env[njob_env++];
		job_env[njob_env] = NULL;
	}
	*at = entry;
	return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t sp, const char *name)
{
	char **at = find_env(name);

	(void)sp;
	for (; at && *at; at++)
		*at = at[1];
	njob_env = 0;
	while (job_env[njob_env])
		njob_env++;
	return ESPANK_SUCCESS;
}

spank_err_t spank_option_register(spank_t sp, struct spank_option *option)
{
	(void)sp;
	options[noptions++] = option;
	return ESPANK_SUCCESS;
}

spank_err_t spank_option_getopt(spank_t sp, struct spank_option *option, char **value)
{
	(void)sp;
	(void)option;
	*value = asked;
	return asked ? ESPANK_SUCCESS : ESPANK_ERROR;
}

static void set_context(const char *name)
{
	static const char *const names[] = { "error",	  "local",  "remote",
					     "allocator", "slurmd", "script" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			context = (spank_context_t)i;
}

static void give_option(char *word)
{
	char *value = strchr(word, ':');

	*value++ = '\0';
	for (int i = 0; i < noptions; i++)
		if (strcmp(options[i]->name, word) == 0) {
			int r = options[i]->cb(options[i]->val, value, context == S_CTX_REMOTE);

			printf("option %s: %d\n", word, r);
		}
}

static void call(void *plugin, const char *hook)
{
	char name[64];
	spank_f *f;
	int r, as_user = strcmp(hook, "user_init") == 0 || strcmp(hook, "task_init") == 0;

	snprintf(name, sizeof(name), "slurm_spank_%s", hook);
	*(void **)&f = dlsym(plugin, name);
	if (!f) {
		printf("%s: not there\n", name);
		return;
	}
	if (as_user && (setegid(items[2].value) || seteuid(items[1].value)))
		printf("cannot become the user\n");
	r = f(NULL, nargs, args);
	if (as_user && (seteuid(0) || setegid(0)))
		printf("cannot become root again\n");
	if (r != 0)
		printf("%s: returned %d\n", name, r);
}

static void set_item(const char *word)
{
	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
		size_t n = strlen(items[i].name);

		if (strncmp(word, items[i].name, n) == 0 && word[n] == '=') {
			items[i].value = (uint32_t)strtoul(word + n + 1, NULL, 10);
			items[i].is_set = 1;
			return;
		}
	}
	printf("unknown word %s\n", word);
}

static void obey(void *plugin, char *word)
{
	if (strncmp(word, "context=", 8) == 0)
		set_context(word + 8);
	else if (strncmp(word, "arg=", 4) == 0)
		args[nargs++] = word + 4;
	else if (strncmp(word, "option=", 7) == 0)
		give_option(word + 7);
	else if (strncmp(word, "command=", 8) == 0)
		command[words_of_command++ % 8] = word + 8;
	else if (strncmp(word, "unlink=", 7) == 0)
		unlink(word + 7);
	else if (strncmp(word, "asked=", 6) == 0)
		asked = word + 6;
	else if (strncmp(word, "call=", 5) == 0)
		call(plugin, word + 5);
	else if (strncmp(word, "env=", 4) == 0) {
		char *value = strchr(word + 4, '=');

		*value++ = '\0';
		spank_setenv(NULL, word + 4, value, 1);
	} else if (strcmp(word, "print=env") == 0) {
		for (char **e = job_env; *e; e++)
			puts(*e);
	} else if (strcmp(word, "print=version") == 0) {
		printf("%06x\n", *(unsigned int *)dlsym(plugin, "plugin_version"));
	} else {
		set_item(word);
	}
}

#ifdef __SANITIZE_ADDRESS__
/* The sanitizer's shadow takes all addresses, so the plugin's child lives without its limits. */
int setrlimit(__rlimit_resource_t what, const struct rlimit *limit)
{
	(void)what;
	(void)limit;
	return 0;
}
#endif

int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_LAZY) : NULL;

	if (!plugin) {
		puts(argc > 1 ? dlerror() : "usage: host PLUGIN WORD...");
		return 2;
	}
	job_env = calloc(1, sizeof(*job_env));
	for (int i = 2; i < argc; i++)
		obey(plugin, argv[i]);
	return 0;
}
