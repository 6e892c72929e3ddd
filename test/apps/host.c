/* host.c PLUGIN: a program that is not linked to MPI, opens a plugin that is, and closes it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "run") : NULL;

	int (*end)(void) = plugin ? (int (*)(void))dlsym(plugin, "end") : NULL;

	if (run == NULL || end == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}

	int result = run() + end();

	dlclose(plugin);
	fprintf(stderr, "the plugin is closed\n");
	return result;
}
