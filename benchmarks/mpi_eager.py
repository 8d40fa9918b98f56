"""How many bytes an MPI sends before its receiver asks for them: `mpiexec -n 2 python benchmarks/mpi_eager.py`.

A send of so many bytes is begun while the other rank waits for a message of another tag, and has 50 ms to end. The
largest that ends is found by halving; for docs/real.md, "Eager sends".
"""

import time

import numpy as np
from mpi4py import MPI

MAX_BYTES, PATIENCE = 4 * 2**20, 0.05
comm = MPI.COMM_WORLD


def ends_alone(nbytes: int) -> bool:
    """Does a send end while nobody receives it? Both ranks are told."""
    data, ended = np.zeros(nbytes, np.uint8), False
    comm.Barrier()
    if comm.rank:
        comm.recv(source=0, tag=1)  # it waits inside MPI, so MPI can do what it does without a receive
        comm.Recv([data, MPI.BYTE], source=0, tag=0)
    else:
        send, until = comm.Isend([data, MPI.BYTE], 1, 0), time.perf_counter() + PATIENCE
        while not ended and time.perf_counter() < until:
            ended = send.Test()
        comm.send(None, 1, tag=1)
        if not ended:
            send.Wait()
    return bool(comm.bcast(ended))


def main() -> None:
    most, less = 0, MAX_BYTES
    while less - most > 1:
        middle = (most + less) // 2
        most, less = (middle, less) if ends_alone(middle) else (most, middle)
    if not comm.rank:
        print(f"{MPI.Get_library_version().splitlines()[0]}: a send of up to {most:,} bytes ends without its receiver")


main()
