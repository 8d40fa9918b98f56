"""`mcp`: a server of the Model Context Protocol on stdin and stdout, for assistants that ask collsim.

Its tools only compute: they read no file, write none, and import nothing that a client names. Every input is limited,
as a client may send anything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import collsim as cs

from ..errors import CollsimError
from .output import list_records, to_plain
from .shell import command

#: The most that one call may ask for; a comparison of this size takes seconds.
_MAX_RANKS, _MAX_NODES, _MAX_SIZES = 64, 1024, 8
_MAX_FILES, _MAX_CHARACTERS = 64, 2_000_000


@command()
def mcp() -> None:
    r"""Serve compare, predict, diagnose and explain to an assistant over stdin and stdout, by the Model Context
    Protocol, until it closes stdin (needs `pip install 'collsim\[mcp]'`)."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ModuleNotFoundError as error:
        raise CollsimError(
            'this server needs the package mcp: pip install "collsim[mcp]" ({error})', error=error
        ) from None
    server = MCPServer("collsim", version=cs.__version__, log_level="ERROR")
    for tool in (compare, predict, diagnose, explain):
        annotations = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        server.tool(annotations=annotations)(_translate_errors(tool, ToolError))
    server.run("stdio")


def _translate_errors(
    tool: Callable[..., dict[str, Any]], error_type: type[Exception]
) -> Callable[..., dict[str, Any]]:
    """The tool with the errors that the protocol's package passes on to a client; it hides the text of all others."""

    @functools.wraps(tool)
    def run_tool(*arguments: Any, **options: Any) -> dict[str, Any]:
        try:
            return tool(*arguments, **options)
        except CollsimError as error:
            raise error_type(str(error)) from error

    return run_tool


def compare(collective: str, machine: str, nodes: int = 1, nbytes: list[str] | None = None) -> dict[str, Any]:
    """Time every algorithm of a collective on a machine, each at its best channels and chunks, the fastest first.

    Args:
        collective: As `allreduce`.
        machine: A name that `collsim list machines` has, as `dgx-a100`; at most 64 GPUs in all.
        nodes: Number of machines.
        nbytes: At most 8 sizes, as `64MiB`; 1 KiB, 1 MiB and 1 GiB unless given.
    """
    network = _build_machine(machine, nodes, _MAX_RANKS)
    sizes = nbytes or ["1KiB", "1MiB", "1GiB"]
    _limit("sizes", len(sizes), _MAX_SIZES)
    return {"rows": to_plain(list_records(cs.compare(collective, network, sizes)))}


def predict(collective: str, machine: str, nbytes: str, nodes: int = 1, version: str | None = None) -> dict[str, Any]:
    """Predict what nccl-tests prints for one call of NCCL: algorithm, protocol, time (s), its interval and busbw (B/s).

    Args:
        collective: As `allreduce`.
        machine: A name that `collsim list machines` has, as `dgx-h100`.
        nbytes: As `1GiB`.
        nodes: Number of machines, at most 1,024.
        version: Of NCCL, as `2.30`.
    """
    prediction = cs.nccl.predict(collective, _build_machine(machine, nodes, None), nbytes, version=version)
    interval = prediction.interval()
    times = {"time": prediction.time, "low": interval.low, "high": interval.high}
    choice = {name: getattr(prediction, name) for name in ("busbw", "algorithm", "protocol", "channels")}
    assumptions = [
        str(each) for each in (interval.reason, *prediction.assumptions, *prediction.faster_larger_calls) if each
    ]
    return {**times, **choice, "text": str(prediction), "assumptions": assumptions}


def diagnose(texts: dict[str, str], language: str = "en") -> dict[str, Any]:
    """Say why a job is slow or dies, from the contents of logs: NCCL's log, tables of nccl-tests, nvidia-smi, lspci.

    Names of hosts and people, addresses and paths are replaced before anything is read.

    Args:
        texts: Contents by name of the file, at most 64 and 2,000,000 characters together.
        language: `en` or `zh`.
    """
    _limit("files", len(texts), _MAX_FILES)
    _limit("characters", sum(len(name) + len(text) for name, text in texts.items()), _MAX_CHARACTERS)
    diagnosis = cs.diagnose(texts, anonymize=True)
    return {
        "verdict": diagnosis.verdict,
        "causes": to_plain(diagnosis.list_rows(language)),
        "report": diagnosis.report(language),
    }


def explain(algorithm: str, machine: str, nbytes: str, nodes: int = 1) -> dict[str, Any]:
    """Run one algorithm on a machine and say how long it takes, how far it is from the bound, and what limits it.

    Args:
        algorithm: A name that `collsim list algorithms` has, as `allreduce_ring`.
        machine: A name that `collsim list machines` has; at most 64 GPUs in all.
        nbytes: As `256MiB`.
        nodes: Number of machines.
    """
    name = cs.algorithms()[algorithm].name
    network = _build_machine(machine, nodes, _MAX_RANKS)
    trace = cs.simulate(cs.schedule(name, topology=network), network, nbytes)
    bottleneck = trace.bottleneck
    result: dict[str, object] = {**trace.row(), "bound": trace.bound.time, "gap": trace.gap}
    if bottleneck is not None:
        result |= {"bottleneck": bottleneck.name, "busy_share": bottleneck.busy_share, "savings": bottleneck.savings}
    values: dict[str, Any] = to_plain(result)
    return values


def _build_machine(name: str, nodes: int, most_ranks: int | None) -> cs.Topology:
    """A machine by its name alone: no file is read for a client."""
    _limit("nodes", nodes, _MAX_NODES)
    _ = cs.machines()[name]
    if most_ranks is not None:
        _limit("GPUs", cs.machine(name).ranks * nodes, most_ranks)
    return cs.machine(name, nodes=nodes)


def _limit(what: str, number: int, most: int) -> None:
    if not 0 < number <= most:
        message = "{what}: {number}; this server takes 1 to {most} in a call"
        raise CollsimError(message, what=what, number=number, most=most)
