"""The lessons, one file each: `03_ring.py` is lesson 3, wherever lessons are counted.

A new file with a `LESSON` is all that a new lesson needs; its notebook, where it has one, lies in `notebooks/`.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

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


LESSONS: dict[int, Lesson] = _load_lessons()

#: Every section by its key, with its lesson, in the order in which they are read.
SECTIONS: dict[str, tuple[Lesson, Section]] = {
    section.key: (lesson, section) for lesson in LESSONS.values() for section in lesson.sections
}
if len(SECTIONS) < sum(len(lesson.sections) for lesson in LESSONS.values()):
    raise ValueError("two sections of lessons share a key")
