"""Thirty students on one server, three of them hostile: does anybody else notice?

    python benchmarks/hostile_students.py --minutes 10 --csv build/hostile.csv

The server is open to a room, as `collsim app --class` makes it, on a network of its own inside this computer (a Linux
network namespace), where every student has an address. For the first third of the time the hostile ones behave as
others do; then they attack, each in all of these ways at once, with as many pages as the server gives them: code on the
Write page that computes without end, takes memory, starts processes; the dearest addresses, damaged ones; reruns
without a pause; messages that no page sends (clear the caches, a million names of files); connections opened and
dropped, heads without end, floods of pings and of frames of one byte; uploads that are too long or belong to no page;
wrong join codes without a pause; as many classes of their own as they can open, with images of another host in their
question.

A teacher leads a class meanwhile, with a question and a vote. What is printed: how long the others' reruns took before
and during the attack, tabs that they gave up, what they saw that should not have been there, and how much memory the
server took. It ends with an error where an honest student lost a page or saw an exception; where the median or the 95th
percentile grew by more than is allowed, each page counting as often before as during it; where the class lost its
question or its vote; where, during the attack, no other teacher can open a class, the right code is refused behind an
address that tries wrong ones, or an image of another host reaches a student; or where the server grew by more than
1 GiB.
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

import psutil
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from thirty_students import ROOT, Notes, Student, server

CODE, SERVER = "bcdfghjk", "10.99.0.200"
#: Addresses of the teacher whose class is attacked, of one who opens a class during the attack, and of their student.
TEACHER, SECOND_TEACHER, VOTER = "10.99.0.201", "10.99.0.202", "10.99.0.203"
#: What a hostile teacher writes as a choice: an image that would ask another host.
IMAGE = "![x](http://10.99.0.250/spy.png)"
#: MiB by which the server may grow during the attack.
MAX_MEMORY = 1024
#: The others' median and 95th percentile may grow by so much: three more clients of thirty take a tenth of the turns.
#: A growth in seconds that nobody notices after a click is none, however short the time was before (Dabrowski and
#: Munson, "Is 100 milliseconds too fast?", CHI 2001: 0.15 s after a key, 0.195 s after the mouse; who is asked to watch
#: for a delay sees less: Forch et al., CHI 2017, 34 to 137 ms).
MAX_GROWTH, UNNOTICED = 1.5, 0.15
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


def join_class(port: int, address: str) -> str:
    """The cookie of a client that has given the join code."""
    link = http.client.HTTPConnection(SERVER, port, timeout=30, source_address=(address, 0))
    link.request("GET", f"/?join={CODE}", headers={"Accept": "text/html"})
    cookie = link.getresponse().getheader("Set-Cookie")
    link.close()
    assert cookie, "the join code was not taken"
    return cookie.split(";")[0]


class InRoom(Student):
    """A student with an address and a cookie of their own."""

    def __init__(self, number: int, port: int, notes: Notes, think: float, address: str = "", cookie: str = ""):
        super().__init__(number, port, notes, think)
        self.address = address or f"10.99.0.{number + 1}"
        self.cookie = cookie or join_class(port, self.address)

    def connection(self, host: str = SERVER, cookie: str = "", source: str | None = None) -> Any:
        """A page, as the room's browsers open one."""
        return super().connection(host, cookie or self.cookie, source or self.address)


class Member(InRoom):
    """A teacher or a student of a class, who uses controls by their keys.

    Attributes:
        html: of the page as it is now.
        labels: of its controls, which are Markdown.
    """

    def __init__(self, port: int, address: str, notes: Notes, cookie: str = ""):
        super().__init__(0, port, notes, 1.0, address, cookie)
        self.html, self.labels = "", ""
        self._ids: dict[str, str] = {}

    def _saw(self, element: Any) -> None:
        super()._saw(element)
        kind = element.WhichOneof("type")
        body = getattr(element, kind)
        self.html += body.body if kind == "html" else ""
        self.labels += f"{getattr(body, 'label', '')}\n"
        if getattr(body, "id", ""):
            self._ids[body.id.rpartition("-")[2]] = body.id

    async def open(self, tab: Any, query: str, page: str = "") -> None:
        """Open an address."""
        self.query, self.set, self.page = query, {}, next((k for k, name in self.pages.items() if name == page), "")
        await self._look(tab)

    async def use(self, tab: Any, **values: str | None) -> None:
        """Set controls, by their keys, to texts; press those of None."""
        for key, value in values.items():
            state = WidgetState(id=self._ids[key])
            if value is None:
                state.trigger_value = True
            else:
                state.string_value = value
            self.set[state.id] = state
        await self._look(tab)

    async def _look(self, tab: Any) -> None:
        self.html, self.labels, self._ids = "", "", {}
        await self._rerun(tab)

    async def vote(self, tab: Any) -> None:
        """Give the first answer."""
        await self.use(tab, **{next(key for key in self._ids if key.startswith("vote_") and key.endswith("_0")): None})

    async def open_class(self, tab: Any) -> str:
        """Open a class; its code with the key, or an empty text where that is refused."""
        await self.open(tab, "ask=0")
        await self.use(tab, ask_class=None)
        code, _, _ = self.query.partition("class=")[2].partition("&")
        return code


class Hostile:
    """One who attacks from one address, in every way at once, until it is over."""

    def __init__(self, who: InRoom, until: float):
        self.who, self.until, self.rng, self.sent = who, until, random.Random(who.address), 0

    async def attack(self) -> None:
        """All ways at once; a refusal ends none of them."""
        acts = (self._code, self._address, self._storm, self._messages, self._frames, self._classes)
        pages = [self._pages(act) for act in acts for _ in range(2)]
        rest = (self._connections(), self._heads(), self._requests(), self._wrong_codes())
        await asyncio.gather(*(page() for page in pages), *rest)

    def _pages(self, act: Any) -> Any:
        async def repeat_forever() -> None:
            while time.monotonic() < self.until:
                try:
                    async with self.who.connection() as tab:
                        await asyncio.wait_for(act(tab), 30)
                except (OSError, TimeoutError, LookupError, websockets.WebSocketException):
                    await asyncio.sleep(0.2)

        return repeat_forever

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
            buttons = [label for kind, label in student.controls.values() if kind == "button"]
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

    async def _messages(self, tab: Any) -> None:
        """Messages that no page sends, and one that asks for a million addresses of files."""
        for name in ("clear_cache", "load_git_info", "debug_disconnect_websocket", "debug_shutdown_runtime"):
            await tab.send(BackMsg(**{name: True}).SerializeToString())
        message = BackMsg()
        message.file_urls_request.file_names.extend(["a"] * 1_000_000)
        await tab.send(message.SerializeToString())
        await tab.recv()

    async def _frames(self, tab: Any) -> None:
        """A flood of pings, then a message of frames of one byte."""
        for flood in (b"\x89\x80\0\0\0\0" * 40_000, b"\x02\x81\0\0\0\0x" + b"\x00\x81\0\0\0\0x" * 100_000):
            tab.transport.write(flood)
            await asyncio.sleep(0.5)
        await tab.recv()

    async def _classes(self, tab: Any) -> None:
        """As many classes as they can open."""
        teacher = Member(self.who.port, self.who.address, self.who.notes, self.who.cookie)
        await teacher.open(tab, "")
        while time.monotonic() < self.until:
            await teacher.open_class(tab)

    async def _heads(self) -> None:
        """Heads of requests without end."""
        while time.monotonic() < self.until:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection(SERVER, self.who.port, local_addr=(self.who.address, 0))
                writer.write(b"GET /")
                while time.monotonic() < self.until:
                    writer.write(b"a" * 2**16)
                    await writer.drain()
            await asyncio.sleep(0.2)

    async def _wrong_codes(self) -> None:
        """Wrong join codes from one browser that keeps its cookie, as somebody makes who has misread the code."""
        cookie = ""
        while time.monotonic() < self.until:
            code = self.rng.randrange(10**8)
            new_cookie = await asyncio.to_thread(self._request, "GET", f"/?join={code}", b"", cookie)
            cookie = new_cookie or cookie
            await asyncio.sleep(0.2)

    async def _connections(self) -> None:
        """Open and drop."""
        while time.monotonic() < self.until:
            tabs = await asyncio.gather(*(self.who.connection() for _ in range(20)), return_exceptions=True)
            for tab in tabs:
                if not isinstance(tab, BaseException):
                    tab.transport.abort()
            await asyncio.sleep(0.5)

    async def _requests(self) -> None:
        """Uploads that are too long or belong to no page, and long addresses."""
        while time.monotonic() < self.until:
            for method, path, body in (
                ("PUT", "/_stcore/upload_file/a/b", b"x" * 3_000_000),
                ("PUT", "/_stcore/upload_file/a/b", b"x" * 1_900_000),
                ("GET", "/" + "a" * 60_000, b""),
            ):
                await asyncio.to_thread(self._request, method, path, body, self.who.cookie)
            await asyncio.sleep(0.2)

    def _request(self, method: str, path: str, body: bytes, cookie: str) -> str:
        """The cookie that the answer sets."""
        link = http.client.HTTPConnection(SERVER, self.who.port, timeout=10, source_address=(self.who.address, 0))
        try:
            link.request(method, path, body, {"Accept": "text/html", "Cookie": cookie})
            answer = link.getresponse()
            answer.read()
            return (answer.getheader("Set-Cookie") or "").split(";")[0]
        except (OSError, http.client.HTTPException):
            return ""  # refused, as it should be
        finally:
            link.close()


async def attacks(arguments: argparse.Namespace, port: int, turn: float, end: float) -> int:
    """The hostile ones' part of the lesson: they behave until `turn`; how many reruns they asked for."""
    seen = Notes()
    guises = [InRoom(arguments.students - n - 1, port, seen, arguments.think) for n in range(arguments.hostile)]
    hostile = [Hostile(guise, end) for guise in guises]

    async def turn_hostile(guise: InRoom, attacker: Hostile) -> None:
        await guise.study(turn)
        with contextlib.suppress(TimeoutError):  # what still waits for its turn at the end gets none
            await asyncio.wait_for(attacker.attack(), end - time.monotonic() + 1)

    await asyncio.gather(*map(turn_hostile, guises, hostile))
    return sum(attacker.sent for attacker in hostile)


def _run_separate(arguments: argparse.Namespace, port: int, turn: float, end: float, sent: Any) -> None:
    """The same in a process of its own, last in the row for the processor: in a room it is somebody else's computer
    that reads and writes for them."""
    os.nice(19)
    beside = multiprocessing.get_context("spawn").Process(target=_keep_busy, args=(turn,))
    beside.start()
    sent.value = asyncio.run(attacks(arguments, port, turn, end))
    beside.join()


def _keep_busy(until: float) -> None:
    """As busy as their computers will be, so that before and during the attack this one is shared alike."""
    while time.monotonic() < until:
        pass


async def lead_class(port: int, attackers: list[str], turn: float, end: float) -> list[str]:
    """Lead a class from before the attack to its end, and open another one during it; what went wrong."""
    faults, notes = [], Notes()
    teacher, voter = Member(port, TEACHER, notes), Member(port, VOTER, notes)
    async with teacher.connection() as desk, voter.connection() as seat:
        await teacher.open(desk, "")
        code = await teacher.open_class(desk)
        query = teacher.query
        await voter.open(seat, "")
        await voter.open(seat, f"class={code[:4]}", "class")
        await voter.vote(seat)
        during, late = turn + 0.4 * (end - turn), turn + 0.8 * (end - turn)
        await asyncio.gather(
            *(who._idle(tab, during - time.monotonic()) for who, tab in ((teacher, desk), (voter, seat)))
        )
        second = Member(port, SECOND_TEACHER, notes)
        async with second.connection() as second_desk:
            await second.open(second_desk, "")
            if second_code := await second.open_class(second_desk):
                question = {"own_question_text": IMAGE, "own_question_lines": f"*{IMAGE}\nno"}
                await second.use(second_desk, own_question_ask=None, **question)
                await voter.open(seat, f"class={second_code[:4]}", "class")
                if "spy" not in voter.labels:
                    faults.append("a teacher's own question does not reach the class during the attack")
                if IMAGE in teacher.labels + voter.labels:
                    faults.append("an image of another host reaches a student")
            else:
                faults.append("no other teacher can open a class during the attack")
        for address in attackers:
            if not await asyncio.to_thread(_can_join, port, address):
                faults.append(f"the right code is refused behind {address}, which tries wrong ones")
        await asyncio.gather(
            *(who._idle(tab, late - time.monotonic()) for who, tab in ((teacher, desk), (voter, seat)))
        )
        await teacher.open(desk, query)
        if 'data-votes="1"' not in teacher.html:
            faults.append("the class lost its question or its vote")
    return faults + notes.wrong


def _can_join(port: int, address: str) -> bool:
    """Whether the right code is taken within ten seconds."""
    for _ in range(10):
        try:
            return bool(join_class(port, address))
        except (AssertionError, OSError):
            time.sleep(1.0)
    return False


async def watch_memory(pid: int, turn: float) -> float:
    """MiB by which the server is larger at its largest than when the attack begins; ends when it is cancelled."""
    before, most = 0.0, 0.0
    with contextlib.suppress(asyncio.CancelledError):
        while True:
            now = psutil.Process(pid).memory_info().rss / 2**20
            before, most = (now, now) if time.monotonic() < turn else (before, max(most, now))
            await asyncio.sleep(0.5)
    return most - before


async def run_honest(
    arguments: argparse.Namespace, port: int, pid: int, turn: float, end: float
) -> tuple[Notes, Notes, list[str]]:
    """The others' notes before and during the attack, and what went wrong with the class."""
    calm, attacked = Notes(), Notes()
    attackers = [f"10.99.0.{arguments.students - number}" for number in range(arguments.hostile)]
    memory = asyncio.create_task(watch_memory(pid, turn))
    students = [InRoom(n, port, calm, arguments.think) for n in range(arguments.students - arguments.hostile)]

    async def change_notes() -> None:
        await asyncio.sleep(turn - time.monotonic())
        for student in students:
            student.notes = attacked

    faults, *_ = await asyncio.gather(
        lead_class(port, attackers, turn, end), change_notes(), *(student.study(end) for student in students)
    )
    memory.cancel()
    growth = await memory
    print(f"the server grew by {growth:.0f} MiB during the attack")
    if growth > MAX_MEMORY:
        faults.append(f"the server grew by more than {MAX_MEMORY} MiB")
    return calm, attacked, faults


def run_lesson(arguments: argparse.Namespace, port: int, pid: int) -> tuple[Notes, Notes, list[str], int]:
    """What the others noted before and during the attack, what went wrong with the class, and how many reruns the
    hostile ones asked for."""
    apart = multiprocessing.get_context("spawn")
    sent, began = apart.Value("q", 0), time.monotonic()
    turn, end = began + 20 * arguments.minutes, began + 60 * arguments.minutes
    attackers = apart.Process(target=_run_separate, args=(arguments, port, turn, end, sent))
    attackers.start()
    calm, attacked, faults = asyncio.run(run_honest(arguments, port, pid, turn, end))
    attackers.join()
    return calm, attacked, faults, sent.value


def compute_quantiles(notes: Notes, mix: Notes) -> tuple[float, float]:
    """Median and 95th percentile of the reruns, s, each page counting as often as in `mix`: whoever comes begins on
    Explore and walks on, so that before the attack the students were on other pages than during it."""
    weighted = sorted(
        (seconds, len(mix.pages.get(page, ())) / len(seen)) for page, seen in notes.pages.items() for seconds, _ in seen
    )
    reached = list(itertools.accumulate(weight for _, weight in weighted))
    median, most = (weighted[bisect.bisect(reached, q * reached[-1])][0] for q in (0.5, 0.95))
    return median, most


def _find_page_controls(seen: list[tuple[float, int]]) -> str:
    """Reruns of one page, with the median and the 95th percentile, s."""
    times = sorted(seconds for seconds, _ in seen)
    return f"{len(times)} ({statistics.median(times):.1f}, {times[int(0.95 * len(times))]:.1f} s)"


def run_in_own_network(students: int) -> None:
    """Start this program again where 10.99.0.0/24 is this computer."""
    if os.environ.get("COLLSIM_HOSTILE_LAB"):
        return
    places = [SERVER, TEACHER, SECOND_TEACHER, VOTER, *(f"10.99.0.{n + 1}" for n in range(students))]
    lines = " && ".join(["ip link set lo up", *(f"ip addr add {address}/32 dev lo" for address in places)])
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
    arguments = parser.parse_args()
    run_in_own_network(arguments.students)
    arguments.csv.parent.mkdir(parents=True, exist_ok=True)
    os.environ["COLLSIM_JOIN_CODE"] = CODE
    with server(arguments.csv.with_suffix(".log"), "0.0.0.0") as (port, pid):
        calm, attacked, faults, sent = run_lesson(arguments, port, pid)
    before, during = compute_quantiles(calm, attacked), compute_quantiles(attacked, attacked)
    for phase, notes in (("before", calm), ("during", attacked)):
        of_pages = sorted(notes.pages.items(), key=lambda item: -len(item[1]))
        print(f"{phase}: " + ", ".join(f"{page} {_find_page_controls(seen)}" for page, seen in of_pages))
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
    arguments.csv.write_text("phase,page,seconds\n" + "".join(rows))
    wrong = sorted({*calm.wrong, *attacked.wrong, *faults})
    if wrong:
        raise SystemExit("\n".join(wrong[:20]))
    pairs = zip(during, before, strict=True)
    if attacked.lost or any(now > max(MAX_GROWTH * then, then + UNNOTICED) for now, then in pairs):
        raise SystemExit("the others noticed")


if __name__ == "__main__":
    main()
