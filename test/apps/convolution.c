/* convolution.c WIDTH HEIGHT STEPS [IN OUT]: the worked example of sections, after Besnard
 * et al.: a mean filter, STEPS times, over an image of three colours in double precision,
 * split into bands of rows (1-D) over the ranks.
 *
 *   LOAD      rank 0 reads the image (or draws one), the others wait
 *   SCATTER   each rank gets its band
 *   STEPS     as often as asked: HALO, a row from each neighbour; CONVOLVE, the filter
 *   GATHER    rank 0 gets the bands back
 *   STORE     rank 0 writes the image (or a checksum alone), the others wait
 *
 * IN and OUT are PPM files (P6). Prints the checksum, which does not depend on the number
 * of ranks, and "section LABEL COUNT OUTER INNER" of each rank by its own clock (ns). Build:
 *
 *   mpicc -O2 -o convolution convolution.c -ljobeff_section
 */
#include <jobeff_section.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "endmpi.h"

enum { COLOURS = 3 };

struct image {
	int width, height; /* pixels */
	double *at;	   /* rows from top to bottom, COLOURS doubles a pixel */
};

struct band {
	struct image rows; /* with one more above and below: the halo */
	int above, below;  /* neighbours, MPI_PROC_NULL at the edges */
};

/* One's own clock, to check the record against; no program needs this. */
enum { LOAD, SCATTER, STEPS, HALO, CONVOLVE, GATHER, STORE, LABELS };
static const char *const labels[] = { "LOAD",	  "SCATTER", "STEPS", "HALO",
				      "CONVOLVE", "GATHER",  "STORE" };
static struct {
	long long outer, inner; /* ns, with the calls that enter and leave, and without them */
	int count;
} clocks[LABELS];

static int rank, ranks;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void enter(int label)
{
	clocks[label].outer -= now();
	MPIX_Section_enter(MPI_COMM_WORLD, labels[label]);
	clocks[label].inner -= now();
}

static void leave(int label)
{
	clocks[label].inner += now();
	MPIX_Section_exit(MPI_COMM_WORLD, labels[label]);
	clocks[label].outer += now();
	clocks[label].count++;
}

static void fail(const char *what)
{
	fprintf(stderr, "convolution: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static double *room(size_t rows, size_t width)
{
	double *at = calloc(rows * width * COLOURS, sizeof(*at));

	if (at == NULL)
		fail("no memory");
	return at;
}

static void draw(struct image *image)
{
	for (size_t i = 0; i < (size_t)image->width * image->height * COLOURS; i++)
		image->at[i] = (double)(i * 2654435761u % 256);
}

static void read_ppm(struct image *image, const char *path)
{
	FILE *file = fopen(path, "rb");
	int most = 0;

	if (file == NULL ||
	    fscanf(file, "P6 %d %d %d", &image->width, &image->height, &most) != 3 ||
	    fgetc(file) == EOF || most != 255 || image->width < 1 || image->height < 1 ||
	    image->width > 1 << 15 || image->height > 1 << 15)
		fail("the input is no PPM file (P6, 255 values)");
	image->at = room(image->height, image->width);
	for (size_t i = 0; i < (size_t)image->width * image->height * COLOURS; i++)
		image->at[i] = fgetc(file);
	fclose(file);
}

static void write_ppm(const struct image *image, const char *path)
{
	FILE *file = fopen(path, "wb");

	if (file == NULL)
		fail("the output cannot be written");
	fprintf(file, "P6\n%d %d\n255\n", image->width, image->height);
	for (size_t i = 0; i < (size_t)image->width * image->height * COLOURS; i++)
		fputc((int)(image->at[i] + 0.5), file);
	if (fclose(file) != 0)
		fail("the output cannot be written");
}

static void load(struct image *image, const char *path)
{
	enter(LOAD);
	if (rank == 0 && path != NULL) {
		read_ppm(image, path);
	} else if (rank == 0) {
		image->at = room(image->height, image->width);
		draw(image);
	}
	MPI_Bcast(&image->width, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Bcast(&image->height, 1, MPI_INT, 0, MPI_COMM_WORLD);
	leave(LOAD);
}

/* Rows of each rank, and where they begin, in doubles. */
static void split(const struct image *image, int *counts, int *starts)
{
	int row = 0;

	for (int r = 0; r < ranks; r++) {
		int rows = image->height / ranks + (r < image->height % ranks);

		counts[r] = rows * image->width * COLOURS;
		starts[r] = row * image->width * COLOURS;
		row += rows;
	}
}

static void scatter(const struct image *image, struct band *band, const int *counts,
		    const int *starts)
{
	int row = image->width * COLOURS;

	enter(SCATTER);
	band->rows.width = image->width;
	band->rows.height = counts[rank] / row;
	band->rows.at = room(band->rows.height + 2, image->width);
	MPI_Scatterv(image->at, counts, starts, MPI_DOUBLE, band->rows.at + row, counts[rank],
		     MPI_DOUBLE, 0, MPI_COMM_WORLD);
	band->above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
	band->below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
	leave(SCATTER);
}

static void halo(struct band *band)
{
	int row = band->rows.width * COLOURS;
	double *first = band->rows.at + row, *last = band->rows.at + row * band->rows.height;

	enter(HALO);
	MPI_Sendrecv(first, row, MPI_DOUBLE, band->above, 1, last + row, row, MPI_DOUBLE,
		     band->below, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(last, row, MPI_DOUBLE, band->below, 2, first - row, row, MPI_DOUBLE,
		     band->above, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	leave(HALO);
}

/* The mean of a pixel and its eight neighbours; what is outside the image is left out. */
static double mean(const struct band *band, int y, int x, int colour)
{
	int row = band->rows.width * COLOURS, n = 0;
	int top = y == 1 && band->above == MPI_PROC_NULL ? y : y - 1;
	int bottom = y == band->rows.height && band->below == MPI_PROC_NULL ? y : y + 1;
	double sum = 0;

	for (int j = top; j <= bottom; j++)
		for (int i = x > 0 ? x - 1 : 0; i <= x + 1 && i < band->rows.width; i++, n++)
			sum += band->rows.at[j * row + i * COLOURS + colour];
	return sum / n;
}

static void convolve(struct band *band, double *next)
{
	int row = band->rows.width * COLOURS;

	enter(CONVOLVE);
	for (int y = 1; y <= band->rows.height; y++)
		for (int x = 0; x < band->rows.width; x++)
			for (int colour = 0; colour < COLOURS; colour++)
				next[y * row + x * COLOURS + colour] = mean(band, y, x, colour);
	memcpy(band->rows.at + row, next + row, (size_t)row * band->rows.height * sizeof(*next));
	leave(CONVOLVE);
}

static void steps(struct band *band, int n)
{
	double *next = room(band->rows.height + 2, band->rows.width);

	enter(STEPS);
	for (int i = 0; i < n; i++) {
		halo(band);
		convolve(band, next);
	}
	leave(STEPS);
	free(next);
}

static void gather(struct image *image, const struct band *band, const int *counts,
		   const int *starts)
{
	enter(GATHER);
	MPI_Gatherv(band->rows.at + band->rows.width * COLOURS, counts[rank], MPI_DOUBLE, image->at,
		    counts, starts, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	leave(GATHER);
}

static void store(const struct image *image, const char *path)
{
	double sum = 0;

	enter(STORE);
	if (rank == 0) {
		for (size_t i = 0; i < (size_t)image->width * image->height * COLOURS; i++)
			sum += image->at[i] * (double)(i % 1009);
		if (path != NULL)
			write_ppm(image, path);
		printf("checksum %.6f\n", sum);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	leave(STORE);
}

int main(int argc, char **argv)
{
	struct image image = { 0, 0, NULL };
	struct band band;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 4 && argc != 6)
		fail("give WIDTH HEIGHT STEPS [IN OUT]");
	image.width = atoi(argv[1]);
	image.height = atoi(argv[2]);
	if (image.width < 1 || image.height < ranks || image.width > 1 << 15 ||
	    image.height > 1 << 15)
		fail("the image needs at least a pixel's width and a row for each rank");

	int counts[ranks], starts[ranks];

	load(&image, argc == 6 ? argv[4] : NULL);
	split(&image, counts, starts);
	scatter(&image, &band, counts, starts);
	steps(&band, atoi(argv[3]));
	gather(&image, &band, counts, starts);
	store(&image, argc == 6 ? argv[5] : NULL);
	for (int i = 0; i < LABELS; i++)
		printf("section %s %d %lld %lld\n", labels[i], clocks[i].count, clocks[i].outer,
		       clocks[i].inner);
	MPI_Barrier(MPI_COMM_WORLD);
	usleep(200000); /* MPICH 4.0's MPI_Finalize hangs seldom after that */
	end_mpi();
	return 0;
}
