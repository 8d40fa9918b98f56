"""The same collective in PyTorch: a script that times it as nccl-tests does, and the line that starts it on every rank.

Each script was run with torch 2.13 on two and three CPU processes (gloo). `all_gather_into_tensor` and
`reduce_scatter_tensor` are known since torch 1.13; 2.13 still has them beside their new names.
"""

from __future__ import annotations

from typing import Any

from collsim.collective import get_collective
from collsim.dtypes import find_itemsize

#: Calls on `x` (and `y`) by collective, and how many elements each rank's tensors have for `size` elements of
#: nccl-tests.
_CALLS: dict[str, tuple[str, str, str]] = {
    "allreduce": ("size", "", "dist.all_reduce(x)"),
    "reduce": ("size", "", "dist.reduce(x, dst={root})"),
    "broadcast": ("size", "", "dist.broadcast(x, src={root})"),
    "allgather": ("size // n", "size // n * n", "dist.all_gather_into_tensor(y, x)"),
    "reduce_scatter": ("size // n * n", "size // n", "dist.reduce_scatter_tensor(y, x)"),
    "alltoall": ("size // n * n", "size // n * n", "dist.all_to_all_single(y, x)"),
    "gather": (
        "size // n",
        "size // n * n",
        "dist.gather(x, list(y.chunk(n)) if rank == {root} else None, dst={root})",
    ),
    "scatter": (
        "size // n",
        "size // n * n",
        "dist.scatter(x, list(y.chunk(n)) if rank == {root} else None, src={root})",
    ),
    "alltoallv": (
        "sum(parts(size, rank))",
        "sum(parts(size, s)[rank] for s in range(n))",
        "dist.all_to_all_single(y, x, [parts(size, s)[rank] for s in range(n)], parts(size, rank))",
    ),
    "sendrecv": ("size", "size", "exchange()"),
}
_PARTS = """
SHARES = {shares}  # of all bytes: what rank 0 has for each rank, then rank 1 ...


def parts(size, source):
    return [round(size * share) for share in SHARES[source * n : (source + 1) * n]]

"""
_EXCHANGE = """
def exchange():  # every rank sends to the next, as sendrecv_perf does
    ways = [dist.P2POp(dist.isend, x, (rank + 1) % n), dist.P2POp(dist.irecv, y, (rank - 1) % n)]
    for work in dist.batch_isend_irecv(ways):
        work.wait()

"""
#: torch's names of types, where they differ; None: its collectives do not take it.
_DTYPES: dict[str, str | None] = {
    "uint32": None,
    "uint64": None,
    "float8_e4m3": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
}


def build_script(
    collective: str, sizes: list[int], dtype: str, root: int = 0, shares: tuple[float, ...] | None = None
) -> str | None:
    """`run.py`: init_process_group, the call, and its time, algbw and busbw. None where PyTorch has no such type.

    Args:
        collective: Name of the collective.
        sizes: Sizes in bytes, as nccl-tests counts them.
        dtype: Type of the numbers.
        root: The rank that sends or receives, of a rooted collective.
        shares: Of an alltoallv the share of each pair of ranks in all bytes.
    """
    kind = _DTYPES.get(dtype, dtype)
    if kind is None:
        return None
    input_elements, other, call = _CALLS[collective]
    tensors = f"    x = torch.ones({input_elements}, device=device).to(torch.{kind})\n"
    if other:
        tensors += f"    y = torch.empty({other}, dtype=torch.{kind}, device=device)\n"
    if collective == "sendrecv":
        helper = _EXCHANGE
    elif collective == "alltoallv":
        helper = _PARTS.format(shares=[round(share, 6) for share in shares or ()])
    else:
        helper = "\n"
    if collective == "sendrecv":
        globals_ = "    global x, y\n"
    else:
        globals_ = ""
    size_list = ", ".join(map(str, sizes))
    return (
        "import os\n"
        "import time\n\n"
        "import torch\n"
        "import torch.distributed as dist\n\n"
        "gpu = torch.cuda.is_available()\n"
        'dist.init_process_group("nccl" if gpu else "gloo")  # NCCL for CUDA tensors, Gloo for those of the CPU\n'
        "rank, n = dist.get_rank(), dist.get_world_size()\n"
        'device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")\n'
        "if gpu:\n"
        "    torch.cuda.set_device(device)\n"
        f"{helper}\n"
        "def ready():\n"
        "    torch.cuda.synchronize() if gpu else None  # a call of NCCL returns before it is done\n"
        "    dist.barrier()\n"
        "    return time.perf_counter()\n\n\n"
        f"def timed(size, nbytes, runs=20):\n{globals_}{tensors}"
        f"    for _ in range(5):\n        {call.format(root=root)}\n"
        f"    start = ready()\n    for _ in range(runs):\n        {call.format(root=root)}\n"
        "    seconds = (ready() - start) / runs\n"
        f"    if rank == 0:\n        algbw, factor = nbytes / seconds / 1e9, {_write_factor(collective)}\n"
        '        print(f"{nbytes} B: {seconds * 1e6:.1f} us, algbw {algbw:.2f} GB/s, busbw {algbw * factor:.2f} '
        'GB/s")\n\n\n'
        f"for nbytes in ({size_list}{',' if len(sizes) == 1 else ''}):\n"
        f"    timed(nbytes // {find_itemsize(dtype)}, nbytes)\n"
        "dist.destroy_process_group()\n"
    )


def _write_factor(collective: str) -> str:
    """The busbw factor as an expression in n, read off its value at 4 ranks."""
    value = get_collective(collective).busbw(4)
    return {1.5: "2 * (n - 1) / n", 0.75: "(n - 1) / n", 0.1875: "(n - 1) / n**2", 1.0: "1"}[value]


def launch(ranks: int, nodes: int, environment: dict[str, Any]) -> str:
    """The line that starts `run.py`: torchrun, once on every node.

    Args:
        ranks: Number of ranks.
        nodes: Number of nodes.
        environment: Environment variables of the processes.
    """
    words = " ".join(f"{name}={value}" for name, value in environment.items())
    if nodes > 1:
        far = f"--nnodes {nodes} --rdzv-backend c10d --rdzv-endpoint FIRST_NODE:29500"
    else:
        far = "--standalone"
    return f"{words + ' ' if words else ''}torchrun {far} --nproc-per-node {ranks // nodes} run.py"
