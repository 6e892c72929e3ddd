/* print.c: the table and the JSON, and how they end at a signal.
 *
 * Each size is printed as soon as it is measured, as a whole line: launchers forward the whole
 * lines of a program that is killed. So after Ctrl-C, or after a rank died, all sizes measured
 * until then are printed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "overhead.h"

static bool json, bar; /* bar: a progress bar on the terminal */
static int printed, n_pairs, n_nodes;
static char now[32];
static int to_witness = -1;

enum { BEGUN = 'b', ROW = 'r', OVER = 'o' }; /* what the witness is told */

static void put(int file, const char *text)
{
	ssize_t done = write(file, text, strlen(text));

	(void)done; /* the program ends either way */
}

static void tell_witness(char what)
{
	send(to_witness, &what, 1, MSG_NOSIGNAL); /* there may be none */
}

/* Uses only what is safe in a signal handler. */
static void say_end(int number)
{
	if (json)
		put(STDOUT_FILENO, printed > 0 ? "]\n" : "[]\n");
	put(STDERR_FILENO, number == SIGINT    ? "jobeff-overhead: interrupted."
			   : number == SIGALRM ? "jobeff-overhead: a rank does not answer."
					       : "jobeff-overhead: ended: did another rank die?");
	put(STDERR_FILENO, " The sizes before are printed.\n");
}

static void end_at_signal(int number)
{
	tell_witness(OVER);
	say_end(number);
	_exit(number == SIGINT ? 128 + SIGINT : JE_FAILED);
}

/* Waits for the end of rank 0, in a session that no launcher kills. */
static void witness(int from)
{
	char told = OVER;

	setsid();
	while (read(from, &told, 1) == 1 && told != OVER)
		printed += told == ROW;
	if (told != OVER)
		say_end(SIGKILL);
	_exit(0);
}

/* A witness is needed because MPICH's launcher kills all ranks as soon as one dies. */
void je_print_witness(const struct je_options *options)
{
	int ends[2];

	json = options->json;
	if (je_launched_rank() != 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	if (fork() == 0) {
		close(ends[1]);
		witness(ends[0]);
	}
	close(ends[0]);
	to_witness = ends[1];
}

/* Runs on all ranks but 0. A launcher kills rank 0 when it sees another rank end, so this waits
 * until rank 0 has written what it has to write. */
static void end_later(int number)
{
	sleep(1);
	_exit(128 + number);
}

void je_print_nothing(void)
{
	signal(SIGINT, end_later);
	signal(SIGTERM, end_later);
}

static void mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGALRM);
	sigprocmask(how, &set, NULL);
}

void je_print_begin(const struct je_options *options, int pairs, int nodes)
{
	time_t t = time(NULL);
	struct tm utc;

	tell_witness(BEGUN);
	bar = isatty(STDERR_FILENO) != 0 && !options->verbose;
	n_pairs = pairs;
	n_nodes = nodes;
	strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
	signal(SIGINT, end_at_signal);
	signal(SIGTERM, end_at_signal);
	signal(SIGALRM, end_at_signal);
	if (options->verbose)
		printf("Calculating %s overhead\n%s, %d pair(s), on %d node(s)\n",
		       options->receive ? "receive" : "send", je_mpi.version, pairs, nodes);
}

void je_print_size(const struct je_options *options, int bytes, double bthresh)
{
	if (!options->verbose)
		return;
	printf("Message size is %d bytes\n"
	       "Overhead comparison threshold is %f (%.1f%%)\n"
	       "Base time comparison threshold is %f (%.1f%%)\n",
	       bytes, options->thresh, 100 * (options->thresh - 1), bthresh, 100 * (bthresh - 1));
}

void je_print_step(int64_t work, double iter_t, double base_t)
{
	printf("%-11lld %-11.3f %-11.3f\n", (long long)work, iter_t, base_t);
}

/* Prints a JSON string. Control characters become spaces. What JSON escapes, and what is not ASCII,
 * becomes '?'. */
static void print_text(const char *name, const char *text)
{
	printf(", \"%s\": \"", name);
	for (; text != NULL && *text != '\0'; text++)
		putchar(*text > 0 && *text < ' '			    ? ' '
			: *text < 0 || *text > '~' || strchr("\"\\", *text) ? '?'
									    : *text);
	putchar('"');
}

static void print_interval(const char *name, struct je_interval interval, double unit)
{
	printf(", \"%s_low\": %.3f, \"%s_high\": %.3f", name, interval.low * unit, name,
	       interval.high * unit);
}

static void print_json(const struct je_options *options, int bytes, int iterations, int repetitions,
		       const struct je_result *result)
{
	const struct je_sample *s = &result->sample;

	printf("%s {\"msgsize\": %d, \"iterations\": %d, \"iter_t\": %.3f, \"work_t\": %.3f, "
	       "\"overhead\": %.3f, \"base_t\": %.3f, \"avail\": ",
	       printed > 0 ? "," : "[", bytes, iterations, s->iter_t, s->work_t, je_overhead(s),
	       s->base_t);
	if (je_refused(result) == NULL) {
		printf("%.3f", 100 * je_availability(s));
	} else {
		printf("null");
		print_text("refused", je_refused(result));
	}
	print_interval("overhead", result->overhead, 1);
	print_interval("base_t", result->base_t, 1);
	print_interval("avail", result->availability, 100);
	printf(", \"repetitions\": %d, \"pairs\": %d, \"nodes\": %d", repetitions, n_pairs,
	       n_nodes);
	print_text("direction", options->receive ? "receive" : "send");
	print_text("mpi", je_mpi.version);
	print_text("cluster", getenv("SLURM_CLUSTER_NAME"));
	print_text("partition", getenv("SLURM_JOB_PARTITION"));
	print_text("time", now);
	puts("}");
}

static void print_row(const struct je_options *options, int bytes, int iterations,
		      const struct je_result *result)
{
	const struct je_sample *s = &result->sample;

	if (!options->nohdr && (printed == 0 || options->verbose))
		printf("%-11s %-11s %-11s %-11s %-11s %-11s %s\n", "msgsize", "iterations",
		       "iter_t", "work_t", "overhead", "base_t", "avail(%)");
	printf("%-11d %-11d %-11.3f %-11.3f %-11.3f %-11.3f ", bytes, iterations, s->iter_t,
	       s->work_t, je_overhead(s), s->base_t);
	if (je_refused(result) == NULL)
		printf("%.1f\n", 100 * je_availability(s));
	else
		printf("-\n");
}

enum { WIDTH = 30 }; /* of the bar */

static void clear_bar(void)
{
	fprintf(stderr, "\r%*s\r", WIDTH + 20, "");
}

static void draw_bar(const struct je_options *options)
{
	int full = WIDTH * printed / options->n_sizes;

	fprintf(stderr, "%.*s%.*s %d of %d sizes", full, "##############################",
		WIDTH - full, "..............................", printed, options->n_sizes);
}

void je_print_result(const struct je_options *options, int bytes, int iterations, int repetitions,
		     const struct je_result *result)
{
	mask(SIG_BLOCK);
	if (bar)
		clear_bar();
	if (json)
		print_json(options, bytes, iterations, repetitions, result);
	else
		print_row(options, bytes, iterations, result);
	fflush(stdout);
	tell_witness(ROW);
	printed++;
	if (!json && je_refused(result) != NULL)
		fprintf(stderr, "jobeff-overhead: %d bytes: no availability: %s\n", bytes,
			je_refused(result));
	if (bar && printed < options->n_sizes)
		draw_bar(options);
	mask(SIG_UNBLOCK);
}

void je_print_end(const struct je_options *options)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	if (json)
		printf("]\n");
	else if (options->verbose)
		printf("mpi_overhead: done\n");
	fflush(stdout);
	tell_witness(OVER);
}
