"""Gloo's allreduce over loopback TCP beside what collsim's model of Gloo says: 2, 3 and 4 processes, 1 KiB to 16 MiB.

`python benchmarks/gloo_loopback.py [ranks ...]` (needs torch) measures first what a message and a byte cost between two processes over a
socket, as `collsim calibrate --here` does, then times `dist.all_reduce` of float32 on the CPU: rounds of calls
one behind another, s of a call on the slowest rank, as nccl-tests has it. It prints, for docs/real.md: predicted with the constants of `collsim.nccl.libraries.gloo`,
predicted with what was measured, the best and the median, how far the best is off, and the interval. It fails where a best
time is outside the interval. Other work on the computer spoils it; the load stands beside each row.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SIZES = tuple(2**k for k in range(10, 25, 2))
ROUNDS, CALLS = 15, 50  # and calls in a round at most,
MAX_BYTES = 2**26  # of so many bytes in all


def rank_main(rank: int, count: int, folder: str) -> None:
    """One process: of each size so many rounds of calls one behind another, from a barrier on."""
    import torch
    import torch.distributed as dist

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=count)
    times = np.zeros((len(SIZES), ROUNDS + 1))
    for row, nbytes in enumerate(SIZES):
        data = torch.zeros(nbytes // 4)
        calls = max(2, min(CALLS, MAX_BYTES // nbytes))
        for number in range(ROUNDS + 1):
            dist.barrier()
            start = time.perf_counter()
            for _ in range(calls):
                dist.all_reduce(data)
            times[row, number] = (time.perf_counter() - start) / calls
        dist.all_reduce(data.fill_(rank))
        assert float(data[-1]) == count * (count - 1) / 2
    np.save(f"{folder}/times{rank}.npy", times[:, 1:])
    dist.destroy_process_group()


def measured(count: int) -> np.ndarray:
    """(sizes, rounds) s of a call on the slowest of so many processes."""
    with tempfile.TemporaryDirectory() as folder:
        words = [[sys.executable, __file__, "--rank", str(rank), str(count), folder] for rank in range(count)]
        started = [subprocess.Popen(line) for line in words]
        codes = [process.wait(300) for process in started]
        if any(codes):
            raise SystemExit("a process failed")
        return np.max([np.load(Path(folder) / f"times{rank}.npy") for rank in range(count)], axis=0)


def main(*ranks: str) -> int:
    """The table."""
    from collsim import format_bytes
    from collsim.lab.real_run import count_processors
    from collsim.lab.this_computer import measure_socket
    from collsim.nccl import parse_facts, predict_gloo_interval, predict_gloo_time
    from collsim.nccl.libraries.gloo import Loopback

    pipe = measure_socket()
    here = Loopback(pipe.alpha, pipe.bandwidth, count_processors())
    print(f"a message {1e6 * pipe.alpha:.1f} us, {pipe.bandwidth / 1e9:.2f} GB/s; load {os.getloadavg()[0]:.1f}")
    outside = 0
    for count in map(int, ranks or ("2", "3", "4")):
        facts = parse_facts(
            "A100-SXM4", count, 1, "nvlink3-nvswitch", "none"
        )  # of tensors on the CPU only ranks and nodes count
        for nbytes, runs in zip(SIZES, measured(count), strict=True):
            usual, fitted = (
                predict_gloo_time("allreduce", facts, nbytes, tensors="cpu", loopback=of) for of in (None, here)
            )
            best, middle = runs.min(), np.median(runs)
            near = predict_gloo_interval("allreduce", facts, nbytes, tensors="cpu", loopback=here)
            outside += not near.low <= best <= near.high
            columns = " ".join(f"{1e3 * x:8.3f}" for x in (usual, fitted, best, middle))
            print(
                f"{count} {format_bytes(nbytes):>8} {columns}   {best / usual:5.2f} {best / fitted:5.2f}   "
                f"{1e3 * near.low:.3f} to {1e3 * near.high:.3f}   load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    print(f"best times outside the interval: {outside}")
    return int(outside > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank_main(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        sys.exit(main(*sys.argv[1:]))
