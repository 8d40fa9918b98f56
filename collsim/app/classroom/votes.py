"""A class votes: rooms in the memory of the server, each with one question and a vote for every browser tab.

Nothing is written down and nobody is named: a voter is a random word of its browser tab, gone with the tab. A tab that
is opened anew may vote anew; it is a show of hands, not an exam. Rooms, voters and idle time are bounded, so that
nothing grows without end. Nothing here knows Streamlit.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from collsim.teach.questions.question import Question, shown

from ..scenario.choice import Choice

MOST_ROOMS = 100
MOST_VOTERS = 400
IDLE_SECONDS = 45 * 60  # a room that its teacher's page has not looked at for so long is gone
HERE_SECONDS = 12  # who has not looked for so long has left
MOST_GROUPS = 6
MOST_TOLD = 200  # revealed questions that a room remembers
_LETTERS = "bcdfghjkmnpqrstvwxz"  # no vowels, so that no word is spelled; no l, which looks like a 1
_KEYS = "abcdefghijkmnpqrstuvwxyz23456789"


class Full(Exception):
    """As many classes as the server takes are open."""


@dataclass(frozen=True)
class Asked:
    """What a class is asked: a question about a run. `turn` grows with every new vote, also on the same question."""

    choice: Choice
    seed: int
    number: int
    of: int
    question: Question
    turn: int = 0

    def same(self, other: Asked) -> bool:
        """The same question about the same run?"""
        return (self.choice, self.seed, self.number) == (other.choice, other.seed, other.number)


@dataclass
class Room:
    """One class. `votes` by voter: the place of a choice, or a number in SI units; `seen`: when each was last here."""

    code: str
    key: str
    touched: float
    asked: Asked | None = None
    revealed: bool = False
    votes: dict[str, float] = field(default_factory=dict)
    seen: dict[str, float] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)


@dataclass(frozen=True)
class Told:
    """A question whose votes were revealed, and what was voted: (answer as people write it, votes, is it right)."""

    question: Question
    votes: tuple[tuple[str, int, bool], ...]


@dataclass(frozen=True)
class Board:
    """What a page shows of a room at one moment.

    Attributes:
        groups: (place of the choice or number in SI units, votes, is it right), every choice in its order, or the
        commonest numbers;
            empty until the teacher reveals.
        others: votes for numbers beyond those.
        mine: the vote of who asks, or None.
    """

    asked: Asked | None
    revealed: bool
    votes: int
    here: int
    groups: tuple[tuple[float, int, bool], ...] = ()
    others: int = 0
    mine: float | None = None


class Rooms:
    """All classes of a server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._lock = threading.Lock()
        self._rooms: dict[str, Room] = {}

    def open(self) -> str:
        """A new room; its code and key as `code-key`. Raises Full."""
        with self._lock:
            self._sweep()
            if len(self._rooms) >= MOST_ROOMS:
                raise Full
            code = _word(_LETTERS, 4)
            while code in self._rooms:
                code = _word(_LETTERS, 4)
            room = Room(code, _word(_KEYS, 8), self._clock())
            self._rooms[code] = room
            return f"{code}-{room.key}"

    def close(self, room: str) -> None:
        """The class is over, for everybody."""
        with self._lock:
            if self._led(room) is not None:
                del self._rooms[room[:4]]

    def leads(self, room: str) -> bool:
        """Is this the code and key of a room that is open?"""
        with self._lock:
            self._sweep()
            return self._led(room) is not None

    def ask(self, room: str, asked: Asked) -> None:
        """Put a question to the class. The one that stands there already keeps its votes; a new one begins with
        none."""
        with self._lock:
            one = self._led(room)
            if one is None:
                return
            one.touched = self._clock()
            if one.asked is None or not one.asked.same(asked):
                _begin(one, asked)

    def again(self, room: str) -> None:
        """The same question, and no votes."""
        with self._lock:
            one = self._led(room)
            if one is not None and one.asked is not None:
                _begin(one, one.asked)

    def reveal(self, room: str) -> None:
        """Show everybody the votes and the answer; from now on no vote counts."""
        with self._lock:
            if (one := self._led(room)) is not None and one.asked is not None and not one.revealed:
                one.revealed = True
                one.told = [*one.told, Told(one.asked.question, _written(one))][-MOST_TOLD:]

    def told(self, room: str) -> list[Told]:
        """All questions that were revealed to this class, in order; for its teacher."""
        with self._lock:
            one = self._led(room)
            return [] if one is None else list(one.told)

    def vote(self, code: str, voter: str, value: float, turn: int) -> bool:
        """Take a vote, or another one from the same voter in its place. False: the vote is over, or the room is
        full."""
        with self._lock:
            one = self._rooms.get(code)
            if one is None or one.asked is None or one.revealed or one.asked.turn != turn:
                return False
            places = len(one.asked.question.choices)
            if (voter not in one.votes and len(one.votes) >= MOST_VOTERS) or (places and value not in range(places)):
                return False
            one.votes[voter] = value
            return True

    def look(self, room: str, voter: str = "") -> Board | None:
        """The board of a room: for its teacher (code and key), or for a voter (code). None: there is no such room."""
        with self._lock:
            self._sweep()
            one = self._led(room) if "-" in room else self._rooms.get(room)
            if one is None:
                return None
            now = self._clock()
            if "-" in room:
                one.touched = now
            one.seen = {who: when for who, when in one.seen.items() if now - when < HERE_SECONDS}
            if voter and (voter in one.seen or len(one.seen) < MOST_VOTERS):
                one.seen[voter] = now
            groups, others = _groups(one) if one.revealed else ((), 0)
            here = len(set(one.seen) | set(one.votes))
            return Board(one.asked, one.revealed, len(one.votes), here, groups, others, one.votes.get(voter))

    def _led(self, room: str) -> Room | None:
        code, _, key = room.partition("-")
        one = self._rooms.get(code)
        return one if one is not None and secrets.compare_digest(one.key.encode(), key.encode()) else None

    def _sweep(self) -> None:
        now = self._clock()
        for code in [code for code, room in self._rooms.items() if now - room.touched > IDLE_SECONDS]:
            del self._rooms[code]


def _begin(room: Room, asked: Asked) -> None:
    turn = 0 if room.asked is None else room.asked.turn + 1
    room.asked = Asked(asked.choice, asked.seed, asked.number, asked.of, asked.question, turn)
    room.revealed, room.votes = False, {}


def _groups(room: Room) -> tuple[tuple[tuple[float, int, bool], ...], int]:
    """Votes for every choice; for a number those that read the same together, the commonest of them."""
    assert room.asked is not None
    question = room.asked.question
    if question.choices:
        counts = Counter(room.votes.values())
        return tuple((k, counts[k], question.right(k)) for k in range(len(question.choices))), 0
    alike: dict[tuple[str, bool], list[float]] = {}
    for value in room.votes.values():
        alike.setdefault((shown(value, question.unit), question.right(value)), []).append(value)
    groups = sorted(alike.items(), key=lambda item: (-len(item[1]), item[1][0]))
    kept = tuple((values[0], len(values), right) for (_, right), values in groups[:MOST_GROUPS])
    return kept, sum(len(values) for _, values in groups[MOST_GROUPS:])


def _written(room: Room) -> tuple[tuple[str, int, bool], ...]:
    """Every answer that was given, and every choice, with its votes."""
    assert room.asked is not None
    question = room.asked.question
    if question.choices:
        counts = Counter(room.votes.values())
        return tuple((text, counts[k], question.right(k)) for k, text in enumerate(question.options))
    found = Counter((shown(value, question.unit), question.right(value)) for value in room.votes.values())
    return tuple((text, votes, right) for (text, right), votes in found.most_common())


def _word(letters: str, length: int) -> str:
    return "".join(secrets.choice(letters) for _ in range(length))
