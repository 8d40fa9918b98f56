"""Exact synthesis for small machines: is there a schedule of so many steps, rounds and chunks? And the proof if not.

The formulation is SCCL's (Cai et al. 2021, Synthesizing Optimal Collective Algorithms, section 3): in step s, which
lasts some whole number of rounds, a link carries at most bandwidth times rounds chunks; a chunk can be sent once it is
there, and every rank receives each chunk at most once. OR-Tools' CP-SAT finds such a schedule or proves that there is
none. What is reduced is the same on the network turned round, played backwards; an allreduce is a reduce_scatter and
then an allgather of half the steps and rounds each, as SCCL's are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from ..collective import Collective, collective
from ..errors import CollsimError, Sentence, Words
from ..schedule import Schedule, freeze
from ..steps import Step
from ..topology import Topology
from .personal import SEARCHED_AS, asked, own_blocks, slots
from .pipelined import colours
from .rates import Pairs, pairs_of

Longs = npt.NDArray[np.int64]
MOST_VARIABLES = 400_000
_SECONDS = 300.0
_MOST_ROUNDS = 64


_PROOF = "No schedule of fewer than {least} steps exists: {why}.{refused}"
_PROOF_OF_HALVES = (
    "No reduce_scatter followed by an allgather takes fewer than {least} steps: {why}, in each of the two.{refused}"
)


@dataclass(frozen=True)
class Answer:
    """What the solver said of one question: `steps` steps of `rounds` rounds in all, `chunks` chunks per block.

    Attributes:
        schedule: None where there is none.
        proved: the answer is certain; False where time ran out.
    """

    steps: int
    rounds: int
    chunks: int
    schedule: Schedule | None
    proved: bool

    def __str__(self) -> str:
        asked = f"{self.steps} steps, {self.rounds} rounds, {self.chunks} chunks"
        return f"{asked}: {'found' if self.schedule else 'there is none' if self.proved else 'not known'}"


def installed() -> bool:
    """Is the solver there?"""
    return find_spec("ortools") is not None


def require_solver() -> None:
    """Raises CollsimError where OR-Tools is not installed."""
    if not installed():
        raise CollsimError("exact synthesis needs OR-Tools; install it with: pip install 'collsim[synthesis]'")


def least_steps(kind: Collective, topology: Topology, ranks: int | None = None, root: int = 0) -> tuple[int, Sentence]:
    """Steps below which no schedule can be, and the two ranks that prove it: no way between them has fewer links."""
    n = topology.ranks if ranks is None else ranks
    pairs = pairs_of(topology, n)
    hops = _hops(n, pairs.src, pairs.dst)
    if not kind.rooted:
        a, b = (int(x) for x in np.unravel_index(np.argmax(hops), hops.shape))
    elif kind.after == "root":
        a, b = int(np.argmax(hops[:, root])), root
    else:
        a, b = root, int(np.argmax(hops[root]))
    least = int(hops[a, b])
    return least, Sentence("what rank {a} has must reach rank {b}, {least} links away", a=a, b=b, least=least)


def _hops(n: int, src: Longs, dst: Longs) -> Longs:
    far = np.full((n, n), n, np.int64)
    np.fill_diagonal(far, 0)
    while True:
        before = far.copy()
        np.minimum.at(far, src, 1 + far[dst])
        if np.array_equal(far, before):
            return far


def exact(
    kind: Collective | str,
    topology: Topology,
    steps: int,
    rounds: int,
    chunks: int = 1,
    *,
    ranks: int | None = None,
    root: int = 0,
    seconds: float = _SECONDS,
    told: Callable[[float], None] | None = None,
) -> Answer:
    """A schedule of `steps` steps that last `rounds` rounds in all, each block (or the buffer) cut into `chunks`.

    A round is the time in which the slowest link of the topology carries one chunk; faster ones carry as many as fit.
    An allreduce is asked for as a reduce_scatter and then an allgather of n blocks, each in half of the steps and of
    the rounds; that there is none is proved of those alone.

    Args:
        seconds: when to give up. told: called with the seconds so far; whatever it raises ends the search.

    Raises CollsimError where OR-Tools is missing, the collective has no such form, an allreduce is asked for in an odd
    number of steps or rounds, or there would be too many variables.
    """
    require_solver()
    kind = collective(kind) if isinstance(kind, str) else kind
    if kind.name not in SEARCHED_AS:
        raise CollsimError("exact synthesis knows {known}; got {name!r}", known=", ".join(SEARCHED_AS), name=kind.name)
    n = topology.ranks if ranks is None else ranks
    pairs, parts = pairs_of(topology, n), SEARCHED_AS[kind.name]
    if steps % len(parts) or rounds % len(parts):
        why = "an allreduce is two halves: steps={steps} and rounds={rounds} must be even"
        raise CollsimError(why, steps=steps, rounds=rounds)
    if rounds < steps:
        return Answer(steps, rounds, chunks, None, True)
    made: list[tuple[Longs, bool]] = []
    for name, reverse in parts:
        toward, each = pairs.reversed if reverse else pairs, (steps // len(parts), rounds // len(parts))
        certain, sent = _Question(toward, collective(name), root, chunks, *each).ask(seconds, told)
        if sent is None:
            return Answer(steps, rounds, chunks, None, certain)
        made.append((sent, reverse))
    options = {"steps": steps, "rounds": rounds, "chunks": chunks}
    return Answer(steps, rounds, chunks, _frozen(kind, pairs, made, root, options), True)


class _Question:
    """One model: x[c, e, s] says that pair e carries chunk c in step s."""

    def __init__(self, pairs: Pairs, kind: Collective, root: int, per_block: int, steps: int, rounds: int):
        from ortools.sat.python import cp_model

        n = pairs.ranks
        self.pairs, self.steps, self.rounds = pairs, steps, rounds
        self.place, self.wanted = asked(kind, n, per_block * (n if kind.blocks else 1), root)
        self.chunks = self.place.shape[1]
        size = self.chunks * len(pairs) * steps
        if size > MOST_VARIABLES:
            raise CollsimError(
                "{name}: {size:,} variables are more than {most:,}; use fewer ranks, chunks or steps, or another "
                "objective",
                name=pairs.topology.name,
                size=size,
                most=MOST_VARIABLES,
            )
        self.model = cp_model.CpModel()
        self.hops = _hops(n, pairs.src, pairs.dst)
        self.x: dict[tuple[int, int, int], Any] = {}
        self.into: dict[tuple[int, int, int], list[Any]] = {}
        self.sendable()
        self.arrivals()
        self.bandwidth()

    def sendable(self) -> None:
        """Variables for what is neither too early nor useless: no chunk is farther from home than steps allow."""
        src, dst = self.pairs.src.tolist(), self.pairs.dst.tolist()
        early = np.where(self.place.T[:, :, None], self.hops[None], 10**6).min(axis=1)  # (chunks, ranks) least steps
        late = np.where(self.wanted.T[:, None, :], self.hops[None], -1)
        for c in range(self.chunks):
            for e, (u, v) in enumerate(zip(src, dst, strict=True)):
                if self.place[v, c]:
                    continue
                relays = [int(h) for h in late[c, v] if h >= 0]
                for s in range(int(early[c, u]), self.steps - min(relays, default=0)):
                    variable = self.model.new_bool_var("")
                    self.x[c, e, s] = variable
                    self.into.setdefault((c, v, s), []).append(variable)

    def arrivals(self) -> None:
        """Each rank receives what it wants once, other chunks at most once, and sends only what it has."""
        n = self.pairs.ranks
        for c in range(self.chunks):
            for v in range(n):
                if self.place[v, c]:
                    continue
                every = [x for s in range(self.steps) for x in self.into.get((c, v, s), [])]
                if self.wanted[v, c]:
                    self.model.add_exactly_one(every)
                elif every:
                    self.model.add_at_most_one(every)
        src = self.pairs.src.tolist()
        for (c, e, s), variable in self.x.items():
            if not self.place[src[e], c]:
                before = [x for t in range(s) for x in self.into.get((c, src[e], t), [])]
                self.model.add(sum(before) >= variable)

    def bandwidth(self) -> None:
        """What a link carries in a step is at most its chunks per round times the rounds of the step."""
        links = self.pairs.topology.links
        used = np.unique(self.pairs.routes.link)
        per_round = np.floor(links.bandwidth / links.bandwidth[used].min() + 1e-9).astype(int)
        rounds = [self.model.new_int_var(1, self.rounds - self.steps + 1, "") for _ in range(self.steps)]
        self.model.add(sum(rounds) == self.rounds)
        over: dict[tuple[int, int], list[Any]] = {}
        for (_, e, s), variable in self.x.items():
            for link in self.pairs.routes[e].tolist():
                over.setdefault((link, s), []).append(variable)
        for (link, s), carried in over.items():
            self.model.add(sum(carried) <= int(per_round[link]) * rounds[s])

    def ask(self, seconds: float, told: Callable[[float], None] | None) -> tuple[bool, Longs | None]:
        """Is the answer certain; and rows (pair, chunk, step), or None. The solver runs beside, so that Ctrl-C ends
        it.
        """
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.random_seed = 1
        found: list[Any] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                found.append(solver.solve(self.model))
            except BaseException as error:  # told to the caller's thread
                failed.append(error)

        beside = threading.Thread(target=run, daemon=True)
        begin = time.monotonic()
        beside.start()
        try:
            while beside.is_alive():
                beside.join(0.1)
                if told is not None:
                    told(time.monotonic() - begin)
        finally:
            if beside.is_alive():
                solver.stop_search()
                beside.join()
        if failed:
            raise failed[0]
        status = found[0]
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            rows = [(e, c, s) for (c, e, s), x in self.x.items() if solver.boolean_value(x)]
            return True, self.needed(np.array(rows, np.int64).reshape(-1, 3))
        return status == cp_model.INFEASIBLE, None

    def needed(self, sent: Longs) -> Longs:
        """The rows without those whose chunk nobody wants where it ends: played backwards they would write twice."""
        kept, used = [], self.wanted.copy()
        for e, c, s in sent[np.argsort(-sent[:, 2], kind="stable")].tolist():
            if used[self.pairs.dst[e], c]:
                used[self.pairs.src[e], c] = True
                kept.append((e, c, s))
        return np.array(kept, np.int64).reshape(-1, 3)


def _frozen(
    kind: Collective, pairs: Pairs, made: list[tuple[Longs, bool]], root: int, options: dict[str, Any]
) -> Schedule:
    """The rows (pair, chunk, step) of one or two questions as steps, every pair on a channel of its own."""
    n, steps, per_block = pairs.ranks, options["steps"] // len(made), options["chunks"]
    channel = colours(pairs.src, pairs.dst).astype(np.int32)

    def each() -> Iterator[Step]:
        for sent, reverse in made:
            late = steps - 1 - sent[:, 2] if reverse else sent[:, 2]
            read, written = slots(kind, n, per_block, pairs.src[sent[:, 0]], pairs.dst[sent[:, 0]], sent[:, 1:].T)
            for s in range(steps):
                part = np.flatnonzero(late == s)
                pair = sent[part, 0]
                ends = pairs.src[pair].astype(np.int32), pairs.dst[pair].astype(np.int32)
                reducing = np.full(len(part), reverse and kind.reduces)
                step = Step(*ends, read[part], written[part], reducing, channel[pair])
                yield step + own_blocks(n, per_block) if kind.apart and s == 0 else step

    chunks = per_block * (n if collective(SEARCHED_AS[kind.name][0][0]).blocks else 1)
    block, name = n if kind.blocks else 1, f"synthesized_{kind.name}"
    return freeze(name, kind.name, n, each(), chunks=chunks, block=block, root=root, options=options)


def quickest(
    kind: Collective,
    topology: Topology,
    ranks: int,
    root: int,
    seconds: float = _SECONDS,
    told: Callable[[float], None] | None = None,
) -> tuple[Schedule, Sentence]:
    """The schedule of fewest steps, of those the one of fewest rounds with one chunk per block; and the proof in words.

    Raises CollsimError where the solver does not find one in time.
    """
    least, why = least_steps(kind, topology, ranks, root)
    parts = len(SEARCHED_AS[kind.name]) if kind.name in SEARCHED_AS else 1
    least *= parts
    refused: Words = ""
    for rounds in range(least, _MOST_ROUNDS, parts):
        answer = exact(kind, topology, least, rounds, ranks=ranks, root=root, seconds=seconds, told=told)
        if answer.schedule is not None:
            said: dict[str, Any] = {"least": least, "why": why, "refused": refused}
            return answer.schedule, Sentence(_PROOF if parts == 1 else _PROOF_OF_HALVES, **said)
        if not answer.proved:
            break
        proved = " None of {least} steps takes fewer than {rounds} rounds: the solver proved it."
        refused = Sentence(proved, least=least, rounds=rounds + parts)
    raise CollsimError(
        "{name}: no schedule of {least} steps was found in time; try objective='bandwidth'",
        name=topology.name,
        least=least,
    )
