"""Exact synthesis for small machines: is there a schedule of so many steps, rounds and chunks? And the proof if not.

The formulation is SCCL's (Cai et al. 2021, Synthesizing Optimal Collective Algorithms, section 3): in step s, which
lasts some whole number of rounds, a link carries at most bandwidth times rounds chunks; a chunk can be sent once it is
there, and every rank receives each chunk at most once. OR-Tools' CP-SAT finds such a schedule or proves that there is
none. A reduction is the same on the reversed network, played backwards; an allreduce is a reduce_scatter and
then an allgather of half the steps and rounds each, as SCCL's are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..collective import Collective, get_collective
from ..dtypes import Longs
from ..errors import CollsimError, Sentence, Words
from ..errors.arguments import check_arguments
from ..schedule import Schedule, freeze
from ..steps import Step
from ..topology import Topology
from .pairs.alltoall_rates import Pairs, find_pairs
from .pairs.optional_solver import require_solver
from .pairs.pair_channels import color_pairs
from .personalized import SEARCHED_AS, assign_slots, copy_own_blocks, place_chunks

MAX_VARIABLES = 400_000
#: Of a search, unless the caller says otherwise.
_SECONDS = 300.0
_MAX_ROUNDS = 64


_PROOF = "No schedule of fewer than {least} steps exists: {reason}.{refused}"
_PROOF_OF_HALVES = (
    "No reduce_scatter followed by an allgather takes fewer than {least} steps: {reason}, in each of the two.{refused}"
)


@dataclass(frozen=True)
class Answer:
    """What the solver answered.

    Attributes:
        steps: of the schedule that was searched for.
        rounds: of all steps.
        chunks: per block.
        schedule: None where there is none.
        is_proved: is the answer certain? False where time ran out.

    Examples:
        >>> import collsim as cs
        >>> print(cs.synthesis.solve_exactly("allgather", cs.topology.ring(4), steps=1, rounds=1))
        1 steps, 1 rounds, 1 chunks: there is none
    """

    steps: int
    rounds: int
    chunks: int
    schedule: Schedule | None
    is_proved: bool

    def __str__(self) -> str:
        question = f"{self.steps} steps, {self.rounds} rounds, {self.chunks} chunks"
        if self.schedule is not None:
            return f"{question}: found"
        return f"{question}: {'there is none' if self.is_proved else 'not known'}"


@check_arguments
def find_least_steps(
    kind: Collective, topology: Topology, ranks: int | None = None, root: int = 0
) -> tuple[int, Sentence]:
    """Steps below which no schedule can be: two ranks are so many links apart.

    Args:
        kind: the collective, as `cs.collectives()["allgather"]` gives it.
        topology: the network.
        ranks: so many, the first of the topology; all unless given.
        root: of the collective, where it has one.

    Returns:
        The number of steps, and the two ranks that prove it, in a sentence.

    Examples:
        >>> import collsim as cs
        >>> cs.synthesis.find_least_steps(cs.collectives()["broadcast"], cs.topology.ring(6))[0]
        3
    """
    if ranks is None:
        n = topology.ranks
    else:
        n = ranks
    pairs = find_pairs(topology, n)
    # In each step a chunk moves one hop, so the longest shortest path is a bound that needs no solver.
    hops = _count_hops(n, pairs.src, pairs.dst)
    if not kind.rooted:
        a, b = (int(x) for x in np.unravel_index(np.argmax(hops), hops.shape))
    elif kind.after == "root":
        a, b = int(np.argmax(hops[:, root])), root
    else:
        a, b = root, int(np.argmax(hops[root]))
    least = int(hops[a, b])
    return least, Sentence("what rank {a} has must reach rank {b}, {least} links away", a=a, b=b, least=least)


def _count_hops(n: int, src: Longs, dst: Longs) -> Longs:
    hops = np.full((n, n), n, np.int64)
    np.fill_diagonal(hops, 0)
    while True:
        before = hops.copy()
        # Bellman and Ford for all pairs at once: a rank is one link farther away than the nearest of its neighbours
        # is. `n` stands for "not reached yet", since no route has more than n - 1 links.
        np.minimum.at(hops, src, 1 + hops[dst])
        if np.array_equal(hops, before):
            return hops


@check_arguments
def solve_exactly(
    kind: Collective | str,
    topology: Topology,
    steps: int,
    rounds: int,
    chunks: int = 1,
    *,
    ranks: int | None = None,
    root: int = 0,
    seconds: float = _SECONDS,
    report: Callable[[float], None] | None = None,
) -> Answer:
    """A schedule of `steps` steps that last `rounds` rounds in all, each block (or the buffer) cut into `chunks`.

    A round is the time in which the slowest link of the topology carries one chunk; faster ones carry as many as fit.
    An allreduce is asked for as a reduce_scatter and then an allgather of n blocks, each in half of the steps and of
    the rounds; that there is none is proved of those alone.

    Args:
        kind: the collective or its name.
        topology: a small machine or network.
        steps: of the schedule.
        rounds: of all steps.
        chunks: per block, or of the buffer.
        ranks: so many, the first of the topology; all unless given.
        root: of the collective, where it has one.
        seconds: when to give up.
        report: called with the seconds so far; whatever it raises ends the search.

    Returns:
        An `Answer`: a schedule, a proof that there is none, or neither where time ran out.

    Raises:
        CollsimError: where OR-Tools is missing, the collective has no such form, an allreduce is asked for in an odd
            number of steps or rounds, or there would be too many variables.

    Examples:
        >>> import collsim as cs
        >>> answer = cs.synthesis.solve_exactly("allgather", cs.topology.ring(4), steps=2, rounds=2)
        >>> answer.schedule.steps, answer.is_proved
        (2, True)
    """
    require_solver()
    if isinstance(kind, str):
        kind = get_collective(kind)
    if kind.name not in SEARCHED_AS:
        raise CollsimError("exact synthesis knows {known}; got {name!r}", known=", ".join(SEARCHED_AS), name=kind.name)
    if ranks is None:
        n = topology.ranks
    else:
        n = ranks
    pairs, parts = find_pairs(topology, n), SEARCHED_AS[kind.name]
    if steps % len(parts) or rounds % len(parts):
        message = "an allreduce is two halves: steps={steps} and rounds={rounds} must be even"
        raise CollsimError(message, steps=steps, rounds=rounds)
    if rounds < steps:  # each step lasts a round or more: proved without asking the solver
        return Answer(steps, rounds, chunks, None, True)
    answers: list[tuple[Longs, bool]] = []
    for name, reverse in parts:
        # Each half has half of the steps and rounds; the reversed network turns an allgather into a reduce_scatter.
        directed, extent = pairs.reversed if reverse else pairs, (steps // len(parts), rounds // len(parts))
        is_certain, rows = _Model(directed, get_collective(name), root, chunks, *extent).solve_within(seconds, report)
        if rows is None:
            return Answer(steps, rounds, chunks, None, is_certain)
        answers.append((rows, reverse))
    options = {"steps": steps, "rounds": rounds, "chunks": chunks}
    return Answer(steps, rounds, chunks, _freeze_answers(kind, pairs, answers, root, options), True)


class _Model:
    """One model: x[c, e, s] says that pair e carries chunk c in step s."""

    def __init__(self, pairs: Pairs, kind: Collective, root: int, per_block: int, steps: int, rounds: int):
        from ortools.sat.python import cp_model

        n = pairs.ranks
        self.pairs, self.steps, self.rounds = pairs, steps, rounds
        self.initial_chunks, self.final_chunks = place_chunks(kind, n, per_block * (n if kind.has_blocks else 1), root)
        self.chunks = self.initial_chunks.shape[1]
        size = self.chunks * len(pairs) * steps
        if size > MAX_VARIABLES:
            raise CollsimError(
                "{name}: {size:,} variables are more than {most:,}; use fewer ranks, chunks or steps, or another "
                "objective",
                name=pairs.topology.name,
                size=size,
                most=MAX_VARIABLES,
            )
        self.model = cp_model.CpModel()
        self.hops = _count_hops(n, pairs.src, pairs.dst)
        self.x: dict[tuple[int, int, int], Any] = {}
        self.into: dict[tuple[int, int, int], list[Any]] = {}
        self.add_variables()
        self.require_arrivals()
        self.limit_bandwidth()

    def add_variables(self) -> None:
        """Variables for what is neither too early nor useless: no chunk is farther from home than steps allow."""
        src, dst = self.pairs.src.tolist(), self.pairs.dst.tolist()
        # (chunks, ranks) least steps.
        earliest = np.where(self.initial_chunks.T[:, :, None], self.hops[None], 10**6).min(axis=1)
        latest = np.where(self.final_chunks.T[:, None, :], self.hops[None], -1)
        for c in range(self.chunks):
            for e, (u, v) in enumerate(zip(src, dst, strict=True)):
                if self.initial_chunks[v, c]:
                    continue
                relays = [int(h) for h in latest[c, v] if h >= 0]
                # Not before the chunk can be at u, and not so late that nobody who wants it could get it from v in
                # the steps left.
                for s in range(int(earliest[c, u]), self.steps - min(relays, default=0)):
                    variable = self.model.new_bool_var("")
                    self.x[c, e, s] = variable
                    self.into.setdefault((c, v, s), []).append(variable)

    def require_arrivals(self) -> None:
        """Each rank receives what it wants once, other chunks at most once, and sends only what it has."""
        n = self.pairs.ranks
        for c in range(self.chunks):
            for v in range(n):
                if self.initial_chunks[v, c]:
                    continue
                # Receiving a chunk twice never helps, and the solver need not look at it.
                every = [x for s in range(self.steps) for x in self.into.get((c, v, s), [])]
                if self.final_chunks[v, c]:
                    self.model.add_exactly_one(every)
                elif every:
                    self.model.add_at_most_one(every)
        src = self.pairs.src.tolist()
        for (c, e, s), variable in self.x.items():
            if not self.initial_chunks[src[e], c]:
                # What a rank did not begin with must have arrived in an earlier step.
                before = [x for t in range(s) for x in self.into.get((c, src[e], t), [])]
                self.model.add(sum(before) >= variable)

    def limit_bandwidth(self) -> None:
        """What a link carries in a step is at most its chunks per round times the rounds of the step."""
        links = self.pairs.topology.links
        used = np.unique(self.pairs.routes.link)
        # 1e-9 keeps a quotient that rounding made 1.9999... a 2.
        per_round = np.floor(links.bandwidth / links.bandwidth[used].min() + 1e-9).astype(int)
        # Each step lasts a round at least, so none can last longer than what the others leave.
        rounds = [self.model.new_int_var(1, self.rounds - self.steps + 1, "") for _ in range(self.steps)]
        self.model.add(sum(rounds) == self.rounds)
        crossing: dict[tuple[int, int], list[Any]] = {}
        for (_, e, s), variable in self.x.items():
            for link in self.pairs.routes[e].tolist():
                crossing.setdefault((link, s), []).append(variable)
        for (link, s), carried in crossing.items():
            self.model.add(sum(carried) <= int(per_round[link]) * rounds[s])

    def solve_within(self, seconds: float, report: Callable[[float], None] | None) -> tuple[bool, Longs | None]:
        """Run the solver, in a thread so that Ctrl-C ends it.

        Args:
            seconds: when to give up.
            report: called with the seconds so far.

        Returns:
            Whether the answer is certain; and rows (pair, chunk, step), or None.
        """
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        # The same question gives the same schedule on every machine.
        solver.parameters.random_seed = 1
        statuses: list[Any] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                statuses.append(solver.solve(self.model))
            except BaseException as error:  # raised again in the caller's thread
                errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        begin = time.monotonic()
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.1)
                if report is not None:
                    report(time.monotonic() - begin)
        finally:
            if thread.is_alive():
                solver.stop_search()
                thread.join()
        if errors:
            raise errors[0]
        status = statuses[0]
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            rows = [(e, c, s) for (c, e, s), x in self.x.items() if solver.boolean_value(x)]
            return True, self.drop_unneeded(np.array(rows, np.int64).reshape(-1, 3))
        return status == cp_model.INFEASIBLE, None

    def drop_unneeded(self, rows: Longs) -> Longs:
        """The rows without those whose chunk nobody wants where it ends: played backwards they would write twice."""
        rows_needed, used_later = [], self.final_chunks.copy()
        # From the last step back: a row is needed if what it brings is wanted, or sent on by a row that is.
        for e, c, s in rows[np.argsort(-rows[:, 2], kind="stable")].tolist():
            if used_later[self.pairs.dst[e], c]:
                used_later[self.pairs.src[e], c] = True
                rows_needed.append((e, c, s))
        return np.array(rows_needed, np.int64).reshape(-1, 3)


def _freeze_answers(
    kind: Collective, pairs: Pairs, answers: list[tuple[Longs, bool]], root: int, options: dict[str, Any]
) -> Schedule:
    """The rows (pair, chunk, step) of one or two questions as steps, every pair on a channel of its own."""
    n, steps, per_block = pairs.ranks, options["steps"] // len(answers), options["chunks"]
    channel = color_pairs(pairs.src, pairs.dst).astype(np.int32)

    def yield_steps() -> Iterator[Step]:
        for rows, reverse in answers:
            # The half that reduces was searched as an allgather on the reversed network: its last step comes first.
            if reverse:
                moment = steps - 1 - rows[:, 2]
            else:
                moment = rows[:, 2]
            read, written = assign_slots(
                kind, n, per_block, pairs.src[rows[:, 0]], pairs.dst[rows[:, 0]], rows[:, 1:].T
            )
            for s in range(steps):
                part = np.flatnonzero(moment == s)
                pair = rows[part, 0]
                ends = pairs.src[pair].astype(np.int32), pairs.dst[pair].astype(np.int32)
                reducing = np.full(len(part), reverse and kind.reduces)
                step = Step(*ends, read[part], written[part], reducing, channel[pair])
                yield step + copy_own_blocks(n, per_block) if kind.has_separate_result and s == 0 else step

    chunks = per_block * (n if get_collective(SEARCHED_AS[kind.name][0][0]).has_blocks else 1)
    block, name = n if kind.has_blocks else 1, f"synthesized_{kind.name}"
    return freeze(name, kind.name, n, yield_steps(), chunks=chunks, block=block, root=root, options=options)


def find_fewest_steps(
    kind: Collective,
    topology: Topology,
    ranks: int,
    root: int,
    seconds: float = _SECONDS,
    report: Callable[[float], None] | None = None,
) -> tuple[Schedule, Sentence]:
    """The schedule of fewest steps, of those the one of fewest rounds with one chunk per block.

    Args:
        kind: the collective.
        topology: the network.
        ranks: so many, the first of the topology.
        root: of the collective, where it has one.
        seconds: when to give up on one question.
        report: called with the seconds so far.

    Returns:
        The schedule, and the proof in a sentence.

    Raises:
        CollsimError: where the solver does not find one in time.
    """
    least, proof = find_least_steps(kind, topology, ranks, root)
    parts = 1
    if kind.name in SEARCHED_AS:
        parts = len(SEARCHED_AS[kind.name])
    least *= parts
    refused: Words = ""
    # Rounds grow from their least number, so the first schedule found has the fewest.
    for rounds in range(least, _MAX_ROUNDS, parts):
        answer = solve_exactly(kind, topology, least, rounds, ranks=ranks, root=root, seconds=seconds, report=report)
        if answer.schedule is not None:
            values: dict[str, Any] = {"least": least, "reason": proof, "refused": refused}
            return answer.schedule, Sentence(_PROOF if parts == 1 else _PROOF_OF_HALVES, **values)
        if not answer.is_proved:
            break
        proved = " None of {least} steps takes fewer than {rounds} rounds: the solver proved it."
        refused = Sentence(proved, least=least, rounds=rounds + parts)
    raise CollsimError(
        "{name}: no schedule of {least} steps was found in time; try objective='bandwidth'",
        name=topology.name,
        least=least,
    )
