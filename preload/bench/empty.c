/* empty.c: a preload that does nothing, the fair control: loading any library has a price. */
extern int empty;
int empty;
