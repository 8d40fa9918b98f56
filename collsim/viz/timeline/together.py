"""Several collectives as one run: what of a timeline each of them says for itself, and how much slower each is than
alone."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...collective import NOTHING, collective
from ..sentences import words
from ..sentences.narration import narrate
from .mistake import Mistake, mistake
from .phases import Phase

if TYPE_CHECKING:
    from ...simulate import Trace, Whole

Pair = tuple[str, str]
_UNDISTURBED = 1.005


def letter(part: int) -> str:
    """`A` of the first collective; after `Z` comes `A1`."""
    turn, place = divmod(part, len(ascii_uppercase))
    return ascii_uppercase[place] + (str(turn) if turn else "")


def seated(ranks: npt.NDArray[np.int64]) -> Pair:
    """`ranks 8–15`, `ranks 0 and 8`, or how many there are."""
    first, last, n = int(ranks[0]), int(ranks[-1]), len(ranks)
    if n > 2 and np.array_equal(ranks, np.arange(first, last + 1)):
        return f"ranks {first}–{last}", f"rank {first}–{last}"
    return _listed_ranks([str(r) for r in ranks.tolist()]) if n <= 3 else (f"{n} ranks", f"{n} 个 rank")


def _listed_ranks(each: list[str]) -> Pair:
    return f"rank{'s' * (len(each) > 1)} {words.listed(each)}", f"rank {words.listed(each, True)}"


def named(trace: Trace, place: npt.NDArray[np.int64]) -> Pair:
    """What a collective is called beside others: its algorithm, its ranks and its size."""
    s, size = trace.schedule, words.size(trace.nbytes)
    (en, zh) = seated(place[: s.ranks])
    return f"{s.name}, {en}, {size}", f"{s.name}，{zh}，{size}"


def _subject(number: int, part: Trace, place: npt.NDArray[np.int64]) -> Pair:
    """The letter before a sentence, and where the collective's own ranks sit, as the sentence counts those."""
    if (ranks := place[: part.schedule.ranks].tolist()) == list(range(len(ranks))):
        return letter(number), letter(number)
    listed = ", ".join(map(str, ranks if len(ranks) <= 4 else [*ranks[:2], "…", ranks[-1]]))
    return f"{letter(number)} (its ranks from 0 on: {listed})", f"{letter(number)}（其 rank 0 起依次为 {listed}）"


def slower(factor: float) -> Pair:
    """`1.8 × its time alone`, or that nothing is lost."""
    if factor < _UNDISTURBED:
        return "as fast as alone", "与单独运行一样快"
    return f"{factor:.3g} × its time alone", f"用时为单独运行的 {factor:.3g} 倍"


def groups(whole: Whole) -> list[dict[str, Any]]:
    """One entry per collective: letter, label, note, its slots, when it runs and when it would have ended alone, s."""
    columns = whole.parts, whole.places, whole.first_slot, whole.slowdown.tolist()
    return [_group(number, *row) for number, row in enumerate(zip(*columns, strict=True))]


def _group(number: int, part: Trace, place: npt.NDArray[np.int64], first: int, factor: float) -> dict[str, Any]:
    begin = float(part.timing.step_start.min(initial=part.time))
    (en, zh), (note, note_zh) = named(part, place), slower(factor)
    return {
        "name": letter(number),
        "label": {"en": en, "zh": zh},
        "note": {"en": note, "zh": note_zh},
        "first": first,
        "slots": part.schedule.slots,
        "t0": round(begin, 12),
        "t1": round(part.time, 12),
        "alone": round(part.begin + part.spent / factor, 12),
        "slowdown": round(factor, 6),
    }


def title(whole: Whole) -> Pair:
    """The headline: how many at once, and where."""
    count, where = len(whole.parts), whole.topology.name
    return f"{count} collectives at once on {where}", f"{count} 个集合通信同时运行，{where}"


def narrated(whole: Whole) -> list[Pair]:
    """The sentence of each step, with the letter of the collective whose step it is."""
    told = [narrate(part) for part in whole.parts]
    who = [_subject(p, part, place) for p, (part, place) in enumerate(zip(whole.parts, whole.places, strict=True))]
    return [(f"{who[p][0]}: {told[p][k][0]}", f"{who[p][1]}：{told[p][k][1]}") for p, k in whole.step_of.tolist()]


def bands(whole: Whole) -> list[Phase]:
    """One band: steps of several collectives alternate."""
    if not whole.schedule.steps:
        return []
    adds = any(p.reduce.any() for p in whole.schedule.patterns)
    names = " + ".join(dict.fromkeys(part.schedule.collective.replace("_", "-") for part in whole.parts))
    return [Phase(names, names, 0, whole.schedule.steps - 1, adds)]


def state(whole: Whole) -> dict[str, Any]:
    """Who holds what at the start, what a finished cell is, and how many contributions it has: one number per slot."""
    held: list[list[int]] = []
    wanted: list[list[int]] = []
    goal: list[int] = []
    for part, place, first in zip(whole.parts, whole.places, whole.first_slot, strict=True):
        s = part.schedule
        kind = collective(s.collective)
        cells = kind.held(s.ranks, s.chunks, s.root)[:, : s.slots], kind.wanted(s.ranks, s.chunks, s.root)[0] != NOTHING
        for found, into in zip(cells, (held, wanted), strict=True):
            into += [[int(place[e]), first + int(c)] for e, c in np.argwhere(found)]
        goal += [s.ranks if kind.reduces else 1] * s.slots
    return {"held": held, "root": 0, "goal": goal, "wanted": wanted}


def first_mistake(whole: Whole) -> Mistake | None:
    """The first wrong cell of the first collective whose schedule does not do what it promises."""
    for number, part in enumerate(whole.parts):
        found = mistake(part.schedule)
        if found is None:
            continue
        step = None
        if found.step is not None:
            step = int(np.flatnonzero((whole.step_of == (number, found.step)).all(axis=1))[0])
        row = None if found.row is None else int(whole.row_of[number][found.row])
        rank, chunk = int(whole.places[number][found.rank]), whole.first_slot[number] + found.chunk
        text = f"{letter(number)}: {found.text[0]}", f"{letter(number)}：{found.text[1]}"
        return found._replace(rank=rank, chunk=chunk, step=step, row=row, text=text)
    return None
