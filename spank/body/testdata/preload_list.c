/* preload_list.c LIST LIBRARY [endless]: prints what the plugin makes of an LD_PRELOAD. LIST is "-"
 * if the variable is not set. endless: LIST is passed without its zero at the end, which a
 * sanitizer must report. */
#include "../../jobeff_spank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *list;
	char *strip, *join;

	if (argc < 3)
		return 2;
	list = strcmp(argv[1], "-") ? argv[1] : NULL;
	if (argc > 3)
		list = memcpy(malloc(strlen(argv[1])), argv[1], strlen(argv[1]));
	strip = je_preload_strip(list, argv[2]);
	join = je_preload_join(list, argv[2]);
	printf("[%s] [%s] %d\n", strip, join, je_preload_other(list, argv[2]));
	free(strip);
	free(join);
	return 0;
}
