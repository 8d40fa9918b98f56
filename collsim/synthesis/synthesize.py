"""The door: what is asked for, which method answers, and what is told about the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..bar import open_progress as telling
from ..collective import Collective, collective
from ..errors import CollsimError, Sentence, require_word
from ..schedule import Schedule
from ..simulate import Trace, simulate
from ..topology import Topology
from ..units import format_bandwidth, parse_bytes, parse_count
from ..verify import verify
from . import choosing, forests, greedy, known, phases, solver
from .personal import PERSONAL, SEARCHED_AS

Told = Callable[..., None] | None
METHODS = ("trees", "greedy", "exact")
LARGE = 2**36  # bytes for which objective="bandwidth" cuts its chunks
_SMALL_RANKS = 16  # up to so many a size is also tried with the fewest steps
_FINE_RANKS, _FAR = 64, 1.01  # up to so many, trees that stay farther from the cut are packed once more, finer
_TREE_RANKS = 256  # beyond, packing takes minutes
_FILLED = 1.02  # steps per piece: where filling and draining the trees takes more, matching is tried as well
_GREEDY_CHUNKS = {"low": (1,), "normal": (1, 4), "high": (1, 2, 4, 8, 16)}
_GREEDY_SAYS = Sentence(
    "Every pair of ranks took, whenever it was free, a chunk that its source had and its destination lacked."
)
_AT_ROOT = Sentence("at the root"), Sentence("the buffer")
_AT_RANKS = Sentence("at every rank"), Sentence("each block")
_PERSONAL_RANKS = 32  # beyond, blocks of an alltoall are not cut: a matching looks through n^2 of them
_SECONDS = {"low": 20.0, "normal": 120.0, "high": 1200.0}


@dataclass(frozen=True)
class Report:
    """What is known about a synthesized schedule.

    Attributes:
        method: `trees` (packed at the narrowest cut), `greedy` (matching), `exact` (solver) or `known` (an algorithm of
            the library was faster than all of them).
        objective: `bandwidth`, `latency`, or bytes.
        sentence: how it was found, and what is proved, in both languages.
    """

    method: str
    objective: str | int
    sentence: Sentence

    @property
    def says(self) -> str:
        """How it was found, and what is proved, in English."""
        return str(self.sentence)


_reports: WeakKeyDictionary[Schedule, Report] = WeakKeyDictionary()


def report(schedule: Schedule) -> Report | None:
    """How a schedule of this process was synthesized; None for any other."""
    return _reports.get(schedule)


def synthesize(
    collective_name: str | Collective,
    topology: Topology,
    objective: str | int = "bandwidth",
    effort: str = "normal",
    *,
    ranks: int | None = None,
    root: int = 0,
    method: str | None = None,
    pieces: int | None = None,
    switches: bool = True,
    progress: Any = None,
) -> Schedule:
    """A schedule found for a collective on a topology; ordinary and verified. `report` says what is proved of it.

    Args:
        collective_name: a collective or its name.
        objective: `bandwidth` (large sizes), `latency` (fewest steps, with proof), or a size such as `"4MiB"` for which
            the methods' schedules and the library's are timed by the event engine and the fastest is taken.
        effort: `low`, `normal` or `high`: how long to search and how large a schedule may be.
        ranks, root: the first so many ranks; the root, where the collective has one.
        method: `trees`, `greedy` or `exact`; chosen by objective and collective unless given.
        pieces: into how many the share of each tree (of each block, in a matching) is cut; chosen by size unless given.
            Few make a short program for MSCCL.
        switches: use switches of a machine that reduce or multicast (NVLS, SHARP), where that is faster.
        progress: True for a bar, or a function called with (done, in all, what); Ctrl-C ends the search.

    Raises CollsimError for a collective that no method knows, or a bad option; TopologyError where ranks cannot reach
    each other.
    """
    given: dict[str, Any] = {"ranks": ranks, "root": root, "method": method, "pieces": pieces, "switches": switches}
    return searched(collective_name, topology, objective, effort, progress=progress, **given).schedule


@dataclass(frozen=True, eq=False)
class SynthesisOutcome:
    """What a search ends with.

    Attributes:
        schedule: the one that was found. library: the fastest run of each algorithm of the library that was timed
        beside it by the event engine, by name.
    """

    schedule: Schedule
    library: Mapping[str, Trace]


def searched(
    collective_name: str | Collective,
    topology: Topology,
    objective: str | int = "bandwidth",
    effort: str = "normal",
    *,
    ranks: int | None = None,
    root: int = 0,
    method: str | None = None,
    pieces: int | None = None,
    switches: bool = True,
    progress: Any = None,
) -> SynthesisOutcome:
    """What `synthesize` finds, and the runs that it was compared with. Takes and raises what that does."""
    kind = collective_name if isinstance(collective_name, Collective) else collective(collective_name)
    if not isinstance(topology, Topology):
        why = "synthesize wants a topology, got {topology!r}; make one with topology.switch(8)"
        raise CollsimError(why, topology=topology)
    require_word("effort", effort, tuple(forests.EFFORT))
    if method is not None:
        require_word("method", method, METHODS)
    n, root = _ranks_of(topology, ranks, root)
    pieces = None if pieces is None else parse_count(pieces, "pieces")
    if objective not in ("bandwidth", "latency"):
        objective = parse_bytes(objective)
    with telling(progress, "parts", "done", "in_all", "what") as told:
        search = _Search(kind, topology, n, root, objective, effort, pieces, switches, told)
        found, said = search.run(method)
    verify(found)
    _reports[found] = said
    return SynthesisOutcome(found, search.library)


def _ranks_of(topology: Topology, ranks: Any, root: Any) -> tuple[int, int]:
    """How many ranks take part, and the root. Raises CollsimError for what the topology does not have."""
    n = topology.ranks if ranks is None else parse_count(ranks, "ranks", least=1)
    if n > topology.ranks or n < 2:
        why = "ranks={n}: {name} has {ranks}, and a collective to synthesize needs 2"
        raise CollsimError(why, n=n, name=topology.name, ranks=topology.ranks)
    root = parse_count(root, "root", least=0)
    if root >= n:
        raise CollsimError("root={root} is not a rank; with {n} ranks it is 0 to {last}", root=root, n=n, last=n - 1)
    return n, root


@dataclass(frozen=True)
class _Search:
    """One question, checked."""

    kind: Collective
    topology: Topology
    ranks: int
    root: int
    objective: str | int
    effort: str
    pieces: int | None
    switches: bool
    told: Told
    seconds: WeakKeyDictionary[Schedule, float] = field(default_factory=WeakKeyDictionary)
    gaps: WeakKeyDictionary[Schedule, float] = field(default_factory=WeakKeyDictionary)
    library: dict[str, Trace] = field(default_factory=dict)

    def run(self, method: str | None) -> tuple[Schedule, Report]:
        methods = [method] if method is not None else self.methods()
        if len(methods) == 1 and (method is not None or methods[0] != "greedy"):
            found = [self.by(methods[0])]
            return (found if method is not None else found + self.shorter(found[0][0]))[-1]
        found = self.tried(methods)
        if self.pieces is None:
            found += self.of_library()
        return found[0] if len(found) == 1 else min(found, key=lambda one: self.timed(one[0]))

    def timed(self, made: Schedule) -> float:
        """Seconds of a schedule by the event engine, which runs it once."""
        if made not in self.seconds:
            self.seconds[made] = simulate(made, self.topology, self.nbytes, engine="event").time
        return self.seconds[made]

    def tried(self, methods: list[str]) -> list[tuple[Schedule, Report]]:
        """What each method finds; for large sizes no more once trees are near what their cut allows."""
        found: list[tuple[Schedule, Report]] = []
        for one in methods:
            try:
                found.append(self.by(one))
            except CollsimError:
                if one == methods[-1] and not found:
                    raise
                continue
            if self.objective == "bandwidth" and self.near(found[-1][0]):
                break
        return found

    def near(self, made: Schedule) -> bool:
        """Was it timed, and near enough to what the narrowest cut and the routes allow, or of many pieces?"""
        pieces = made.options.get("pieces", 0) * (2 if self.kind.name == "allreduce" else 1)
        return bool(made.steps <= _FILLED * pieces) or self.gaps.get(made, np.inf) <= _FILLED

    def of_library(self) -> list[tuple[Schedule, Report]]:
        """The fastest algorithm of the library: those with switches that reduce; for a size ring and tree as well."""
        if self.ranks > known.MOST_RANKS:
            return []
        place = self.kind, self.topology, self.ranks, self.root, self.nbytes
        self.library.update(known.raced(*place, self.switches, isinstance(self.objective, int), self.told))
        if not self.library:
            return []
        best, says = known.quickest(self.library)
        found = known.named(best.schedule, self.kind, self.options("known"))
        self.seconds[found] = best.time
        return [(found, Report("known", self.objective, says))]

    def shorter(self, found: Schedule) -> list[tuple[Schedule, Report]]:
        """An allreduce of the library with fewer steps than the solver's two halves; none where there is none."""
        if self.objective != "latency" or self.kind.name != "allreduce":
            return []
        place = self.kind, self.topology, self.ranks
        made = known.shortest(*place, found.steps)
        if made is None:
            return []
        least, why = solver.least_steps(*place)
        says = Sentence(
            "The library's {name} takes {steps} steps; a reduce_scatter and then an allgather take at least {halves}. "
            "No allreduce takes fewer than {least}: {why}.",
            name=made.name,
            steps=made.steps,
            halves=found.steps,
            least=least,
            why=why,
        )
        named = known.named(made, self.kind, self.options("known"))
        return [(named, Report("known", self.objective, says))]

    def methods(self) -> list[str]:
        """The methods to try, for one of them the only one."""
        known = self._known()
        if self.objective == "latency":
            if "exact" not in known:
                why = "objective='latency' knows {known}; got {name!r}"
                raise CollsimError(why, known=", ".join(SEARCHED_AS), name=self.kind.name)
            return ["exact"]
        if self.objective == "bandwidth":
            return [m for m in known if m != "exact" and (m != "trees" or self.ranks <= _TREE_RANKS)]
        exact = self.ranks <= _SMALL_RANKS and solver.installed()
        return [m for m in known if m != "exact" or exact]

    def _known(self) -> list[str]:
        """The methods that make schedules of this collective. Raises CollsimError where none does."""
        name, made = self.kind.name, (forests.FORESTS, SEARCHED_AS, SEARCHED_AS)
        known = [method for method, names in zip(METHODS, made, strict=True) if name in names]
        if not known:
            why = "{name} cannot be synthesized; known: {known}"
            raise CollsimError(why, name=name, known=", ".join(SEARCHED_AS))
        return known

    def by(self, method: str) -> tuple[Schedule, Report]:
        known = {"trees": forests.FORESTS, "greedy": SEARCHED_AS, "exact": SEARCHED_AS}[method]
        if self.kind.name not in known:
            why = "method {method!r} knows {known}; got {name!r}"
            raise CollsimError(why, method=method, known=", ".join(known), name=self.kind.name)
        found, says = {"trees": self.trees, "greedy": self.greedy, "exact": self.exact}[method]()
        return found, Report(method, self.objective, says)

    @property
    def nbytes(self) -> int:
        return self.objective if isinstance(self.objective, int) else LARGE

    def options(self, method: str) -> dict[str, Any]:
        return {"method": method, "objective": self.objective}

    def trees(self) -> tuple[Schedule, Sentence]:
        made, found = self.planned(finer=False)
        fine = self.objective == "bandwidth" and self.effort == "normal" and self.ranks <= _FINE_RANKS
        if fine and self.pieces is None and self.gaps[found] > _FAR:
            closer = self.planned(finer=True)
            if self.gaps[closer[1]] < self.gaps[found]:
                made, found = closer
        height = max(f.height for f in made.forests)
        counts = " + ".join(str(f.trees) for f in made.forests)
        where, what = _AT_ROOT if self.kind.rooted else _AT_RANKS
        says = Sentence(
            "{counts} trees {where}, at most {height} links high, carry {rate} of {what}: {share} % of what the "
            "narrowest cut and the routes allow.",
            counts=counts,
            where=where,
            height=height,
            rate=format_bandwidth(made.reached),
            what=what,
            share=f"{100 * made.reached / made.most:.4g}",
        )
        return found, says

    def planned(self, finer: bool) -> tuple[forests.ForestPlan, Schedule]:
        """A plan and its fastest form; `finer` with more trees, of which less is lost."""
        made = forests.plan(self.kind, self.topology, self.ranks, self.root, self.effort, self.told, finer)
        place, told = (self.kind, self.topology, self.ranks, self.root), self.options("trees")
        if self.pieces:
            told["pieces"] = self.pieces
            return made, forests.scheduled(made, self.kind, self.ranks, self.root, self.pieces, told)
        effort, forms = ("high", 0) if finer else (self.effort, len(choosing.LANES))
        found, time = choosing.quickest(made, *place, self.nbytes, effort, told, forms, self.told)
        self.seconds[found], self.gaps[found] = time, time * made.most * made.shares / self.nbytes
        return made, found

    def greedy(self) -> tuple[Schedule, Sentence]:
        best: Schedule | None = None
        many = self.kind.name in PERSONAL and self.ranks > _PERSONAL_RANKS
        usual = (1,) if many else _GREEDY_CHUNKS[self.effort]
        for per_block in (self.pieces,) if self.pieces else usual:
            found = self.matched(per_block)
            if len(found) > greedy.MOST_TIMED:
                return best if best is not None else found, _GREEDY_SAYS
            if best is None or self.timed(found) < self.timed(best):
                best = found
        assert best is not None
        return best, _GREEDY_SAYS

    def matched(self, per_block: int) -> Schedule:
        told = self.told
        count = (lambda done, total: told(done, total, phases.MATCHING)) if told is not None else None
        place = self.kind, self.topology, self.ranks, self.root
        return greedy.greedy(*place, self.nbytes, per_block, 1, self.options("greedy"), count)

    def exact(self) -> tuple[Schedule, Sentence]:
        told = self.told
        most = _SECONDS[self.effort]
        tick = (lambda seconds: told(int(seconds), int(most), phases.SOLVER)) if told is not None else None
        return solver.quickest(self.kind, self.topology, self.ranks, self.root, most, tick)
