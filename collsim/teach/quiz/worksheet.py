"""A worksheet and its answer key: the questions of one run as Markdown. (The PDF of the same is drawn in viz.)"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors.arguments import check_arguments
from ...locale import translate
from ...schedule import Schedule
from ...simulate import Trace
from ...units import format_bytes
from .question import Question
from .questions import questions

_MAX_RINGS, _WIDEST = 8, 128  # lines, and columns of a diagram that A4 holds


def format_title(trace: Trace, seed: int, language: str = "en", key: bool = False) -> str:
    """The headline of a sheet.

    Args:
        trace: Of the run that is asked about.
        seed: Of the questions; it is printed so that a sheet can be made again.
        language: "en" or "zh".
        key: Whether it is the sheet with answers.
    """
    s = trace.schedule
    what = f"{s.label}, {format_bytes(trace.nbytes)}, {trace.topology.name}"
    title = "worksheet.title"
    if key:
        title = "worksheet.answer_key"
    return translate(language, "quiz", title, run=what, seed=seed)


def list_facts(trace: Trace, language: str = "en") -> list[str]:
    """What a student is given: the machine's links in use, the schedule's shape and rings, without a result.

    Args:
        trace: Of the run that is asked about.
        language: "en" or "zh".
    """
    links = trace.topology.links
    rows = []
    seen = set()
    for k in range(len(links)):
        cable = links.cables[links.cable[k]]
        if cable.label not in seen and trace.link_bytes[k]:
            seen.add(cable.label)
            rows.append(
                f"{cable.label} ({cable.kind}): {_format_rate(links.bandwidth[k], language)}, "
                f"alpha {_format_time(links.alpha[k])}"
            )
    ranks = translate(language, "quiz", "worksheet.ranks", count=trace.schedule.ranks)
    chunks = translate(language, "quiz", "worksheet.chunks", count=trace.schedule.chunks)
    return [
        f"{ranks}, {chunks}, {format_bytes(trace.nbytes)}, {trace.dtype}, engine {trace.engine}",
        *rows,
        *_list_rings(trace, language),
    ]


def _list_rings(trace: Trace, language: str) -> list[str]:
    orders = find_ring_orders(trace.schedule)
    rings = [" → ".join(map(str, [*order, order[0]])) for order in orders[:_MAX_RINGS]]
    if len(orders) == 1:
        return [translate(language, "quiz", "worksheet.ring", ring=ring) for ring in rings]
    return [translate(language, "quiz", "worksheet.channel_ring", channel=k, ring=ring) for k, ring in enumerate(rings)]


def find_ring_orders(plan: Schedule) -> list[list[int]]:
    """The order of the ranks in each channel's ring, from rank 0; nothing where the first step is no ring.

    Args:
        plan: Its first step decides.
    """
    first = next(iter(plan.each_step()), None)
    if first is None:
        return []
    orders: list[list[int]] = []
    for channel in np.unique(first.channel).tolist():
        is_on_channel = first.channel == channel
        following = dict(zip(first.src[is_on_channel].tolist(), first.dst[is_on_channel].tolist(), strict=True))
        order, rank = [0], following.get(0)
        while rank is not None and rank != 0 and len(order) <= plan.ranks:
            order, rank = [*order, rank], following.get(rank)
        if rank != 0 or len(order) != plan.ranks or is_on_channel.sum() != plan.ranks or plan.ranks < 3:
            return []
        orders.append(order)
    return orders


def draw_plan(plan: Schedule) -> str:
    """The schedule as text, as many steps and ranks of it as a printed page holds.

    Args:
        plan: Empty is returned where not even one step fits.
    """
    for steps in range(16, 0, -1):
        text = plan.diagram(most_ranks=16, most_steps=steps)
        if max(map(len, text.splitlines()[1:])) <= _WIDEST:
            return text
    return ""


def write_markdown(
    question_list: Sequence[Question],
    heading: str,
    facts_given: Sequence[str] = (),
    key: bool = False,
    plan: str = "",
    picture: str = "",
) -> str:
    """The sheet, or its key with answers and explanations; `plan` is a text diagram, `picture` the name of a file.

    Args:
        question_list: In the order of their numbers.
        heading: Without a mark.
        facts_given: A line each; empty for none.
        key: Whether answers and explanations follow.
        plan: A text diagram; empty for none.
        picture: Name of a file beside the sheet; empty for none.
    """
    lines = [f"# {heading}", ""]
    lines += [f"- {fact}" for fact in facts_given] + ([""] if facts_given else [])
    lines += [f"![]({picture})", ""] if picture else []
    lines += ["```text", plan, "```", ""] if plan else []
    for number, q in enumerate(question_list, 1):
        lines += [f"**{number}.** {q.text}", ""]
        lines += [f"   - {chr(65 + k)}. {text}" for k, text in enumerate(q.options)] + ([""] if q.choices else [])
        if key:
            lines += [f"   > **{format_answer(q)}** {q.explanation_text}", ""]
            lines += [
                f"   > {chr(65 + k)}: {q.say(c.reason)}" for k, c in enumerate(q.choices) if k != int(q.answer)
            ] + ([""] if q.choices else [])
        else:
            lines += ["   " + translate(q.language, "quiz", "worksheet.answer", line="____________________"), ""]
    return "\n".join(lines)


def format_answer(q: Question) -> str:
    """`B. 14 steps.`, or `56 MiB (± 2 %).`"""
    if q.kind != "number":
        return f"{chr(65 + int(q.answer))}. {q.answer_text}."
    return f"{q.answer_text}" + ("." if q.unit == "count" else f" (± {100 * q.tolerance:g} %).")


@check_arguments
def worksheet(trace: Trace, seed: int = 0, count: int = 8, language: str = "en") -> tuple[str, str]:
    """The worksheet and the answer key of a run.

    Args:
        trace: of `simulate`.
        seed: the same seed and run give the same questions.
        count: how many questions, at most.
        language: `en` or `zh`.

    Returns:
        Both as Markdown.

    Raises:
        CollsimError: As `questions`.

    Examples:
        >>> import collsim as cs
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "1MiB")
        >>> sheet, answers = cs.teach.worksheet(trace, count=2)
        >>> sheet.splitlines()[0]
        '# Worksheet: allreduce_ring(4), 1 MiB, switch(4) (seed 0)'
    """
    question_list = questions(trace, seed, count, language)
    facts_given, plan = list_facts(trace, language), draw_plan(trace.schedule)
    sheet = write_markdown(question_list, format_title(trace, seed, language), facts_given, plan=plan)
    return sheet, write_markdown(
        question_list, format_title(trace, seed, language, True), facts_given, key=True, plan=plan
    )


def _format_rate(rate: float, language: str) -> str:
    from ...units import format_bandwidth

    return translate(language, "quiz", "worksheet.rate", rate=format_bandwidth(rate))


def _format_time(seconds: float) -> str:
    from ...units import format_time

    return format_time(seconds)
