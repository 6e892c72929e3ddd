/* virtualmpi.h: the part of virtualclock.c that knows MPI. Each rank has its own clock. A
 * collective call ends at the time of the rank that came last, and a message is there DELAY_MS
 * after its sender's time, which travels beside it. Only messages in MPI_COMM_WORLD are known, and
 * a receive that begins early names its sender and its tag. */
#include <mpi.h>

enum { REQUESTS = 64 };

/* A receive that has begun, or a persistent request. */
static struct request {
	MPI_Request request, clock; /* clock: brings the sender's; MPI_REQUEST_NULL: it is here */
	int64_t sent;
	int peer, tag;
	bool used, persistent, receives;
} requests[REQUESTS];

static MPI_Comm clocks; /* messages in MPI_COMM_WORLD have their clocks here */
static int64_t delay_ns;

static void enter(void)
{
	__atomic_add_fetch(&outside, 1, __ATOMIC_RELEASE);
}

static void leave(int64_t at)
{
	__atomic_sub_fetch(&outside, 1, __ATOMIC_RELEASE);
	if (at > now())
		sleep_until(at);
}

static void leave_last(MPI_Comm comm)
{
	int64_t mine = now(), last;

	PMPI_Allreduce(&mine, &last, 1, MPI_INT64_T, MPI_MAX, comm);
	leave(last);
}

static void send_clock(int to, int tag, MPI_Comm comm)
{
	int64_t *sent;
	MPI_Request request;

	if (comm != MPI_COMM_WORLD)
		return;
	sent = malloc(sizeof(*sent));
	*sent = now();
	PMPI_Isend(sent, 1, MPI_INT64_T, to, tag, clocks, &request);
	PMPI_Request_free(&request);
}

static int64_t receive_clock(int from, int tag, MPI_Comm comm)
{
	int64_t sent = 0;

	if (comm != MPI_COMM_WORLD)
		return 0;
	PMPI_Recv(&sent, 1, MPI_INT64_T, from, tag, clocks, MPI_STATUS_IGNORE);
	return sent + delay_ns;
}

static struct request *note(MPI_Request request, int peer, int tag, bool persistent, bool receives)
{
	for (struct request *r = requests; r < requests + REQUESTS; r++)
		if (!r->used) {
			*r = (struct request){ request, MPI_REQUEST_NULL, 0,	   peer, tag,
					       true,	persistent,	  receives };
			return r;
		}
	abort();
}

static struct request *find(MPI_Request request)
{
	for (struct request *r = requests; r < requests + REQUESTS; r++)
		if (r->used && r->request == request)
			return r;
	return NULL;
}

static void start_clock(struct request *r)
{
	if (r == NULL)
		return;
	if (r->peer == MPI_ANY_SOURCE || r->tag == MPI_ANY_TAG)
		abort();
	if (r->receives)
		PMPI_Irecv(&r->sent, 1, MPI_INT64_T, r->peer, r->tag, clocks, &r->clock);
	else
		send_clock(r->peer, r->tag, MPI_COMM_WORLD);
}

/* When a request is complete; a send is at once. */
static int64_t complete_at(MPI_Request request)
{
	struct request *r = request == MPI_REQUEST_NULL ? NULL : find(request);

	if (r == NULL || !r->receives)
		return 0;
	PMPI_Wait(&r->clock, MPI_STATUS_IGNORE);
	return r->sent + delay_ns;
}

static void complete(MPI_Request request)
{
	struct request *r = request == MPI_REQUEST_NULL ? NULL : find(request);

	if (r != NULL && !r->persistent)
		r->used = false;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The first of some requests to be complete; -1: there is none. */
static int first_of(int n, const MPI_Request all[], int64_t *at)
{
	int first = -1;

	for (int i = 0; i < n; i++)
		if (all[i] != MPI_REQUEST_NULL && (first < 0 || complete_at(all[i]) < *at)) {
			first = i;
			*at = complete_at(all[i]);
		}
	return first;
}

static int begun(int result)
{
	const char *ms = getenv("DELAY_MS");

	delay_ns = (ms == NULL ? 0 : atoll(ms)) * MS;
	PMPI_Comm_dup(MPI_COMM_WORLD, &clocks);
	leave_last(MPI_COMM_WORLD);
	return result;
}

int MPI_Init(int *argc, char ***argv)
{
	enter();
	return begun(PMPI_Init(argc, argv));
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	enter();
	return begun(PMPI_Init_thread(argc, argv, required, provided));
}

double MPI_Wtime(void)
{
	return (double)now() / 1e9;
}

int MPI_Barrier(MPI_Comm comm)
{
	enter();

	int result = PMPI_Barrier(comm);

	leave_last(comm);
	return result;
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	enter();

	int result = PMPI_Allreduce(from, to, n, type, op, comm);

	leave_last(comm);
	return result;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
	enter();

	int result = PMPI_Comm_split(comm, color, key, made);

	leave_last(comm);
	return result;
}

int MPI_Send(const void *from, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	enter();
	send_clock(to, tag, comm);

	int result = PMPI_Send(from, n, type, to, tag, comm);

	leave(0);
	return result;
}

int MPI_Recv(void *to, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	     MPI_Status *status)
{
	MPI_Status own_status, *s = status == MPI_STATUS_IGNORE ? &own_status : status;

	enter();

	int result = PMPI_Recv(to, n, type, from, tag, comm, s);

	leave(receive_clock(s->MPI_SOURCE, s->MPI_TAG, comm));
	return result;
}

int MPI_Sendrecv(const void *from, int n, MPI_Datatype type, int dest, int tag, void *to, int m,
		 MPI_Datatype other, int source, int othertag, MPI_Comm comm, MPI_Status *status)
{
	MPI_Status own_status, *s = status == MPI_STATUS_IGNORE ? &own_status : status;

	enter();
	send_clock(dest, tag, comm);

	int result =
		PMPI_Sendrecv(from, n, type, dest, tag, to, m, other, source, othertag, comm, s);

	leave(receive_clock(s->MPI_SOURCE, s->MPI_TAG, comm));
	return result;
}

int MPI_Isend(const void *from, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
	      MPI_Request *request)
{
	send_clock(to, tag, comm);
	return PMPI_Isend(from, n, type, to, tag, comm, request);
}

int MPI_Irecv(void *to, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	      MPI_Request *request)
{
	int result = PMPI_Irecv(to, n, type, from, tag, comm, request);

	if (comm == MPI_COMM_WORLD)
		start_clock(note(*request, from, tag, false, true));
	return result;
}

int MPI_Send_init(const void *from, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
		  MPI_Request *request)
{
	int result = PMPI_Send_init(from, n, type, to, tag, comm, request);

	if (comm == MPI_COMM_WORLD)
		note(*request, to, tag, true, false);
	return result;
}

int MPI_Recv_init(void *to, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
		  MPI_Request *request)
{
	int result = PMPI_Recv_init(to, n, type, from, tag, comm, request);

	if (comm == MPI_COMM_WORLD)
		note(*request, from, tag, true, true);
	return result;
}

int MPI_Startall(int n, MPI_Request all[])
{
	for (int i = 0; i < n; i++)
		start_clock(find(all[i]));
	return PMPI_Startall(n, all);
}

int MPI_Waitall(int n, MPI_Request all[], MPI_Status statuses[])
{
	int64_t last = 0;

	enter();
	for (int i = 0; i < n; i++) {
		last = later(last, complete_at(all[i]));
		complete(all[i]);
	}

	int result = PMPI_Waitall(n, all, statuses);

	leave(last);
	return result;
}

int MPI_Waitany(int n, MPI_Request all[], int *which, MPI_Status *status)
{
	int64_t at = 0;
	int first, result;

	enter();
	first = first_of(n, all, &at);
	if (first < 0) {
		result = PMPI_Waitany(n, all, which, status);
	} else {
		*which = first;
		complete(all[first]);
		result = PMPI_Wait(&all[first], status);
	}
	leave(at);
	return result;
}

int MPI_Waitsome(int n, MPI_Request all[], int *done, int which[], MPI_Status statuses[])
{
	int64_t at = 0;
	int result = MPI_SUCCESS;

	enter();
	if (first_of(n, all, &at) < 0)
		result = PMPI_Waitsome(n, all, done, which, statuses);
	else
		*done = 0;
	at = later(at, now());
	for (int i = 0; i < n; i++)
		if (all[i] != MPI_REQUEST_NULL && complete_at(all[i]) <= at) {
			complete(all[i]);
			PMPI_Wait(&all[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE
									   : &statuses[*done]);
			which[(*done)++] = i;
		}
	leave(at);
	return result;
}
