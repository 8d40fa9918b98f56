"""Thirty students on one server, three of them hostile: does anybody else notice?

    python benchmarks/hostile_students.py --minutes 10 --csv build/hostile.csv

The server is open to a room, as `collsim app --class` makes it, on a network of its own inside this computer (a Linux
network namespace), where every student has an address. For the first third of the time the hostile ones behave as
others do; then they attack, each in all of these ways at once, with as many pages as the door gives them: code on the
Write page that computes without end, takes memory, starts processes; the dearest addresses, damaged ones; reruns
without a pause; connections opened and dropped; uploads and messages that are too long; join codes.

What is printed: how long the others' reruns took before and during the attack, tabs that they gave up, and what they
saw that should not have been there. It ends with an error where an honest student lost a page or saw an exception, or
where the median or the 95th percentile grew by more than is allowed, each page counting as often before as during it.
"""

from __future__ import annotations

import argparse
import asyncio
import bisect
import contextlib
import http.client
import itertools
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from thirty_students import ROOT, Notes, Student, server

CODE, SERVER = "bcdfghjk", "10.99.0.200"
#: The others' median and 95th percentile may grow by so much: three more clients of thirty take a tenth of the turns.
#: A growth in seconds that nobody notices after a click is none, however short the time was before (Dabrowski and
#: Munson, "Is 100 milliseconds too fast?", CHI 2001: 0.15 s after a key, 0.195 s after the mouse; who is asked to watch
#: for a delay sees less: Forch et al., CHI 2017, 34 to 137 ms).
MOST_GROWTH, UNNOTICED = 1.5, 0.15
CODES = (
    "def f(n):\n    while True:\n        pass\n",
    "def f(n):\n    held = [0] * 10**8\n    for step in range(10**9):\n        yield [send(0, 1, 0)]\n",
    "def f(n):\n    return [[send(i, (i + 1) % n, 0) for i in range(n)] for step in range(100_000)]\n",
    "import os\ndef f(n):\n    while True:\n        os.fork()\n",
)
ADDRESSES = (
    "network=switch&ranks=1000000000",
    "network=fat_tree&options=" + "9" * 5000,
    "machine=gb200-nvl72&nodes=64&algorithm=alltoall_direct&engine=event",
    "network=torus&ranks=4096&algorithm=allreduce_direct_one_shot&chunks=4096",
    "%ff%fe=%00&machine=[[[[&nbytes=-1&chunks=1e999",
)


def joined(port: int, address: str) -> str:
    """The cookie of a client that has given the join code."""
    link = http.client.HTTPConnection(SERVER, port, timeout=30, source_address=(address, 0))
    link.request("GET", f"/?join={CODE}", headers={"Accept": "text/html"})
    cookie = link.getresponse().getheader("Set-Cookie")
    link.close()
    assert cookie, "the join code was not taken"
    return cookie.split(";")[0]


class InRoom(Student):
    """A student with an address and a cookie of their own."""

    def __init__(self, number: int, port: int, notes: Notes, think: float):
        super().__init__(number, port, notes, think)
        self.address = f"10.99.0.{number + 1}"
        self.cookie = joined(port, self.address)

    def connection(self, host: str = SERVER, cookie: str = "", source: str | None = None) -> Any:
        """A page, as the room's browsers open one."""
        return super().connection(host, cookie or self.cookie, source or self.address)


class Hostile:
    """One who attacks from one address, in every way at once, until it is over."""

    def __init__(self, who: InRoom, until: float):
        self.who, self.until, self.rng, self.sent = who, until, random.Random(who.address), 0

    async def attack(self) -> None:
        """All ways at once; a refusal ends none of them."""
        ways = [self._pages(self._code)] * 4 + [self._pages(self._address)] * 4 + [self._pages(self._storm)] * 4
        await asyncio.gather(*(way() for way in ways), self._connections(), self._requests())

    def _pages(self, act: Any) -> Any:
        async def over_and_over() -> None:
            while time.monotonic() < self.until:
                try:
                    async with self.who.connection() as tab:
                        await asyncio.wait_for(act(tab), 30)
                except (OSError, TimeoutError, websockets.WebSocketException):
                    await asyncio.sleep(0.2)

        return over_and_over

    async def _ask(self, tab: Any, query: str, page: str = "", states: tuple[WidgetState, ...] = ()) -> None:
        message = BackMsg()
        message.rerun_script.query_string, message.rerun_script.page_script_hash = query, page
        message.rerun_script.widget_states.widgets.extend(states)
        self.sent += 1
        await tab.send(message.SerializeToString())

    async def _code(self, tab: Any) -> None:
        """The Write page with code that does harm, and a click on everything that can be clicked."""
        student = self.who
        await self._ask(tab, "")
        await self._drained(tab)
        for page in list(student.pages):
            student.controls = {}
            await self._ask(tab, urlencode({"code": self.rng.choice(CODES), "ranks": 8}), page)
            await self._drained(tab)
            buttons = [held for kind, held in student.controls.values() if kind == "button"]
            await self._ask(tab, "", page, tuple(WidgetState(id=b.id, trigger_value=True) for b in buttons))
            await self._drained(tab)

    async def _drained(self, tab: Any) -> None:
        while not self.who._heard(await asyncio.wait_for(tab.recv(), 20)):
            pass

    async def _address(self, tab: Any) -> None:
        """Dear and damaged addresses."""
        while time.monotonic() < self.until:
            await self._ask(tab, self.rng.choice(ADDRESSES))
            await self._drained(tab)

    async def _storm(self, tab: Any) -> None:
        """Reruns without a pause, then what no browser sends; nothing that comes back is read."""
        for _ in range(200):
            await self._ask(tab, "machine=dgx-a100&nodes=8")
        await tab.send(os.urandom(1000))
        await tab.send(b"x" * 5_000_000)

    async def _connections(self) -> None:
        """Open and drop."""
        while time.monotonic() < self.until:
            tabs = await asyncio.gather(*(self.who.connection() for _ in range(20)), return_exceptions=True)
            for tab in tabs:
                if not isinstance(tab, BaseException):
                    tab.transport.abort()
            await asyncio.sleep(0.5)

    async def _requests(self) -> None:
        """Join codes and uploads over HTTP."""
        while time.monotonic() < self.until:
            for method, path, body in (
                ("GET", f"/?join={self.rng.randrange(10**8)}", b""),
                ("PUT", "/_stcore/upload_file/a/b", b"x" * 3_000_000),
                ("GET", "/" + "a" * 60_000, b""),
            ):
                await asyncio.to_thread(self._request, method, path, body)
            await asyncio.sleep(0.2)

    def _request(self, method: str, path: str, body: bytes) -> None:
        link = http.client.HTTPConnection(SERVER, self.who.port, timeout=10, source_address=(self.who.address, 0))
        try:
            link.request(method, path, body, {"Accept": "text/html", "Cookie": self.who.cookie})
            link.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass  # refused, as it should be
        finally:
            link.close()


async def attacks(given: argparse.Namespace, port: int, turn: float, end: float) -> int:
    """The hostile ones' part of the lesson: they behave until `turn`; how many reruns they asked for."""
    seen = Notes()
    guises = [InRoom(given.students - n - 1, port, seen, given.think) for n in range(given.hostile)]
    hostile = [Hostile(guise, end) for guise in guises]

    async def turns_hostile(guise: InRoom, attacker: Hostile) -> None:
        await guise.study(turn)
        with contextlib.suppress(TimeoutError):  # what still waits for its turn at the end gets none
            await asyncio.wait_for(attacker.attack(), end - time.monotonic() + 1)

    await asyncio.gather(*map(turns_hostile, guises, hostile))
    return sum(one.sent for one in hostile)


def _apart(given: argparse.Namespace, port: int, turn: float, end: float, sent: Any) -> None:
    """The same in a process of its own, last in the row for the processor: in a room it is somebody else's computer
    that reads and writes for them."""
    os.nice(19)
    beside = multiprocessing.get_context("spawn").Process(target=_busy, args=(turn,))
    beside.start()
    sent.value = asyncio.run(attacks(given, port, turn, end))
    beside.join()


def _busy(until: float) -> None:
    """As busy as their computers will be, so that before and during the attack this one is shared alike."""
    while time.monotonic() < until:
        pass


async def honest(given: argparse.Namespace, port: int, turn: float, end: float) -> tuple[Notes, Notes]:
    """The others' notes before and during the attack."""
    calm, attacked = Notes(), Notes()
    students = [InRoom(n, port, calm, given.think) for n in range(given.students - given.hostile)]

    async def change_notes() -> None:
        await asyncio.sleep(turn - time.monotonic())
        for student in students:
            student.notes = attacked

    await asyncio.gather(change_notes(), *(student.study(end) for student in students))
    return calm, attacked


def lesson(given: argparse.Namespace, port: int) -> tuple[Notes, Notes, int]:
    """What the others noted before and during the attack, and how many reruns the hostile ones asked for."""
    apart = multiprocessing.get_context("spawn")
    sent, began = apart.Value("q", 0), time.monotonic()
    turn, end = began + 20 * given.minutes, began + 60 * given.minutes
    attackers = apart.Process(target=_apart, args=(given, port, turn, end, sent))
    attackers.start()
    calm, attacked = asyncio.run(honest(given, port, turn, end))
    attackers.join()
    return calm, attacked, sent.value


def quantiles(notes: Notes, mix: Notes) -> tuple[float, float]:
    """Median and 95th percentile of the reruns, s, each page counting as often as in `mix`: whoever comes begins on
    Explore and walks on, so that before the attack the students were on other pages than during it."""
    weighted = sorted(
        (seconds, len(mix.pages.get(page, ())) / len(seen)) for page, seen in notes.pages.items() for seconds, _ in seen
    )
    reached = list(itertools.accumulate(weight for _, weight in weighted))
    median, most = (weighted[bisect.bisect(reached, q * reached[-1])][0] for q in (0.5, 0.95))
    return median, most


def _of_page(seen: list[tuple[float, int]]) -> str:
    """Reruns of one page, with the median and the 95th percentile, s."""
    times = sorted(seconds for seconds, _ in seen)
    return f"{len(times)} ({statistics.median(times):.1f}, {times[int(0.95 * len(times))]:.1f} s)"


def in_a_network_of_its_own(students: int) -> None:
    """Start this program again where 10.99.0.0/24 is this computer."""
    if os.environ.get("COLLSIM_HOSTILE_LAB"):
        return
    places = [SERVER, *(f"10.99.0.{n + 1}" for n in range(students))]
    lines = " && ".join(["ip link set lo up", *(f"ip addr add {place}/32 dev lo" for place in places)])
    shell = f'{lines} && exec "$@"'
    user = [] if os.geteuid() == 0 else ["-r"]
    command = ["unshare", *user, "-n", "sh", "-c", shell, "sh", sys.executable, *sys.argv]
    raise SystemExit(subprocess.run(command, env={**os.environ, "COLLSIM_HOSTILE_LAB": "1"}, check=False).returncode)


def main() -> None:
    """Run it and say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--hostile", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--think", type=float, default=6.0, help="mean seconds between two things that a student does")
    parser.add_argument("--csv", type=Path, default=ROOT / "build" / "hostile.csv")
    given = parser.parse_args()
    in_a_network_of_its_own(given.students)
    given.csv.parent.mkdir(parents=True, exist_ok=True)
    os.environ["COLLSIM_JOIN_CODE"] = CODE
    with server(given.csv.with_suffix(".log"), "0.0.0.0") as (port, _):
        calm, attacked, sent = lesson(given, port)
    before, during = quantiles(calm, attacked), quantiles(attacked, attacked)
    for phase, notes in (("before", calm), ("during", attacked)):
        of_pages = sorted(notes.pages.items(), key=lambda item: -len(item[1]))
        print(f"{phase}: " + ", ".join(f"{page} {_of_page(seen)}" for page, seen in of_pages))
    of_same = f"median {before[0]:.2f} s, 95 % within {before[1]:.2f} s over the pages as often as during the attack"
    print(f"before: {len(calm.reruns)} reruns, {of_same}")
    print(f"during: {len(attacked.reruns)} reruns, median {during[0]:.2f} s, 95 % within {during[1]:.2f} s")
    print(f"the hostile ones asked for {sent} reruns; others gave up {calm.lost} tabs before, {attacked.lost} during")
    rows = [
        f"{phase},{page},{seconds}\n"
        for phase, notes in (("before", calm), ("during", attacked))
        for page, seen in notes.pages.items()
        for seconds, _ in seen
    ]
    given.csv.write_text("phase,page,seconds\n" + "".join(rows))
    wrong = sorted({*calm.wrong, *attacked.wrong})
    if wrong:
        raise SystemExit("\n".join(wrong[:20]))
    pairs = zip(during, before, strict=True)
    if attacked.lost or any(now > max(MOST_GROWTH * then, then + UNNOTICED) for now, then in pairs):
        raise SystemExit("the others noticed")


if __name__ == "__main__":
    main()
