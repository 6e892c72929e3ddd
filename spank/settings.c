/* settings.c: where the plugin's other parts lie.
 *
 * Each part has a place beside the plugin, in the build tree and in the packages. A site that puts
 * it elsewhere says so with a word in plugstack.conf. The environment is never asked, because it
 * belongs to the job.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobeff_spank.h"

static void set_path(char *path, const char *value)
{
	size_t n = strlen(value);

	if (n < PATH_MAX)
		memcpy(path, value, n + 1);
}

/* Sets path to FOLDER/name. FOLDER is where this plugin lies. */
static void beside_plugin(char *path, const char *name)
{
	Dl_info self;
	char *slash;
	size_t folder;

	if (dladdr((void *)je_settings, &self) == 0 || self.dli_fname == NULL)
		return;
	if (realpath(self.dli_fname, path) == NULL || (slash = strrchr(path, '/')) == NULL) {
		path[0] = '\0';
		return;
	}
	folder = (size_t)(slash + 1 - path);
	if (folder + strlen(name) < PATH_MAX)
		strcpy(slash + 1, name);
	else
		path[0] = '\0';
}

/* Finds the library below $PLATFORM. Each ld.so expands that for itself, so a 32-bit process loads
 * an empty library. If those folders are missing, it takes the file beside the plugin. */
static void find_library(char *path)
{
	char file[PATH_MAX];

	beside_plugin(path, "$PLATFORM/libjobeff.so");
	if (!je_library_file(path, file))
		beside_plugin(path, "libjobeff.so");
}

static void find_sender(char *path)
{
	static const char *const places[] = { "/usr/bin/jobeff-ingest", "/usr/sbin/jobeff-ingest",
					      "/usr/libexec/jobeff/jobeff-ingest" };

	beside_plugin(path, "../jobeff-ingest");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (path[0] != '\0' && access(path, X_OK) == 0)
			return;
		set_path(path, places[i]);
	}
	if (access(path, X_OK) != 0)
		path[0] = '\0';
}

static void set_words(struct je_settings *s, int ac, char **av)
{
	const struct {
		const char *word;
		char *path;
	} words[] = { { "config=", s->config },
		      { "preload=", s->preload },
		      { "body=", s->body },
		      { "sender=", s->sender } };

	for (int i = 0; i < ac; i++)
		for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++)
			if (strncmp(av[i], words[w].word, strlen(words[w].word)) == 0)
				set_path(words[w].path, av[i] + strlen(words[w].word));
}

/* The settings, read once per process. */
const struct je_settings *je_settings(int ac, char **av)
{
	static struct je_settings s;
	static bool is_read;

	if (is_read)
		return &s;
	is_read = true;
	set_path(s.config, JE_CONFIG);
	find_library(s.preload);
	beside_plugin(s.body, "jobeff_spank_body.so");
	set_words(&s, ac, av);
	if (s.sender[0] == '\0' && spank_context() == S_CTX_JOB_SCRIPT)
		find_sender(s.sender);
	return &s;
}
