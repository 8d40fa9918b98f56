"""Where a schedule that does not keep its collective's promise goes wrong: one cell, one step, one transfer, one
sentence.

The player puts an outline round that cell and says the sentence. `timeline` asks here by itself; hosts pass nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...analysis.endpoint_names import name_endpoint
from ...errors import ScheduleError
from ...locale import Text, build_text, join_texts, list_items
from ...replay import mark_initial_slots
from ...verify import MANY, Terms, find_expected_terms, list_contributions, verify
from ...verify.origin import Origin
from ..sentences import words

if TYPE_CHECKING:
    from ...schedule import Schedule

_MAX_NAMES = 6


class Mistake(NamedTuple):
    """The first wrong cell.

    Attributes:
        kind: `twice` (a contribution is counted more than once), `foreign` (one is in it that does not belong there),
            `missing` (some never arrive), `nothing` (the cell stays empty), `empty` (a step sends a cell, or adds to
            one, that holds nothing yet) or `unclear` (too many contributions are added up to say which).
        rank: endpoint of the cell in which it begins; what is wrong at the end may be another.
        chunk: slot of that cell.
        step: in which it begins, from 0: for a send that is lost the step in which nothing arrives; None where no step
            makes it wrong, or a step is missing at the end.
        row: of `schedule.transfers`, the transfer that does it; None for one that is not there.
        text: one or two sentences in English and Chinese; steps are counted from 1 there, as the player counts them.
    """

    kind: str
    rank: int
    chunk: int
    step: int | None
    row: int | None
    text: Text


def find_mistake(schedule: Schedule) -> Mistake | None:
    """Where a schedule goes wrong first, or None where `verify` finds nothing.

    Args:
        schedule: The schedule.

    Raises:
        ScheduleError: For one that names no cell.
    """
    try:
        verify(schedule)
    except ScheduleError as error:
        if error.step is None or error.rank is None or error.chunk is None:
            raise
        rank, chunk = error.rank, error.chunk
        if error.cell is not None and error.cell[0] is not None and error.cell[1] is not None:
            rank, chunk = error.cell[0], error.cell[1]
        visible = _find_empty_read(schedule, rank, chunk) or _describe_wrong_cell(schedule, rank, chunk)
        if error.origin is None:
            return visible
        return _move_to_origin(schedule, visible, error.origin)
    return None


def _move_to_origin(schedule: Schedule, visible: Mistake, begin: Origin) -> Mistake:
    """What shows, told with the place where it begins."""
    where = begin.sentence(schedule)
    text = f"{visible.text[0]} {where}", f"{visible.text[1]}{where.text('zh')}"
    return Mistake(
        visible.kind, begin.rank, begin.chunk, None if begin.ends else begin.step, begin.row, words.tidy_text(text)
    )


def _find_transfer(schedule: Schedule, step: int, endpoint: int, slot: int, sends: bool) -> int | None:
    """The last transfer of a step that reads (sends) or writes a cell."""
    t = schedule.transfers
    if sends:
        endpoints, slots = (t["src"], t["chunk"])
    else:
        endpoints, slots = (t["dst"], t["into"])
    matches = np.flatnonzero((t["step"] == step) & (endpoints == endpoint) & (slots == slot))
    if len(matches):
        return int(matches[-1])
    return None


def _find_empty_read(schedule: Schedule, endpoint: int, slot: int) -> Mistake | None:
    """A send of a cell that holds nothing, or an addition to one: the run stops being meaningful there."""
    has_data = mark_initial_slots(schedule)
    for step, s in enumerate(schedule.each_step()):
        reads = (s.src == endpoint) & (s.chunk == slot)
        adds = s.reduce & (s.dst == endpoint) & (s.into == slot) & (endpoint < schedule.ranks)
        if has_data[endpoint, slot]:
            return None
        if reads.any() or adds.any():
            return _describe_empty_read(schedule, step, endpoint, slot)
        has_data[s.dst, s.into] = True
    return None


def _describe_empty_read(schedule: Schedule, step: int, endpoint: int, slot: int) -> Mistake | None:
    row = _find_transfer(schedule, step, endpoint, slot, sends=True)
    endpoint_label = name_endpoint(schedule, endpoint)
    if row is not None:
        other = name_endpoint(schedule, int(schedule.transfers["dst"][row]))
        values = {"step": step + 1, "who": endpoint_label, "slot": slot, "other": other}
        text = build_text("timeline", "mistake.step_sends_chunk_but", **values)
        return Mistake("empty", endpoint, slot, step, row, words.tidy_text(text))
    row = _find_transfer(schedule, step, endpoint, slot, sends=False)
    if row is None or not schedule.transfers["reduce"][row] or endpoint >= schedule.ranks:
        return None  # a plain first arrival: what is wrong with it is in its contributions
    other = name_endpoint(schedule, int(schedule.transfers["src"][row]))
    values = {"step": step + 1, "who": endpoint_label, "slot": slot, "other": other}
    text = build_text("timeline", "mistake.step_reduces_into_chunk", **values)
    return Mistake("empty", endpoint, slot, step, row, words.tidy_text(text))


def _describe_wrong_cell(schedule: Schedule, rank: int, slot: int) -> Mistake:
    """What the cell holds in the end against what the collective wants there."""
    want = find_expected_terms(schedule, rank, slot)
    try:
        history = list_contributions(schedule, rank, slot)
    except ScheduleError as too_many:
        return Mistake("unclear", rank, slot, None, None, too_many.sentence.texts)
    final = history[-1][1]
    if any(count > 1 and contribution in want for contribution, count in final.items()):
        kind = "twice"
    elif final.keys() - want.keys():
        kind = "foreign"
    elif final:
        kind = "missing"
    else:
        kind = "nothing"
    never = build_text("timeline", "mistake.no_step_writes") if len(history) == 1 else None  # and so nothing is there
    what, has = _describe_difference(kind, final, want, slot), name_endpoint(schedule, rank)
    wants = _list_contributions(want, slot)
    if len(want) > 1:
        wants = build_text("timeline", "mistake.each_rank_once")
    values = {"has": has, "what": what, "slot": slot, "collective": schedule.collective, "wants": wants}
    text = build_text("timeline", "mistake.after_last_step_chunk", **values)
    if never and not final:
        text = join_texts("sentences", [text, never])
    return Mistake(kind, rank, slot, None, None, words.tidy_text(text))


def _describe_difference(kind: str, final: Terms, want: Terms, slot: int) -> Text:
    if kind == "twice":
        counts = {contribution: final[contribution] for contribution in want if final.get(contribution, 0) > 1}
        names, counts_text = _list_contributions(counts, slot), _format_times(max(counts.values()))
        return build_text("timeline", "mistake.holds", names=names, often=counts_text)
    if kind == "foreign":
        names = _list_contributions(final.keys() - want.keys(), slot)
        return build_text("timeline", "mistake.holds_foreign", names=names)
    if kind == "missing":
        names = _list_contributions(want.keys() - final.keys(), slot)
        return build_text("timeline", "mistake.lacks", names=names)
    return build_text("timeline", "mistake.holds_nothing")


def _format_times(times: int) -> Text:
    if times == 2:
        return build_text("timeline", "mistake.twice")
    if times >= MANY:
        return build_text("timeline", "mistake.more_than_2_63")
    return build_text("timeline", "mistake.up_times", times=times)


def _list_contributions(contributions: Iterable[tuple[int, int]], slot: int) -> Text:
    """`r1, r2 and 3 more`; a contribution to another chunk is `r1 of chunk 5`."""
    ordered = sorted(contributions)
    listed = ordered
    if len(ordered) > _MAX_NAMES:
        listed = ordered[: _MAX_NAMES - 1]
    names: list[Text | str] = []
    for rank, chunk in listed:
        if chunk == slot:
            names.append(f"r{rank}")
        else:
            names.append(build_text("timeline", "mistake.rank_of_chunk", rank=rank, chunk=chunk))
    if rest := len(ordered) - len(listed):
        names.append(build_text("timeline", "mistake.more", rest=rest))
    return list_items(names)
