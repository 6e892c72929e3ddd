/* options.c: the command line: the options of Sandia's mpi_overhead, and more. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overhead.h"

static const char usage[] =
	"Usage: mpirun -n 2 jobeff-overhead [OPTION...]\n"
	"Measures what starting and ending a message costs the host's processor, and how much\n"
	"of the transfer it has for other work (Sandia's post-work-wait method).\n"
	"\n"
	"  -r, --recv            measure MPI_Irecv; otherwise MPI_Isend\n"
	"  -m, --msgsize BYTES   sizes with commas; otherwise 1 B to 4 MiB, doubled\n"
	"  -i, --iterations N    iterations per amount of work; otherwise by their time\n"
	"  -t, --thresh F        stop at F times the base time (1.5)\n"
	"  -b, --bthresh F       base time counts below F times its mean; otherwise by the noise\n"
	"  -n, --nohdr           print no header\n"
	"  -v, --verbose         print each amount of work\n"
	"  -j, --json            print JSON for `jobeff admin overhead import`\n"
	"  -p, --pairs one|all   all: every pair of ranks at once, not the first alone\n"
	"      --mpi FILE        the MPI library; otherwise the launcher's\n"
	"  -h, -q, --help        print this\n"
	"\n"
	"Times are in us. Rank 0 measures; its partner is on another node, if there is one.\n";

enum { SMALLEST = 1, LARGEST = 4 << 20, MOST_ITERATIONS = 1000000, MPI_OPTION = 256 };

/* A whole number from 1 to most. */
static int number(const char *option, const char *text, int most)
{
	char *end;

	errno = 0;

	long n = strtol(text, &end, 10);

	if (end == text || *end != '\0' || errno != 0 || n < 1 || n > most)
		je_fail(JE_MISUSED, "--%s is a whole number from 1 to %d, not \"%.40s\"", option,
			most, text);
	return (int)n;
}

static double factor(const char *option, const char *text)
{
	char *end;
	double f = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(f) || f <= 1 || f > 100)
		je_fail(JE_MISUSED, "--%s is a factor above 1, at most 100, not \"%.40s\"", option,
			text);
	return f;
}

static void read_sizes(struct je_options *options, char *text)
{
	options->n_sizes = 0;
	for (char *comma; text != NULL; text = comma) {
		comma = strchr(text, ',');
		if (comma != NULL)
			*comma++ = '\0';
		if (options->n_sizes == JE_MOST_SIZES)
			je_fail(JE_MISUSED, "--msgsize takes at most %d sizes", JE_MOST_SIZES);
		options->sizes[options->n_sizes++] = number("msgsize", text, INT_MAX);
	}
}

static bool all_pairs(const char *text)
{
	if (strcmp(text, "all") != 0 && strcmp(text, "one") != 0)
		je_fail(JE_MISUSED, "--pairs is one or all, not \"%.40s\"", text);
	return strcmp(text, "all") == 0;
}

static const struct option known[] = { { "recv", no_argument, NULL, 'r' },
				       { "msgsize", required_argument, NULL, 'm' },
				       { "iterations", required_argument, NULL, 'i' },
				       { "thresh", required_argument, NULL, 't' },
				       { "bthresh", required_argument, NULL, 'b' },
				       { "nohdr", no_argument, NULL, 'n' },
				       { "verbose", no_argument, NULL, 'v' },
				       { "json", no_argument, NULL, 'j' },
				       { "pairs", required_argument, NULL, 'p' },
				       { "mpi", required_argument, NULL, MPI_OPTION },
				       { "help", no_argument, NULL, 'h' },
				       { NULL, 0, NULL, 0 } };

static void take(struct je_options *options, int option)
{
	switch (option) {
	case 'r':
		options->receive = true;
		break;
	case 'm':
		read_sizes(options, optarg);
		break;
	case 'i':
		options->iterations = number("iterations", optarg, MOST_ITERATIONS);
		break;
	case 't':
		options->thresh = factor("thresh", optarg);
		break;
	case 'b':
		options->bthresh = factor("bthresh", optarg);
		break;
	case 'n':
		options->nohdr = true;
		break;
	case 'v':
		options->verbose = true;
		break;
	case 'j':
		options->json = true;
		break;
	case 'p':
		options->all_pairs = all_pairs(optarg);
		break;
	case MPI_OPTION:
		options->mpi = optarg;
		break;
	case 'h':
	case 'q':
		fputs(usage, stdout);
		exit(0);
	default:
		je_fail(JE_MISUSED, "an option is unknown or lacks its value: see --help");
	}
}

void je_options_read(struct je_options *options, int argc, char **argv)
{
	options->thresh = 1.5;
	for (int bytes = SMALLEST; bytes <= LARGEST; bytes *= 2)
		options->sizes[options->n_sizes++] = bytes;
	opterr = 0; /* each rank would complain */
	for (int c; (c = getopt_long(argc, argv, "rm:i:t:b:nvjp:hq", known, NULL)) != -1;)
		take(options, c);
	if (optind < argc)
		je_fail(JE_MISUSED, "it takes options only, not \"%.40s\": see --help",
			argv[optind]);
	if (options->bthresh >= options->thresh)
		je_fail(JE_MISUSED, "--bthresh must be below --thresh");
	if (options->json && options->verbose)
		je_fail(JE_MISUSED, "--json prints no single steps: leave out --verbose");
}
