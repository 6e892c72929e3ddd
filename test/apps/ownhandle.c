/* ownhandle.c: opens the MPI library that it is given and asks it for its functions, as MPI.jl and
 * Python's ctypes do.
 *
 *   ownhandle LIBRARY local|global   with RTLD_LOCAL or RTLD_GLOBAL: MPI_Init and MPI_Finalize
 *   ownhandle LIBRARY open           opens it only
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	void *library = dlopen(
		argv[1], RTLD_LAZY | (strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL));
	int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(library, "MPI_Init");
	int (*finalize)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");

	if (strcmp(argv[2], "open") == 0)
		return puts("opened") < 0;
	if (init(&argc, &argv) != 0)
		return 1;
	puts("begun");
	return finalize();
}
