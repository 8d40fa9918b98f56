"""Several collectives as one run: what of a timeline each of them says for itself, and how much slower each is than
alone."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...collective import NOTHING, get_collective
from ...locale import Text
from ..sentences import words
from ..sentences.narration import narrate
from .mistake import Mistake, find_mistake
from .phases import Phase

if TYPE_CHECKING:
    from ...simulate import MergedTrace, Trace

#: Slower than alone by less than half a percent is rounding of the shares, and said to be undisturbed.
_UNDISTURBED = 1.005


def get_letter(part: int) -> str:
    """`A` of the first collective; after `Z` comes `A1`.

    Args:
        part: Number of the collective, from 0.
    """
    round_number, letter_number = divmod(part, len(ascii_uppercase))
    return ascii_uppercase[letter_number] + (str(round_number) if round_number else "")


def describe_ranks(ranks: npt.NDArray[np.int64]) -> Text:
    """`ranks 8–15`, `ranks 0 and 8`, or how many there are.

    Args:
        ranks: Ranks, in order.
    """
    first, last, n = int(ranks[0]), int(ranks[-1]), len(ranks)
    if n > 2 and np.array_equal(ranks, np.arange(first, last + 1)):
        return f"ranks {first}–{last}", f"rank {first}–{last}"
    if n <= 3:
        return _list_ranks([str(r) for r in ranks.tolist()])
    return (f"{n} ranks", f"{n} 个 rank")


def _list_ranks(each: list[str]) -> Text:
    return f"rank{'s' * (len(each) > 1)} {words.join_list(each)}", f"rank {words.join_list(each, True)}"


def name_collective(trace: Trace, placement: npt.NDArray[np.int64]) -> Text:
    """What a collective is called beside others: its algorithm, its ranks and its size.

    Args:
        trace: The run.
        placement: (endpoints,) rank of the topology on which each endpoint of the collective sits.
    """
    s, size = trace.schedule, words.format_size(trace.nbytes)
    (en, zh) = describe_ranks(placement[: s.ranks])
    return f"{s.name}, {en}, {size}", f"{s.name}，{zh}，{size}"


def _name_subject(number: int, part: Trace, placement: npt.NDArray[np.int64]) -> Text:
    """The letter before a sentence, and where the collective's own ranks sit, as the sentence counts those."""
    if (ranks := placement[: part.schedule.ranks].tolist()) == list(range(len(ranks))):
        return get_letter(number), get_letter(number)
    listed = ", ".join(map(str, ranks if len(ranks) <= 4 else [*ranks[:2], "…", ranks[-1]]))
    return (
        f"{get_letter(number)} (its ranks from 0 on: {listed})",
        f"{get_letter(number)}（其 rank 0 起依次为 {listed}）",
    )


def describe_slowdown(factor: float) -> Text:
    """`1.8 × its time alone`, or that nothing is lost.

    Args:
        factor: Time beside the others, divided by the time alone.
    """
    if factor < _UNDISTURBED:
        return "as fast as alone", "与单独运行一样快"
    return f"{factor:.3g} × its time alone", f"用时为单独运行的 {factor:.3g} 倍"


def describe_groups(whole: MergedTrace) -> list[dict[str, object]]:
    """One entry per collective: letter, label, note, its slots, when it runs and when it would have ended alone, s.

    Args:
        whole: Several collectives as one run.
    """
    columns = whole.parts, whole.placements, whole.first_slot, whole.slowdown.tolist()
    return [_describe_group(number, *row) for number, row in enumerate(zip(*columns, strict=True))]


def _describe_group(
    number: int, part: Trace, placement: npt.NDArray[np.int64], first: int, factor: float
) -> dict[str, object]:
    begin = float(part.timing.step_start.min(initial=part.time))
    (en, zh), (note, note_zh) = name_collective(part, placement), describe_slowdown(factor)
    return {
        "name": get_letter(number),
        "label": {"en": en, "zh": zh},
        "note": {"en": note, "zh": note_zh},
        "first": first,
        "slots": part.schedule.slots,
        "t0": round(begin, 12),
        "t1": round(part.time, 12),
        "alone": round(part.begin + part.duration / factor, 12),
        "slowdown": round(factor, 6),
    }


def build_title(whole: MergedTrace) -> Text:
    """The headline: how many at once, and where.

    Args:
        whole: Several collectives as one run.
    """
    count, where = len(whole.parts), whole.topology.name
    return f"{count} collectives at once on {where}", f"{count} 个集合通信同时运行，{where}"


def narrate_together(whole: MergedTrace) -> list[Text]:
    """The sentence of each step, with the letter of the collective whose step it is.

    Args:
        whole: Several collectives as one run.
    """
    sentences = [narrate(part) for part in whole.parts]
    subjects = [
        _name_subject(p, part, placement)
        for p, (part, placement) in enumerate(zip(whole.parts, whole.placements, strict=True))
    ]
    return [
        (f"{subjects[p][0]}: {sentences[p][k][0]}", f"{subjects[p][1]}：{sentences[p][k][1]}")
        for p, k in whole.step_of.tolist()
    ]


def build_bands(whole: MergedTrace) -> list[Phase]:
    """One band: steps of several collectives alternate.

    Args:
        whole: Several collectives as one run.
    """
    if not whole.schedule.steps:
        return []
    adds = any(p.reduce.any() for p in whole.schedule.patterns)
    names = " + ".join(dict.fromkeys(part.schedule.collective.replace("_", "-") for part in whole.parts))
    return [Phase(names, names, 0, whole.schedule.steps - 1, adds)]


def describe_state(whole: MergedTrace) -> dict[str, object]:
    """Who holds what at the start, what a finished cell is, and how many contributions it has: one number per slot.

    Args:
        whole: Several collectives as one run.
    """
    initial: list[list[int]] = []
    wanted: list[list[int]] = []
    goal: list[int] = []
    for part, placement, first in zip(whole.parts, whole.placements, whole.first_slot, strict=True):
        s = part.schedule
        kind = get_collective(s.collective)
        cells = (
            kind.mark_initial_slots(s.ranks, s.chunks, s.root)[:, : s.slots],
            kind.find_expected_contributions(s.ranks, s.chunks, s.root)[0] != NOTHING,
        )
        for is_in_cell, cells_of in zip(cells, (initial, wanted), strict=True):
            cells_of += [[int(placement[e]), first + int(c)] for e, c in np.argwhere(is_in_cell)]
        goal += [s.ranks if kind.reduces else 1] * s.slots
    return {"held": initial, "root": 0, "goal": goal, "wanted": wanted}


def find_first_mistake(whole: MergedTrace) -> Mistake | None:
    """The first wrong cell of the first collective whose schedule does not do what it promises.

    Args:
        whole: Several collectives as one run.
    """
    for number, part in enumerate(whole.parts):
        mistake_of_part = find_mistake(part.schedule)
        if mistake_of_part is None:
            continue
        step = None
        if mistake_of_part.step is not None:
            step = int(np.flatnonzero((whole.step_of == (number, mistake_of_part.step)).all(axis=1))[0])
        if mistake_of_part.row is None:
            row = None
        else:
            row = int(whole.row_of[number][mistake_of_part.row])
        rank = int(whole.placements[number][mistake_of_part.rank])
        chunk = whole.first_slot[number] + mistake_of_part.chunk
        text = f"{get_letter(number)}: {mistake_of_part.text[0]}", f"{get_letter(number)}：{mistake_of_part.text[1]}"
        return mistake_of_part._replace(rank=rank, chunk=chunk, step=step, row=row, text=text)
    return None
