/* switch.c: switches windows on and off inside a run, for loop.c (build/bench/jobeff_windows.so).
 * Off behaves as if they had never been on, except that the current window stays open. */
#include "../lib/windows.h"

JE_EXPORT void bench_windows(int on)
{
	static uintptr_t border = JE_NO_COMM;
	struct je_thread *me = &je_me;

	if (je_process.windows == NULL || me->windows == JE_WINDOWS_LOGGING ||
	    on == (me->windows == JE_WINDOWS_COUNTING))
		return;
	if (!on)
		border = me->border;
	me->border = on ? border : JE_NO_COMM;
	me->windows = on ? JE_WINDOWS_COUNTING : JE_WINDOWS_OFF;
}
