"""A worksheet and its key as files."""

from __future__ import annotations

from pathlib import Path

from ..errors import CollsimError
from ..simulate import Trace
from ..teach.questions.question import Question
from ..teach.questions.questions import questions
from ..teach.questions.worksheet import answer, facts, markdown, title
from ..viz.pictures.worksheet import Item, pdf


def write_worksheet(
    trace: Trace, out: Path | str, *, seed: int = 0, count: int = 8, lang: str = "en"
) -> tuple[Path, Path]:
    """Write `sheet.md` (or `.pdf`) and beside it `sheet-key.md` (or `.pdf`); both paths.

    Args:
        out: the worksheet's file; its suffix says whether Markdown or PDF is written.
        seed: another seed, other questions.

    Raises CollsimError for another suffix, a folder that is not there, or Chinese as PDF on a machine without a Chinese
    font.
    """
    sheet = Path(out)
    if sheet.suffix.lower() not in (".md", ".pdf"):
        raise CollsimError("cannot write a worksheet to {sheet!r}: the suffix must be .md or .pdf", sheet=str(sheet))
    if not sheet.parent.is_dir():
        raise CollsimError(
            "cannot write {sheet!r}: there is no folder {parent!r}", sheet=str(sheet), parent=str(sheet.parent)
        )
    key = sheet.with_name(f"{sheet.stem}-key{sheet.suffix}")
    asked, given = questions(trace, seed, count, lang), facts(trace, lang)
    for path, is_key in ((sheet, False), (key, True)):
        heading = title(trace, seed, lang, is_key)
        if sheet.suffix.lower() == ".md":
            path.write_text(markdown(asked, heading, given, is_key), encoding="utf-8")
        else:
            pdf(path, heading, given, [_item(q, is_key) for q in asked])
    return sheet, key


def _item(q: Question, is_key: bool) -> Item:
    if not is_key:
        return Item(q.text, q.options)
    reasons = [f"{chr(65 + k)}: {q.say(c.why)}" for k, c in enumerate(q.choices) if k != int(q.answer)]
    return Item(q.text, q.options, answer(q), [q.why, *reasons])
