/* kokkos.cc: regions of Kokkos around its kernels. One is open when MPI starts, and one ends after
 * MPI has ended. */
#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <Kokkos_Core.hpp>
#include <dlfcn.h>
#include <jobeff_section.h>

static void work()
{
	Kokkos::parallel_for("fill", 1000, [](int) {});
	Kokkos::fence();
}

/* Whether a tool wants a fence around each kernel. Kokkos asks so, with 256 settings. */
static bool wants_fences()
{
	bool settings[256] = { true, true };
	void *ask = dlsym(RTLD_DEFAULT, "kokkosp_request_tool_settings");

	if (ask != nullptr)
		reinterpret_cast<void (*)(uint32_t, bool *)>(ask)(1, settings);
	return settings[0] || !settings[1];
}

int main(int argc, char **argv)
{
	Kokkos::initialize(argc, argv);
	Kokkos::Profiling::pushRegion("before MPI_Init");
	MPI_Init(&argc, &argv);
	Kokkos::Profiling::pushRegion("outer");
	for (int i = 0; i < 2; i++) {
		Kokkos::Profiling::pushRegion("inner");
		work();
		Kokkos::Profiling::popRegion();
	}
	MPIX_Section_enter(MPI_COMM_WORLD, "by hand");
	Kokkos::Profiling::pushRegion("");
	work();
	Kokkos::Profiling::popRegion();
	MPIX_Section_exit(MPI_COMM_WORLD, "by hand");
	Kokkos::Profiling::popRegion();
	Kokkos::Profiling::popRegion();
	MPI_Finalize();
	Kokkos::Profiling::pushRegion("after MPI_Finalize");
	Kokkos::Profiling::popRegion();
	Kokkos::finalize();
	return wants_fences();
}
