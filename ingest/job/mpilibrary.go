package job

import (
	"strings"
	"unicode"
)

// libraryName is the first line of MPI_Get_library_version without the library's package.
func libraryName(version string) string {
	name, _, _ := strings.Cut(version, ",") // Open MPI goes on with its package
	return strings.Join(strings.Fields(strings.Replace(name, "Version:", "", 1)), " ")
}

// family is the name of an MPI without its version: "Open MPI v" of "Open MPI v4.1.4".
func family(mpi string) string {
	if at := strings.IndexFunc(mpi, unicode.IsDigit); at >= 0 {
		return mpi[:at]
	}
	return mpi
}
