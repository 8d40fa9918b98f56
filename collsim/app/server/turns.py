"""Whose rerun comes next, where more are asked for than run at a time: the clients take turns.

The scripts of all pages compute in one process, under one lock, so what one client asks for too often or too dearly is
paid by all. Here few run at a time, of each client one; a free place goes to the client that waits and has used least
of late, and those that have used much never hold more than half of the places. Somebody with twelve pages that never
rest therefore gets what the others leave.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from .use import Use

#: Reruns at a time of all clients: they share one lock, so more of them would not be faster, each only later.
MOST = 3
#: Seconds of reruns, those of the last minute counting most, beyond which a client has used much. Who clicks every six
#: seconds, each rerun taking one, comes to 14: 10 in a minute, times the 1 / ln 2 minutes over which they count.
MUCH = 25.0
#: And so many times what clients use on average: where all wait long, a student whose runs are dear is no attacker.
TIMES_THE_MEAN = 1.5
#: Pages from which a client is taken for a class behind one address, each such number with a rerun of its own.
PAGES_OF_ONE = 12
#: Seconds after which a rerun no longer counts as running, whatever became of it.
LONGEST = 60.0
#: Seconds for which it still counts when its page is closed: Streamlit stops a script at its next element only.
STOPPING = 3.0
#: Bytes of the longest message that says that a script has ended.
_SHORT = 1024


class Turns:
    """The places in which reruns run. Used from the server's event loop only.

    Attributes:
        most: places in all; of_one: of one client, which may also use so many times as much as others before it counts
        as much.
    """

    def __init__(self, most: int = MOST, of_one: int = 1, clock: Callable[[], float] = time.monotonic):
        self.most, self.of_one, self._use = most, of_one, Use(clock)
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def take(self, who: str) -> None:
        """Wait for a place."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, deque()).append(mine)
        self._fill()
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self.give_back(who, 0.0)
            raise

    def give_back(self, who: str, seconds: float) -> None:
        """A rerun has ended, so long after it began."""
        self._use.ends((who,), seconds)
        self._running[who] -= 1
        self._running += Counter()  # forgets those at zero
        self._fill()

    def _fill(self) -> None:
        """Give free places to those that wait."""
        while self._running.total() < self.most and (who := self._next()) is not None:
            mine = self._waiting[who].popleft()
            if not self._waiting[who]:
                del self._waiting[who]
            if not mine.done():
                self._running[who] += 1
                self._use.begins((who,))
                mine.set_result(None)

    def _next(self) -> str | None:
        """The client that gets the next free place."""
        spent = sum(count for who, count in self._running.items() if self._has_used_much(who))
        free = (who for who in self._waiting if self._running[who] < self.of_one)
        may = [who for who in free if 2 * spent < self.most or not self._has_used_much(who)]
        return min(may, key=self._use.seconds, default=None)

    def _has_used_much(self, who: str) -> bool:
        return self._use.seconds(who) > max(MUCH * self.of_one, TIMES_THE_MEAN * self._use.mean())


class PageTurn:
    """The turn of one page: taken when it asks for a rerun, given back when the script says that it has ended."""

    def __init__(self, turns: Turns, who: str):
        self._turns, self._who = turns, who
        self._alarm: asyncio.TimerHandle | None = None
        self._began = 0.0

    async def asked(self, message: bytes) -> None:
        """The page sent this; a rerun that is asked for while one runs becomes part of it."""
        if self._alarm is None and _asks_for_rerun(message):
            await self._turns.take(self._who)
            self._began = time.monotonic()
            self._end_after(LONGEST)

    def answered(self, message: bytes) -> None:
        """The app sent this to the page."""
        if self._alarm is not None and len(message) <= _SHORT and _says_ended(message):
            self._alarm.cancel()
            self._end()

    def left(self) -> None:
        """The page is closed."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._end_after(STOPPING)

    def _end_after(self, seconds: float) -> None:
        self._alarm = asyncio.get_running_loop().call_later(seconds, self._end)

    def _end(self) -> None:
        self._alarm = None
        self._turns.give_back(self._who, time.monotonic() - self._began)


def _asks_for_rerun(message: bytes) -> bool:
    try:
        return bool(BackMsg.FromString(message).WhichOneof("type") == "rerun_script")
    except DecodeError:  # Streamlit says so itself
        return False


def _says_ended(message: bytes) -> bool:
    try:
        said = ForwardMsg.FromString(message)
    except DecodeError:
        return False
    ended = said.WhichOneof("type") == "script_finished"
    return bool(ended and said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN)
