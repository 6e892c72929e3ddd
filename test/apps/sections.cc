/* sections.cc: C++ objects whose sections end with a block, a break, a return, an exception. */
#include <jobeff_section.hpp>

static int returns()
{
	jobeff::section outer(MPI_COMM_WORLD, "outer");
	jobeff::section inner(MPI_COMM_WORLD, "inner");
	return MPI_Barrier(MPI_COMM_WORLD);
}

static void throws()
{
	jobeff::section thrown(MPI_COMM_WORLD, "thrown");
	throw 1;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	for (int i = 0; i < 3; i++) {
		jobeff::section loop(MPI_COMM_WORLD, "loop");
		if (i == 1)
			break;
	}
	returns();
	try {
		throws();
	} catch (int) {
	}
	{
		jobeff::section block(MPI_COMM_WORLD, "block");
	}
	MPI_Finalize();
	return 0;
}
