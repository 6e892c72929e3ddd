/* calls_check.h: checks rows of mpi_calls.def against an mpi.h, at compile time.
 *
 * calls_test.go compiles it as C++ with each MPI's own compiler; CHECK_ROWS is the file of rows.
 * The number of arguments must be the row's. Each argument must be one integer or pointer of at
 * most 8 bytes. Each position that the row names must hold what the row says.
 */
#include <mpi.h>

#include <tuple>
#include <type_traits>

template <class F> struct function;
template <class... A> struct function<int(A...)> {
	static constexpr int count = sizeof...(A);
	static constexpr bool slots =
		(((std::is_integral_v<A> || std::is_pointer_v<A>)&&sizeof(A) <= 8) && ...);
	using arguments = std::tuple<A..., void>;
};

/* Whether argument `at` of F is a T; for a vector form, T is a pointer. -1: no argument. */
template <class F, int at, class T> constexpr bool holds()
{
	if constexpr (at == -1)
		return true;
	else if constexpr (at < -1 || at >= function<F>::count)
		return false;
	else
		return std::is_same_v<std::remove_cv_t<typename std::tuple_element_t<
					      at, typename function<F>::arguments>>,
				      T>;
}

enum how {
	NONE,
	ONE,
	PEER,
	OWN,
	ALL,
	VEC,
	W,
	PARTS,
	BLOCKS,
	MINE,
	AT_ROOT,
	OFF_ROOT,
	ROOT_ALL,
	ROOT_VEC,
	DEG_ALL,
	DEG_VEC,
	DEG_W,
	ELEMENT,
	ORIGIN
};

struct side {
	how h;
	int count, type, peer;
};

constexpr bool needs_peer(how h)
{
	return h == PEER || h == ORIGIN || (h >= AT_ROOT && h <= ROOT_VEC);
}

constexpr bool needs_comm(how h)
{
	return h == OWN || h == ORIGIN || (h >= ALL && h <= DEG_W);
}

template <class F, how h, int count, int type, int peer, class N> constexpr bool side_fits()
{
	constexpr bool array = h == VEC || h == W || h == PARTS || h == MINE || h == ROOT_VEC ||
			       h == DEG_VEC || h == DEG_W;
	using counts = std::conditional_t<array, const N *, N>;
	using types = std::conditional_t<h == W || h == DEG_W, const MPI_Datatype *, MPI_Datatype>;

	return (h == NONE) == (type == -1) &&
	       (h == NONE || h == ELEMENT || (h == ORIGIN && count == -1)) == (count == -1) &&
	       needs_peer(h) <= (peer >= 0) && holds<F, count, counts>() &&
	       holds<F, type, types>() && holds<F, peer, int>();
}

#define NOTHING NONE, -1, -1, -1
#define SIDE(how, count, type, peer) how, count, type, peer
#define CHECK(...) CHECK_(__VA_ARGS__)
#define CHECK_(name, integer, args, sh, sc, st, sp, rh, rc, rt, rp, comm)                      \
	static_assert(function<decltype(MPI_##name)>::count == (args), "arity of MPI_" #name); \
	static_assert(function<decltype(MPI_##name)>::slots, "argument of MPI_" #name);        \
	static_assert(side_fits<decltype(MPI_##name), sh, sc, st, sp, integer>(),              \
		      "sent by MPI_" #name);                                                   \
	static_assert(side_fits<decltype(MPI_##name), rh, rc, rt, rp, integer>(),              \
		      "received by MPI_" #name);                                               \
	static_assert((sh) == ORIGIN ? holds<decltype(MPI_##name), comm, MPI_Op>()             \
				     : holds<decltype(MPI_##name), comm, MPI_Comm>(),          \
		      "communicator of MPI_" #name);                                           \
	static_assert((needs_comm(sh) || needs_comm(rh)) <= ((comm) >= 0),                     \
		      "no communicator of MPI_" #name);

#define JE_CALL(number, name, lower, args, strings, class, sent, received, comm, log) \
	CHECK(name, int, args, sent, received, comm)
#define JE_LARGE(number, name, lower, args, class, sent, received, comm, log) \
	CHECK(name, MPI_Count, args, sent, received, comm)
#define JE_SPECIAL(number, name, lower, args, fargs, class) \
	static_assert(function<decltype(MPI_##name)>::count == (args), "arity of MPI_" #name);
#if MPI_VERSION < 4
#define JE_CALL4(...)
#undef JE_LARGE
#define JE_LARGE(...)
#define JE_SPECIAL4(...)
#endif
#if MPI_VERSION < 4 || (MPI_VERSION == 4 && MPI_SUBVERSION < 1)
#define JE_CALL41(...)
#define JE_LARGE41(...)
#endif
#include CHECK_ROWS
