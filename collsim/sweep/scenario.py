"""A scenario: one simulation to be made, known by a hash of its inputs and of the model's version."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import prod
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from ..collective import get_collective
from ..dtypes import find_dtype_name
from ..errors import CollsimError, is_list, require_word
from ..faults import digest_schedule
from ..limits import MAX_SCENARIOS, require_few
from ..package_data import __version__
from ..registry import Algorithm, algorithms, get_algorithm
from ..schedule import Schedule
from ..simulate import ENGINES, Engine
from ..topology import Topology
from ..topology_names import TopologyLike
from ..units import parse_bytes
from .nccl_library import NCCL, check_settings
from .scenario_networks import fingerprint, list_networks, list_values
from .synthesized_algorithm import SYNTHESIZED, check_options

if TYPE_CHECKING:
    from ..train.parallel.strategy import ParallelStrategy

Value = TypeVar("Value")
#: One value of an argument of `sweep`, or several.
OneOrMany: TypeAlias = Value | Iterable[Value]
#: An algorithm, alone or with a value or a list of values for each of its options.
AlgorithmEntry: TypeAlias = str | Algorithm | Schedule | tuple[str | Algorithm | Schedule, Mapping[str, object]]
#: A topology, its name, or a mapping that names its builder and the values of its arguments.
TopologyEntry: TypeAlias = TopologyLike | Mapping[str, object]
#: An engine, alone or with its keywords.
EngineEntry: TypeAlias = Engine | tuple[str, Mapping[str, object]]
#: A way of splitting a step of training, its name or text, alone or with the values of its options.
StrategyEntry: TypeAlias = "str | ParallelStrategy | tuple[str, Mapping[str, object]]"

#: What checks the options of entries that are no algorithms.
_OPTION_CHECKS: dict[str, Callable[..., None]] = {NCCL: check_settings, SYNTHESIZED: check_options}
#: Modules and packages whose source decides what a simulation gives.
MODEL_SOURCES = (
    "algorithms",
    "analysis/rank_orders.py",
    "simulate",
    "synthesis",
    "topology",
    "bounds",
    "collective.py",
    "dtypes.py",
    "nccl",
    "registry.py",
    "replay.py",
    "schedule.py",
    "trees.py",
    "verify",
)


#: The inputs of a scenario, by column.
Inputs: TypeAlias = dict[str, Any]
#: Keywords of an algorithm or an engine.
_Keywords: TypeAlias = dict[str, Any]
#: Sizes in bytes, types of elements, engines with their options.
_Grid: TypeAlias = tuple[list[int], list[str], list[tuple[str, _Keywords]]]


@dataclass(frozen=True)
class Work:
    """Scenarios that share a schedule and a topology, which are built once for all of them.

    Attributes:
        algorithm: its name; an Algorithm that is not part of the package; or what became of one on its way to another
            process; `"nccl"` for what NCCL itself would do, and then `options` are its settings; `"synthesized"` for
            what is found.
        collective: its name.
        options: keywords of the algorithm, or NCCL's settings.
        topology: where all of them run.
        order: rank r sits where rank order[r] of the topology would; None as it is.
        cases: (nbytes, dtype, engine, engine options) of each scenario.
        keys: id of each scenario, in the order of `cases`.
        inputs: what each scenario's row of the frame says was run, by column, in the order of `cases`.
    """

    algorithm: str | Algorithm | Schedule | CollsimError
    collective: str
    options: _Keywords
    topology: Topology
    order: tuple[int, ...] | None
    cases: tuple[tuple[int, str, str, _Keywords], ...]
    keys: tuple[str, ...]
    inputs: tuple[Inputs, ...] = field(repr=False, default=())


def list_scenarios(
    collective: object,
    algorithm: object,
    topology: object,
    order: object,
    nbytes: object,
    dtype: object,
    engine: object,
    where: Callable[[Inputs], bool] | None,
) -> list[Work]:
    """List the scenarios of a sweep, those of a schedule and a topology together.

    Args:
        collective: Names of collectives.
        algorithm: As `sweep` takes it.
        topology: As `sweep` takes it.
        order: Rank orders.
        nbytes: Sizes.
        dtype: Types of elements.
        engine: Names, or names with options.
        where: Keeps a scenario where it returns true for its inputs.

    Returns:
        The product, in the order topology, rank order, algorithm, size, dtype, engine.

    Raises:
        CollsimError: For unknown names, bad sizes, and more scenarios than a sweep may have.
    """
    chosen = _list_algorithms(collective, algorithm)
    grid = _parse_grid(nbytes, dtype, engine)
    _require_some(algorithm=chosen, nbytes=grid[0], dtype=grid[1], engine=grid[2])
    require_filter(where)
    version, work = read_model_version(), []
    networks, orders = list_networks(topology), list_values("order", order)
    # A list of whole numbers is one order of ranks; several orders are lists in a list.
    if orders and all(isinstance(entry, Integral) for entry in orders):
        orders = [orders]  # one permutation
    count = prod(map(len, (networks, orders, chosen, *grid)))
    # The product is counted before it is made.
    require_few("scenarios in a sweep", count, MAX_SCENARIOS, "give shorter lists, or several sweeps")
    for network in networks:
        # The key of a result holds the topology's fingerprint, so that a changed machine is computed again.
        topology_hash = fingerprint(network)
        for ranks_order, (entry, kind, options) in product([_parse_order(o, network.ranks) for o in orders], chosen):
            # Nothing of `order` reaches NCCL's model, so its rows would be equal.
            if entry == NCCL and ranks_order[0] != "given":
                continue  # NCCL orders the ranks itself
            shared = _build_shared_inputs(entry, kind, options, network, ranks_order[0])
            rows = _list_rows(shared, grid, entry, where)
            if rows:
                keys = tuple(_build_key(row, version, topology_hash, ranks_order[1], entry) for row in rows)
                cases = tuple((row["nbytes"], row["dtype"], row["engine"], row["engine_options"]) for row in rows)
                scenarios = cases, keys, tuple(rows)
                work.append(Work(_to_name(entry), kind, options, network, ranks_order[1], *scenarios))
    return work


def _build_shared_inputs(
    entry: Algorithm | Schedule | str, collective: str, options: _Keywords, network: Topology, order_name: str
) -> Inputs:
    """The inputs that all scenarios of one schedule on one topology share, by column."""
    return {
        "collective": collective,
        "algorithm": _get_name(entry),
        "options": options,
        "topology": network.name,
        "ranks": network.ranks,
        "order": order_name,
    }


def _parse_grid(nbytes: object, dtype: object, engine: object) -> _Grid:
    sizes = [parse_bytes(size) for size in list_values("nbytes", nbytes)]
    types = [find_dtype_name(name) for name in list_values("dtype", dtype)]
    engines = [parse_pair("engine", e, str) for e in list_pairs("engine", engine)]
    for name, _ in engines:
        require_word("engine", name, ENGINES)
    return sizes, types, engines


def _list_rows(shared: Inputs, grid: _Grid, entry: object, where: Callable[[Inputs], bool] | None) -> list[Inputs]:
    """The inputs of one schedule's scenarios: a row for each size, type and engine that `where` keeps."""
    sizes, types, engines = grid
    if entry == NCCL:
        engines = [(NCCL, {})]  # NCCL's model stands in the place of an engine
    rows = []
    for size, dtype, (engine, options) in product(sizes, types, engines):
        row = {**shared, "nbytes": size, "dtype": dtype, "engine": engine, "engine_options": options}
        if where is None or where(dict(row)):
            rows.append(row)
    return rows


def _get_name(entry: Algorithm | Schedule | str) -> str:
    """The name of an algorithm or schedule."""
    if isinstance(entry, str):
        return entry
    return entry.name


def _to_name(entry: Algorithm | Schedule | str) -> Algorithm | Schedule | str:
    """An algorithm of the package by its name, which every process finds; any other as it is."""
    if _is_from_package(entry):
        return _get_name(entry)
    return entry


def _require_some(**lists: Sequence[object]) -> None:
    for what, values in lists.items():
        if not values:
            raise CollsimError("a sweep needs at least one {what}; the list given is empty", what=what)


def _build_key(
    row: Inputs, version: str, network: str, order: tuple[int, ...] | None, entry: Algorithm | Schedule | str
) -> str:
    source = ""
    if isinstance(entry, Schedule):
        source = digest_schedule(entry).hex()
    elif isinstance(entry, Algorithm) and not _is_from_package(entry):
        source = _read_source(entry)
    return hash_parts([row, version, network, order, source])


def hash_parts(parts: list[Any]) -> str:
    """Compute the id under which a result is stored.

    Args:
        parts: All that decides the result, in a form that JSON or `str` writes.

    Returns:
        16 hexadecimal digits.
    """
    import hashlib

    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _is_from_package(entry: Algorithm | Schedule | str) -> bool:
    if isinstance(entry, Schedule):
        return False
    return isinstance(entry, str) or str(entry.function.__module__).startswith("collsim.")


def _read_source(entry: Algorithm) -> str:
    try:
        return inspect.getsource(entry.function)
    except (OSError, TypeError):
        return repr(entry.function.__code__.co_code)


@cache
def read_model_version(sources: tuple[str, ...] = MODEL_SOURCES) -> str:
    """Read the package's version, with a digest of the sources that decide a result.

    Args:
        sources: Modules and packages, relative to collsim.

    Returns:
        `"1.0.0+0123456789ab"`.
    """
    import hashlib

    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for source in sources:
        paths = sorted((package / source).rglob("*.py")) or [package / source]
        for path in paths:
            if path.is_file():
                digest.update(path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:12]}"


def _list_algorithms(collective: Any, algorithm: Any) -> list[tuple[Algorithm | Schedule | str, str, _Keywords]]:
    """(algorithm, collective, options) of each choice; the algorithm is `"nccl"` where NCCL chooses, `"synthesized"`
    where a schedule is found, once for each collective."""
    kinds = [get_collective(kind).name for kind in list_values("collective", collective)]
    if algorithm is None:
        return [(entry, kind, {}) for kind in kinds for entry in algorithms(kind).values()]
    chosen: list[tuple[Algorithm | Schedule | str, str, _Keywords]] = []
    for item in list_pairs("algorithm", algorithm):
        named, options = parse_pair("algorithm", item, (str, Algorithm, Schedule))
        if isinstance(named, Schedule):
            chosen.append((named, _require_collective(named, kinds, options), {}))
            continue
        # NCCL and synthesis are choices with settings of their own, not algorithms with options.
        if isinstance(named, str) and named in _OPTION_CHECKS:
            _OPTION_CHECKS[named](kinds, options)
            chosen += [(named, kind, choice) for kind in kinds for choice in list_option_choices(options)]
            continue
        entry = named
        if isinstance(named, str):
            entry = get_algorithm(named)
        if entry.collective not in kinds:
            message = "{name} is an algorithm for {collective}, not for {kinds}"
            raise CollsimError(message, name=entry.name, collective=entry.collective, kinds=" or ".join(kinds))
        chosen += [(entry, entry.collective, choice) for choice in list_option_choices(options)]
    return chosen


def _require_collective(schedule: Schedule, kinds: list[str], options: dict[str, object]) -> str:
    """The collective of a finished schedule, which takes no options. Raises CollsimError for one of another."""
    if options:
        message = "{label} is a finished schedule, which has no options; leave out {options}"
        raise CollsimError(message, label=schedule.label, options=", ".join(map(str, options)))
    kind = get_collective(schedule.collective).name
    if kind not in kinds:
        message = "{name} is a schedule for {collective}, not for {kinds}"
        raise CollsimError(message, name=schedule.label, collective=kind, kinds=" or ".join(kinds))
    return kind


def require_filter(where: object) -> None:
    """Raise CollsimError for what cannot say which scenarios are kept.

    Args:
        where: The argument of `sweep`.
    """
    if where is not None and not callable(where):
        message = "where={where!r} must be a function of a scenario's inputs, for example lambda row: row['ranks'] > 8"
        raise CollsimError(message, where=where)


def list_option_choices(options: dict[str, object]) -> list[dict[str, object]]:
    """List the choices that options with several values stand for.

    Args:
        options: Each one value or a list: `{"chunks": [1, 4]}`.

    Returns:
        The product: `[{"chunks": 1}, {"chunks": 4}]`.

    Raises:
        CollsimError: For more choices than a sweep may have.
    """
    listed = {name: list_values(name, value) for name, value in options.items()}
    several = prod(map(len, listed.values()))
    require_few("choices of options in a sweep", several, MAX_SCENARIOS, "give shorter lists")
    return [dict(zip(listed, values, strict=True)) for values in product(*listed.values())]


def _parse_order(entry: Any, ranks: int) -> tuple[str, tuple[int, ...] | None]:
    """Name of one rank order, `"given"`, `"reversed"`, `"random:SEED"` or a permutation, and the ranks; None where they
    stay in their places."""
    word = entry
    if entry is None:
        word = "given"
    if isinstance(word, str):
        if word == "given":
            return word, None
        if word == "reversed":
            return word, tuple(range(ranks))[::-1]
        if word.startswith("random:") and word[7:].isdigit():
            return word, tuple(np.random.default_rng(int(word[7:])).permutation(ranks).tolist())
    elif _is_permutation(word, ranks):
        return ",".join(map(str, word)), tuple(int(r) for r in word)
    message = "order {entry!r} is not 'given', 'reversed', 'random:7' or a permutation of 0 to {last}"
    raise CollsimError(message, entry=entry, last=ranks - 1)


def _is_permutation(entry: Any, ranks: int) -> bool:
    is_ordered = is_list(entry) and isinstance(entry, (list, tuple, np.ndarray))
    return is_ordered and all(isinstance(r, Integral) for r in entry) and sorted(entry) == list(range(ranks))


def list_pairs(name: str, value: Any) -> list[Any]:
    """List the entries of an argument that may have options.

    Args:
        name: Name of the argument.
        value: A name or a value, one (name, options) pair, or several of either.

    Returns:
        The entries.
    """
    if isinstance(value, Schedule):  # iterates over its transfers
        return [value]
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], dict):
        return [value]
    return list_values(name, value)


def parse_pair(what: str, item: Any, kind: Any) -> tuple[Any, _Keywords]:
    """Split an entry into its name and its options.

    Args:
        what: What it is the name of, for the error.
        item: A name, or a (name, options) pair.
        kind: Types that a name may have.

    Returns:
        The name and the options; one alone has none.

    Raises:
        CollsimError: It is neither.
    """
    if isinstance(item, kind):
        return item, {}
    if (
        isinstance(item, (tuple, list))
        and len(item) == 2
        and isinstance(item[0], kind)
        and isinstance(item[1], Mapping)
    ):
        return item[0], dict(item[1])
    raise CollsimError("{what} {item!r} is neither a name nor a (name, {{option: value}}) pair", what=what, item=item)
