/* asan.c: lets a program with AddressSanitizer start.
 *
 * gcc's runtime is a shared library. It ends a program if another library was loaded before it, and
 * each preloaded one is. It reads these defaults first, then the user's own ASAN_OPTIONS.
 */
#include "jobeff.h"

JE_EXPORT const char *__asan_default_options(void);
JE_EXPORT const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
