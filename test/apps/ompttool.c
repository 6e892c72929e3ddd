/* ompttool.c: a tool of OMPT that counts parallel regions, and says so at the runtime's end. */
#include <stdint.h>
#include <stdio.h>

static unsigned regions;

static void parallel_begin(void *task, const void *frame, void *parallel, unsigned requested,
			   int flags, const void *code)
{
	(void)task, (void)frame, (void)parallel, (void)requested, (void)flags, (void)code;
	__atomic_fetch_add(&regions, 1, __ATOMIC_RELAXED);
}

static int initialize(void *(*lookup)(const char *), int device, uint64_t *data)
{
	int (*set)(int, void (*)(void)) = (int (*)(int, void (*)(void)))lookup("ompt_set_callback");

	(void)device, (void)data;
	set(3, (void (*)(void))parallel_begin); /* ompt_callback_parallel_begin */
	return 1;
}

static void finalize(uint64_t *data)
{
	(void)data;
	printf("the tool saw %u regions\n", regions);
}

struct result {
	int (*initialize)(void *(*)(const char *), int, uint64_t *);
	void (*finalize)(uint64_t *);
	uint64_t data;
};

struct result *ompt_start_tool(unsigned version, const char *runtime)
{
	static struct result result = { initialize, finalize, 0 };

	(void)version, (void)runtime;
	return &result;
}
