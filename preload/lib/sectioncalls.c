/* sectioncalls.c: the calls that name sections. They are MPIX_Section_enter and _exit, which the
 * stub library (../stub) or an MPI also has, and MPI_Pcontrol as IPM uses it.
 *
 * Each also calls the next library's function, which calls the callbacks of a tool. Their time
 * is not part of the section.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "libc.h"
#include "objects.h"
#include "section.h"
#include "spell.h"

typedef int (*any_fn)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);

/* True inside the next library's function. What that calls itself (its Fortran calls its C) is no
 * section of the program. */
static __thread bool inside;

/* Finds the first of several names that a library behind us has. `names` has one after the other,
 * and ends with an empty one. What only the caller sees is not remembered (next.c). */
static JE_COLD void *find_behind(void **known, const char *names, const void *caller)
{
	int saved = errno;
	void *found = NULL;

	for (; found == NULL && *names != '\0'; names += strlen(names) + 1) {
		found = dlsym(RTLD_NEXT, names);
		if (found != NULL)
			__atomic_store_n(known, found, __ATOMIC_RELEASE);
		else
			found = je_symbol_in_scope(caller, names);
	}
	if (found == NULL)
		dlerror(); /* the program must not see our error */
	errno = saved;
	return found;
}

static void *behind(void **known, const char *names, const void *caller)
{
	void *next = __atomic_load_n(known, __ATOMIC_ACQUIRE);

	return JE_LIKELY(next != NULL) ? next : find_behind(known, names, caller);
}

static int hand_on(any_fn next, const intptr_t *a)
{
	int result = 0;

	if (next == NULL)
		return 0;
	inside = true;
	result = next(a[0], a[1], a[2], a[3], a[4], a[5]);
	inside = false;
	return result;
}

/* behind() for the caller of the function that uses this macro. */
#define JE_BEHIND(names)                                            \
	({                                                          \
		static void *known;                                 \
                                                                    \
		behind(&known, names, __builtin_return_address(0)); \
	})

static struct je_label c_label(const char *label)
{
	return je_label_of(label != NULL && label[0] != '\0' ? label : "(no label)", SIZE_MAX);
}

static struct je_label fortran_label(const char *label, uint32_t bytes)
{
	while (bytes > 0 && label[bytes - 1] == ' ')
		bytes--;
	return bytes > 0 ? je_label_of(label, bytes) : c_label(NULL);
}

JE_EXPORT int MPIX_Section_enter(intptr_t comm, const char *label)
{
	bool nested = inside;
	any_fn next = JE_BEHIND("MPIX_Section_enter\0PMPIX_Section_enter\0");
	int result = hand_on(next, (const intptr_t[6]){ comm, (intptr_t)label });

	inside = nested;
	if (!nested)
		je_section_enter(c_label(label));
	return result;
}

JE_EXPORT int MPIX_Section_exit(intptr_t comm, const char *label)
{
	bool nested = inside;
	any_fn next = JE_BEHIND("MPIX_Section_exit\0PMPIX_Section_exit\0");

	if (!nested)
		je_section_exit(c_label(label));

	int result = hand_on(next, (const intptr_t[6]){ comm, (intptr_t)label });

	inside = nested;
	return result;
}

#define JE_FORTRAN_SECTION(lower)                                                                 \
	JE_EXPORT void mpix_section_##lower##_(intptr_t comm, const char *label, intptr_t ierror, \
					       uint32_t bytes);                                   \
	JE_ALIAS(mpix_section_##lower##_, mpix_section_##lower##__)

JE_FORTRAN_SECTION(enter)
JE_FORTRAN_SECTION(exit)

void mpix_section_enter_(intptr_t comm, const char *label, intptr_t ierror, uint32_t bytes)
{
	hand_on(JE_BEHIND("mpix_section_enter_\0mpix_section_enter__\0"),
		(const intptr_t[6]){ comm, (intptr_t)label, ierror, bytes });
	je_section_enter(fortran_label(label, bytes));
}

void mpix_section_exit_(intptr_t comm, const char *label, intptr_t ierror, uint32_t bytes)
{
	je_section_exit(fortran_label(label, bytes));
	hand_on(JE_BEHIND("mpix_section_exit_\0mpix_section_exit__\0"),
		(const intptr_t[6]){ comm, (intptr_t)label, ierror, bytes });
}

/* Reads up to `most` bytes at an address that may be invalid. A program may call MPI_Pcontrol(1)
 * without a label; the label's register then holds an old value. The text ends before the first
 * byte that cannot be read. A transfer across an unreadable page fails as a whole, so this reads
 * up to the page's end first. */
static size_t read_safely(char *to, size_t most, intptr_t address)
{
	uintptr_t at = (uintptr_t)address;
	size_t here = 4096 - at % 4096, got = 0;

	for (int part = 0; part < 2 && got < most; part++, here = most) {
		size_t bytes = here < most - got ? here : most - got;
		struct iovec local = { to + got, bytes }, remote = { (void *)(at + got), bytes };

		if (syscall(SYS_process_vm_readv, (long)je_process.slot->pid, &local, 1L, &remote,
			    1L, 0L) != (long)bytes)
			break;
		got += bytes;
		if (memchr(to, '\0', got) != NULL)
			break;
	}
	return got;
}

/* The executable's segments that it may not write to. They stay mapped, so a label in one of them
 * can be read without asking the kernel. */
static struct {
	uintptr_t from, to;
} constant[4];

static JE_COLD void find_constants(void)
{
	const ElfW(Phdr) *header = (const void *)getauxval(AT_PHDR);
	unsigned long n = header != NULL ? getauxval(AT_PHNUM) : 0;
	const ElfW(Phdr) *own = NULL;
	size_t used = 0;

	for (unsigned long i = 0; i < n; i++)
		if (header[i].p_type == PT_PHDR)
			own = &header[i];
	if (own == NULL)
		return;

	uintptr_t base = (uintptr_t)header - own->p_vaddr;

	for (unsigned long i = 0; i < n && used < 4; i++) {
		if (header[i].p_type != PT_LOAD || (header[i].p_flags & (PF_R | PF_W)) != PF_R)
			continue;
		constant[used].from = base + header[i].p_vaddr;
		constant[used++].to = base + header[i].p_vaddr + header[i].p_filesz;
	}
}

/* How many bytes from this address on are constant. */
static size_t constant_bytes(uintptr_t address)
{
	static bool looked;

	if (JE_UNLIKELY(!looked)) {
		looked = true;
		find_constants();
	}
	for (int i = 0; i < 4; i++)
		if (address >= constant[i].from && address < constant[i].to)
			return constant[i].to - address;
	return 0;
}

/* Finds a label; false: it does not look like one. A label has an end and at least one character,
 * and all of it is printable. In Fortran the hidden length is the end, if it is plausible. */
static bool region_label(struct je_label *label, char copy[256], intptr_t address, bool fortran,
			 intptr_t length)
{
	size_t most = fortran ? (uint32_t)length : 255, bytes, end = 0;
	const char *text = (const char *)address;

	if (address == 0 || most == 0 || most > 255)
		return false;
	bytes = constant_bytes((uintptr_t)address);
	if (bytes == 0) {
		int saved = errno;

		bytes = read_safely(copy, most, address);
		errno = saved;
		text = copy;
	}
	if (bytes > most)
		bytes = most;
	if (fortran && bytes < most)
		return false;
	for (; end < bytes && text[end] != '\0'; end++)
		if ((unsigned char)text[end] < ' ' || text[end] == 0x7f)
			return false;
	if (!fortran && end == bytes)
		return false;
	while (end > 0 && text[end - 1] == ' ')
		end--;
	*label = je_label_of(text, end);
	return end > 0;
}

/* IPM's regions: MPI_Pcontrol(1, label) enters one, and MPI_Pcontrol(-1, label) leaves it. */
static void region(int level, intptr_t address, bool fortran, intptr_t length)
{
	struct je_label label;
	char copy[256];

	if ((level != 1 && level != -1) || inside || !je_section_possible() ||
	    !region_label(&label, copy, address, fortran, length))
		return;
	if (level == 1)
		je_section_enter(label);
	else
		je_section_exit(label);
}

/* MPI_Pcontrol is variadic, and a tool's version may take any number of arguments. So all registers
 * that may hold some are handed on. The call is a jump: arguments on the stack stay where they
 * are. */
#if defined(__aarch64__)
#define JE_P_REST JE_P_FIVE, intptr_t a6, intptr_t a7
#define JE_A_REST a1, a2, a3, a4, a5, a6, a7
#else
#define JE_P_REST JE_P_FIVE
#define JE_A_REST a1, a2, a3, a4, a5
#endif
#define JE_P_FIVE intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4, intptr_t a5
#define JE_P_DOUBLES \
	double d0, double d1, double d2, double d3, double d4, double d5, double d6, double d7

JE_EXPORT int MPI_Pcontrol(int level, JE_P_REST, JE_P_DOUBLES)
{
	int (*next)(int level, JE_P_REST, JE_P_DOUBLES, ...) =
		JE_BEHIND("MPI_Pcontrol\0PMPI_Pcontrol\0");

	region(level, a1, false, 0);
	if (next == NULL)
		return 0;
	return next(level, JE_A_REST, d0, d1, d2, d3, d4, d5, d6, d7);
}

JE_EXPORT void mpi_pcontrol_(intptr_t level, intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4,
			     intptr_t a5);
JE_ALIAS(mpi_pcontrol_, mpi_pcontrol__)

void mpi_pcontrol_(intptr_t level, intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4, intptr_t a5)
{
	region(*(const int32_t *)level, a1, true, a2);
	hand_on(JE_BEHIND("mpi_pcontrol_\0mpi_pcontrol__\0"),
		(const intptr_t[6]){ level, a1, a2, a3, a4, a5 });
}
