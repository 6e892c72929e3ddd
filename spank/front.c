/* front.c: runs the Go body in child processes.
 *
 * If a goroutine panics, the process ends with 134, and a prolog or epilog that ends so drains the
 * node. So forked children load the body, under limits and in sessions of their own. Whatever
 * happens to them, this process goes on. It is fresh and single-threaded, so fork and dlopen
 * are safe.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../preload/record/make.h"
#include "jobeff_spank.h"

#define JE_BODIES 2
#define JE_MEMORY (512ull << 20)  /* bytes of data that a body may have */
#define JE_ADDRESSES (4ull << 30) /* bytes; Go reserves far more addresses than it uses */
#define JE_CPU_S 10

/* Lowers the soft limit only, so that the sender can raise it again. */
static void limit(int what, rlim_t most)
{
	struct rlimit r;

	if (getrlimit(what, &r) == 0 && (r.rlim_cur == RLIM_INFINITY || r.rlim_cur > most)) {
		r.rlim_cur = most;
		setrlimit(what, &r);
	}
}

static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_others(int keep)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		int fd = atoi(e->d_name); // NOLINT(cert-err34-c): "." and ".." are 0, as wanted

		if (fd > 2 && fd != dirfd(d) && fd != keep)
			close(fd);
	}
	if (d != NULL)
		closedir(d);
}

/* Slurm closes stdin. Without this call a pipe could become descriptor 0, and set_stdio would
 * replace it. */
void je_fill_stdio(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd >= 0)
		close(fd);
}

static void set_stdio(int err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
		if (null > 2)
			close(null);
	}
	dup2(err, 2);
}

static void be_body(const struct je_settings *set, const struct je_body *body)
{
	int (*entry)(const char *);
	void *handle = dlopen(set->body, RTLD_NOW | RTLD_LOCAL);

	if (handle == NULL) {
		dprintf(2, "%s\n", dlerror());
		_exit(1);
	}
	*(void **)&entry = dlsym(handle, body->entry);
	if (entry == NULL) {
		dprintf(2, "%s: no %s in it, it is of another version\n", set->body, body->entry);
		_exit(1);
	}
	_exit(entry(body->request) == 0 ? 0 : 1);
}

static pid_t start_body(const struct je_settings *set, const struct je_body *body, int err)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	reset_signals();
	set_stdio(err);
	close_others(body->fd);
	umask(077);
	if (chdir("/") < 0)
		_exit(1);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, JE_CPU_S);
	limit(RLIMIT_DATA, JE_MEMORY);
	limit(RLIMIT_AS, JE_ADDRESSES);
	be_body(set, body);
	_exit(1);
}

static int left_ms(uint64_t deadline_ns)
{
	uint64_t now = je_clock_ns(CLOCK_MONOTONIC);

	return now >= deadline_ns ? 0 : (int)((deadline_ns - now) / 1000000) + 1;
}

/* Reads what the bodies print until all of them are gone; false: the time is over. `said` keeps the
 * first bytes. A body that dies closes the pipe at once, so no SIGCHLD is needed. */
static bool listen_until_gone(int err, uint64_t deadline_ns, char *said, size_t size)
{
	char rest[512];
	size_t used = 0;

	for (;;) {
		struct pollfd p = { .fd = err, .events = POLLIN };
		int wait_ms = left_ms(deadline_ns);
		size_t room = size - 1 - used;
		ssize_t n;

		if (wait_ms == 0)
			return false;
		if (poll(&p, 1, wait_ms) <= 0)
			continue;
		n = read(err, room > 0 ? said + used : rest, room > 0 ? room : sizeof(rest));
		if (n == 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0 && room > 0)
			used += (size_t)n;
		said[used] = '\0';
	}
}

/* The wait status of a child that is dead, or will be very soon; -1: it does not die. */
static int reap(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	for (int i = 0; i < 100; i++) {
		int status;
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return status;
		if (got < 0 && errno != EINTR)
			return -1;
		nanosleep(&pause, NULL);
	}
	return -1;
}

/* Whether all bodies ended well. Late ones are killed. */
static bool reap_all(const pid_t *pids, int n, bool late)
{
	bool well = !late;

	for (int i = 0; i < n && late; i++)
		if (pids[i] > 0) {
			kill(-pids[i], SIGKILL);
			kill(pids[i], SIGKILL);
		}
	for (int i = 0; i < n; i++)
		well = pids[i] > 0 && reap(pids[i]) == 0 && well;
	return well;
}

/* This appears in slurmd's log only: a user sees nothing of a prolog or epilog. */
static void complain(const struct je_body *body, bool late, int timeout_ms, char *said)
{
	char *line = strstr(said, "panic:"), *fatal = strstr(said, "fatal error:");

	line = line != NULL ? line : fatal != NULL ? fatal : said;
	line[strcspn(line, "\n")] = '\0';
	je_clean(line);
	if (late)
		slurm_error("jobeff: %s took over %d ms and was ended, the job goes on without it. "
			    "%.300s",
			    body->entry, timeout_ms, line);
	else
		slurm_error("jobeff: %s failed, the job goes on without it. %.300s", body->entry,
			    line);
}

/* Runs the bodies side by side, until the last one ends or the time is over. Returns whether all
 * ended well. */
bool je_bodies_run(const struct je_settings *set, const struct je_body *bodies, int n,
		   int timeout_ms)
{
	uint64_t deadline_ns = je_clock_ns(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * 1000000u;
	char said[4096] = "";
	pid_t pids[JE_BODIES];
	bool late, well;
	int err[2];

	if (n > JE_BODIES || pipe2(err, O_CLOEXEC) < 0)
		return false;
	for (int i = 0; i < n; i++)
		pids[i] = start_body(set, &bodies[i], err[1]);
	close(err[1]);
	for (int i = 0; i < n; i++)
		if (bodies[i].fd >= 0)
			close(bodies[i].fd); /* a body must notice that the other one ended */
	late = !listen_until_gone(err[0], deadline_ns, said, sizeof(said));
	well = reap_all(pids, n, late);
	if (!well)
		complain(&bodies[0], late, timeout_ms, said);
	close(err[0]);
	return well;
}
