/* section.c: libjobeff_section.so, what a program with sections is linked with.
 *
 * It keeps the 32 bytes of each open section for a tool's callbacks and does nothing else.
 * Where jobeff measures, libjobeff.so stands in front of it and calls it. It is linked to
 * no MPI: a communicator, whatever its type, is handed on as one register.
 */
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { DATA = 32, DEPTH = 64, LABEL = 64, WRONG = 16 /* MPI_ERR_OTHER, or near it */ };

struct open_section {
	char label[LABEL];
	char data[DATA];
};

/* Sections of one thread. Deeper ones have zeros for their data in both calls. */
static __thread struct {
	struct open_section open[DEPTH];
	uint32_t depth;
	uint32_t deeper;
} me;

/* Fortran's handles in C, where they differ. */
extern intptr_t MPI_Comm_f2c(int comm) __attribute__((weak));

EXPORT int PMPIX_Section_enter_cb(intptr_t comm, const char *label, char data[DATA])
{
	(void)comm, (void)label, (void)data;
	return 0;
}

extern EXPORT int PMPIX_Section_leave_cb(intptr_t comm, const char *label, char data[DATA])
	__attribute__((alias("PMPIX_Section_enter_cb")));
extern EXPORT int MPIX_Section_enter_cb(intptr_t comm, const char *label, char data[DATA])
	__attribute__((weak, alias("PMPIX_Section_enter_cb")));
extern EXPORT int MPIX_Section_leave_cb(intptr_t comm, const char *label, char data[DATA])
	__attribute__((weak, alias("PMPIX_Section_enter_cb")));

static void copy(char to[LABEL], const char *from, size_t bytes)
{
	size_t n = bytes < LABEL ? bytes : LABEL - 1;

	memcpy(to, from, n);
	to[n] = '\0';
}

static int enter(intptr_t comm, const char label[LABEL])
{
	char none[DATA] = "";
	struct open_section *top = &me.open[me.depth];

	if (me.depth == DEPTH) {
		me.deeper++;
		return MPIX_Section_enter_cb(comm, label, none);
	}
	memset(top->data, 0, DATA);
	copy(top->label, label, strlen(label));
	me.depth++;
	return MPIX_Section_enter_cb(comm, top->label, top->data);
}

static int leave_top(intptr_t comm)
{
	struct open_section *top = &me.open[--me.depth];

	return MPIX_Section_leave_cb(comm, top->label, top->data);
}

static int leave(intptr_t comm, const char label[LABEL])
{
	char none[DATA] = "";
	uint32_t at = me.depth;
	int inner = 0;

	if (me.deeper > 0) {
		me.deeper--;
		return MPIX_Section_leave_cb(comm, label, none);
	}
	while (at > 0 && strcmp(me.open[at - 1].label, label) != 0)
		at--;
	if (at == 0)
		return WRONG;
	for (; me.depth > at; inner = WRONG)
		leave_top(comm);
	return leave_top(comm) | inner;
}

static int from_c(int (*act)(intptr_t, const char *), intptr_t comm, const char *label)
{
	char text[LABEL];

	if (label == NULL)
		label = "";
	copy(text, label, strnlen(label, LABEL));
	return act(comm, text);
}

EXPORT int PMPIX_Section_enter(intptr_t comm, const char *label)
{
	return from_c(enter, comm, label);
}

EXPORT int PMPIX_Section_exit(intptr_t comm, const char *label)
{
	return from_c(leave, comm, label);
}

extern EXPORT int MPIX_Section_enter(intptr_t comm, const char *label)
	__attribute__((weak, alias("PMPIX_Section_enter")));
extern EXPORT int MPIX_Section_exit(intptr_t comm, const char *label)
	__attribute__((weak, alias("PMPIX_Section_exit")));

/* A Fortran label has its length behind the arguments and blanks at its end. */
static void from_fortran(int (*act)(intptr_t, const char *), const int *comm, const char *label,
			 int *ierror, uint32_t bytes)
{
	char text[LABEL];
	intptr_t handle = MPI_Comm_f2c != NULL ? MPI_Comm_f2c(*comm) : *comm;

	while (bytes > 0 && label[bytes - 1] == ' ')
		bytes--;
	copy(text, label, bytes);
	*ierror = act(handle, text);
}

#define FORTRAN(spelling, act)                                                                \
	EXPORT void spelling(const int *comm, const char *label, int *ierror, uint32_t bytes) \
	{                                                                                     \
		from_fortran(act, comm, label, ierror, bytes);                                \
	}

FORTRAN(mpix_section_enter_, enter)
FORTRAN(mpix_section_enter__, enter)
FORTRAN(mpix_section_enter, enter)
FORTRAN(MPIX_SECTION_ENTER, enter)
FORTRAN(mpix_section_exit_, leave)
FORTRAN(mpix_section_exit__, leave)
FORTRAN(mpix_section_exit, leave)
FORTRAN(MPIX_SECTION_EXIT, leave)
