/* host.c PLUGIN: a program that is not linked to MPI and opens a plugin that is. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "run") : NULL;

	if (run == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return run();
}
