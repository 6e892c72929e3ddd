/* fakempi.c: the few MPI functions that libjobeff.so asks and that fakeapp.c calls, for
 * machines whose MPI cannot run here. It has MPICH's constants, one rank and no messages;
 * MPI_Barrier takes 20 ms. With -DSTUB it has no PMPI names, as a stand-in for one process. */
#include <string.h>
#include <unistd.h>

#define ONE(symbol, params, ...)      \
	int symbol params;            \
	int symbol params             \
	{                             \
		__VA_ARGS__ return 0; \
	}
#ifdef STUB
#define BOTH(name, params, ...) ONE(MPI_##name, params, __VA_ARGS__)
#else
#define BOTH(name, params, ...)               \
	ONE(PMPI_##name, params, __VA_ARGS__) \
	ONE(MPI_##name, params, __VA_ARGS__)
#endif

static int begun;

BOTH(Init, (int *argc, char ***argv), (void)argc; (void)argv; begun = 1;)
BOTH(Initialized, (int *yes), *yes = begun;)
BOTH(Finalize, (void), )
BOTH(Query_thread, (int *level), *level = 1;)
BOTH(Get_library_version, (char *text, int *n), strcpy(text, "MPICH, a fake"); *n = 13;)
BOTH(Comm_rank, (int comm, int *rank), (void)comm; *rank = 0;)
BOTH(Comm_size, (int comm, int *size), (void)comm; *size = 1;)
BOTH(Comm_remote_size, (int comm, int *size), (void)comm; *size = 0;)
BOTH(Comm_test_inter, (int comm, int *inter), (void)comm; *inter = 0;)
BOTH(Comm_get_parent, (int *parent), *parent = 0x04000000;)
BOTH(Comm_group, (int comm, int *group), (void)comm; *group = 0x48000000;)
BOTH(Group_translate_ranks, (int from, int n, const int *ranks, int to, int *translated),
     (void)from;
     (void)to; memcpy(translated, ranks, (size_t)n * sizeof(int));)
BOTH(Group_free, (int *group), *group = 0x08000000;)
BOTH(Type_size, (int type, int *bytes), *bytes = type >> 8 & 0xff;)
BOTH(Barrier, (int comm), (void)comm; usleep(20000);)
BOTH(Allreduce, (const void *in, void *out, int n, int type, int op, int comm), (void)in; (void)out;
     (void)n; (void)type; (void)op; (void)comm;)
BOTH(Sendrecv,
     (const void *in, int n, int type, int to, int tag, void *out, int m, int type2, int from,
      int tag2, int comm, void *status),
     (void)in;
     (void)n; (void)type; (void)to; (void)tag; (void)out; (void)m; (void)type2; (void)from;
     (void)tag2; (void)comm; (void)status;)
