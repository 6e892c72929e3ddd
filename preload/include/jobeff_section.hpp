/* jobeff_section.hpp: a section as a C++ object. jobeff_section.h says what sections are.
 *
 *     jobeff::section halo(MPI_COMM_WORLD, "halo");   // left at the end of the block
 *
 * The block's end leaves the section also on return, break and exceptions.
 */
#ifndef JOBEFF_SECTION_HPP
#define JOBEFF_SECTION_HPP

#include <jobeff_section.h>

namespace jobeff
{

class section
{
public:
	/* The label must outlive the object, as a string constant does. */
	section(MPI_Comm comm, const char *label) : comm_(comm), label_(label)
	{
		MPIX_Section_enter(comm_, label_);
	}
	~section()
	{
		MPIX_Section_exit(comm_, label_);
	}
	section(const section &) = delete;
	section &operator=(const section &) = delete;

private:
	MPI_Comm comm_;
	const char *label_;
};

} // namespace jobeff

#endif
