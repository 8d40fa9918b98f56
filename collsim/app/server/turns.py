"""Whose rerun comes next, where more are asked for than run at a time: the clients take turns.

The script of a page computes in one process with all others, so what one client asks for too often or too dearly is
paid by all. Here a client has at most one rerun running and the others of it wait; the free places go round the clients
that wait. Somebody with twelve pages that never rest therefore gets what one student gets.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

#: Reruns at a time of all clients: enough that some that wait for a box or a worker leave the processor to others.
MOST = 8
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
        most: places in all; of_one: of one client.
    """

    def __init__(self, most: int = MOST, of_one: int = 1):
        self.most, self.of_one = most, of_one
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def take(self, who: str) -> None:
        """Wait for a place."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, deque()).append(mine)
        self._fill()
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self.give_back(who)
            raise

    def give_back(self, who: str) -> None:
        """A rerun has ended."""
        self._running[who] -= 1
        self._running += Counter()  # forgets those at zero
        self._fill()

    def _fill(self) -> None:
        """Give free places to those that wait, to the clients in turn."""
        while self._running.total() < self.most and (who := self._next()) is not None:
            self._waiting.move_to_end(who)
            mine = self._waiting[who].popleft()
            if not self._waiting[who]:
                del self._waiting[who]
            if not mine.done():
                self._running[who] += 1
                mine.set_result(None)

    def _next(self) -> str | None:
        return next((who for who in self._waiting if self._running[who] < self.of_one), None)


class PageTurn:
    """The turn of one page: taken when it asks for a rerun, given back when the script says that it has ended."""

    def __init__(self, turns: Turns, who: str):
        self._turns, self._who = turns, who
        self._alarm: asyncio.TimerHandle | None = None

    async def asked(self, message: bytes) -> None:
        """The page sent this; a rerun that is asked for while one runs becomes part of it."""
        if self._alarm is None and _asks_for_rerun(message):
            await self._turns.take(self._who)
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
        self._turns.give_back(self._who)


def _asks_for_rerun(message: bytes) -> bool:
    try:
        return BackMsg.FromString(message).WhichOneof("type") == "rerun_script"
    except DecodeError:  # Streamlit says so itself
        return False


def _says_ended(message: bytes) -> bool:
    try:
        said = ForwardMsg.FromString(message)
    except DecodeError:
        return False
    ended = said.WhichOneof("type") == "script_finished"
    return ended and said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
