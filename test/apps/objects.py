"""objects.py: mpi4py's objects and buffers, a communicator of its own, and no Finalize:
mpi4py calls it when the interpreter ends."""
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
other = size - 1 - rank

got = comm.sendrecv({"from": rank, "text": "x" * 1000}, dest=other, source=other)
buffer = bytearray(8)
request = comm.Irecv(buffer, source=other)
comm.Send(bytes([rank] * 8), dest=other)
request.Wait()
half = comm.Split(color=rank % 2)
everyone = comm.allgather((rank, got["from"], list(buffer), half.Get_size()))
for _ in range(3):
    comm.Barrier()
if rank == 0:
    print(everyone, comm.allreduce(rank + 1), MPI.Query_thread())
else:
    comm.allreduce(rank + 1)
