// Package preload holds the tests of libjobeff.so, the C library that stands between
// a program and its MPI and OpenMP (lib/, mpi_calls.def, gomp_calls.def). It is the first stage of the flow:
// what it leaves behind is a record, which package record reads and package ingest
// folds. The tests compile the programs of test/apps with the real Open MPI and
// MPICH and read the records back.
package preload
