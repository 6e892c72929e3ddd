/* windowsites.c: where in the program's code the logged calls were made.
 *
 * A site is the address to which a call returns, with the module of that code. It is looked up when
 * its first call is logged, and found again by the address alone. Once an object was unloaded,
 * another may lie there. So the loader is asked at both ends of each kept window, not at each call.
 */
#include <string.h>

#include "places.h"
#include "windows.h"

enum { JE_BESIDE = 8 }; /* neighbouring entries that are searched for a site */

/* The addresses of the sites that were taken since an object was unloaded; 0: none. */
static uint64_t known[JE_SITES];
static uint32_t unloaded; /* objects unloaded when the loader was asked last */

/* Takes an entry near `first`: a free one, or the one that the site had before. */
static JE_COLD uint8_t take(struct je_thread *me, uint64_t address, uint32_t first)
{
	uint64_t *sites = je_process.windows->sites;
	uint64_t module = je_place_module(me, je_process.slot, address);
	uint64_t site = module << JE_SITE_MODULE | address;

	for (uint32_t i = 0; module != 0 && i < JE_BESIDE; i++) {
		uint32_t at = (first + i) % JE_SITES;

		if (sites[at] != 0 && sites[at] != site)
			continue;
		sites[at] = site;
		known[at] = address;
		return (uint8_t)(at + 1);
	}
	return 0;
}

/* The site of a call in a kept window. */
uint8_t je_window_site(struct je_thread *me, uintptr_t returns)
{
	uint64_t address = je_place_address(returns);
	uint32_t first = (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % JE_SITES;

	for (uint32_t i = 0; i < JE_BESIDE; i++) {
		uint32_t at = (first + i) % JE_SITES;

		if (known[at] == address && je_process.windows->sites[at] != 0)
			return (uint8_t)(at + 1);
	}
	return take(me, address, first);
}

/* A window begins or ends. */
void je_window_sites_check(struct je_thread *me)
{
	uint32_t now = je_place_unloaded(me, je_process.slot);

	if (now == unloaded)
		return;
	unloaded = now;
	memset(known, 0, sizeof(known));
	je_windows_lose_sites();
}
