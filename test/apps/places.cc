/* places.cc: places.c in C++. */
#include "places.c"
