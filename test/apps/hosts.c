/* hosts.c LETTERS PLUGIN...: a program that is not linked to MPI opens plugins on several, each
 * with RTLD_LOCAL. LETTERS are what they do: o opens the next one, c closes the last one that was
 * opened; b, w, j and f are begin, work, jump and finish of the one that a digit named. */
#include <dlfcn.h>
#include <stdio.h>

static void call(void *plugin, const char *name)
{
	void (*function)(int *) = (void (*)(int *))dlsym(plugin, name);
	int error = 0;

	if (function == NULL) {
		printf("%s\n", dlerror());
		return;
	}
	function(&error);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	void *plugins[9] = { NULL };
	int opened = 0, now = 0;

	for (const char *c = argc > 1 ? argv[1] : ""; *c != '\0'; c++) {
		if (*c == 'o' && opened + 2 < argc) {
			plugins[opened] = dlopen(argv[opened + 2], RTLD_NOW | RTLD_LOCAL);
			if (plugins[opened++] == NULL) {
				fprintf(stderr, "%s\n", dlerror());
				return 1;
			}
		} else if (*c == 'c') {
			dlclose(plugins[opened - 1]);
		} else if (*c >= '0' && *c <= '8') {
			now = *c - '0';
		} else {
			call(plugins[now], *c == 'b'   ? "begin"
					   : *c == 'w' ? "work"
					   : *c == 'j' ? "jump"
						       : "finish");
		}
	}
	return 0;
}
