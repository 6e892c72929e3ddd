/* inject.c: the few variables that reach a task.
 *
 *   LD_PRELOAD                ours, then the user's own entries; $PLATFORM is left to ld.so
 *   JOBEFF_RECORD_FILE        the same text on every node and in every step
 *   JOBEFF_COUNTERS           1 if the site wants hardware counters (step.c sets it)
 *   JOBEFF_WINDOWS            MiB of a node for windows (step.c sets it)
 *   JOBEFF_ARGUMENTS          1 if the site wants the arguments' text (step.c sets it)
 *   APPTAINERENV_LD_PRELOAD   the user's own entries: our library does not exist inside a
 *   SINGULARITYENV_LD_PRELOAD container, and ld.so would complain
 *
 * All but the first two stay as they are if the user has set them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobeff_spank.h"

#define JE_RECORD_VARIABLE "JOBEFF_RECORD_FILE"

/* A variable from the job's environment, not from this process's; NULL: not set. */
const char *je_job_env(spank_t sp, const char *name)
{
	char **env = NULL;
	size_t n = strlen(name);

	if (spank_get_item(sp, S_JOB_ENV, &env) != ESPANK_SUCCESS || env == NULL)
		return NULL;
	for (; *env != NULL; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

/* Finds the file that a 64-bit process loads for the library's name in LD_PRELOAD. ld.so replaces
 * $PLATFORM with its processor's name. False: there is no such folder. */
bool je_library_file(const char *library, char file[PATH_MAX])
{
	static const char *const folders[] = { "x86_64", "aarch64" };
	const char *lib = strstr(library, JE_LIB "/");
	size_t known = sizeof(folders) / sizeof(*folders);
	struct stat st;

	if (lib == NULL)
		return snprintf(file, PATH_MAX, "%s", library) < PATH_MAX;
	for (size_t i = 0; i < known; i++)
		if (snprintf(file, PATH_MAX, "%.*s/%s%s", (int)(lib - library), library, folders[i],
			     lib + strlen(JE_LIB)) < PATH_MAX &&
		    lstat(file, &st) == 0)
			return true;
	return false;
}

/* Whether this process can read the library, as its present user and in its present root directory.
 * ld.so cannot load a path that contains a separator of LD_PRELOAD. */
bool je_readable(const char *library)
{
	char file[PATH_MAX];
	int fd;

	if (library[0] != '/' || strpbrk(library, ": ") != NULL || !je_library_file(library, file))
		return false;
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* Whether no user has set a variable for containers: it is not there, or an outer step set it. */
static bool is_free(const char *value, const char *own)
{
	return value == NULL || strcmp(value, own) == 0;
}

/* Sets what LD_PRELOAD is in a container. Apptainer reads both names and prints a line if they
 * differ, so what the user has set by one name goes into the other. */
static void set_in_containers(spank_t sp, const char *own)
{
	const char *first = je_job_env(sp, "APPTAINERENV_LD_PRELOAD"),
		   *second = je_job_env(sp, "SINGULARITYENV_LD_PRELOAD");
	bool first_free = is_free(first, own), second_free = is_free(second, own);
	char *value = strdup(!first_free ? first : !second_free ? second : own);

	if (value == NULL)
		return;
	spank_setenv(sp, "APPTAINERENV_LD_PRELOAD", value, first_free);
	spank_setenv(sp, "SINGULARITYENV_LD_PRELOAD", value, second_free);
	free(value);
}

/* Sets LD_PRELOAD to the user's own list, or removes it if they had none. */
static void set_list(spank_t sp, const char *own)
{
	if (*own != '\0')
		spank_setenv(sp, "LD_PRELOAD", own, 1);
	else
		spank_unsetenv(sp, "LD_PRELOAD");
}

void je_inject(spank_t sp, const char *library, uint32_t job_id)
{
	const char *list = je_job_env(sp, "LD_PRELOAD");
	char *own = je_preload_strip(list, library), *joined = je_preload_join(list, library);
	char record[64];

	snprintf(record, sizeof(record), JE_RUN_DIR "/%u/ranks", job_id);
	if (own != NULL && joined != NULL &&
	    spank_setenv(sp, JE_RECORD_VARIABLE, record, 1) == ESPANK_SUCCESS) {
		set_in_containers(sp, own);
		spank_setenv(sp, "LD_PRELOAD", joined, 1);
	}
	free(own);
	free(joined);
}

/* Removes what je_inject added, in this step or in an outer one. */
void je_withdraw(spank_t sp, const char *library)
{
	const char *list = je_job_env(sp, "LD_PRELOAD"),
		   *record = je_job_env(sp, JE_RECORD_VARIABLE);
	char *own = je_preload_strip(list, library);

	if (list != NULL && own != NULL && strcmp(list, own) != 0)
		set_list(sp, own);
	if (record != NULL && strncmp(record, JE_RUN_DIR "/", sizeof(JE_RUN_DIR)) == 0)
		spank_unsetenv(sp, JE_RECORD_VARIABLE);
	free(own);
}
