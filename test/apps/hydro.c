/* hydro.c ROWS COLUMNS: a small hydrodynamics proxy, MPI and OpenMP. It solves the Euler equations
 * of an ideal gas (gamma 1.4) on a grid of square cells with the flux of Harten, Lax and van Leer,
 * first order in space and time. The gas is Sod's shock tube, which lies across the ranks: each
 * has a band of rows, and its threads share these. Each time step has two phases:
 *
 *   STATE  pressure and speed of sound of each cell, and with them the time step of all ranks
 *   FLOW   a row from each neighbour, the fluxes, and the cells after the step
 *
 * Prints the steps, the mean distance of the density from Riemann's exact solution, and how much
 * mass was won or lost. None depends on the number of ranks or threads. Then it prints how long the
 * median step took, which other programs on the machine disturb little. It exits with 1 where the
 * solution is wrong. Build:
 *
 *   mpicc -O2 -fopenmp -o hydro hydro.c -ljobeff_section -lm
 */
#include <jobeff_section.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 100000 }; /* at most */

enum { MASS, ALONG, ACROSS, ENERGY, FIELDS }; /* along a column: the direction of the tube */

static const double gas = 1.4, stop_at = 0.2, courant = 0.4;

/* A band of rows, with one more above and below. */
static struct {
	int rows, columns, first; /* first: of the whole grid */
	int above, below;	  /* neighbours, MPI_PROC_NULL at the ends */
	double width;		  /* of a cell */
	double *now, *next;	  /* FIELDS a cell */
	double *pressure, *sound;
} band;

static size_t cell(int row, int column)
{
	return (size_t)row * (size_t)band.columns + (size_t)column;
}

static double *room(int fields)
{
	double *at = calloc(cell(band.rows + 2, 0) * (size_t)fields, sizeof(*at));

	if (at == NULL)
		MPI_Abort(MPI_COMM_WORLD, 3);
	return at;
}

static void fill(void)
{
#pragma omp parallel for
	for (int row = 0; row < band.rows + 2; row++) {
		int left = (band.first + row - 1 + 0.5) * band.width < 0.5;

		for (int column = 0; column < band.columns; column++) {
			double *at = band.now + FIELDS * cell(row, column);

			at[MASS] = left ? 1 : 0.125;
			at[ENERGY] = (left ? 1 : 0.1) / (gas - 1);
		}
	}
}

/* Returns the time step that the fastest wave allows. */
static double state(void)
{
	double fastest = 0, all;

#pragma omp parallel for reduction(max : fastest)
	for (int row = 1; row <= band.rows; row++)
		for (int column = 0; column < band.columns; column++) {
			const double *at = band.now + FIELDS * cell(row, column);
			double along = at[ALONG] / at[MASS], across = at[ACROSS] / at[MASS];
			double motion = 0.5 * at[MASS] * (along * along + across * across);
			double pressure = (gas - 1) * (at[ENERGY] - motion);
			double sound = sqrt(gas * pressure / at[MASS]);

			band.pressure[cell(row, column)] = pressure;
			band.sound[cell(row, column)] = sound;
			fastest = fmax(fastest, sound + fmax(fabs(along), fabs(across)));
		}
	MPI_Allreduce(&fastest, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return courant * band.width / all;
}

static void swap(double *field, int fields)
{
	int n = fields * band.columns;
	double *at = field;
	size_t last = cell(band.rows, 0), row = cell(1, 0), f = (size_t)fields;

	MPI_Sendrecv(at + row * f, n, MPI_DOUBLE, band.above, 0, at + (last + row) * f, n,
		     MPI_DOUBLE, band.below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(at + last * f, n, MPI_DOUBLE, band.below, 1, at, n, MPI_DOUBLE, band.above, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* What flows out of a cell in the direction of a momentum. */
static void flow_of(const double *at, double pressure, int momentum, double *flow)
{
	double speed = at[momentum] / at[MASS];

	for (int i = 0; i < FIELDS; i++)
		flow[i] = speed * at[i];
	flow[momentum] += pressure;
	flow[ENERGY] += speed * pressure;
}

/* The flux of Harten, Lax and van Leer between two cells. */
static void flux_between(size_t from, size_t to, int momentum, double *flux)
{
	const double *a = band.now + FIELDS * from, *b = band.now + FIELDS * to;
	double u = a[momentum] / a[MASS], v = b[momentum] / b[MASS], flow_a[FIELDS], flow_b[FIELDS];
	double slowest = fmin(fmin(u - band.sound[from], v - band.sound[to]), 0);
	double fastest = fmax(fmax(u + band.sound[from], v + band.sound[to]), 0);

	flow_of(a, band.pressure[from], momentum, flow_a);
	flow_of(b, band.pressure[to], momentum, flow_b);
	for (int i = 0; i < FIELDS; i++)
		flux[i] = (fastest * flow_a[i] - slowest * flow_b[i] +
			   fastest * slowest * (b[i] - a[i])) /
			  (fastest - slowest);
}

/* The ends of the tube and its sides let everything through. */
static void flow(double step)
{
	double part = step / band.width;
	double *before = band.now;

	swap(band.now, FIELDS);
	swap(band.pressure, 1);
	swap(band.sound, 1);
#pragma omp parallel for
	for (int row = 1; row <= band.rows; row++) {
		int up = row == 1 && band.above == MPI_PROC_NULL ? row : row - 1;
		int down = row == band.rows && band.below == MPI_PROC_NULL ? row : row + 1;

		for (int column = 0; column < band.columns; column++) {
			size_t here = cell(row, column);
			size_t left = column == 0 ? here : here - 1;
			size_t right = column == band.columns - 1 ? here : here + 1;
			double in[FIELDS], out[FIELDS], west[FIELDS], east[FIELDS];

			flux_between(cell(up, column), here, ALONG, in);
			flux_between(here, cell(down, column), ALONG, out);
			flux_between(left, here, ACROSS, west);
			flux_between(here, right, ACROSS, east);
			for (int i = 0; i < FIELDS; i++)
				band.next[FIELDS * here + i] =
					band.now[FIELDS * here + i] +
					part * (in[i] - out[i] + west[i] - east[i]);
		}
	}
	band.now = band.next;
	band.next = before;
}

/* Density of Sod's tube at time stop_at (Toro, Riemann Solvers, section 4.3.3, test 1). */
static double exact(double place)
{
	const double speed = 0.92745262, left = 0.42631943, right = 0.26557371;
	const double sound = sqrt(gas), tail = speed - sqrt(gas * 0.30313018 / 0.42631943);
	double x = (place - 0.5) / stop_at;

	if (x < -sound)
		return 1;
	if (x < tail)
		return pow(2 / (gas + 1) - (gas - 1) / (gas + 1) / sound * x, 2 / (gas - 1));
	return x < speed ? left : x < 1.75215573 ? right : 0.125;
}

/* Distance from the exact solution, and mass: of each row, so that their sums have one order. */
static void check_rows(double *sums)
{
	for (int row = 1; row <= band.rows; row++) {
		double *sum = sums + 2 * (band.first + row - 1);

		for (int column = 0; column < band.columns; column++) {
			double mass = band.now[FIELDS * cell(row, column) + MASS];

			sum[0] += fabs(mass - exact((band.first + row - 0.5) * band.width));
			sum[1] += mass;
		}
	}
}

static int is_wrong(int rows, int rank, int steps)
{
	double *mine = calloc((size_t)rows * 2, sizeof(*mine)),
	       *all = calloc((size_t)rows * 2, sizeof(*all));
	double distance = 0, mass = 0, cells = (double)rows * band.columns, off;

	if (mine == NULL || all == NULL)
		MPI_Abort(MPI_COMM_WORLD, 3);
	check_rows(mine);
	MPI_Reduce(mine, all, 2 * rows, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	for (int row = 0; row < rows; row++) {
		distance += all[2 * row] / cells;
		mass += all[2 * row + 1] / cells;
	}
	free(mine);
	free(all);
	if (rank != 0)
		return 0;
	off = fabs(mass - 0.5625);
	printf("%d steps, density off by %.5f, mass by %.0e\n", steps, distance,
	       off < 1e-9 ? 0 : off);
	return !(distance < 0.35 / sqrt(rows)) || !(off < 1e-9);
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	int level, rank, ranks, wrong, steps = 0, rows = argc > 1 ? atoi(argv[1]) : 200;
	static double took[STEPS];
	double time = 0, step, began;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (rows < ranks)
		MPI_Abort(MPI_COMM_WORLD, 2);
	band.columns = argc > 2 ? atoi(argv[2]) : 50;
	band.first = (int)((long long)rows * rank / ranks);
	band.rows = (int)((long long)rows * (rank + 1) / ranks) - band.first;
	band.above = rank == 0 ? MPI_PROC_NULL : rank - 1;
	band.below = rank == ranks - 1 ? MPI_PROC_NULL : rank + 1;
	band.width = 1.0 / rows;
	band.now = room(FIELDS);
	band.next = room(FIELDS);
	band.pressure = room(1);
	band.sound = room(1);
	fill();
	for (; time < stop_at && steps < STEPS; time += step, steps++) {
		began = MPI_Wtime();
		MPIX_Section_enter(MPI_COMM_WORLD, "STATE");
		step = fmin(state(), stop_at - time);
		MPIX_Section_exit(MPI_COMM_WORLD, "STATE");
		MPIX_Section_enter(MPI_COMM_WORLD, "FLOW");
		flow(step);
		MPIX_Section_exit(MPI_COMM_WORLD, "FLOW");
		took[steps] = MPI_Wtime() - began;
	}
	wrong = is_wrong(rows, rank, steps);
	qsort(took, (size_t)steps, sizeof(took[0]), by_size);
	if (rank == 0)
		printf("%.3f us a step\n", 1e6 * took[steps / 2]);
	MPI_Finalize();
	return wrong;
}
