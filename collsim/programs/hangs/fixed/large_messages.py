import numpy as np
from mpi4py import MPI


def allreduce(comm, send, recv):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    part, got = send.copy(), np.empty_like(send)
    recv[:] = send
    for _ in range(comm.size - 1):
        comm.Sendrecv(part, dest=right, recvbuf=got, source=left)
        recv += got
        part, got = got, part
