/* gomp.h: which OpenMP runtime a caller of libgomp's functions reaches. */
#ifndef JOBEFF_GOMP_H
#define JOBEFF_GOMP_H

#include "jobeff.h"
#include "objects.h"

#pragma GCC visibility push(hidden)

/* a number for each wrapped function */
enum je_gomp {
#define JE_GOMP_REGION(name, version, args) JE_##name,
#define JE_GOMP_CALL(name, version, state, args) JE_##name,
#define JE_GOMP_OLD(name, version, args) JE_##name,
#define JE_GOMP_TASK(name, version) JE_##name,
#define JE_GOMP_ASKED(name) JE_##name,
#include "../gomp_calls.def"
	JE_GOMP_FUNCS,
};

/* One runtime of the process. Most processes have one, and programs with plugins may have
 * several copies: each of Python's wheels may bring its own. */
struct je_runtime {
	struct je_behind behind; /* its tag is enum je_openmp_why; not 0: calls only pass through */
	bool noted;		 /* atomic: the record says that it was used */
	void *next[JE_GOMP_FUNCS]; /* its functions; NULL: nobody has looked for it yet */
};

/* The runtime that every object sees; NULL: none does, or nobody has looked yet. */
extern struct je_runtime *je_gomp_global;

/* The runtime in which the object with this code address calls a function. */
struct je_runtime *je_gomp_runtime(const struct je_thread *me, const void *code, uint32_t number);

/* A function of a runtime. */
void *je_gomp_find(struct je_runtime *runtime, uint32_t number);

/* Atomic: whether a runtime asked for a tool of OMPT (ompt.c). */
extern bool je_ompt_asked;

/* enum je_openmp_why */
JE_HOT uint32_t je_gomp_why(const struct je_runtime *runtime)
{
	return (uint32_t)runtime->behind.tag;
}

JE_HOT struct je_runtime *je_gomp_of(const struct je_thread *me, const void *code, uint32_t number)
{
	struct je_runtime *global = __atomic_load_n(&je_gomp_global, __ATOMIC_ACQUIRE);

	return JE_LIKELY(global != NULL) ? global : je_gomp_runtime(me, code, number);
}

JE_HOT void *je_gomp_next(struct je_runtime *runtime, uint32_t number)
{
	void *next = __atomic_load_n(&runtime->next[number], __ATOMIC_RELAXED);

	return JE_LIKELY(next != NULL) ? next : je_gomp_find(runtime, number);
}

#pragma GCC visibility pop

#endif
