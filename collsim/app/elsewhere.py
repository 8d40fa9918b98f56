"""The same run as Python, as a command line, and on real hardware: text that is ready to copy and true."""

from __future__ import annotations

import math
import shlex
from typing import Any

import collsim as cs

from .choice import Choice, network_text

#: Programs of nccl-tests by collective (nccl-tests 2.19.6, src/*.cu).
_PROGRAMS = {
    "allreduce": "all_reduce_perf",
    "reduce": "reduce_perf",
    "broadcast": "broadcast_perf",
    "allgather": "all_gather_perf",
    "reduce_scatter": "reduce_scatter_perf",
    "alltoall": "alltoall_perf",
    "gather": "gather_perf",
    "scatter": "scatter_perf",
    "sendrecv": "sendrecv_perf",
}
#: Algorithms that NCCL 2.30 has itself, with the value of NCCL_ALGO (src/graph/tuning.cc); None where NCCL has but one way.
_NCCL = {
    "allreduce_ring": "Ring",
    "allreduce_double_binary_tree": "Tree",
    "allreduce_nvls": "NVLS",
    "allgather_ring": "Ring",
    "reduce_scatter_ring": "Ring",
    "broadcast_chain": "Ring",
    "reduce_chain": "Ring",
}
#: Names of nccl-tests' -d (src/common.cu).
_DTYPES = {"float16": "half", "float32": "float", "float64": "double", "float8_e4m3": "f8e4m3", "float8_e5m2": "f8e5m2"}


def python(choice: Choice, options: dict[str, Any]) -> str:
    """A script that prints the same figures. `options` are those used, channels included."""
    words = ", ".join(["topology=m", *(f"{name}={value!r}" for name, value in options.items())])
    more = "".join(f", {name}={given!r}" for name, given, usual in _settings(choice) if given != usual)
    return (
        "import collsim as cs\n\n"
        f"m = {_place(choice)}\n"
        f"s = cs.schedule({choice.algorithm!r}, {words})\n"
        f"t = cs.simulate(s, m, {choice.nbytes!r}{more})\n"
        "print(t)\n"
    ).replace("'", '"')


def _place(choice: Choice) -> str:
    if choice.on_machine:
        words = [f"nodes={choice.nodes}"] + [f"{name}=False" for name in ("p2p", "gdr") if not getattr(choice, name)]
        words += [f"fabric={choice.fabric!r}"] if choice.fabric != "switch" else []
        return f"cs.machine({choice.place!r}, {', '.join(words)})"
    name, _, rest = network_text(choice).partition("(")
    values = [word if "=" not in word else "{}={!r}".format(*word.split("=")) for word in rest.rstrip(")").split(", ")]
    return f"cs.topology.{name}({', '.join(values)})"


def _settings(choice: Choice) -> list[tuple[str, str, str]]:
    return [("dtype", choice.dtype, "float32"), ("engine", choice.engine, "lockstep")]


def python_sweep(choice: Choice, pairs: list[tuple[str, dict[str, Any]]]) -> str:
    """A script that prints the times of a comparison, a column for each algorithm."""
    ways = "".join(f"    ({name!r}, {options!r}),\n" for name, options in pairs)
    more = "".join(f", {name}={given!r}" for name, given, usual in _settings(choice) if given != usual)
    return (
        "import collsim as cs\n\n"
        f"m = {_place(choice)}\n"
        f"ways = [\n{ways}]\n"
        f"table = cs.sweep({choice.collective!r}, ways, m, cs.size_range({choice.sizes!r}){more})\n"
        "times = table.pivot_table(index='nbytes', columns='algorithm', values='time', aggfunc='min')\n"
        "print(times)\n"
    ).replace("'", '"')


def command(choice: Choice, options: dict[str, Any]) -> str:
    """The line for a shell that does the same."""
    words = ["collsim", "run", choice.algorithm]
    if choice.on_machine:
        words += ["--machine", choice.place, "--nodes", str(choice.nodes)]
        words += ["--fabric", choice.fabric] if choice.fabric != "switch" else []
        words += [f"--no-{name}" for name in ("p2p", "gdr") if not getattr(choice, name)]
    else:
        words += ["--topology", network_text(choice)]
    words += ["--nbytes", choice.nbytes.replace(" ", "")]
    for name, given, usual in _settings(choice):
        words += [f"--{name}", given] if given != usual else []
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    return f'"{word}"' if "(" in word else shlex.quote(word)


def nccl_tests(choice: Choice, options: dict[str, Any], ranks: int, nodes: int) -> str | None:
    """The command that runs the same collective on real GPUs; None where NCCL has no such algorithm, or this is no machine."""
    wanted = _NCCL.get(choice.algorithm)
    if wanted is None or not choice.on_machine or choice.collective not in _PROGRAMS or ranks % nodes:
        return None
    settings = {"NCCL_ALGO": wanted}
    if "channels" in options:
        settings |= {"NCCL_MIN_NCHANNELS": str(options["channels"]), "NCCL_MAX_NCHANNELS": str(options["channels"])}
    settings |= {} if choice.p2p else {"NCCL_P2P_DISABLE": "1"}
    settings |= {} if choice.gdr else {"NCCL_NET_GDR_LEVEL": "LOC"}
    exports = " ".join(f"-x {name}={value}" for name, value in settings.items())
    size = cs.parse_bytes(choice.nbytes)
    root = f" -r {options['root']}" if options.get("root") else ""
    return (
        f"mpirun -np {ranks} --map-by ppr:{ranks // nodes}:node {exports} \\\n"
        f"    ./build/{_PROGRAMS[choice.collective]} -b {size} -e {size} -d {_DTYPES.get(choice.dtype, choice.dtype)} -g 1{root}"
    )


def factor(value: float, ranks: int) -> str:
    """The busbw factor as people write it: `30/16`, or `1`."""
    top = value * ranks
    return f"{value:g}" if math.isclose(value, round(value)) or not math.isclose(top, round(top)) else f"{round(top)}/{ranks}"
