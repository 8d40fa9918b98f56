"""A scenario: one simulation to be made, known by a hash of its inputs and of the model's version."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import prod
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from ..collective import collective as find_collective
from ..dtypes import find_itemsize
from ..errors import CollsimError, require_word
from ..faults import digest_schedule
from ..limits import MOST_SCENARIOS, require_few
from ..registry import Algorithm, algorithms, find
from ..schedule import Schedule
from ..simulate import ENGINES
from ..topology import Topology
from ..units import parse_bytes
from .library import NCCL, check_settings
from .networks import fingerprint, networks
from .synthesized import SYNTHESIZED, check_options

#: Rooms whose source decides what a simulation gives.
_MODEL = (
    "algorithms",
    "analysis/orders.py",
    "simulate",
    "synthesis",
    "topology",
    "bounds.py",
    "collective.py",
    "cuts.py",
    "dtypes.py",
    "nccl",
    "registry.py",
    "replay.py",
    "schedule.py",
    "trees.py",
    "verify",
)


@dataclass(frozen=True)
class Work:
    """Scenarios that share a schedule and a topology, which are built once for all of them.

    Attributes:
        algorithm: its name; an Algorithm that is not part of the package; or what became of one on its way to another
        process; `"nccl"` for
            what NCCL itself would do, and then `options` are its settings; `"synthesized"` for what is found.
        collective: its name.
        order: rank r sits where rank order[r] of the topology would; None as it is.
        cases: (nbytes, dtype, engine, engine options) of each scenario, and `keys` their ids.
    """

    algorithm: str | Algorithm | Schedule | CollsimError
    collective: str
    options: dict[str, Any]
    topology: Topology
    order: tuple[int, ...] | None
    cases: tuple[tuple[int, str, str, dict[str, Any]], ...]
    keys: tuple[str, ...]
    inputs: tuple[dict[str, Any], ...] = field(repr=False, default=())


def scenarios(
    collective: Any,
    algorithm: Any,
    topology: Any,
    order: Any,
    nbytes: Any,
    dtype: Any,
    engine: Any,
    where: Callable[[dict[str, Any]], bool] | None,
) -> list[Work]:
    """The product, in the order topology, rank order, algorithm, size, dtype, engine, less what `where` refuses."""
    chosen = _algorithms(collective, algorithm)
    sizes = [parse_bytes(size) for size in _listed(nbytes)]
    types = [str(t) for t in _listed(dtype)]
    for name in types:
        find_itemsize(name)
    engines = [_pair("engine", e, str) for e in _pairs(engine)]
    for name, _ in engines:
        require_word("engine", name, ENGINES)
    _require_some(algorithm=chosen, nbytes=sizes, dtype=types, engine=engines)
    require_filter(where)
    version, work = model_version(), []
    places, orders = networks(topology), _listed(order)
    whole = all(isinstance(entry, Integral) for entry in orders)  # one permutation
    count = len(places) * (1 if whole else len(orders)) * len(chosen) * len(sizes) * len(types) * len(engines)
    require_few("scenarios in a sweep", count, MOST_SCENARIOS, "give shorter lists, or several sweeps")
    for network in places:
        print_ = fingerprint(network)
        for ranks_order, (entry, kind, options) in product(_orders(order, network.ranks), chosen):
            if entry == NCCL and ranks_order[0] != "given":
                continue  # NCCL orders the ranks itself
            name = entry if isinstance(entry, str) else entry.name
            label = {
                "collective": kind,
                "algorithm": name,
                "options": options,
                "topology": network.name,
                "ranks": network.ranks,
                "order": ranks_order[0],
            }
            cases, keys, inputs = [], [], []
            for size, type_, (engine_name, engine_options) in product(
                sizes, types, [(NCCL, {})] if entry == NCCL else engines
            ):
                row = {**label, "nbytes": size, "dtype": type_, "engine": engine_name, "engine_options": engine_options}
                if where is not None and not where(dict(row)):
                    continue
                cases.append((size, type_, engine_name, engine_options))
                keys.append(_key(row, version, print_, ranks_order[1], entry))
                inputs.append(row)
            if cases:
                known = name if _ours(entry) else entry
                work.append(
                    Work(known, kind, options, network, ranks_order[1], tuple(cases), tuple(keys), tuple(inputs))
                )
    return work


def _require_some(**lists: Sequence[Any]) -> None:
    for what, chosen in lists.items():
        if not chosen:
            raise CollsimError("a sweep needs at least one {what}; the list given is empty", what=what)


def _key(
    row: dict[str, Any],
    version: str,
    network: str,
    order: tuple[int, ...] | None,
    entry: Algorithm | Schedule | str,
) -> str:
    source = ""
    if isinstance(entry, Schedule):
        source = digest_schedule(entry).hex()
    elif isinstance(entry, Algorithm) and not _ours(entry):
        source = _source(entry)
    return key_of([row, version, network, order, source])


def key_of(parts: list[Any]) -> str:
    """The id under which a result is kept, of all that decides it."""
    import hashlib

    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _ours(entry: Algorithm | Schedule | str) -> bool:
    if isinstance(entry, Schedule):
        return False
    return isinstance(entry, str) or str(entry.function.__module__).startswith("collsim.")


def _source(entry: Algorithm) -> str:
    try:
        return inspect.getsource(entry.function)
    except (OSError, TypeError):
        return repr(entry.function.__code__.co_code)


@cache
def model_version(rooms: tuple[str, ...] = _MODEL) -> str:
    """The package's version and a digest of the sources that decide a result."""
    import hashlib
    from importlib.metadata import PackageNotFoundError, version

    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for room in rooms:
        place = package / room
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if path.is_file():
                digest.update(path.read_bytes())
    try:
        number = version("collsim")
    except PackageNotFoundError:
        number = "0"
    return f"{number}+{digest.hexdigest()[:12]}"


def _algorithms(collective: Any, algorithm: Any) -> list[tuple[Algorithm | Schedule | str, str, dict[str, Any]]]:
    """(algorithm, collective, options) of each choice; the algorithm is `"nccl"` where NCCL chooses, `"synthesized"`
    where a schedule is found, once for each collective."""
    kinds = [str(c) for c in _listed(collective)]
    for kind in kinds:
        find_collective(kind)
    if algorithm is None:
        return [(entry, kind, {}) for kind in kinds for entry in algorithms(kind).values()]
    chosen: list[tuple[Algorithm | Schedule | str, str, dict[str, Any]]] = []
    for item in [algorithm] if isinstance(algorithm, Schedule) else _pairs(algorithm):
        named, options = _pair("algorithm", item, (str, Algorithm, Schedule))
        if isinstance(named, Schedule):
            chosen.append((named, _require_collective(named, kinds, options), {}))
            continue
        if named == NCCL:
            check_settings(kinds, options)
            chosen += [(NCCL, kind, one) for kind in kinds for one in _each_option(options)]
            continue
        if named == SYNTHESIZED:
            check_options(kinds, options)
            chosen += [(SYNTHESIZED, kind, one) for kind in kinds for one in _each_option(options)]
            continue
        entry = named if isinstance(named, Algorithm) else find(named)
        if entry.collective not in kinds:
            why = "{name} is an algorithm for {collective}, not for {kinds}"
            raise CollsimError(why, name=entry.name, collective=entry.collective, kinds=" or ".join(kinds))
        chosen += [(entry, entry.collective, one) for one in _each_option(options)]
    return chosen


def _require_collective(schedule: Schedule, kinds: list[str], options: dict[str, Any]) -> str:
    """The collective of a finished schedule, which takes no options. Raises CollsimError for one of another."""
    if options:
        message = "{label} is a finished schedule, which has no options; leave out {options}"
        raise CollsimError(message, label=schedule.label, options=", ".join(map(str, options)))
    kind = find_collective(schedule.collective).name
    if kind not in kinds:
        message = "{name} is a schedule for {collective}, not for {kinds}"
        raise CollsimError(message, name=schedule.label, collective=kind, kinds=" or ".join(kinds))
    return kind


def require_filter(where: Any) -> None:
    """Raises CollsimError for what cannot say which scenarios are kept."""
    if where is not None and not callable(where):
        why = "where={where!r} must be a function of a scenario's inputs, for example lambda row: row['ranks'] > 8"
        raise CollsimError(why, where=where)


def _each_option(options: dict[str, Any]) -> list[dict[str, Any]]:
    """`{"chunks": [1, 4]}` stands for two choices."""
    several = prod(len(_listed(v)) for v in options.values())
    require_few("choices of options in a sweep", several, MOST_SCENARIOS, "give shorter lists")
    return [dict(zip(options, values, strict=True)) for values in product(*(_listed(v) for v in options.values()))]


def _orders(order: Any, ranks: int) -> list[tuple[str, tuple[int, ...] | None]]:
    """Rank orders by name: `"given"`, `"reversed"`, `"random:SEED"`, or a permutation of the ranks."""
    entries = _listed(order)
    if entries and all(isinstance(entry, Integral) for entry in entries):
        entries = [entries]  # one permutation
    return [_order(entry, ranks) for entry in entries]


def _order(entry: Any, ranks: int) -> tuple[str, tuple[int, ...] | None]:
    """One rank order, with its name; None where ranks stay in their places."""
    word = "given" if entry is None else entry
    if isinstance(word, str):
        if word == "given":
            return word, None
        if word == "reversed":
            return word, tuple(range(ranks))[::-1]
        if word.startswith("random:") and word[7:].isdigit():
            return word, tuple(np.random.default_rng(int(word[7:])).permutation(ranks).tolist())
    elif _is_permutation(word, ranks):
        return ",".join(map(str, word)), tuple(int(r) for r in word)
    why = "order {entry!r} is not 'given', 'reversed', 'random:7' or a permutation of 0 to {last}"
    raise CollsimError(why, entry=entry, last=ranks - 1)


def _is_permutation(entry: Any, ranks: int) -> bool:
    whole = isinstance(entry, (list, tuple, np.ndarray)) and all(isinstance(r, Integral) for r in entry)
    return whole and sorted(entry) == list(range(ranks))


def _pairs(value: Any) -> list[Any]:
    """One name, one (name, options) pair, or a list of either."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], dict):
        return [value]
    return _listed(value)


def _pair(what: str, item: Any, kind: Any) -> tuple[Any, dict[str, Any]]:
    """A name with its options; one alone has none."""
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


def _listed(value: Any) -> list[Any]:
    """One value, or several: a list, a tuple, an array, a column of a table."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, (list, tuple, set, range)) else [value]
