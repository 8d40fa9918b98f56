"""Sweeps: the product of algorithms, topologies and sizes, as one tidy table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from .errors import CollsimError
from .registry import algorithms, find
from .registry import schedule as make_schedule
from .schedule import Schedule
from .simulate import simulate
from .topology import Topology
from .units import parse_bytes

if TYPE_CHECKING:
    import pandas as pd


def sweep(
    collective: str = "allreduce",
    algorithm: str | Sequence[Any] | None = None,
    topology: Topology | Sequence[Topology] = (),
    nbytes: Any = "64MiB",
    dtype: str = "float32",
    engine: str = "lockstep",
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Simulate every combination; a row each, in SI units, in the order of the product (topology, algorithm, nbytes).

    Args:
        algorithm: names, or `(name, {options})` pairs; all algorithms of the collective when None.
        topology: one topology or several; each says how many ranks there are.
        nbytes: one size or several.
        executor: any `concurrent.futures` executor; combinations of one schedule and topology go to it as one piece of work.

    A combination that cannot run is a row with its reason in `error` and NaN figures; it does not end the sweep.
    Raises CollsimError for unknown names and bad sizes, before anything runs.
    """
    import pandas as pd

    names = list(algorithms(collective)) if algorithm is None else _listed(algorithm)
    choices = [(n, {}) if isinstance(n, str) else (n[0], dict(n[1])) for n in names]
    for name, _ in choices:
        if find(name).collective != collective:
            raise CollsimError(f"{name} is an algorithm for {find(name).collective}, not for {collective}")
    networks = _listed(topology)
    if not networks:
        raise CollsimError("sweep needs at least one topology, for example topology=[cs.machine('dgx-a100')]")
    sizes = [parse_bytes(size) for size in _listed(nbytes)]
    work = list(product(networks, choices))
    one = partial(_rows, collective=collective, sizes=sizes, dtype=dtype, engine=engine)
    done: Iterable[list[dict[str, Any]]] = map(one, work) if executor is None else executor.map(one, work)
    return pd.DataFrame([row for rows in done for row in rows])


def _rows(
    work: tuple[Topology, tuple[str, dict[str, Any]]], *, collective: str, sizes: list[int], dtype: str, engine: str
) -> list[dict[str, Any]]:
    """All sizes of one schedule on one topology: both are built once."""
    network, (name, options) = work
    plan: Schedule | CollsimError
    try:
        plan = make_schedule(name, topology=network, **options)
    except CollsimError as error:
        plan = error
    rows = []
    for size in sizes:
        base = {
            "collective": collective,
            "algorithm": name,
            "options": options,
            "topology": network.name,
            "ranks": network.ranks,
            "nbytes": size,
        }
        try:
            if isinstance(plan, CollsimError):
                raise plan
            rows.append({**base, **simulate(plan, network, size, dtype, engine).row(), "error": None})
        except CollsimError as error:
            rows.append({**base, "error": str(error)})
    return rows


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, set, range)) or hasattr(value, "tolist") else [value]
