"""What the questions and the breaking of a run add to the address of Explore.

`ask` is the seed of the questions, `question` the one that is open, `answer` what was answered to it (`shown`: revealed
without an answer); `class` the room of a class, with the teacher's key after a dash; `break` a way to break the run and
a seed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from collsim.errors import CollsimError
from collsim.teach.breaking import WAYS

from .choice import Complaint, count, one_of

MOST_SEEDS = 9999
MOST_QUESTIONS = 8
LONGEST_ANSWER = 40
SHOWN = "shown"
#: A room's code, and after the dash the key of who opened it.
ROOM = re.compile(r"([a-z]{4})(?:-([a-z0-9]{8}))?")


@dataclass(frozen=True)
class Panels:
    """Which question is open, what was answered, whose class it is, and how the run is broken.

    Attributes:
        seed: of the questions; None: none are asked. `number`: the one that is open, from 0.
        answer: as it was given; empty: not yet.
        room: `code` or `code-key`.
        way, place: how the run is broken, and the seed that says where; an empty way: it is whole.
    """

    seed: int | None = None
    number: int = 0
    answer: str = ""
    room: str = ""
    way: str = ""
    place: int = 0


def read(query: Mapping[str, str]) -> tuple[Panels, list[Complaint]]:
    """The panels that an address opens; what cannot be used is told and left out."""
    found: dict[str, Any] = {}
    complaints: list[Complaint] = []
    for name, (field, reader) in _READERS.items():
        if name in query:
            try:
                found |= dict(zip(field, reader(query[name]), strict=True))
            except CollsimError as error:
                complaints.append(Complaint(name, query[name][:60], str(error), "–"))
    if "seed" not in found:
        found = {key: value for key, value in found.items() if key not in ("number", "answer")}
    return Panels(**found), complaints


def write(panels: Panels) -> dict[str, str]:
    """The words of an address that open these panels."""
    query: dict[str, str] = {}
    if panels.seed is not None:
        query = {
            "ask": str(panels.seed),
            "question": str(panels.number + 1) if panels.number else "",
            "answer": panels.answer,
        }
    query |= {"class": panels.room, "break": f"{panels.way}-{panels.place}" if panels.way else ""}
    return {name: text for name, text in query.items() if text}


def _seed(text: str) -> tuple[int]:
    return (count("ask", MOST_SEEDS, least=0)(text),)


def _number(text: str) -> tuple[int]:
    return (count("question", MOST_QUESTIONS)(text) - 1,)


def _answer(text: str) -> tuple[str]:
    if len(text) > LONGEST_ANSWER:
        raise CollsimError(f"{len(text)} characters are too many.")
    return (text,)


def _room(text: str) -> tuple[str]:
    if not ROOM.fullmatch(text.lower()):
        raise CollsimError("the code of a class is four letters.")
    return (text.lower(),)


def _broken(text: str) -> tuple[str, int]:
    way, _, place = text.partition("-")
    return one_of("way to break a run", lambda: WAYS)(way), count("break", MOST_SEEDS, least=0)(place or "0")


_READERS: dict[str, tuple[tuple[str, ...], Any]] = {
    "ask": (("seed",), _seed),
    "question": (("number",), _number),
    "answer": (("answer",), _answer),
    "class": (("room",), _room),
    "break": (("way", "place"), _broken),
}
WORDS = tuple(_READERS)
