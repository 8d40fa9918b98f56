"""A lesson of its own, with one section."""

from pathlib import Path

from collsim.lessons.lesson import Lesson, Section, build_facts, build_switch, simulate_algorithm
from collsim.locale import add_texts

add_texts(Path(__file__).parent / "texts")


def _build_facts():
    one_by_one = simulate_algorithm("broadcast_one_by_one", build_switch())
    return build_facts(one_by_one, t=one_by_one, half=one_by_one.schedule.steps // 2)


LESSON = Lesson(sections=(Section("one-by-one", _build_facts, right=1),))
