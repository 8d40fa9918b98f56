"""The entry point of synthesis: it checks a request, runs the methods that fit, and reports what is proved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary, WeakSet, finalize

import numpy as np

from ..collective import Collective, get_collective
from ..display.progress import open_progress
from ..errors import CollsimError, Sentence, require_word
from ..errors.arguments import check_arguments
from ..schedule import Schedule
from ..simulate import Trace, simulate
from ..topology import Topology
from ..topology.parts.rank_selection import restrict_ranks
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize, RankSelection, format_bandwidth, parse_bytes, parse_count
from ..verify import verify
from . import greedy, library_algorithms, solver
from .pairs import optional_solver, search_phases
from .pairs.alltoall_rates import find_pairs
from .personalized import PERSONALIZED, SEARCHED_AS
from .tree_packing import forests, tree_forms
from .tree_packing.mending import mend_plan

#: A function that is called with (done, in all, what).
SearchProgress: TypeAlias = Callable[..., None]
ReportProgress: TypeAlias = SearchProgress | None
Effort: TypeAlias = Literal["low", "normal", "high"]
Method: TypeAlias = Literal["trees", "greedy", "exact"]
METHODS: tuple[Method, ...] = ("trees", "greedy", "exact")
#: The collectives that each method makes.
_COLLECTIVES: dict[Method, Collection[str]] = {
    "trees": forests.FORESTS,
    "greedy": SEARCHED_AS,
    "exact": SEARCHED_AS,
}
LARGE = 2**36  # bytes for which objective="bandwidth" cuts its chunks
_SMALL_RANKS = 16  # up to so many a size is also tried with the fewest steps
_FINE_RANKS, _FAR = 64, 1.01  # up to so many, trees that stay farther from the cut are packed once more, finer
_TREE_RANKS = 256  # beyond, packing takes minutes
_FILLED = 1.02  # steps per piece: where filling and draining the trees takes more, matching is tried as well
_GREEDY_CHUNKS = {"low": (1,), "normal": (1, 4), "high": (1, 2, 4, 8, 16)}
_MENDED = 0.9  # part of what the narrowest cut allows below which trees are packed anew after a failure
_AT_ROOT = Sentence("at the root"), Sentence("the buffer")
_AT_RANKS = Sentence("at every rank"), Sentence("each block")
_PERSONALIZED_RANKS = 64  # beyond, an alltoall has blocks enough without cutting them
_SECONDS = {"low": 20.0, "normal": 120.0, "high": 1200.0}


@dataclass(frozen=True)
class Report:
    """What is known about a synthesized schedule.

    Attributes:
        method: `trees` (packed at the narrowest cut), `greedy` (matching), `exact` (solver) or `known` (an algorithm of
            the library was faster than all of them).
        objective: `bandwidth`, `latency`, or bytes.
        sentence: how it was found, and what is proved, in both languages.
        plan: the trees of a schedule of trees, for `repair`.

    Examples:
        >>> import collsim as cs
        >>> schedule = cs.synthesize("allgather", cs.topology.ring(4))
        >>> report = cs.synthesis.report(schedule)
        >>> report.method
        'trees'
        >>> report.summary.partition(". ")[0]
        'Trees at every rank: 2, of height 2 at most'
    """

    method: str
    objective: str | int
    sentence: Sentence
    plan: forests.ForestPlan | None = field(default=None, repr=False, compare=False)

    @property
    def summary(self) -> str:
        """How it was found, and what is proved, in English."""
        return str(self.sentence)


#: By the `id` of a schedule: equal schedules of two networks have different reports, and end at different times.
_reports: dict[int, Report] = {}


@check_arguments
def report(schedule: Schedule) -> Report | None:
    """How a schedule of this process was synthesized, and what is proved of it.

    Args:
        schedule: what `synthesize` returned.

    Returns:
        Its `Report`; None for any other schedule.

    Examples:
        >>> import collsim as cs
        >>> found = cs.synthesize("broadcast", cs.topology.ring(4), method="greedy")
        >>> cs.synthesis.report(found).method
        'greedy'
    """
    return _reports.get(id(schedule))


def _store_report(schedule: Schedule, outcome: Report) -> None:
    if id(schedule) not in _reports:
        finalize(schedule, _reports.pop, id(schedule), None)
    _reports[id(schedule)] = outcome


@check_arguments
def synthesize(
    collective_name: str | Collective,
    topology: TopologyLike,
    objective: ByteSize = "bandwidth",
    effort: Effort = "normal",
    *,
    ranks: int | RankSelection | None = None,
    root: int = 0,
    method: Method | None = None,
    pieces: int | None = None,
    switches: bool = True,
    progress: SearchProgress | bool | None = None,
) -> Schedule:
    """Find a schedule for a collective on a topology: an ordinary one, verified; `report` says what is proved of it.

    Args:
        collective_name: a collective or its name.
        topology: the machine or network.
        objective: `bandwidth` (large sizes), `latency` (fewest steps, with proof), or a size in bytes or text such as
            `"4MiB"`, for which the methods' schedules and the library's are timed by the event engine and the fastest
            is taken.
        effort: `low`, `normal` or `high`: how long to search and how large a schedule may be.
        ranks: so many, as many of each node, or the ranks of a process group such as `[0, 3, 5]`; all unless given.
            The schedule's rank r is the r-th of them, so `simulate` wants the same `ranks=`.
        root: where the collective has one.
        method: `trees`, `greedy` or `exact`; chosen by objective and collective unless given.
        pieces: into how many the share of each tree (of each block, in a matching) is cut; chosen by size unless given.
            Few make a short program for MSCCL.
        switches: use switches that reduce or multicast (NVLS, SHARP), where the topology has them and that is faster.
        progress: True for a bar, or a function called with (done, in all, what); Ctrl-C ends the search.

    Returns:
        The schedule; its name begins with `synthesized_`, its options say how it was found.

    Raises:
        CollsimError: for a collective that no method knows, or a bad option.
        TopologyError: where ranks cannot reach each other.

    Examples:
        >>> import collsim as cs
        >>> found = cs.synthesize("allgather", cs.topology.ring(4))
        >>> cs.verify(found)
    """
    outcome = search_schedule(
        collective_name,
        topology,
        objective,
        effort,
        ranks=ranks,
        root=root,
        method=method,
        pieces=pieces,
        switches=switches,
        progress=progress,
    )
    return outcome.schedule


@check_arguments
def repair(
    schedule: Schedule, topology: TopologyLike, nbytes: ByteSize | None = None, *, ranks: RankSelection | None = None
) -> Schedule:
    """Repair a synthesized schedule after links have failed: its trees stay, but for the branches that crossed them.

    Args:
        schedule: of trees, as `synthesize` returned it in this process.
        topology: the network that is left, `network.without_link("gpu0", "gpu3")`.
        nbytes: of the operation, for which the pieces are timed; as `schedule` was synthesized unless given.
        ranks: as `synthesize` was called with.

    Returns:
        The schedule for the network that is left, verified; `report` says how many branches stayed. Where the repaired
        trees carry less than 0.9 times what the narrowest cut allows, all trees are packed again.

    Raises:
        CollsimError: for a schedule without known trees, or another number of ranks.
        TopologyError: where ranks cannot reach each other any more.

    Examples:
        >>> import collsim as cs
        >>> torus = cs.topology.torus(4, 4)
        >>> found = cs.synthesize("allgather", torus)
        >>> broken = torus.without_link("gpu0", "gpu1")
        >>> cs.simulate(cs.synthesis.repair(found, broken), broken, "64MiB").schedule.ranks
        16
    """
    outcome = report(schedule)
    if outcome is None or outcome.plan is None:
        message = "{name} has no trees to repair; take what synthesize(..., method='trees') returned in this process"
        raise CollsimError(message, name=getattr(schedule, "name", repr(schedule)))
    group, root = parse_ranks(resolve_topology(topology, "repair"), ranks, schedule.root)
    if group.ranks != schedule.ranks:
        message = "{name} has {n} ranks, the schedule {ranks}; give the ranks that it was synthesized for"
        raise CollsimError(message, name=group.name, n=group.ranks, ranks=schedule.ranks)
    kind = get_collective(schedule.collective)
    objective: str | int = schedule.options["objective"] if nbytes is None else parse_bytes(nbytes)
    size = objective if isinstance(objective, int) else LARGE
    mended, kept_share = mend_plan(outcome.plan, find_pairs(group, group.ranks), root if kind.rooted else None)
    if not mended.in_one_pass and mended.rate < _MENDED * mended.most:
        return synthesize(kind, group, objective, root=root, method="trees")
    options = {"method": "trees", "objective": objective}
    repaired, _ = tree_forms.find_fastest_form(mended, kind, group, group.ranks, root, size, "low", options, 1)
    verify(repaired)
    sentence = Sentence(
        "Repaired: {kept} % of the branches of its trees are as they were. They carry {rate} of {what}.",
        kept=f"{100 * kept_share:.3g}",
        rate=format_bandwidth(mended.rate),
        what=(_AT_ROOT if kind.rooted or mended.in_one_pass else _AT_RANKS)[1],
    )
    _store_report(repaired, Report("trees", objective, sentence, mended))
    return repaired


@dataclass(frozen=True, eq=False)
class SynthesisOutcome:
    """What a search ends with.

    Attributes:
        schedule: the one that was found.
        library: by name, the fastest run of each algorithm of the library that the event engine timed for comparison.
    """

    schedule: Schedule
    library: Mapping[str, Trace]


def search_schedule(
    collective_name: str | Collective,
    topology: TopologyLike,
    objective: ByteSize = "bandwidth",
    effort: Effort = "normal",
    *,
    ranks: int | RankSelection | None = None,
    root: int = 0,
    method: Method | None = None,
    pieces: int | None = None,
    switches: bool = True,
    progress: SearchProgress | bool | None = None,
) -> SynthesisOutcome:
    """What `synthesize` finds, and the runs that it was compared with.

    Args:
        collective_name: Or the collective.
        topology: As in `synthesize`.
        objective: "bandwidth", "latency", or a size in bytes or as a text.
        effort: How long to search.
        ranks: As in `synthesize`.
        root: Of a rooted collective.
        method: Only this one; None for all.
        pieces: Of each tree; None to search for it.
        switches: Whether switches that reduce may be used.
        progress: As in `synthesize`.

    Raises:
        CollsimError: As `synthesize`.
    """
    kind = collective_name
    if not isinstance(kind, Collective):
        kind = get_collective(kind)
    topology = resolve_topology(topology, "synthesize")
    require_word("effort", effort, tuple(forests.EFFORT))
    if method is not None:
        require_word("method", method, METHODS)
    topology, root = parse_ranks(topology, ranks, root)
    if pieces is not None:
        pieces = parse_count(pieces, "pieces")
    goal: str | int = str(objective)
    if goal not in ("bandwidth", "latency"):
        goal = parse_bytes(objective)
    with open_progress(progress, "parts", "done", "in_all", "what") as tell:
        search = _Search(kind, topology, root, goal, effort, pieces, switches, tell)
        schedule, outcome = search.find_best(method)
    # Not only searched for right, but replayed: a synthesized schedule gets no trust in advance.
    verify(schedule)
    _store_report(schedule, outcome)
    return SynthesisOutcome(schedule, search.library)


def parse_ranks(topology: Topology, ranks: int | RankSelection | None, root: object) -> tuple[Topology, int]:
    """The network of the ranks that take part, and the root.

    Args:
        topology: of all ranks.
        ranks: those that take part, as `synthesize` takes them.
        root: its number among them.

    Raises:
        CollsimError: for ranks that the network does not have, a rank given twice, fewer than two, or another root.
    """
    group = restrict_ranks(topology, ranks)
    if group.ranks < 2:
        message = "ranks={ranks!r} of {name}: a collective to synthesize needs 2 ranks"
        raise CollsimError(message, ranks=group.ranks if ranks is None else ranks, name=topology.name)
    if len(np.unique(group.endpoint_device[: group.ranks])) < group.ranks:
        message = "ranks={ranks!r} names a rank twice; synthesis wants a GPU for each"
        raise CollsimError(message, ranks=ranks)
    root = parse_count(root, "root", least=0)
    if root >= group.ranks:
        message = "root={root} is not a rank; with {n} ranks it is 0 to {last}"
        raise CollsimError(message, root=root, n=group.ranks, last=group.ranks - 1)
    return group, root


#: A schedule, and what is proved of it.
_Found: TypeAlias = tuple[Schedule, Report]


@dataclass(frozen=True)
class _Search:
    """One request, checked.

    Attributes:
        tell: reports progress.
        seconds: of each schedule that the event engine timed.
        gaps: of each schedule of trees, its time over what the narrowest cut and the routes allow.
        filled: the schedules of trees of so many pieces that filling and draining the trees takes next to nothing.
        plans: the trees of each schedule of trees.
        library: the fastest run of each algorithm of the library.
    """

    kind: Collective
    topology: Topology
    root: int
    objective: str | int
    effort: str
    pieces: int | None
    switches: bool
    tell: ReportProgress
    seconds: WeakKeyDictionary[Schedule, float] = field(default_factory=WeakKeyDictionary)
    gaps: WeakKeyDictionary[Schedule, float] = field(default_factory=WeakKeyDictionary)
    filled: WeakSet[Schedule] = field(default_factory=WeakSet)
    plans: WeakKeyDictionary[Schedule, forests.ForestPlan] = field(default_factory=WeakKeyDictionary)
    library: dict[str, Trace] = field(default_factory=dict)

    @property
    def ranks(self) -> int:
        """How many take part: all of the topology, which was restricted to them."""
        return self.topology.ranks

    def find_best(self, method: Method | None) -> _Found:
        """The best schedule, by the method that was asked for or by all that fit the objective."""
        if method is None:
            methods: list[Method] = self.choose_methods()
        else:
            methods = [method]
        if method is not None:
            return self.run_method(method)
        # Methods with a proof end the search; only an allreduce of the library may still have fewer steps.
        if methods == ["exact"] or methods == ["trees"]:
            result = self.run_method(methods[0])
            return self.find_shorter(result[0]) or result
        candidates = self.run_methods(methods)
        # With a fixed number of pieces the trees are asked for, and library algorithms would be no answer.
        if self.pieces is None:
            candidates += self.time_library()
        if len(candidates) == 1:
            return candidates[0]
        return min(candidates, key=lambda candidate: self.measure(candidate[0]))

    def measure(self, schedule: Schedule) -> float:
        """Seconds of a schedule by the event engine, which runs it once."""
        if schedule not in self.seconds:
            self.seconds[schedule] = simulate(schedule, self.topology, self.nbytes, engine="event").time
        return self.seconds[schedule]

    def run_methods(self, methods: list[Method]) -> list[_Found]:
        """What each method finds; for large sizes no more once trees are near what their cut allows."""
        candidates: list[_Found] = []
        for method in methods:
            try:
                candidates.append(self.run_method(method))
            except CollsimError:
                if method == methods[-1] and not candidates:
                    raise
                continue
            if self.objective == "bandwidth" and self.is_near_bound(candidates[-1][0]):
                break
        return candidates

    def is_near_bound(self, schedule: Schedule) -> bool:
        """Was it timed, and near enough to what the narrowest cut and the routes allow, or of many pieces?"""
        return schedule in self.filled or self.gaps.get(schedule, np.inf) <= _FILLED

    def time_library(self) -> list[_Found]:
        """The fastest algorithm of the library: those with switches that reduce; for a size ring and tree as well."""
        if self.ranks > library_algorithms.MAX_RANKS:
            return []
        request = self.kind, self.topology, self.ranks, self.root, self.nbytes
        has_size = isinstance(self.objective, int)
        self.library.update(library_algorithms.time_candidates(*request, self.switches, has_size, self.tell))
        if not self.library:
            return []
        trace, sentence = library_algorithms.find_fastest_run(self.library)
        schedule = library_algorithms.mark_synthesized(trace.schedule, self.kind, self.describe("known"))
        self.seconds[schedule] = trace.time
        return [(schedule, Report("known", self.objective, sentence))]

    def find_shorter(self, schedule: Schedule) -> _Found | None:
        """An allreduce of the library with fewer steps than the solver's two halves; None where there is none."""
        if self.objective != "latency" or self.kind.name != "allreduce":
            return None
        request = self.kind, self.topology, self.ranks
        shorter = library_algorithms.find_shortest(*request, schedule.steps)
        if shorter is None:
            return None
        least, proof = solver.find_least_steps(*request)
        sentence = Sentence(
            "The library's {name} takes {steps} steps; a reduce_scatter and then an allgather take at least {halves}. "
            "No allreduce takes fewer than {least}: {reason}.",
            name=shorter.name,
            steps=shorter.steps,
            halves=schedule.steps,
            least=least,
            reason=proof,
        )
        marked = library_algorithms.mark_synthesized(shorter, self.kind, self.describe("known"))
        return marked, Report("known", self.objective, sentence)

    def choose_methods(self) -> list[Method]:
        """The methods that fit the objective and the number of ranks."""
        known = self.find_methods()
        if self.objective == "latency":
            if "exact" not in known:
                message = "objective='latency' knows {known}; got {name!r}"
                raise CollsimError(message, known=", ".join(SEARCHED_AS), name=self.kind.name)
            return ["exact"]
        if self.objective == "bandwidth":
            return [m for m in known if m != "exact" and (m != "trees" or self.ranks <= _TREE_RANKS)]
        may_solve = self.ranks <= _SMALL_RANKS and optional_solver.is_installed()
        return [m for m in known if m != "exact" or may_solve]

    def find_methods(self) -> list[Method]:
        """The methods that make schedules of this collective. Raises CollsimError where none does."""
        known = [method for method in METHODS if self.kind.name in _COLLECTIVES[method]]
        if not known:
            message = "{name} cannot be synthesized; known: {known}"
            raise CollsimError(message, name=self.kind.name, known=", ".join(SEARCHED_AS))
        return known

    def run_method(self, method: Method) -> _Found:
        """What one method finds. Raises CollsimError for a collective that it does not make."""
        known = _COLLECTIVES[method]
        if self.kind.name not in known:
            message = "method {method!r} knows {known}; got {name!r}"
            raise CollsimError(message, method=method, known=", ".join(known), name=self.kind.name)
        run = {"trees": self.pack_trees, "greedy": self.match, "exact": self.solve}[method]
        schedule, sentence = run()
        return schedule, Report(method, self.objective, sentence, self.plans.get(schedule))

    @property
    def nbytes(self) -> int:
        """The size that is timed: the objective, or one so large that only bandwidth counts."""
        if isinstance(self.objective, int):
            return self.objective
        return LARGE

    def describe(self, method: str) -> dict[str, object]:
        """The options that say of a schedule how it was found."""
        return {"method": method, "objective": self.objective}

    def pack_trees(self) -> tuple[Schedule, Sentence]:
        """Spanning trees packed at the narrowest cut."""
        plan, schedule = self.plan_trees(finer=False)
        # A finer plan takes several times as long, so it is tried only where the plain one is far from the bound.
        may_refine = self.objective == "bandwidth" and self.effort == "normal" and self.ranks <= _FINE_RANKS
        if may_refine and self.pieces is None and self.gaps[schedule] > _FAR:
            finer = self.plan_trees(finer=True)
            if self.gaps[finer[1]] < self.gaps[schedule]:
                plan, schedule = finer
        self.plans[schedule] = plan
        if plan.in_one_pass:
            return schedule, self.describe_one_pass(plan)
        where, what = _AT_ROOT if self.kind.rooted else _AT_RANKS
        sentence = Sentence(
            "Trees {where}: {counts}, of height {height} at most. They carry {rate} of {what}: {share} % of what the "
            "narrowest cut and the routes allow.",
            counts=" + ".join(str(forest.trees) for forest in plan.forests),
            where=where,
            height=max(forest.height for forest in plan.forests),
            rate=format_bandwidth(plan.rate),
            what=what,
            share=f"{100 * plan.rate / plan.most:.4g}",
        )
        return schedule, sentence

    def describe_one_pass(self, plan: forests.ForestPlan) -> Sentence:
        """What is proved of an allreduce whose pieces are broadcast while the next are reduced."""
        up, down = plan.forests
        return Sentence(
            "In one pass: each piece is reduced along a tree to its root and broadcast along another while the next "
            "pieces follow. Trees: {trees}; roots: {roots}; heights: {up} up and {down} down at most. They carry "
            "{rate} of the buffer: {share} % of what a linear program allows trees on these routes.",
            trees=up.trees,
            roots=len(np.unique(down.src[down.depth == 1])),
            up=up.height,
            down=down.height,
            rate=format_bandwidth(plan.rate),
            share=f"{100 * plan.rate / plan.most:.4g}",
        )

    def plan_trees(self, finer: bool) -> tuple[forests.ForestPlan, Schedule]:
        """A plan and its fastest form; `finer` with more trees, of which less is lost."""
        request = self.kind, self.topology, self.ranks, self.root
        plan = forests.plan_forests(*request, self.effort, self.tell, finer)
        options = self.describe("trees")
        if self.pieces:
            options["pieces"] = self.pieces
            return plan, forests.build_schedule(plan, self.kind, self.ranks, self.root, self.pieces, options)
        effort, orders = self.effort, len(tree_forms.LANES)
        if finer:
            effort, orders = "high", 0
        result = tree_forms.find_fastest_form(plan, *request, self.nbytes, effort, options, orders, self.tell)
        schedule, time = result
        self.seconds[schedule], self.gaps[schedule] = time, time * plan.most * plan.shares / max(1, self.nbytes)
        passes = 1 if plan.in_one_pass else len(plan.forests)
        if schedule.steps <= _FILLED * passes * schedule.options["pieces"]:
            self.filled.add(schedule)
        return plan, schedule

    def match(self) -> tuple[Schedule, Sentence]:
        """Greedy matching with blocks in a few numbers of chunks, of which the fastest is taken."""
        best: tuple[Schedule, Sentence] | None = None
        counts: tuple[int, ...] = _GREEDY_CHUNKS[self.effort]
        if self.pieces:
            counts = (self.pieces,)
        elif self.kind.name in PERSONALIZED and self.ranks > _PERSONALIZED_RANKS:
            counts = (1,)
        for per_block in counts:
            candidate = self.match_blocks(per_block)
            # Timing a schedule beyond this size costs more than the rest of the search: take what there is.
            if len(candidate[0]) > greedy.MAX_TIMED:
                return best or candidate
            if best is None or self.measure(candidate[0]) < self.measure(best[0]):
                best = candidate
        assert best is not None
        return best

    def match_blocks(self, per_block: int) -> tuple[Schedule, Sentence]:
        """Greedy matching with so many chunks for each block."""
        request = self.kind, self.topology, self.ranks, self.root
        return greedy.synthesize_by_matching(
            *request,
            self.nbytes,
            per_block,
            1,
            self.describe("greedy"),
            search_phases.count_in(self.tell, search_phases.MATCHING),
        )

    def solve(self) -> tuple[Schedule, Sentence]:
        """The fewest steps, by the solver."""
        most = _SECONDS[self.effort]
        report_seconds = None
        if (tell := self.tell) is not None:
            report_seconds = lambda seconds: tell(int(seconds), int(most), search_phases.SOLVER)  # noqa: E731
        request = self.kind, self.topology, self.ranks, self.root
        return solver.find_fewest_steps(*request, most, report_seconds)
