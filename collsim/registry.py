"""The registry of algorithms: `@algorithm` puts a function that yields steps in, everything else iterates over it.

One file in `collsim/algorithms/` is all that a new algorithm needs; a notebook cell works as well. Files there are
imported when their algorithm is first asked for. An algorithm of a user is registered as long as the user's code holds
it, or for the length of a block: see `AlgorithmRegistry` and `registered`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from traceback import walk_tb
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints
from weakref import WeakValueDictionary, ref

from .collective import get_collective
from .display.catalog import Catalog, Row
from .errors import (
    CollsimError,
    ScheduleError,
    Sentence,
    Words,
    describe_unknown,
    format_value,
    require_flags,
    require_path,
    require_text,
    require_word,
)
from .errors.arguments import check_arguments, check_call
from .errors.keywords import require_keywords
from .locale import LANGUAGES, Text, build_text, complete_text, repeat_text
from .plugins import list_entries, register_into
from .plugins import load as load_plugins
from .schedule import Schedule, freeze
from .steps import HELPER_LOCATIONS, HelperLocation, Step
from .topology.network import choose_channels
from .topology_names import TopologyLike, resolve_topology
from .units import parse_count

_MAX_COUNT = 2**15  # of chunks, channels, servers
_MAX_WORK = 2**26  # the same times ranks
Claim = Callable[..., float | None]
#: Keywords of an algorithm by name.
Options: TypeAlias = Mapping[str, object]
#: What an algorithm is made of: a function of n and keywords that yields steps, or lists of steps of one moment.
StepFunction: TypeAlias = Callable[..., Iterable[Step | Iterable[Step]]]


@dataclass(frozen=True)
class Option:
    """One keyword of an algorithm, read from the signature of its function.

    Attributes:
        name: the keyword.
        default: its value where the caller gives none.
        kind: what values it takes: `count` a whole number, `root` a rank, `choice` one of `choices`, `flag` True or
            False, `topology` a Topology, `amounts` what each rank receives or sends to each, `other` anything.
        choices: the only values allowed, for a `choice` and a `flag`; empty for the other kinds.
    """

    name: str
    default: object
    kind: Literal["count", "root", "choice", "flag", "topology", "amounts", "other"]
    choices: tuple[object, ...] = ()

    @property
    def least(self) -> int:
        """The least number that a `count` may be: 1, and 0 where that is its default and stands for no limit."""
        return 0 if self.default == 0 else 1


@dataclass(frozen=True, eq=False, repr=False)
class Algorithm:
    """A named function that yields steps, with what it claims to cost and who says so. Call it with n to get a
    Schedule.

    Attributes:
        name: `allreduce_ring`.
        collective: name of the collective that it does, `allreduce`.
        function: yields the steps for n ranks.
        steps: claim: number of steps, as a function of n (and options); None where nothing is claimed.
        sent: claim: bytes the busiest endpoint sends, in buffers, as a function of n (and options); None where nothing
            is claimed.
        source: paper and section, or repository and file.
        doc: first paragraph of its docstring, on one line.
        summary: one line each in English and Chinese on what one step does; the app narrates with it.
        chunks: number of chunks as a function of n; None: the largest slot used plus one.
        helpers: number of endpoints beyond the ranks as a function of n; None: it has none.
        helpers_on: what the helpers are: a `host`, or a switch that reduces.
        ranks: returns why a number of ranks is not possible, or None where it is; None: every number is possible.
        cost: seconds as a function of (n, K, alpha, beta, gamma) and options, as many of them as it names: K bytes of
            the operation, alpha seconds per message, beta and gamma seconds per byte sent and reduced, on full-duplex
            ports; None where no formula is known.
        formula: the same as people write it, in English and Chinese.
        network: the generic topology on which the formula is exact: `switch` (one port per rank) unless said otherwise.
        when: one sentence in English and one in Chinese: when it is the best choice.
        most_ranks: more are refused before memory runs out.
        phases: what the steps that add and the steps that copy are called: `reduce-scatter` and `allgather`, `push` and
            `pull`; None: the flags of its steps show it.
        shares: share of each chunk in the buffer as a function of n (and options); None: they are even.
        options: its keywords, by name.

    Examples:
        >>> import collsim as cs
        >>> ring = cs.algorithms()["allreduce_ring"]
        >>> ring
        <Algorithm allreduce_ring(n, channels=1, topology=None) for allreduce>
        >>> ring(4).steps
        6
    """

    name: str
    collective: str
    function: StepFunction
    steps: Claim | None
    sent: Claim | None
    source: str
    doc: str
    summary: Text
    chunks: Claim | None = None
    helpers: Claim | None = None
    helpers_on: HelperLocation = "host"
    ranks: Callable[[int], Words | None] | None = None
    cost: Claim | None = None
    formula: Text = ("", "")
    network: str = "switch"
    when: Text = ("", "")
    most_ranks: int = 4096
    phases: tuple[str, str] | None = None
    shares: Callable[..., tuple[float, ...]] | None = None
    options: MappingProxyType[str, Option] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        # What `help`, `inspect.signature` and editors read. In the package the docstring is that of the module.
        of_function: dict[str, object] = {
            name: getattr(self.function, name, None) for name in functools.WRAPPER_ASSIGNMENTS
        }
        vars(self).update(of_function, __doc__=self.function.__doc__ or self.doc, __wrapped__=self.function)

    @property
    def pattern(self) -> str:
        """Its name without that of its collective: `ring` of `allreduce_ring`."""
        return self.name.removeprefix(f"{self.collective}_")

    def __call__(self, n: object, **options: object) -> Schedule:
        """The schedule for n ranks. Raises CollsimError for a bad n or option, ScheduleError for steps that cannot
        be."""
        n = parse_count(n, "ranks")
        if n > self.most_ranks:
            message = "{name}: ranks={n} is more than {most_ranks:,}, beyond which it needs too much memory"
            raise CollsimError(message, name=self.name, n=n, most_ranks=self.most_ranks)
        with_channels = self._add_channels(n, options)
        complete = self._complete_options(n, with_channels)
        if (message := self._evaluate_claim("ranks", n, {})) is not None:
            raise CollsimError("{name}: ranks={n}: {reason}", name=self.name, n=n, reason=Sentence.from_words(message))
        kind = get_collective(self.collective)
        chunks = self._evaluate_count("chunks", n, complete, 1)
        helpers = self._evaluate_count("helpers", n, complete, 0)
        labelled = {k: complete[k] for k in with_channels if self.options[k].kind != "topology"}
        if chunks is None and kind.has_separate_result:
            chunks = n if kind.has_blocks else 1  # slots beyond are for the result, so they say nothing about chunks
        try:
            steps = self.function(n, **complete)
            schedule = freeze(
                self.name,
                self.collective,
                n,
                self._require_steps(n, steps),
                chunks=chunks,
                block=kind.count_blocks(n),
                helpers=helpers or 0,
                root=complete.get("root", 0),
                options=labelled,
                helpers_on=self.helpers_on,
            )
        except CollsimError as error:
            raise self._add_location(n, error) from error
        except Exception as error:  # whatever a learner's function raises, with their own line
            context: dict[str, Any] = {"name": self.name, "n": n, "where": _locate_error(error, self.function)}
            if isinstance(error, MemoryError):
                message = "{name}({n}) failed{where}: it needs more memory than it may use"
                raise ScheduleError(message, **context) from error
            context |= {"kind": type(error).__name__, "error": error}
            raise ScheduleError("{name}({n}) failed{where}: {kind}: {error}", **context) from error
        slots = max(schedule.slots, kind.slots(schedule.chunks))
        schedule = replace(schedule, slots=slots, shares=self._evaluate_claim("shares", n, complete))
        users = _REGISTRY.users().items()
        hides = any(name in _BUILT_IN and not is_from_package(entry) for name, entry in users)
        if is_from_package(self) and not hides:  # a hierarchy finds its parts by name
            _remember_package(schedule)
        return schedule

    def _add_location(self, n: int, error: CollsimError) -> CollsimError:
        """An error with the place in a learner's function; those of our own algorithms are about what they were
        given."""
        if (self.function.__module__ or "").startswith("collsim."):
            known = self.name in str(error)
            if known:
                return error
            return CollsimError("{name}({n}): {error}", name=self.name, n=n, error=error)
        where = _locate_error(error, self.function)
        position = {k: getattr(error, k, None) for k in ("step", "rank", "chunk")}
        if not where:
            return error
        return ScheduleError("{name}({n}){where}: {error}", name=self.name, n=n, where=where, error=error, **position)

    def _evaluate_claim(self, what: str, n: int, options: Options) -> Any:
        """One of its functions of n, with those options that it names."""
        try:
            return call_claim(getattr(self, what), n, options)
        except CollsimError:
            raise
        except Exception as error:
            message = "{name}: its {what}= fails for n = {n}: {kind}: {error}"
            kind = type(error).__name__
            raise CollsimError(message, name=self.name, what=what, n=n, kind=kind, error=error) from error

    def _evaluate_count(self, what: str, n: int, options: Options, least: int) -> int | None:
        """The same where it must be a whole number."""
        value = self._evaluate_claim(what, n, options)
        if value is None:
            return None
        return parse_count(value, Sentence("{name}: {what}", name=self.name, what=what), least)

    def _evaluate_number(self, what: str, n: int, options: Options) -> float | None:
        """The same where it must be a number."""
        if (value := self._evaluate_claim(what, n, options)) is not None and not isinstance(value, Real):
            message = "{name}: its {what}= gives {value!r} for n = {n}; it must be a number or None"
            raise CollsimError(message, name=self.name, what=what, value=value, n=n)
        if value is None:
            return None
        return float(value)

    def __repr__(self) -> str:
        options = "".join(f", {o.name}={o.default!r}" for o in self.options.values())
        return f"<Algorithm {self.name}(n{options}) for {self.collective}>"

    def __reduce__(self) -> tuple[Callable[[str], Algorithm], tuple[str]]:
        """To another process goes the name; the algorithm must be registered there as well."""
        return get_algorithm, (self.name,)

    def _require_steps(self, n: int, steps: object) -> Iterable[Step | Iterable[Step]]:
        if isinstance(steps, Step):
            return [steps]
        if isinstance(steps, Iterable) and not isinstance(steps, str):
            return steps
        message = "{name}({n}) returned {steps!r}; it must yield its steps: yield copy(...), yield reduce(...)"
        raise ScheduleError(message, name=self.name, n=n, steps=steps)

    @check_call
    def price(
        self, n: int, nbytes: float, alpha: float, beta: float, gamma: float = 0.0, **options: object
    ) -> float | None:
        """Seconds by the closed form `formula`, or None if there is none.

        Args:
            n: number of ranks.
            nbytes: bytes of the operation (nccl-tests' size).
            alpha: seconds per message; on a network with a switch that is twice the alpha of a cable.
            beta: seconds per byte through one port in one direction.
            gamma: seconds per byte reduced.
            options: keywords of the algorithm.

        Returns:
            Seconds.
        """
        n = parse_count(n, "ranks")
        complete = self._complete_options(n, options)
        return self._evaluate_number("cost", n, {**complete, "K": nbytes, "alpha": alpha, "beta": beta, "gamma": gamma})

    @check_call
    def claim(self, what: Literal["steps", "sent"], n: int, **options: object) -> float | None:
        """The claimed number of steps, or buffers sent by the busiest endpoint, for n ranks and these options.

        Args:
            what: `"steps"`, or `"sent"`: buffers that the busiest endpoint sends.
            n: Number of ranks.
            options: Options of the algorithm, as its builder takes them.
        """
        n, known = parse_count(n, "ranks"), require_word("claim", what, ("steps", "sent"))
        return self._evaluate_number(known, n, self._complete_options(n, options))

    def _add_channels(self, n: int, options: Options) -> Options:
        """The options, with the number of channels that the topology says where nobody gave one."""
        option, topology = self.options.get("channels"), options.get("topology")
        if option is None or option.kind != "count" or "channels" in options or not hasattr(topology, "orders"):
            return options
        channels = choose_channels(topology, n)  # type: ignore[arg-type]  # it has ring orders
        if channels > 1:
            return {**options, "channels": channels}
        return options

    def _complete_options(self, n: int, options: Options) -> dict[str, Any]:
        options = self._add_channels(n, options)
        full = {name: option.default for name, option in self.options.items()}
        for name, value in options.items():
            if name not in self.options:
                known = ", ".join(self.options) or Sentence("none")
                unknown = describe_unknown(Sentence("option of {name}", name=self.name), name, self.options)
                raise CollsimError("{unknown} (its options: {known})", unknown=unknown, known=known)
            full[name] = _check_option(self, self.options[name], n, value)
        return full


def _check_option(owner: Algorithm, option: Option, n: int, value: object) -> object:
    if value is None and option.default is None:
        return None
    if option.kind == "count":
        count = parse_count(value, option.name, least=option.least)
        if count > _MAX_COUNT or count * n > _MAX_WORK:
            message = "{name}={value} for {n} ranks is too many; use at most {most:,}"
            raise CollsimError(message, name=option.name, value=value, n=n, most=min(_MAX_COUNT, _MAX_WORK // n))
        return count
    if option.kind == "topology":
        return resolve_topology(value, owner.name)  # type: ignore[arg-type]  # it refuses what is none
    if option.kind == "root":
        root = parse_count(value, option.name, least=0)
        if root >= n:
            message = "root={root} is not a rank; with {n} ranks it is 0 to {last}"
            raise CollsimError(message, root=root, n=n, last=n - 1)
        return root
    if option.kind == "choice" and (not isinstance(value, Hashable) or value not in option.choices):
        what = Sentence("{option} of {name}", option=option.name, name=owner.name)
        raise CollsimError(describe_unknown(what, value, map(str, option.choices)))
    if option.kind == "flag":
        require_flags(**{option.name: value})
    return value


def call_claim(claim: Callable[..., Any] | None, n: int, options: Options) -> Any:
    """A claim, or an algorithm's function, for n ranks with those options that it names; None without one.

    Args:
        claim: Takes n and any of the options; None gives None.
        n: Ranks.
        options: Those that the claim does not name are left out.
    """
    if claim is None:
        return None
    needed = inspect.signature(claim).parameters
    return claim(n, **{name: options[name] for name in needed if name in options})


def _locate_error(error: BaseException, function: StepFunction) -> Words:
    """The user's own line, not ours."""
    code: Any = getattr(function, "__code__", None)
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code is code]
    if lines:
        return Sentence(" at line {line} of {file}", line=lines[-1], file=Path(code.co_filename).name)
    return ""


#: The package's own algorithms by name, with the module that is imported when one is first asked for.
_BUILT_IN: dict[str, str] = {}


#: Algorithms of a user by name, as long as the user's code holds them.
Layer: TypeAlias = WeakValueDictionary[str, Algorithm]
#: Open blocks of `registered` in this thread, the innermost last.
_OWN_BLOCKS: ContextVar[tuple[Layer, ...]] = ContextVar("blocks of this thread", default=())


def _leave_out(blocks: tuple[Layer, ...], block: Layer) -> tuple[Layer, ...]:
    return tuple(other for other in blocks if other is not block)


class AlgorithmRegistry(MutableMapping[str, Algorithm]):
    """The registered algorithms by name.

    The package's own algorithms and those of installed packages stay. What a user's code registers stays as long as
    that code holds it (a module, a variable of a notebook); until then it hides a lasting algorithm of the same name.
    Each open block of `registered` has a layer of its own, so that a thread that leaves its block takes away nothing
    that another thread has registered.

    Attributes:
        departed: names that an algorithm of a user has had, so that the error for a name that is gone can say so.
    """

    def __init__(self) -> None:
        self.departed: set[str] = set()
        self._lasting: dict[str, Algorithm] = {}
        self._users = Layer()
        self._blocks: tuple[Layer, ...] = ()
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> Algorithm:
        for layer in self._list_layers():
            if (entry := layer.get(name)) is not None:
                return entry
        return self._lasting[name]

    def __setitem__(self, name: str, entry: Algorithm) -> None:
        layer = (self._users, *_OWN_BLOCKS.get())[-1]
        if is_from_package(entry):
            layer.pop(name, None)
            self._lasting[name] = entry
        else:
            self.departed.add(name)
            layer[name] = entry

    def __delitem__(self, name: str) -> None:
        if not any(layer.pop(name, None) for layer in self._list_layers()):
            del self._lasting[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries())

    def __len__(self) -> int:
        return len(self.entries())

    def entries(self) -> dict[str, Algorithm]:
        """All of them at this moment."""
        return {**self._lasting, **self.users()}

    def users(self) -> dict[str, Algorithm]:
        """Those that a user's code registered and still holds."""
        # Lists of the references at one moment: what iterates over a dictionary fails where a thread registers.
        references = [reference for layer in reversed(self._list_layers()) for reference in layer.valuerefs()]
        return {reference.key: entry for reference in references if (entry := reference()) is not None}

    def open_block(self, entries: Sequence[Algorithm]) -> Layer:
        """Open a layer with algorithms; what this thread registers from now on goes into it.

        Args:
            entries: the algorithms.
        """
        blocks = _OWN_BLOCKS.get()
        for entry in entries:
            hidden = any(entry.name in block for block in blocks)
            if self._users.get(entry.name) is entry and not hidden:
                self._users.pop(entry.name, None)  # registered for the block from now on
        block = Layer({entry.name: entry for entry in entries})
        self.departed.update(block)
        with self._lock:
            self._blocks = *self._blocks, block
        _OWN_BLOCKS.set((*blocks, block))
        return block

    def close_block(self, block: Layer) -> None:
        """Take away a layer."""
        with self._lock:
            self._blocks = _leave_out(self._blocks, block)
        _OWN_BLOCKS.set(_leave_out(_OWN_BLOCKS.get(), block))

    def _list_layers(self) -> list[Layer]:
        """In the order in which a name is looked for: blocks of this thread, those of others, then what is in none."""
        blocks = _OWN_BLOCKS.get()
        others = [block for block in self._blocks if not any(block is mine for mine in blocks)]
        return [*reversed(blocks), *reversed(others), self._users]

    def make_lasting(self, names: Iterable[str]) -> None:
        """Keep algorithms for the life of the process, whoever else holds them."""
        self._lasting.update((name, self[name]) for name in names)


_REGISTRY = AlgorithmRegistry()
#: Schedules that the package's own algorithms made, by identity: to compare their contents would take long.
_FROM_PACKAGE: dict[int, ref[Schedule]] = {}


def is_from_package(entry: Algorithm) -> bool:
    """Is this one of the package's own algorithms? Its tests verify them for many numbers of ranks and all options."""
    # `exec` without `__name__` makes functions whose module is None, so a missing name must not be compared with it.
    return entry.name in _BUILT_IN and entry.function.__module__ == _BUILT_IN[entry.name]


def is_made_by_package(schedule: Schedule) -> bool:
    """Was this very schedule made by one of the package's own algorithms, without any part of a user's?"""
    known = _FROM_PACKAGE.get(id(schedule))
    return known is not None and known() is schedule


def _remember_package(schedule: Schedule) -> None:
    """Remember who made a schedule, for as long as somebody holds it."""
    key = id(schedule)
    _FROM_PACKAGE[key] = ref(schedule, lambda _: _FROM_PACKAGE.pop(key, None))


def declare_built_in(package: str, names: Iterable[str]) -> None:
    """Say which algorithms a package of ours holds: a module for each, with the algorithm's name."""
    _BUILT_IN.update((name, f"{package}.{name}") for name in names)


def _import_built_in(name: str) -> None:
    """Import one of our own that nobody asked for before; what took its name meanwhile keeps it."""
    if name in _BUILT_IN and name not in _REGISTRY:
        entry = getattr(importlib.import_module(_BUILT_IN[name]), name)
        _REGISTRY.setdefault(name, entry)


def _import_all() -> None:
    """All of our own, then those of other packages, which may not take a name of ours."""
    registered = _REGISTRY.entries()
    for name in _BUILT_IN:
        if name not in registered:
            _import_built_in(name)
    load_plugins("collsim.algorithms", _take_plugin)


@check_arguments
def algorithm(
    collective: str,
    *,
    steps: Claim | None = None,
    sent: Claim | None = None,
    source: str = "",
    says: Text = ("", ""),
    chunks: Claim | None = None,
    helpers: Claim | None = None,
    helpers_on: HelperLocation = "host",
    ranks: Callable[[int], Words | None] | None = None,
    cost: Claim | None = None,
    formula: str | Text = "",
    network: str = "switch",
    when: Text = ("", ""),
    most_ranks: int = 4096,
    phases: tuple[str, str] | None = None,
    shares: Callable[..., tuple[float, ...]] | None = None,
    name: str | None = None,
) -> Callable[[StepFunction], Algorithm]:
    """Register a function of n (and keywords) that yields steps; the result is an `Algorithm`, callable with n.

    Args:
        collective: name of the collective that it promises.
        steps: claimed number of steps, as a function of n and of those options it names; tests hold it to it.
        sent: claimed bytes that the busiest endpoint sends, in buffers; a function likewise.
        source: paper and section, or repository and file.
        says: one line each in English and Chinese on what one step does; the package's own have it in
            `collsim/locale/<language>/algorithms`, and so for `when`.
        chunks: number of chunks as a function; without it, the largest slot used plus one.
        helpers: number of endpoints beyond the ranks as a function.
        helpers_on: what they are: a `host`, or a switch that reduces: the `nvswitch` of each node, the one `fabric`
            switch between nodes, or any `switch`.
        ranks: returns why a number of ranks is not possible, or None.
        cost: seconds as a function of (n, K, alpha, beta, gamma) and options; see `Algorithm`.
        formula: the same as people write it, in English and Chinese where it has words.
        network: the generic topology on which the formula is exact.
        when: one sentence in English and one in Chinese: when it is the best choice.
        most_ranks: refuse more, before memory runs out: most algorithms move n chunks at each of n ranks. With
            `repeat`, or a few chunks only, it may be much more.
        phases: names of the part that adds and of the part that copies, where it has both; see `Algorithm`.
        shares: share of each chunk in the buffer, where chunks are not even; a function likewise.
        name: its name in the registry; the function's name unless given.

    Returns:
        A decorator that makes an `Algorithm` of a function.

    Raises:
        CollsimError: for an unknown collective, or a claim that is no function.

    Examples:
        >>> import collsim as cs
        >>> @cs.algorithm("broadcast", steps=lambda n: 1)
        ... def broadcast_at_once(n):
        ...     yield cs.copy(0, range(1, n), chunk=0)
        >>> broadcast_at_once(4).steps
        1
    """
    collective = get_collective(collective).name
    require_word("helpers_on", helpers_on, HELPER_LOCATIONS)
    most_ranks = parse_count(most_ranks, "most_ranks")
    _require_functions(steps=steps, sent=sent, chunks=chunks, helpers=helpers, ranks=ranks, cost=cost, shares=shares)
    require_text("source", source)
    require_text("network", network)
    if name is not None:
        require_text("name", name)
    _require_written("says", says)
    _require_written("when", when)
    if not isinstance(formula, str):
        _require_written("formula", formula)
    if phases is not None:
        phases = _check_phases(phases)

    def register(function: StepFunction) -> Algorithm:
        if not inspect.isfunction(function):
            message = "@algorithm goes above a function, def my_algorithm(n): ...; got {function!r}"
            raise CollsimError(message, function=function)
        label, options = name or function.__name__, MappingProxyType(_read_options(function))
        summary, best_for = complete_text(says), complete_text(when)
        # Code that is executed without a name has no module, as an unknown label has none.
        is_built_in = label in _BUILT_IN and function.__module__ == _BUILT_IN[label]
        if is_built_in and not says[0]:
            summary, best_for = (build_text("algorithms", f"{label}.{part}") for part in ("summary", "when"))
        written = repeat_text(formula) if isinstance(formula, str) else complete_text(formula)
        if is_built_in and cost is not None and not formula:  # one with words
            written = build_text("algorithms", f"{label}.formula")
        claims = steps, sent, source, _read_first_paragraph(function), summary, chunks, helpers, helpers_on, ranks
        prices = cost, written, network, best_for, most_ranks, phases, shares
        entry = Algorithm(label, collective, function, *claims, *prices, options)
        if not is_built_in:
            _import_built_in(label)  # first: what comes later takes the name
        _REGISTRY[label] = entry
        return entry

    return register


@check_arguments
@contextmanager
def registered(*entries: Algorithm) -> Iterator[None]:
    """Register algorithms for the length of a block: `with cs.registered(my_ring): ...`.

    Those named, and all that `@algorithm` registers in the block, are found by name and compared with the others inside
    it only. After it, what had one of these names before has it again. The registry is that of the process: other
    threads see the same, unless they have registered another algorithm of that name in a block of their own.

    Args:
        entries: what `@algorithm` returned; none where the block itself defines them.

    Returns:
        A context manager.

    Raises:
        CollsimError: for anything but an Algorithm.

    Examples:
        >>> import collsim as cs
        >>> @cs.algorithm("allreduce")
        ... def forgetful(n):
        ...     yield cs.reduce(range(1, n), 0, chunk=0)
        >>> with cs.registered(forgetful):
        ...     "forgetful" in cs.algorithms("allreduce")
        True
        >>> "forgetful" in cs.algorithms()
        False
    """
    for entry in entries:
        if not isinstance(entry, Algorithm):
            message = "registered({entry!r}): give what @algorithm returned, the decorated function itself"
            raise CollsimError(message, entry=entry)
        _import_built_in(entry.name)
    block = _REGISTRY.open_block(entries)
    try:
        yield
    finally:
        _REGISTRY.close_block(block)


def _check_phases(phases: object) -> tuple[str, str]:
    names = ()
    if isinstance(phases, (tuple, list)):
        names = tuple(phases)
    if len(names) != 2 or not all(isinstance(name, str) and name for name in names):
        raise CollsimError(
            "algorithm(phases={phases!r}): give the names of the part that adds and of the part that copies, for "
            "example phases=('reduce-scatter', 'allgather')",
            phases=phases,
        )
    return names


def _require_written(what: str, written: object) -> None:
    """Check a text of an algorithm: in English, and perhaps in the other languages."""
    if (
        not isinstance(written, (tuple, list))
        or not 0 < len(written) <= len(LANGUAGES)
        or not all(isinstance(text, str) for text in written)
    ):
        message = "algorithm({what}={value!r}): give the text in English and in Chinese, {what}=('...', '...')"
        raise CollsimError(message, what=what, value=written)


def _require_functions(**claims: object) -> None:
    for what, claim in claims.items():
        if claim is not None and not callable(claim):
            message = "algorithm({what}={value!r}): {what} is a function of n, for example {what}=lambda n: ..."
            raise CollsimError(message, what=what, value=claim)


def _read_first_paragraph(function: StepFunction) -> str:
    """Of a function's docstring; of its module's where it is alone in a file of `algorithms/`."""
    module = sys.modules.get(function.__module__)
    alone = module is not None and function.__module__.startswith("collsim.algorithms")
    doc = inspect.getdoc(function) or (module.__doc__ if module and alone else "") or ""
    return " ".join(doc.strip().split("\n\n")[0].split())


def _read_options(function: StepFunction) -> dict[str, Option]:
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters:
        message = "{function}() must take the number of ranks: def {function}(n): ..."
        raise CollsimError(message, function=function.__name__)
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError):
        hints = {}
    options = {}
    for p in parameters[1:]:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if p.default is p.empty:
            message = "{function}: option {name!r} needs a default, for example {name}=1"
            raise CollsimError(message, function=function.__name__, name=p.name)
        options[p.name] = _read_option(p.name, p.default, hints.get(p.name))
    return options


def _read_option(name: str, default: object, hint: object) -> Option:
    if name == "root":
        return Option(name, default, "root")
    if name == "topology":
        return Option(name, default, "topology")
    if name == "amounts":
        return Option(name, default, "amounts")
    if get_origin(hint) is Literal:
        return Option(name, default, "choice", get_args(hint))
    if isinstance(default, bool):
        return Option(name, default, "flag", (False, True))
    if isinstance(default, int) or hint == int | None:
        return Option(name, default, "count")
    return Option(name, default, "other")


def require_power_of_two(n: int) -> Sentence | None:
    """For `ranks=`: why this number of ranks is not possible, or None.

    Args:
        n: 1 or more.
    """
    if n & (n - 1) == 0:
        return None
    below, above = 1 << n.bit_length() - 1, 1 << n.bit_length()
    return Sentence("it needs a power of two; the nearest are {below} and {above}", below=below, above=above)


@check_arguments
def algorithms(collective: str | None = None) -> Catalog[Algorithm]:
    """The registered algorithms by name, including those of other installed packages.

    Args:
        collective: only the algorithms of this collective; None lists all.

    Returns:
        A mapping from names to algorithms, which prints as a table.

    Raises:
        CollsimError: for an unknown collective, with the nearest name.

    Examples:
        >>> import collsim as cs
        >>> cs.algorithms("sendrecv")  # doctest: +ELLIPSIS
        name             collective  options  what
        sendrecv_direct  sendrecv             ...
    """
    _import_all()
    if collective is not None:
        collective = get_collective(collective).name
    chosen = {name: a for name, a in sorted(_REGISTRY.entries().items()) if collective in (None, a.collective)}
    return Catalog(chosen, _describe_algorithm)


def _describe_algorithm(algorithm: Algorithm) -> Row:
    return {
        "collective": algorithm.collective,
        "options": ", ".join(option for option in algorithm.options if option != "topology"),
        "what": algorithm.doc,
    }


def _take_plugin(entry: Callable[[], object]) -> None:
    """Take what a package names: a module that registers algorithms, an Algorithm, or a list of them."""
    before = set(_REGISTRY)
    register_into(_REGISTRY, lambda: _add(entry()))
    _REGISTRY.make_lasting(_REGISTRY.keys() - before)


def _add(entry: object) -> None:
    for algorithm in list_entries(entry):
        if not isinstance(algorithm, Algorithm):
            message = "{thing!r} is no algorithm; name a module with @algorithm in it, or what @algorithm made"
            raise CollsimError(message, thing=algorithm)
        _REGISTRY[algorithm.name] = algorithm


def get_algorithm(name: str) -> Algorithm:
    """One algorithm by name.

    Args:
        name: Of the package, a plugin, or one that a user registered.

    Raises:
        CollsimError: There is none; the message has the nearest names.
    """
    if isinstance(name, str):
        _import_built_in(name)
        if name not in _REGISTRY:
            _import_all()
        if name not in _REGISTRY and name in _REGISTRY.departed:
            message = (
                "algorithm {name!r} is no longer registered: its block 'with cs.registered(...):' has ended, or "
                "nothing holds the decorated function any more; keep it in a variable of your module or notebook"
            )
            raise CollsimError(message, name=name)
    return _REGISTRY[require_word("algorithm", name, _REGISTRY)]


def find_schedule_algorithm(schedule: Schedule) -> Algorithm | None:
    """The registered algorithm whose name and collective a schedule has; None for any other, made by hand or read from
    a file.

    Args:
        schedule: From anywhere.
    """
    _import_built_in(schedule.name)
    entry = _REGISTRY.get(schedule.name)
    if entry is not None and entry.collective == schedule.collective:
        return entry
    return None


@check_call
def schedule(
    name: str | Algorithm, ranks: int | None = None, *, topology: TopologyLike | None = None, **options: object
) -> Schedule:
    """The schedule of a named algorithm.

    Args:
        name: name of an algorithm, or an Algorithm.
        ranks: number of ranks; may be left out where a topology says it.
        topology: handed to algorithms that order their ranks by it (rings); one that has `channels` uses as many as a
            machine offers unless `channels=` says another number (`Schedule.options` has it).
        options: the algorithm's own keywords. The same in all of them are `root` (the rank that has the data, or gets
            the result), `chunks` (pieces of the buffer that follow one another in a pipeline) and `channels` (copies of
            the pattern, each with its share of the buffer); the docstring of an algorithm has the others.

    Returns:
        The schedule.

    Raises:
        CollsimError: for an unknown algorithm or option, with the nearest name, and for ranks that it cannot take.

    Examples:
        >>> import collsim as cs
        >>> cs.schedule("allreduce_ring", ranks=3)
        <Schedule allreduce_ring(3): 3 chunks, 4 steps, 12 transfers>
    """
    if isinstance(name, Algorithm):
        entry = name
    else:
        entry = get_algorithm(name)
    require_keywords("schedule", options, ("ranks", "topology", *entry.options), takes_any=True)
    if topology is not None:
        topology = resolve_topology(topology, "schedule")
    if ranks is None:
        if topology is None:
            raise CollsimError("{name}: say how many ranks (ranks=8), or give a topology that does", name=entry.name)
        ranks = topology.ranks
    if topology is not None:
        if topology.ranks < parse_count(ranks, "ranks"):
            message = "{name}: {ranks} ranks do not fit on {topology_name}, which has {topology_ranks}"
            raise CollsimError(
                message, name=entry.name, ranks=ranks, topology_name=topology.name, topology_ranks=topology.ranks
            )
        if "topology" in entry.options:
            options["topology"] = topology
    return entry(ranks, **options)


def load_algorithm(spec: str) -> Algorithm:
    """The algorithm of a file: `"my.py"` if it registers one, or `"my.py:my_algorithm"`. Runs the file.

    Args:
        spec: Path of the file, with or without `:name` of the function.

    Raises:
        CollsimError: If there is no such file or function, or the file fails.
    """
    path_text, _, name = spec.partition(":")
    path = require_path(path_text)
    if not os.path.isfile(path):  # False too for a name longer than the system takes
        raise CollsimError("no file {path_text} to load an algorithm from", path_text=format_value(path_text))
    before = set(_REGISTRY)
    module_name = f"collsim_loaded_{path.stem}"  # never the name of a real module
    module_spec = importlib.util.spec_from_file_location(module_name, path)
    if module_spec is None or module_spec.loader is None:
        message = "{path_text!r} is not a Python file; an algorithm is loaded from 'my.py' or 'my.py:name'"
        raise CollsimError(message, path_text=path_text)
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[module_name] = module
    try:
        module_spec.loader.exec_module(module)
    except CollsimError:
        raise
    except Exception as error:
        message = "{path_text!r} fails to load: {kind}: {error}"
        raise CollsimError(message, path_text=path_text, kind=type(error).__name__, error=error) from error
    defined = {
        k: v for k, v in vars(module).items() if isinstance(v, Algorithm) and v.function.__module__ == module_name
    }
    if name:
        if name not in defined:
            raise CollsimError(describe_unknown(Sentence("algorithm in {path}", path=path_text), name, defined))
        return defined[name]
    new = list(defined.values()) or [_REGISTRY[k] for k in _REGISTRY.keys() - before - _BUILT_IN.keys()]
    if len(new) != 1:
        message = "{path_text!r} holds {count} algorithms ({names}); name one: {path_text}:name"
        raise CollsimError(
            message,
            path_text=path_text,
            count=len(new),
            names=", ".join(a.name for a in new) or Sentence("none decorated"),
        )
    return new[0]
