"""A worksheet and its answer key: the questions of one run as Markdown. (The PDF of the same is drawn in viz.)"""

from __future__ import annotations

from collections.abc import Sequence

from ...simulate import Trace
from ...units import format_bytes
from ..language import LANGUAGES, Text
from .question import Question
from .questions import questions


def title(trace: Trace, seed: int, lang: str = "en", key: bool = False) -> str:
    """The headline of a sheet."""
    s = trace.schedule
    what = f"{s.label}, {format_bytes(trace.nbytes)}, {trace.topology.name}"
    words: Text = (("Answer key: " if key else "Worksheet: ") + what, ("答案：" if key else "练习：") + what)
    return words[LANGUAGES.index(lang)] + _in(lang, f" (seed {seed})", f"（种子 {seed}）")


def facts(trace: Trace, lang: str = "en") -> list[str]:
    """What a student is given: the machine's links in use, and the schedule's shape, without a result."""
    links = trace.topology.links
    rows = []
    seen = set()
    for k in range(len(links)):
        cable = links.cables[links.cable[k]]
        if cable.label not in seen and trace.link_bytes[k]:
            seen.add(cable.label)
            rows.append(
                f"{cable.label} ({cable.kind}): {_rate(links.bandwidth[k], lang)}, alpha {_time(links.alpha[k])}"
            )
    ranks = _in(lang, f"{trace.schedule.ranks} ranks", f"{trace.schedule.ranks} 个 rank")
    chunks = _in(lang, f"{trace.schedule.chunks} chunks", f"{trace.schedule.chunks} 个 chunk")
    return [f"{ranks}, {chunks}, {format_bytes(trace.nbytes)}, {trace.dtype}, engine {trace.engine}", *rows]


def markdown(asked: Sequence[Question], heading: str, given: Sequence[str] = (), key: bool = False) -> str:
    """The sheet, or its key with answers and explanations."""
    lines = [f"# {heading}", ""]
    lines += [f"- {fact}" for fact in given] + ([""] if given else [])
    for number, q in enumerate(asked, 1):
        lines += [f"**{number}.** {q.text}", ""]
        lines += [f"   - {chr(65 + k)}. {text}" for k, text in enumerate(q.options)] + ([""] if q.choices else [])
        if key:
            lines += [f"   > **{answer(q)}** {q.why}", ""]
            lines += [f"   > {chr(65 + k)}: {q.say(c.why)}" for k, c in enumerate(q.choices) if k != int(q.answer)] + (
                [""] if q.choices else []
            )
        else:
            lines += ["   " + _in(q.lang, "Answer: ", "答：") + "____________________", ""]
    return "\n".join(lines)


def answer(q: Question) -> str:
    """`B. 14 steps.`, or `56 MiB (± 2 %).`"""
    if q.kind != "number":
        return f"{chr(65 + int(q.answer))}. {q.answer_text}."
    return f"{q.answer_text}" + ("." if q.unit == "count" else f" (± {100 * q.tolerance:g} %).")


def worksheet(trace: Trace, seed: int = 0, count: int = 8, lang: str = "en") -> tuple[str, str]:
    """The worksheet and the answer key of a run, both as Markdown. Another seed, other questions."""
    asked = questions(trace, seed, count, lang)
    given = facts(trace, lang)
    return markdown(asked, title(trace, seed, lang), given), markdown(
        asked, title(trace, seed, lang, True), given, key=True
    )


def _in(lang: str, en: str, zh: str) -> str:
    return zh if lang == "zh" else en


def _rate(rate: float, lang: str) -> str:
    from ...units import format_bandwidth

    return format_bandwidth(rate) + _in(lang, " per direction", "（单向）")


def _time(seconds: float) -> str:
    from ...units import format_time

    return format_time(seconds)
