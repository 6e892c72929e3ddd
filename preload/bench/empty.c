/* empty.c: a preload that does nothing. It is the fair control: loading any library costs time. */
extern int empty;
int empty;
