"""The picture of a failure, as text: the schedule with the place in brackets, and what the wrong slot held after each
step."""

from __future__ import annotations

from ...display.markup import align_columns
from ...errors import CollsimError, Sentence
from ...locale import translate
from ...schedule import Schedule
from ...verify import format_terms, list_contributions

_ROWS, _COLUMNS = 17, 12  # more than fits a screen helps nobody


def draw_failure(schedule: Schedule, step: int | None, rank: int | None) -> str:
    """The text diagram, with `[...]` round what the rank received in the step, and at most 12 steps around it.

    Args:
        schedule: The wrong one.
        step: From 0; None for the first ones and no mark.
        rank: Whose cell of that step is marked; None for no mark.
    """
    names, cells = schedule.diagram_cells(_ROWS, schedule.steps)
    first = 0
    if step is not None:
        first = max(0, min(step - _COLUMNS // 2, schedule.steps - _COLUMNS))
    columns = range(first, min(schedule.steps, first + _COLUMNS))
    rows = [["", *(f"step {k + 1}" for k in columns)]]
    for number, name in enumerate(names):
        rows.append([name, *(_mark_cell(cells[number][k], number == rank and k == step) for k in columns)])
    return align_columns(rows)


def _mark_cell(cell: str, here: bool) -> str:
    return f"[{cell}]" if here else f" {cell} "


def format_history(schedule: Schedule, rank: int, chunk: int, language: str = "en") -> str:
    """What one slot of one rank held at the start and after every step that wrote it.

    Args:
        schedule: The wrong one.
        rank: Or a helper beyond the ranks.
        chunk: Slot of its buffer.
        language: "en" or "zh".

    Returns:
        A line for each moment; empty for a slot that does not exist.
    """
    try:
        moments = list_contributions(schedule, rank, chunk)
    except (CollsimError, IndexError):
        return ""
    endpoint_name = schedule.name_endpoint(rank)
    lines = [translate(language, "exercises", "history.head", who=endpoint_name, chunk=chunk)]
    for step, terms in moments[:_COLUMNS]:
        key = "history.after_step"
        if step < 0:
            key = "history.at_start"
        terms_text = Sentence.from_words(format_terms(terms, chunk))
        lines.append("  " + translate(language, "exercises", key, step=step + 1, terms=terms_text))
    return "\n".join(lines)
