/* steady.h: times blocks of calls (steady.c). */
enum { BLOCK_CALLS = 1000 };

int block_begin_(void); /* 0: there were enough */
void block_end_(void);
double blocks_quick_(void); /* ns per call at 3 GHz: the lower quartile; begins anew */
