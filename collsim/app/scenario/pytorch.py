"""The same collective in PyTorch: a script that times it as nccl-tests does, and the line that starts it on every rank.

`pytorch.toml` has its text. `all_gather_into_tensor` and `reduce_scatter_tensor` are known since torch 1.13; 2.13 still
has them beside their new names.
"""

from __future__ import annotations

from typing import Any

from collsim.collective import get_collective
from collsim.dtypes import find_itemsize
from collsim.errors import CollsimError
from collsim.package_data import read_toml
from collsim.train import StepTrace

_TEXTS = read_toml(__file__, "pytorch.toml")
#: torch's names of types, where they differ; None: its collectives do not take it.
_DTYPES: dict[str, str | None] = {
    "uint32": None,
    "uint64": None,
    "float8_e4m3": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
}


#: The script of a step, the line that starts it, and the lines that start it by hand; or why there is none.
StepCode = tuple[str, str, str] | CollsimError


def write_step_code(trace: StepTrace) -> StepCode:
    """A step of training in PyTorch.

    Args:
        trace: The step.
    """
    try:
        return trace.script(), trace.launch_lines(), trace.launch_lines("tcp://")
    except CollsimError as error:
        return error


def build_script(
    collective: str, sizes: list[int], dtype: str, root: int = 0, shares: tuple[float, ...] | None = None
) -> str | None:
    """`run.py`: init_process_group, the call, and its time, algbw and busbw. None where PyTorch has no such type.

    Args:
        collective: Name of the collective.
        sizes: Sizes in bytes, as nccl-tests counts them.
        dtype: Type of the numbers.
        root: The rank that sends or receives, of a rooted collective.
        shares: Of an alltoallv or a dispatch the share of each pair of ranks in all bytes.
    """
    kind = _DTYPES.get(dtype, dtype)
    if kind is None:
        return None
    call = _TEXTS["calls"][collective]
    tensors = f"    x = torch.ones({call['input']}, device=device).to(torch.{kind})\n"
    if "output" in call:
        tensors += f"    y = torch.empty({call['output']}, dtype=torch.{kind}, device=device)\n"
    helper = "\n"
    if collective == "sendrecv":
        helper = _TEXTS["exchange"]
        tensors = "    global x, y\n" + tensors
    elif shares is not None:
        helper = _TEXTS["parts"].format(shares=[round(share, 6) for share in shares])
    script: str = _TEXTS["script"]
    return script.format(
        helper=helper,
        tensors=tensors,
        call=call["call"].format(root=root),
        factor=_write_factor(collective),
        sizes=", ".join(map(str, sizes)) + ("," if len(sizes) == 1 else ""),
        itemsize=find_itemsize(dtype),
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
    far = "--standalone"
    if nodes > 1:
        far = f"--nnodes {nodes} --rdzv-backend c10d --rdzv-endpoint FIRST_NODE:29500"
    return f"{words + ' ' if words else ''}torchrun {far} --nproc-per-node {ranks // nodes} run.py"
