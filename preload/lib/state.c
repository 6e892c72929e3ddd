/* state.c: the state of this process and of its threads. */
#include "jobeff.h"

struct je_process je_process;
__thread struct je_thread je_me;
