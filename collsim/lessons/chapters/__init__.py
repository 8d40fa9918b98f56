"""The lessons, one file each: `03_ring.py` is lesson 3, wherever lessons are counted.

A new file with a `LESSON` is all that a new lesson needs; its notebook, where it has one, lies in `notebooks/`.
Lessons of other packages (entry points `collsim.lessons`) follow with the next numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

from ... import plugins
from ...errors import CollsimError
from ..lesson import Lesson, Section


def _load_lessons() -> dict[int, Lesson]:
    """All lessons by number, as the names of their files say."""
    files = {int(name.partition("_")[0]): name for name in _list_files()}
    lessons = {number: import_module(f"{__name__}.{name}").LESSON for number, name in files.items()}
    return {number: replace(lesson, number=number) for number, lesson in lessons.items()}


def _list_files() -> list[str]:
    """Their names in order. Raises ValueError for a number that two of them have."""
    files = sorted(module.name for module in iter_modules(__path__))
    if len({int(name.partition("_")[0]) for name in files}) < len(files):
        raise ValueError(f"two lessons have the same number: {files}")
    return files


def _add_lessons(lessons: dict[int, Lesson], entries: Iterable[object]) -> None:
    """Number the lessons of another package; one without its texts, or with the key of another section, is refused."""
    for entry in entries:
        if not isinstance(entry, Lesson):
            raise CollsimError("{thing!r} is no Lesson; name a Lesson or a list of them", thing=entry)
        keys = {section.key for lesson in lessons.values() for section in lesson.sections}
        if twice := sorted(keys & {section.key for section in entry.sections}):
            raise CollsimError("{names}: taken already; give it another name", names=", ".join(twice))
        _ = entry.title, [section.texts for section in entry.sections]
        lessons[max(lessons) + 1] = replace(entry, number=max(lessons) + 1)


LESSONS: dict[int, Lesson] = _load_lessons()
plugins.load(
    "collsim.lessons",
    lambda load: plugins.register_into(LESSONS, lambda: _add_lessons(LESSONS, plugins.list_entries(load()))),
)

#: Every section by its key, with its lesson, in the order in which they are read.
SECTIONS: dict[str, tuple[Lesson, Section]] = {
    section.key: (lesson, section) for lesson in LESSONS.values() for section in lesson.sections
}
if len(SECTIONS) < sum(len(lesson.sections) for lesson in LESSONS.values()):
    raise ValueError("two sections of lessons share a key")
