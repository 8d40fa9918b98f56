"""What the questions and the breaking of a run add to the address of Explore.

`ask` is the seed of the questions, `question` the one that is open, `answer` what was answered to it (`shown`: revealed
without an answer); `class` the code of a class, with the teacher's key after a dash; `break` a way to break the run and
a seed; `pin` is a run that is pinned; `synthesize` shows the schedule that would close the gap, with `switches=0` one
without switches that reduce.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from collsim.errors import CollsimError
from collsim.teach.breaking import BREAKAGES

from .address_parameters import Complaint, PageAddress, Word, declare_word, list_words, require_words
from .choice import count, create_name_reader, read_flag

MAX_SEEDS = 9999
MAX_QUESTIONS = 8
#: Characters of a pinned run.
LONGEST_PIN = 400
#: Characters of an answer: a number with its unit, or the letter of a choice.
LONGEST_ANSWER = 40
SHOWN = "shown"
SIMPLE, FULL = MODES = ("simple", "full")
ALL_CARDS = "all"
#: What may stand in the address of the simple page; any other word asks for the full one.
_OF_SIMPLE = ("lang", "theme", "t", "view", "mode", "cards", "predict")
#: The code of a class, and after the dash the key of who opened it.
CLASS_KEY = re.compile(r"([a-z]{4})(?:-([a-z0-9]{8}))?")


_WRITE_SET = {True: "1", False: ""}.__getitem__


def _read_question(text: str) -> int:
    return count("question", MAX_QUESTIONS)(text) - 1


def _parse_class_key(text: str) -> str:
    if not CLASS_KEY.fullmatch(text.lower()):
        raise CollsimError("the code of a class is four letters.")
    return text.lower()


def _read_broken(text: str) -> tuple[str, int]:
    breakage, _, position = text.partition("-")
    return create_name_reader("way to break a run", lambda: BREAKAGES)(breakage), count("break", MAX_SEEDS, least=0)(
        position or "0"
    )


def _write_broken(broken: tuple[str, int]) -> str:
    if not broken[0]:
        return ""
    return f"{broken[0]}-{broken[1]}"


@dataclass(frozen=True)
class Panels:
    """Which question is open, what was answered, whose class it is, and how the run is broken.

    Attributes:
        seed: of the questions; None: none are asked. `number`: the one that is open, from 0.
        answer: as it was given; empty: not yet.
        class_key: `code` or `code-key` of a class.
        fault, fault_seed: how the run is broken, and the seed that says where; no fault: it is whole.
        mode: `simple` (picture, sentence, play) or `full`.
        cards: `all` where the simple page uses all cards.
        predict: it stops at every question.
        synthesize: a schedule that is synthesized for the run stands in its place.
        switches: it may use those of the machine that reduce or multicast.
        pinned: a run that is to be compared with another one, as a runner stands in the address of a race.
    """

    seed: int | None = declare_word(None, count("ask", MAX_SEEDS, least=0), "ask", instead="–")
    number: int = declare_word(0, _read_question, "question", write=lambda number: str(number + 1), instead="–")
    answer: str = declare_word("", str, limit=LONGEST_ANSWER, instead="–")
    class_key: str = declare_word("", _parse_class_key, "class", instead="–")
    fault: str = ""
    fault_seed: int = 0
    mode: str = declare_word(FULL, create_name_reader("mode", lambda: MODES), instead=FULL)
    cards: str = declare_word("", create_name_reader("cards", lambda: (ALL_CARDS,)), instead="–")
    predict: bool = declare_word(False, read_flag, write=_WRITE_SET, instead="–")
    synthesize: bool = declare_word(False, read_flag, write=_WRITE_SET, instead="–")
    switches: bool = declare_word(True, read_flag, write={True: "", False: "0"}.__getitem__, instead="1")
    pinned: str = declare_word("", require_words, "pin", limit=LONGEST_PIN, instead="–")


def _reconcile(fields: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> Panels:
    if "seed" not in fields and "class_key" not in fields:  # no question without questions
        fields = {key: value for key, value in fields.items() if key not in ("number", "answer")}
    if "mode" not in query and not set(query) - set(_OF_SIMPLE):
        fields["mode"] = SIMPLE  # the first visit: a bare address
    return Panels(**fields)


def settle_mode(panels: Panels, query: dict[str, str]) -> dict[str, str]:
    """The address with the mode where the rest of it would say another one.

    Args:
        panels: Which panels are open.
        query: Words of the address.
    """
    rest = {name: text for name, text in query.items() if name != "mode"}
    default_mode = SIMPLE
    if set(rest) - set(_OF_SIMPLE):
        default_mode = FULL
    if panels.mode == default_mode:
        return rest
    return {**rest, "mode": panels.mode}


_BREAK = Word("break", _read_broken, "fault,fault_seed", write=_write_broken, instead="–")
ADDRESS = PageAddress(Panels(), (*list_words(Panels), _BREAK), _reconcile)
