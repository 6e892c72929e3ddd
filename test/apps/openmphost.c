/* openmphost.c PLUGIN…: opens plugins with RTLD_LOCAL, and calls each on its own and inside a
 * region of each other. Then it opens, calls and closes PLUGIN.copy of each, so that one stands
 * where another one stood. The program itself is linked to no OpenMP.
 */
#include <dlfcn.h>
#include <stdio.h>

typedef int (*sum_fn)(int);
typedef int (*run_fn)(int, sum_fn);

static void call_and_close(const char *path)
{
	char copy[4096];
	void *plugin;

	snprintf(copy, sizeof(copy), "%s.copy", path);
	plugin = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
	if (plugin == NULL)
		return;
	printf("%d\n", ((sum_fn)dlsym(plugin, "sum"))(4));
	dlclose(plugin);
}

int main(int argc, char **argv)
{
	run_fn runs[16];
	sum_fn sums[16];
	int n = argc - 1 < 16 ? argc - 1 : 16;

	for (int i = 0; i < n; i++) {
		void *plugin = dlopen(argv[i + 1], RTLD_NOW | RTLD_LOCAL);

		if (plugin == NULL) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		runs[i] = (run_fn)dlsym(plugin, "run");
		sums[i] = (sum_fn)dlsym(plugin, "sum");
	}
	for (int i = 0; i < n; i++) {
		printf("%d", runs[i](4, NULL));
		for (int j = 0; j < n; j++)
			printf(" %d", runs[i](4, sums[j]));
		printf("\n");
	}
	for (int i = 0; i < n; i++)
		call_and_close(argv[i + 1]);
	return 0;
}
