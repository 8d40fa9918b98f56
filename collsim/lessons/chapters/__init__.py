"""The lessons, one file each: `03_ring.py` is lesson 3, wherever lessons are counted.

A new file with a `LESSON` is all that a new lesson needs; its notebook, where it has one, lies in `notebooks/`.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

from ..lesson import Lesson, Section


def _found() -> dict[int, Lesson]:
    """All lessons by number, as the names of their files say."""
    files = sorted(module.name for module in iter_modules(__path__))
    numbers = [int(name.partition("_")[0]) for name in files]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"two lessons have the same number: {files}")
    made = [import_module(f"{__name__}.{name}").LESSON for name in files]
    return {number: replace(lesson, number=number) for number, lesson in zip(numbers, made, strict=True)}


LESSONS: dict[int, Lesson] = _found()

#: Every section by its key, with its lesson, in the order in which they are read.
SECTIONS: dict[str, tuple[Lesson, Section]] = {
    section.key: (lesson, section) for lesson in LESSONS.values() for section in lesson.sections
}
if len(SECTIONS) < sum(len(lesson.sections) for lesson in LESSONS.values()):
    raise ValueError("two sections of lessons share a key")
