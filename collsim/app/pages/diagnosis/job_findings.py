"""What a diagnosis found, as HTML: causes with their lines, pieces of evidence with chips, what is ruled out.

Everything that belongs to a cause has its number in `data-findings`, which the picture's JavaScript reads. Every text
of the evidence is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from collsim.diagnosis import Cause, Diagnosis, EvidencePiece, Fact, JobCost, OpenQuestion
from collsim.display.markup import escape_text, format_table
from collsim.locale import translate
from collsim.units import format_bandwidth, format_time

from ...styles import read_style

#: Characters of a chip, and chips of a piece.
_LONGEST_CHIP, _MAX_CHIPS = 30, 6
#: Causes that cost the job nothing noticeable: the share of busbw that fixing them gains.
_NOTICEABLE = 1.01
_FLEET_COLUMNS = ("node", "part", "quantity", "value", "usual", "predicted", "line")
STYLE = read_style("job_findings")


def format_heading(text: str, detail: str = "") -> str:
    """The heading of a card, and small print after it.

    Args:
        text: the heading.
        detail: "" for none.
    """
    return f'<h2 class="dx-heading">{escape_text(text)} <small>{escape_text(detail)}</small></h2>'


def format_findings(diagnosis: Diagnosis, language: str) -> str:
    """Causes, open questions and what is ruled out, one below the other.

    Args:
        diagnosis: of a job.
        language: `en` or `zh`.
    """
    parts = [_format_cause(number, cause, language) for number, cause in enumerate(diagnosis.causes, 1)]
    parts += [_format_question(question, language) for question in diagnosis.questions]
    if not parts:
        parts.append(f'<p class="dx-note">{_write(language, "findings.none")}</p>')
    if diagnosis.ruled_out:
        rows = "".join(
            f"<div>{_say(language, f'{key}.title')}{_format_lines((fact,))}</div>" for key, fact in diagnosis.ruled_out
        )
        summary = f"{_say(language, 'report.ruled_out')}: {len(diagnosis.ruled_out)}"
        parts.append(f'<details class="dx-ruled"><summary><b>{summary}</b></summary>{rows}</details>')
    if diagnosis.missing:
        rows = "".join(f"<p>{_say(language, f'missing.{key}')}</p>" for key in diagnosis.missing)
        parts.append(f'<div class="dx-ruled"><b>{_say(language, "report.missing")}</b>{rows}</div>')
    return "".join(parts)


def _format_cause(number: int, cause: Cause, language: str) -> str:
    kind, notes = "dx-n", []
    if number == 1:
        kind = "dx-n first"
    if not cause.is_stated:
        notes.append(_say(language, "only_fits"))
    if not cause.is_fault:
        notes.append(_say(language, "no_fault"))
    if cause.cost is not None:
        notes.append(escape_text(_describe_cost(cause.cost, language)))
    note = "".join(f'<p class="dx-note">{text}</p>' for text in notes)
    return (
        f'<div class="dx-finding" data-findings="{number}" tabindex="0"><i class="{kind}">{number}</i><div>'
        f"<h3>{escape_text(cause.explanation(language))}</h3>{note}{_format_lines(cause.evidence)}"
        f'<div class="dx-do"><span>{_write(language, "findings.check")}</span>'
        f"<code>{escape_text(cause.check(language))}</code>"
        f"<span>{_write(language, 'findings.fix')}</span><span>{escape_text(cause.fix(language))}</span>"
        "</div></div></div>"
    )


def _describe_cost(cost: JobCost, language: str) -> str:
    """What the cause costs: `5.94 GB/s instead of 452 GB/s`, and the step of training."""
    if cost.possible < _NOTICEABLE * cost.measured:
        return _word(language, "findings.no_cost")
    text = _word(
        language, "findings.cost", measured=format_bandwidth(cost.measured), possible=format_bandwidth(cost.possible)
    )
    training = cost.training
    if training is None:
        return text
    step = _word(
        language,
        "findings.training",
        model=training.model,
        step=format_time(training.step),
        possible=format_time(training.possible),
        hours=f"{training.hours_of_day:.3g}",
    )
    return translate(language, "words", "sentences").join((text, step))


def _format_question(question: OpenQuestion, language: str) -> str:
    checks = "".join(
        f"<span>{_say(language, f'{key}.title')}</span><code>{_say(language, f'{key}.check')}</code>"
        for key in question.causes
    )
    return (
        f'<div class="dx-finding"><i class="dx-n">?</i><div><h3>{_say(language, f"{question.key}.title")}</h3>'
        f'{_format_lines(question.facts)}<div class="dx-do dx-all">{checks}</div></div></div>'
    )


def _format_lines(facts: Sequence[Fact]) -> str:
    if not facts:
        return ""
    lines = "\n".join(
        f"<u>{escape_text(Path(fact.piece).name)}:{fact.line}</u>{escape_text(fact.text)}" for fact in facts
    )
    return f'<div class="dx-lines" tabindex="0">{lines}</div>'


def format_piece(diagnosis: Diagnosis, piece: EvidencePiece, language: str) -> str:
    """A piece of evidence: its name, what it is, and chips of what it told.

    Args:
        diagnosis: of the job.
        piece: of its evidence.
        language: `en` or `zh`.
    """
    name = escape_text(Path(piece.name).name)
    if not piece.tools:
        known = escape_text(translate(language, "diagnosis", "report.unrecognized", line=piece.first_line[:80]))
        return (
            f'<div class="dx-piece"><b>{name}</b><p class="dx-note">{known}</p>'
            f'<p class="dx-note">{_write(language, "findings.known")}</p></div>'
        )
    chips = list(_list_chips(diagnosis, piece))[:_MAX_CHIPS]
    return (
        f'<div class="dx-piece"><b>{name}</b><span class="tool">{escape_text(piece.describe(language))}</span>'
        f'<div class="dx-chips">{"".join(chips)}</div></div>'
    )


def _list_chips(diagnosis: Diagnosis, piece: EvidencePiece) -> Iterator[str]:
    """Facts of causes with their numbers, then those that say how data moved."""
    written = set()
    for number, cause in enumerate(diagnosis.causes, 1):
        for fact in cause.evidence:
            text = _shorten_fact(fact)
            if fact.piece == piece.name and text not in written:
                written.add(text)
                yield (
                    f'<span class="dx-chip" data-findings="{number}" title="{escape_text(fact.quote())}">'
                    f"{escape_text(text)}<i>{number}</i></span>"
                )
    others = [fact for question in diagnosis.questions for fact in question.facts]
    if diagnosis.used is not None:
        others = [*diagnosis.used.evidence, *others]
    for fact in others:
        text = _shorten_fact(fact)
        if fact.piece == piece.name and text not in written:
            written.add(text)
            yield f'<span class="dx-chip" title="{escape_text(fact.quote())}">{escape_text(text)}</span>'


def _shorten_fact(fact: Fact) -> str:
    """A few words of a fact: its value where that is one, else its line without the tag."""
    if isinstance(fact.value, tuple) and fact.kind == "nccl.variable":
        text = "=".join(map(str, fact.value))
    elif fact.kind == "nccl.transport":
        text = str(fact.value)
    else:
        text = " ".join(fact.text.split("NCCL INFO ")[-1].split("NCCL WARN ")[-1].split())
    if len(text) > _LONGEST_CHIP:
        return text[: _LONGEST_CHIP - 1].rstrip() + "…"
    return text


def format_fleet(rows: Sequence[Mapping[str, object]], language: str) -> str:
    """What differs between the nodes of a fleet, as a table whose cells wrap.

    Args:
        rows: of `FleetDiagnosis.list_rows`.
        language: `en` or `zh`.
    """
    columns = [name for name in _FLEET_COLUMNS if any(row[name] not in ("", None) for row in rows)]
    heads = [translate(language, "diagnosis", f"fleet.column.{name}") for name in columns]
    return format_table([[str(row[name] or "") for name in columns] for row in rows], heads, 'class="dx-tells"')


def _say(language: str, key: str) -> str:
    return escape_text(translate(language, "diagnosis", key))


def _write(language: str, key: str) -> str:
    return escape_text(_word(language, key))


def _word(language: str, key: str, **values: object) -> str:
    return translate(language, "app", f"diagnosis.{key}", **values)
