"""Whose rerun comes next, where more are asked for than run at a time: the clients take turns.

The scripts of all pages compute in one process, under one lock, so what one client asks for too often or too dearly is
paid by all. Here few run at a time, of each client one. A free place goes to the client whose turn it is by start-time
fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): each client has a clock that goes on by what its reruns have used
and never stands behind that of the last one that began, and the one that is behind most comes next. Somebody with
twelve pages that never rest therefore gets a share like anybody's, whoever asks now and then comes at once, and nobody
waits for ever. Those that have used much of late never hold more than half of the places, begin while nobody else
runs, and leave the lock to others for twice the time that they had it: beside one that never rests, everybody's rerun
would take twice as long.

What a rerun has used is its share of the lock, not the time on the wall: two that take a second side by side have used
half a second each. By the wall a modest client beside a greedy one would seem to use as much.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from .usage import ClientUsage

#: Reruns at a time of all clients: they share one lock, so more of them would not be faster, each only later.
MOST = 3
#: Seconds of the lock, those of the last minute counting most, beyond which a client has used much. Who clicks every
#: twelve seconds, each rerun using half a second, comes to 3.6: 5 in a minute, times the 1 / ln 2 minutes that count.
MUCH = 4.0
#: Seconds that somebody who has used much waits for the others to rest, counted from its last turn too; after them it
#: comes as its clock says.
PATIENCE = 10.0
#: Times what a rerun of somebody who has used much took of the lock, for which no other such one begins.
REST = 2.0
#: Pages from which a client is taken for a class behind one address, each such number with a rerun of its own.
PAGES_OF_ONE = 12
#: Seconds after which a rerun's place is given to the next one, while its client waits on: who does not read what the
#: app says never says that it has ended. What takes longer than ON_THE_SPOT is done by a worker.
HELD = 6.0
#: Seconds after which it no longer counts as running, whatever became of it.
LONGEST = 60.0
#: Seconds in which the app begins to answer where it answers at all: a part that has gone from the page is not run.
STARTING = 2.0
#: Seconds for which it still counts when its page is closed: Streamlit stops a script at its next element only.
STOPPING = 3.0
#: Bytes of the longest message that says that a script has ended.
_SHORT = 1024


@dataclass(eq=False)
class Turn:
    """A rerun of a client that runs: since when, by the seconds that each rerun has had of the lock; `lapsed`, where
    somebody else has its place by now while it still counts as this client's."""

    who: str
    began: float
    lapsed: bool = False


class Turns:
    """The places in which reruns run. Used from the server's event loop only.

    Attributes:
        most: places in all; of_one: of one client, which may also use so many times as much as others before it counts
        as much.
    """

    def __init__(self, most: int = MOST, of_one: int = 1, clock: Callable[[], float] = time.monotonic):
        self.most, self.of_one, self._use, self._clock = most, of_one, ClientUsage(clock), clock
        self._shared, self._counted = 0.0, clock()
        self._latest, self._clocks = 0.0, dict[str, float]()
        self._last = dict[str, float]()  # when a client's latest rerun began, those of the last PATIENCE seconds
        self._rested, self._wakes = clock(), False  # from when on those who used much may begin
        self._places: set[Turn] = set()
        self._waiting: dict[str, deque[tuple[float, asyncio.Future[Turn]]]] = {}  # since when

    async def take(self, who: str) -> Turn:
        """Wait for a place."""
        mine: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, deque()).append((self._clock(), mine))
        self._fill()
        try:
            return await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self.give_back(mine.result())
            raise

    def lapse(self, place: Turn) -> None:
        """Others may have this place; until it is given back, its client has no other one in its stead."""
        self._charge(place)
        place.lapsed = True
        self._fill()

    def give_back(self, place: Turn) -> None:
        """A rerun has ended."""
        if not place.lapsed:
            self._charge(place)
        self._places.discard(place)
        self._fill()

    def running(self, who: str) -> int:
        """Reruns of a client that have not ended."""
        return sum(place.who == who for place in self._places)

    def _held(self) -> list[Turn]:
        return [place for place in self._places if not place.lapsed]

    def _work(self) -> float:
        """Seconds that a rerun has had of the lock by now which has run all the time."""
        now = self._clock()
        if held := len(self._held()):
            self._shared += (now - self._counted) / held
        self._counted = now
        return self._shared

    def _charge(self, place: Turn) -> None:
        seconds = self._work() - place.began
        self._use.ends((place.who,), seconds)
        self._clocks[place.who] += seconds / self.of_one
        if self._has_used_much(place.who):
            self._rested = self._clock() + REST * seconds

    def _begins(self, who: str) -> float:
        """Where the clock of a client stands when it begins now."""
        return max(self._latest, self._clocks.get(who, 0.0))

    def _fill(self) -> None:
        """Give free places to those that wait."""
        while len(self._held()) < self.most and (who := self._next()) is not None:
            _, mine = self._waiting[who].popleft()
            if not self._waiting[who]:
                del self._waiting[who]
            if not mine.done():
                mine.set_result(self._given(who))
        left = self._rested - self._clock()
        if self._waiting and left > 0 and not self._wakes:
            self._wakes = True
            asyncio.get_running_loop().call_later(left, self._wake)

    def _wake(self) -> None:
        self._wakes = False
        self._fill()

    def _given(self, who: str) -> Turn:
        place = Turn(who, self._work())
        self._places.add(place)
        self._use.begins((who,))
        self._latest = self._begins(who)
        ahead = {other: at for other, at in self._clocks.items() if at > self._latest or self.running(other)}
        self._clocks = {**ahead, who: self._latest}
        now = self._clock()
        self._last = {**{other: at for other, at in self._last.items() if now - at < PATIENCE}, who: now}
        return place

    def _next(self) -> str | None:
        """The client that gets the next free place; of equals the one that has waited longest."""
        free = (who for who in self._waiting if self.running(who) < self.of_one)
        may = [who for who in free if not self._has_used_much(who) or self._may_though_much(who)]
        return min(may, key=self._begins, default=None)

    def _may_though_much(self, who: str) -> bool:
        held = [place.who for place in self._held()]
        much = sum(map(self._has_used_much, held))
        now, since = self._clock(), self._waiting[who][0][0]
        patient = now - max(since, self._last.get(who, since)) >= PATIENCE
        return much < max(1, self.most // 2) and ((much == len(held) and now >= self._rested) or patient)

    def _has_used_much(self, who: str) -> bool:
        return self._use.much(who, MUCH * self.of_one)


class PageTurn:
    """The turn of one page: taken when it asks for a rerun, given back when the script says that it has ended."""

    def __init__(self, turns: Turns, who: str):
        self._turns, self._who = turns, who
        self._place: Turn
        self._alarm: asyncio.TimerHandle | None = None
        self._starts = self._gone = False
        self._ended = asyncio.Event()

    async def asked(self, message: bytes) -> None:
        """The page sent this; a rerun that is asked for while one runs becomes part of it. Where that has gone on for
        HELD, the next one waits for its end and its turn: who asks without a pause would never need another turn."""
        if self._alarm is not None and not self._place.lapsed:
            return
        of = _rerun_of(message)
        if of is None or not await self._free():
            return
        self._place = await self._turns.take(self._who)
        self._ended.clear()
        self._starts = bool(of)
        self._after(STARTING if self._starts else HELD, self._end if self._starts or self._gone else self._lapse)

    async def _free(self) -> bool:
        """Whether no rerun runs any more, waiting as long as one may that does as it should."""
        if self._alarm is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), HELD)
        return self._alarm is None

    def answered(self, message: bytes) -> None:
        """The app sent this to the page."""
        if self._alarm is None:
            return
        if self._starts:
            self._starts = False
            self._alarm.cancel()
            self._after(HELD, self._lapse)
        if len(message) <= _SHORT and _says_ended(message):
            self._alarm.cancel()
            self._end()

    def left(self) -> None:
        """The page is closed."""
        self._gone = True
        if self._alarm is not None:
            self._alarm.cancel()
            self._after(STOPPING, self._end)

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        self._alarm = asyncio.get_running_loop().call_later(seconds, act)

    def _lapse(self) -> None:
        self._turns.lapse(self._place)
        self._after(LONGEST - HELD, self._end)

    def _end(self) -> None:
        self._alarm = None
        self._turns.give_back(self._place)
        self._ended.set()


def _rerun_of(message: bytes) -> str | None:
    """The part of the page, "" for all of it, that a message asks to be run again; None where it asks for none."""
    try:
        said = BackMsg.FromString(message)
    except DecodeError:  # Streamlit says so itself
        return None
    return said.rerun_script.fragment_id if said.WhichOneof("type") == "rerun_script" else None


def _says_ended(message: bytes) -> bool:
    try:
        said = ForwardMsg.FromString(message)
    except DecodeError:
        return False
    ended = said.WhichOneof("type") == "script_finished"
    return bool(ended and said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN)
