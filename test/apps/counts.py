"""counts.py: calls of known number and size through mpi4py on two ranks."""
from mpi4py import MPI

comm, n = MPI.COMM_WORLD, 100
rank, other = comm.rank, 1 - comm.rank
a, b = bytearray(n), bytearray(2 * n)
calls = {}
large = "_c" if MPI.VERSION >= 4 else ""  # mpi4py then calls the forms with MPI_Count


def tally(name, sent, received):
    c, s, r = calls.get(name, (0, 0, 0))
    calls[name] = c + 1, s + sent, r + received


for i in range(3):
    comm.Sendrecv([a, MPI.BYTE], other, 1, [b, n, MPI.BYTE], other, 1)
    tally("Sendrecv" + large, n, n)
if rank == 0:
    comm.Send([a, n // 4, MPI.INT], 1, 2)
    tally("Send" + large, n, 0)
else:
    comm.Recv([b, n // 4, MPI.INT], 0, 2)
    tally("Recv" + large, 0, n)
comm.Bcast([a, MPI.BYTE], 0)
tally("Bcast" + large, n if rank == 0 else 0, 0 if rank == 0 else n)
comm.Allgather([a, MPI.BYTE], [b, n, MPI.BYTE])
tally("Allgather" + large, n, 2 * n)
request = comm.Irecv([b, n, MPI.BYTE], other, 3)
tally("Irecv" + large, 0, n)
comm.Send([a, MPI.BYTE], other, 3)
tally("Send" + large, n, 0)
request.Wait()
tally("Wait", 0, 0)
comm.Barrier()
tally("Barrier", 0, 0)
for name, (c, s, r) in calls.items():
    print("called MPI_" + name, c, s, r)
