"""Several collectives as one run: what of a timeline each of them says for itself, and how much slower each is than
alone."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...analysis.run_facts import RunFacts
from ...collective import NOTHING, get_collective
from ...locale import Text, build_text, join_texts, list_items, map_languages, repeat_text
from ..sentences import words
from ..sentences.narration import narrate
from .mistake import Mistake, find_mistake
from .schedule_phases import Phase

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
        return build_text("timeline", "together.ranks_from_to", first=first, last=last)
    if n <= 3:
        return _list_ranks([str(r) for r in ranks.tolist()])
    return build_text("timeline", "together.ranks", n=n)


def _list_ranks(rank_names: list[str]) -> Text:
    return build_text("timeline", "together.listed_ranks", count=len(rank_names), ranks=list_items(rank_names))


def name_collective(trace: Trace, placement: npt.NDArray[np.int64]) -> Text:
    """What a collective is called beside others: its algorithm, its ranks and its size.

    Args:
        trace: The run.
        placement: (endpoints,) rank of the topology on which each endpoint of the collective sits.
    """
    s, size = trace.schedule, words.format_size(trace.nbytes)
    return join_texts("clauses", [s.name, describe_ranks(placement[: s.ranks]), size])


def _name_subject(number: int, part: Trace, placement: npt.NDArray[np.int64]) -> Text:
    """The letter before a sentence, and where the collective's own ranks sit, as the sentence counts those."""
    if (ranks := placement[: part.schedule.ranks].tolist()) == list(range(len(ranks))):
        return repeat_text(get_letter(number))
    listed = ", ".join(map(str, ranks if len(ranks) <= 4 else [*ranks[:2], "…", ranks[-1]]))
    return build_text("timeline", "together.its_ranks_from_0", letter=get_letter(number), listed=listed)


def describe_slowdown(factor: float) -> Text:
    """`1.8 × its time alone`, or that nothing is lost.

    Args:
        factor: Time beside the others, divided by the time alone.
    """
    if factor < _UNDISTURBED:
        return build_text("timeline", "together.as_fast_as_alone")
    return build_text("timeline", "together.its_time_alone", factor=f"{factor:.3g}")


def describe_groups(merged_trace: MergedTrace) -> list[dict[str, object]]:
    """One entry per collective: letter, label, note, its slots, when it runs and when it would have ended alone, s.

    Args:
        merged_trace: Several collectives as one run.
    """
    columns = merged_trace.parts, merged_trace.placements, merged_trace.first_slot, merged_trace.slowdown.tolist()
    return [_describe_group(number, *row) for number, row in enumerate(zip(*columns, strict=True))]


def _describe_group(
    number: int, part: Trace, placement: npt.NDArray[np.int64], first: int, factor: float
) -> dict[str, object]:
    begin = float(part.timing.step_start.min(initial=part.time))
    return {
        "name": get_letter(number),
        "label": map_languages(name_collective(part, placement)),
        "note": map_languages(describe_slowdown(factor)),
        "first": first,
        "slots": part.schedule.slots,
        "t0": round(begin, 12),
        "t1": round(part.time, 12),
        "alone": round(part.begin + part.duration / factor, 12),
        "slowdown": round(factor, 6),
    }


def build_title(merged_trace: MergedTrace) -> Text:
    """The headline: how many at once, and where.

    Args:
        merged_trace: Several collectives as one run.
    """
    count, where = len(merged_trace.parts), merged_trace.topology.name
    return build_text("timeline", "together.collectives_at_once_on", count=count, where=where)


def narrate_together(merged_trace: MergedTrace, parts: Sequence[RunFacts]) -> list[Text]:
    """The sentence of each step, with the letter of the collective whose step it is.

    Args:
        merged_trace: Several collectives as one run.
        parts: Facts of each of them.
    """
    sentences = [narrate(part) for part in parts]
    numbers = range(len(parts))
    subjects = list(map(_name_subject, numbers, merged_trace.parts, merged_trace.placements))
    return [
        build_text("timeline", "together.sentence_of", subject=subjects[p], sentence=sentences[p][k])
        for p, k in merged_trace.step_of.tolist()
    ]


def build_bands(merged_trace: MergedTrace) -> list[Phase]:
    """One band: steps of several collectives alternate.

    Args:
        merged_trace: Several collectives as one run.
    """
    if not merged_trace.schedule.steps:
        return []
    adds = any(p.reduce.any() for p in merged_trace.schedule.patterns)
    names = " + ".join(dict.fromkeys(part.schedule.collective.replace("_", "-") for part in merged_trace.parts))
    return [Phase(repeat_text(names), 0, merged_trace.schedule.steps - 1, adds)]


def describe_state(merged_trace: MergedTrace) -> dict[str, object]:
    """Who holds what at the start, what a finished cell is, and how many contributions it has: one number per slot.

    Args:
        merged_trace: Several collectives as one run.
    """
    initial: list[list[int]] = []
    wanted: list[list[int]] = []
    goal: list[int] = []
    columns = merged_trace.parts, merged_trace.placements, merged_trace.first_slot
    for part, placement, first in zip(*columns, strict=True):
        s = part.schedule
        kind = get_collective(s.collective)
        cells = (
            kind.mark_initial_slots(s.ranks, s.chunks, s.root)[:, : s.slots],
            kind.find_expected_contributions(s.ranks, s.chunks, s.root)[0] != NOTHING,
        )
        for is_in_cell, cells_of in zip(cells, (initial, wanted), strict=True):
            cells_of += [[int(placement[e]), first + int(c)] for e, c in np.argwhere(is_in_cell)]
        goal += [s.ranks if kind.reduces else 1] * s.slots
    return {"initial": initial, "root": 0, "goal": goal, "wanted": wanted}


def find_first_mistake(merged_trace: MergedTrace, parts: Sequence[RunFacts]) -> Mistake | None:
    """The first wrong cell of the first collective whose schedule does not do what it promises.

    Args:
        merged_trace: Several collectives as one run.
        parts: Facts of each of them.
    """
    for number, part in enumerate(parts):
        if part.is_right:
            continue
        mistake_of_part = find_mistake(part.trace.schedule)
        if mistake_of_part is None:
            continue
        step = None
        if mistake_of_part.step is not None:
            step = int(np.flatnonzero((merged_trace.step_of == (number, mistake_of_part.step)).all(axis=1))[0])
        row = None
        if mistake_of_part.row is not None:
            row = int(merged_trace.row_of[number][mistake_of_part.row])
        rank = int(merged_trace.placements[number][mistake_of_part.rank])
        chunk = merged_trace.first_slot[number] + mistake_of_part.chunk
        values = {"subject": get_letter(number), "sentence": mistake_of_part.text}
        text = build_text("timeline", "together.sentence_of", **values)
        return mistake_of_part._replace(rank=rank, chunk=chunk, step=step, row=row, text=text)
    return None
