/* steady.h: times blocks of calls (steady.c). */
int block_begin_(void); /* how many calls to make; 0: there were enough */
void block_end_(void);
double blocks_quick_(void); /* ns per call at 3 GHz: the lower quartile; begins anew */
