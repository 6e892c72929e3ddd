/* section.c: libjobeff_section.so. A program with sections is linked with it.
 *
 * It keeps 32 bytes of each open section for a tool's callbacks, and does nothing else. If jobeff
 * measures the job, libjobeff.so stands in front of this library and calls it. This library is
 * linked to no MPI: it hands a communicator on as one register, whatever its type.
 */
#include <stdint.h>
#include <string.h>

#define JE_EXPORT __attribute__((visibility("default")))

enum {
	JE_DATA = 32,
	JE_DEPTH = 64,
	JE_LABEL = 64,
	JE_WRONG = 16 /* MPI_ERR_OTHER or a similar error */
};

struct open_section {
	char label[JE_LABEL];
	char data[JE_DATA];
};

/* The sections of one thread. A section deeper than JE_DEPTH gets zeros as data in both calls. */
static __thread struct {
	struct open_section open[JE_DEPTH];
	uint32_t depth;
	uint32_t deeper;
} me;

/* Translates Fortran's handles, if the MPI has other ones in C. */
extern intptr_t MPI_Comm_f2c(int comm) __attribute__((weak));

JE_EXPORT int PMPIX_Section_enter_cb(intptr_t comm, const char *label, char data[JE_DATA])
{
	(void)comm, (void)label, (void)data;
	return 0;
}

extern JE_EXPORT int PMPIX_Section_leave_cb(intptr_t comm, const char *label, char data[JE_DATA])
	__attribute__((alias("PMPIX_Section_enter_cb")));
extern JE_EXPORT int MPIX_Section_enter_cb(intptr_t comm, const char *label, char data[JE_DATA])
	__attribute__((weak, alias("PMPIX_Section_enter_cb")));
extern JE_EXPORT int MPIX_Section_leave_cb(intptr_t comm, const char *label, char data[JE_DATA])
	__attribute__((weak, alias("PMPIX_Section_enter_cb")));

static void copy(char to[JE_LABEL], const char *from, size_t bytes)
{
	size_t n = bytes < JE_LABEL ? bytes : JE_LABEL - 1;

	memcpy(to, from, n);
	to[n] = '\0';
}

static int enter(intptr_t comm, const char label[JE_LABEL])
{
	char none[JE_DATA] = "";
	struct open_section *top = &me.open[me.depth];

	if (me.depth == JE_DEPTH) {
		me.deeper++;
		return MPIX_Section_enter_cb(comm, label, none);
	}
	memset(top->data, 0, JE_DATA);
	copy(top->label, label, strlen(label));
	me.depth++;
	return MPIX_Section_enter_cb(comm, top->label, top->data);
}

static int leave_top(intptr_t comm)
{
	struct open_section *top = &me.open[--me.depth];

	return MPIX_Section_leave_cb(comm, top->label, top->data);
}

static int leave(intptr_t comm, const char label[JE_LABEL])
{
	char none[JE_DATA] = "";
	uint32_t at = me.depth;
	int inner = 0;

	if (me.deeper > 0) {
		me.deeper--;
		return MPIX_Section_leave_cb(comm, label, none);
	}
	while (at > 0 && strcmp(me.open[at - 1].label, label) != 0)
		at--;
	if (at == 0)
		return JE_WRONG;
	for (; me.depth > at; inner = JE_WRONG)
		leave_top(comm);
	return leave_top(comm) | inner;
}

static int from_c(int (*act)(intptr_t, const char *), intptr_t comm, const char *label)
{
	char text[JE_LABEL];

	if (label == NULL)
		label = "";
	copy(text, label, strnlen(label, JE_LABEL));
	return act(comm, text);
}

JE_EXPORT int PMPIX_Section_enter(intptr_t comm, const char *label)
{
	return from_c(enter, comm, label);
}

JE_EXPORT int PMPIX_Section_exit(intptr_t comm, const char *label)
{
	return from_c(leave, comm, label);
}

extern JE_EXPORT int MPIX_Section_enter(intptr_t comm, const char *label)
	__attribute__((weak, alias("PMPIX_Section_enter")));
extern JE_EXPORT int MPIX_Section_exit(intptr_t comm, const char *label)
	__attribute__((weak, alias("PMPIX_Section_exit")));

/* A Fortran label ends in blanks, and its length comes after the arguments. */
static void from_fortran(int (*act)(intptr_t, const char *), const int *comm, const char *label,
			 int *ierror, uint32_t bytes)
{
	char text[JE_LABEL];
	intptr_t handle = MPI_Comm_f2c != NULL ? MPI_Comm_f2c(*comm) : *comm;

	while (bytes > 0 && label[bytes - 1] == ' ')
		bytes--;
	copy(text, label, bytes);
	*ierror = act(handle, text);
}

#define JE_FORTRAN(spelling, act)                                                                \
	JE_EXPORT void spelling(const int *comm, const char *label, int *ierror, uint32_t bytes) \
	{                                                                                        \
		from_fortran(act, comm, label, ierror, bytes);                                   \
	}

JE_FORTRAN(mpix_section_enter_, enter)
JE_FORTRAN(mpix_section_enter__, enter)
JE_FORTRAN(mpix_section_enter, enter)
JE_FORTRAN(MPIX_SECTION_ENTER, enter)
JE_FORTRAN(mpix_section_exit_, leave)
JE_FORTRAN(mpix_section_exit__, leave)
JE_FORTRAN(mpix_section_exit, leave)
JE_FORTRAN(MPIX_SECTION_EXIT, leave)
