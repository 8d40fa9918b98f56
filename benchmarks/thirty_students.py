"""Thirty students on one server: open real sessions, walk over pages and controls at random, and watch the server's
memory.

    python benchmarks/thirty_students.py --minutes 15 --students 30 --csv build/students.csv

Each student is a websocket that speaks Streamlit's own messages, so the server does all that it does for a browser: it
runs the script, sends every element, keeps the session. Nothing is cached on the student's side, which is the server's
worst case; drawing, a browser's work, is left out. What is printed by minute: resident memory of the server and of its
workers, the machine's load, reruns and tabs given up; at the end how long reruns took, how much processor time (of the
server and its workers, divided by reruns), and by page where it went (`sampled_server.py`). It ends with an error where
memory still grows at the end, where a page showed an exception, or where the server left processes or temporary files
behind.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

ROOT = Path(__file__).parents[1]
#: Addresses at which students begin, from small to as large as a page allows.
DOORS = (
    "",
    "network=switch&ranks=8&nbytes=1MiB",
    "network=ring&ranks=64&nbytes=64MiB",
    "machine=dgx-a100&nodes=8",
    "machine=dgx-h100&nodes=2&engine=event",
    "network=switch&ranks=256&nbytes=1GiB",
    "machine=dgx-a100&nodes=8&algorithm=allreduce_tree&chunks=64&engine=event",
)
#: Seconds after which a student gives a tab up.
PATIENCE = 90.0
OURS = re.compile("collsim itself|自身出错")


@dataclass
class Notes:
    """What all students saw together: seconds and bytes of each rerun by page, what should not have been there, and
    tabs that were given up."""

    pages: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    lost: int = 0

    @property
    def reruns(self) -> list[float]:
        """Seconds of each rerun, of all pages."""
        return [seconds for seen in self.pages.values() for seconds, _ in seen]


class Student:
    """One tab: its session, the controls that it sees, and what it does next."""

    def __init__(self, number: int, port: int, notes: Notes, think: float):
        self.rng, self.port, self.notes, self.think = random.Random(number), port, notes, think
        self.pages: dict[str, str] = {}
        self.page = ""
        self.query = ""
        self.controls: dict[str, Any] = {}
        self.set: dict[str, WidgetState] = {}
        self.beats: dict[str, float] = {}

    async def study(self, until: float) -> None:
        """Come in the first seconds, look about, now and then close the tab and open another; where the server is too
        slow, too."""
        await asyncio.sleep(self.rng.uniform(0, 5 * self.think))
        while time.monotonic() < until:
            try:
                await self._tab(until)
            except (TimeoutError, websockets.ConnectionClosed):
                self.notes.lost += 1

    async def _tab(self, until: float) -> None:
        """One tab, from its opening to its end."""
        self.query, self.page, self.set, self.controls = self.rng.choice(DOORS), "", {}, {}
        async with self.connection() as tab:
            await self._rerun(tab)
            while time.monotonic() < until and self.rng.random() > 0.02:
                await self._idle(tab, self.rng.uniform(0.3, 1.7) * self.think)
                self._act()
                await self._rerun(tab)

    def connection(self, host: str = "127.0.0.1", cookie: str = "", source: str | None = None) -> Any:
        """A tab, as a browser opens one."""
        return websockets.connect(
            f"ws://{host}:{self.port}/_stcore/stream",
            additional_headers={"Origin": f"http://{host}:{self.port}", "Cookie": cookie},
            subprotocols=[websockets.Subprotocol("streamlit")],
            max_size=None,
            open_timeout=PATIENCE,
            ping_interval=None,
            **({} if source is None else {"local_addr": (source, 0)}),
        )

    def _act(self) -> None:
        """Another page, or another value of a control."""
        if self.pages and self.rng.random() < 0.12:
            self.page, self.query, self.set, self.controls = self.rng.choice(list(self.pages)), "", {}, {}
            return
        if self.controls:
            element = self.rng.choice(list(self.controls.values()))
            state = _turned(element, self.rng)
            if state is not None:
                self.set[state.id] = state

    async def _rerun(self, tab: Any, fragment: str = "") -> None:
        """Ask for a rerun and take in all that comes, to its end."""
        message = BackMsg()
        rerun = message.rerun_script
        rerun.query_string, rerun.page_script_hash, rerun.fragment_id = self.query, self.page, fragment
        rerun.is_auto_rerun = bool(fragment)
        rerun.widget_states.widgets.extend(self.set.values())
        began = time.monotonic()
        await tab.send(message.SerializeToString())
        if not fragment:
            self.beats = {}
        came = 0
        try:
            ended = False
            while not ended:
                raw = await asyncio.wait_for(tab.recv(), 20 if fragment else PATIENCE)
                came, ended = came + len(raw), self._heard(raw)
        except TimeoutError:
            if not fragment:
                raise
            self.beats = {}  # a fragment that is not on the page any more gets no answer
        if not fragment:
            seen = self.notes.pages.setdefault(self.pages.get(self.page, "explore"), [])
            seen.append((time.monotonic() - began, came))
        self.set = {key: state for key, state in self.set.items() if not state.trigger_value}

    async def _idle(self, tab: Any, seconds: float) -> None:
        """Look at the page; fragments that ask to be run again and again are."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(left, *self.beats.values()) if self.beats else left)
            for fragment in list(self.beats)[:1]:
                await self._rerun(tab, fragment)

    def _heard(self, raw: bytes) -> bool:
        """Take one message in; True where it ends a rerun for good."""
        message = ForwardMsg.FromString(raw)
        what = message.WhichOneof("type")
        if what == "navigation":
            names = {page.page_script_hash: page.url_pathname for page in message.navigation.app_pages}
            self.pages = {number: name or "explore" for number, name in names.items()}
            self.page = message.navigation.page_script_hash
        elif what == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif what == "stop_auto_rerun":
            self.beats = {}
        elif what == "auto_rerun":
            self.beats[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif what == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._saw(message.delta.new_element)
        early = what == "script_finished" and message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
        return what in ("script_finished", "stop_auto_rerun") and not early

    def _saw(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.notes.wrong.append(element.exception.message)
        elif kind == "html" and OURS.search(element.html.body):
            self.notes.wrong.append(element.html.body)
        elif kind in _TURNS and not getattr(getattr(element, kind), "disabled", False):
            body = getattr(element, kind)
            self.controls[body.id] = (kind, body)


def _option(body: Any, rng: random.Random, state: WidgetState) -> None:
    if body.options:
        state.string_value = rng.choice(body.options)


def _buttons(body: Any, rng: random.Random, state: WidgetState) -> None:
    if body.options:
        state.string_array_value.data.append(rng.choice(body.options).content)


def _number(body: Any, rng: random.Random, state: WidgetState) -> None:
    least = body.min if body.has_min else 1
    most = body.max if body.has_max else least + 10
    state.double_value = float(rng.choice([least, min(most, least + 3), min(most, 8), min(most, 64), most]))


def _checkbox(body: Any, rng: random.Random, state: WidgetState) -> None:
    state.bool_value = rng.random() < 0.5


def _button(body: Any, rng: random.Random, state: WidgetState) -> None:
    state.trigger_value = True


_TURNS = {
    "selectbox": _option,
    "button_group": _buttons,
    "number_input": _number,
    "checkbox": _checkbox,
    "button": _button,
}


def _turned(control: tuple[str, Any], rng: random.Random) -> WidgetState | None:
    """A control set to something, as the browser would say it."""
    kind, body = control
    state = WidgetState(id=body.id)
    _TURNS[kind](body, rng, state)
    return state if state.WhichOneof("value") else None


@dataclass(frozen=True)
class Row:
    """What was seen at one moment: MiB that the server and its workers held, processes that ran on the machine's
    processors (mean of the last minute), and what had happened so far."""

    seconds: float
    server: float
    workers: float
    load: float
    reruns: int
    lost: int
    wrong: int

    HEAD = "seconds,server_mib,workers_mib,load,reruns,given_up,exceptions"

    def __str__(self) -> str:
        measured = f"{self.seconds:.0f},{self.server:.0f},{self.workers:.0f},{self.load:.1f}"
        return f"{measured},{self.reruns},{self.lost},{self.wrong}"


# ---- the server
# -----------------------------------------------------------------------------------------------------------------


@contextmanager
def server(log: Path, listen: str = "127.0.0.1", spent: Path | None = None) -> Iterator[tuple[int, int]]:
    """A server of our own: its port and its process; at its end `spent` says where its time went. Raises SystemExit
    where it leaves anything behind."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = int(s.getsockname()[1])
    flags = [
        "--server.headless=true",
        "--server.fileWatcherType=none",
        f"--server.address={listen}",
        f"--server.port={port}",
    ]
    plain, sampled = ["-m", "streamlit", "run", "app.py"], ["benchmarks/sampled_server.py", str(spent)]
    command = [sys.executable, *(sampled if spent else plain), *flags]
    with log.open("w") as out, tempfile.TemporaryDirectory() as scratch:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=ROOT, env={**os.environ, "TMPDIR": scratch})
        try:
            end = time.monotonic() + 90
            while not _answers(port):
                if process.poll() is not None or time.monotonic() > end:
                    raise SystemExit(log.read_text())
                time.sleep(0.2)
            yield port, process.pid
        finally:
            workers = family(process.pid)[1:]
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        time.sleep(2.0)
        left = [f"process {worker.pid}" for worker in workers if _megabytes(worker)] + sorted(os.listdir(scratch))
    if left:
        raise SystemExit(f"the server left behind: {', '.join(left)}")


def _answers(port: int) -> bool:
    try:
        return bool(urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).status == 200)
    except OSError:
        return False


def family(pid: int) -> list[psutil.Process]:
    """A process, and all processes under it."""
    server = psutil.Process(pid)
    return [server, *server.children(recursive=True)]


def processor_time(pid: int) -> float:
    """Seconds that a server and its workers have used, those that have ended too."""
    seconds = 0.0
    for process in family(pid):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:  # it counts among its parent's that have ended
            continue
        seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def _megabytes(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / 2**20
    except psutil.NoSuchProcess:
        return 0.0


async def walk(arguments: argparse.Namespace, port: int, pid: int, every: float = 2.0) -> tuple[Notes, list[Row]]:
    """All students at once; what they saw, and a row now and then, which goes to the file at once and to the screen
    every minute."""
    notes, began = Notes(), time.monotonic()
    rows: list[Row] = []

    def look() -> None:
        server, *workers = map(_megabytes, family(pid))
        counts = len(notes.reruns), notes.lost, len(notes.wrong)
        rows.append(Row(time.monotonic() - began, server, sum(workers), os.getloadavg()[0], *counts))

    async def watch() -> None:
        minute = 0
        with arguments.csv.open("w") as file:
            print(Row.HEAD, file=file)
            while True:
                look()
                print(rows[-1], file=file, flush=True)
                if rows[-1].seconds >= 60 * (minute + 1):
                    _minute(rows, minute)
                    minute += 1
                await asyncio.sleep(every)

    watching = asyncio.create_task(watch())
    await asyncio.gather(
        *(
            Student(n, port, notes, arguments.think).study(began + 60 * arguments.minutes)
            for n in range(arguments.students)
        )
    )
    watching.cancel()
    look()
    return notes, rows


def _minute(rows: list[Row], minute: int) -> None:
    """Print what was the most in one minute."""
    mine = [row for row in rows if minute <= row.seconds / 60 < minute + 1]
    memory = f"server {max(r.server for r in mine):5.0f} MiB, workers {max(r.workers for r in mine):5.0f} MiB"
    last = mine[-1]
    seen = f"{last.reruns} reruns, {last.lost} tabs given up, {last.wrong} exceptions so far"
    print(f"minute {minute:3d}: {memory}, load {last.load:4.1f}, {seen}", flush=True)


def growth(rows: list[Row]) -> float:
    """MiB that the server gained from the third quarter of the time to the last one (means)."""
    end = rows[-1].seconds
    third = [row.server for row in rows if 0.5 * end <= row.seconds < 0.75 * end]
    last = [row.server for row in rows if row.seconds >= 0.75 * end]
    return statistics.mean(last) - statistics.mean(third)


def table(notes: Notes, spent: dict[str, Any], all_seconds: float) -> str:
    """Where processor time went: in all, by page, and of each page by what it was at."""
    reruns = len(notes.reruns)
    lines = [f"{all_seconds / reruns:.3f} s of processor time a rerun ({all_seconds:.0f} s in all, workers' included)"]
    lines += ["page: reruns; median s, 95 % within s; KiB; processor s of a rerun's script, and of it in"]
    for page, parts in sorted(spent["pages"].items(), key=lambda item: -sum(item[1].values())):
        mine = notes.pages.get(page, [])
        times = len(mine) or reruns
        seconds, sizes = [sorted(sample[k] for sample in mine) or [0] for k in (0, 1)]
        where = ", ".join(f"{part} {s / times:.3f}" for part, s in sorted(parts.items(), key=lambda i: -i[1])[:7])
        times_of = f"{statistics.median(seconds):6.2f} {seconds[int(0.95 * len(seconds))]:6.2f}"
        seen = f"{len(mine):5d} {times_of} {statistics.median(sizes) / 1024:6.0f}"
        lines.append(f"{page:>16} {seen} {sum(parts.values()) / times:6.3f}  {where}")
    jobs = sorted(spent["jobs"].items(), key=lambda item: -item[1])
    return "\n".join([*lines, "workers: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in jobs)])


def main() -> None:
    """Run it and say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--think", type=float, default=6.0, help="mean seconds between two things that a student does")
    parser.add_argument("--csv", type=Path, default=ROOT / "build" / "students.csv")
    arguments = parser.parse_args()
    arguments.csv.parent.mkdir(parents=True, exist_ok=True)
    spent = arguments.csv.with_suffix(".json")
    with server(arguments.csv.with_suffix(".log"), spent=spent) as (port, pid):
        idle = processor_time(pid)
        notes, rows = asyncio.run(walk(arguments, port, pid))
        seconds = processor_time(pid) - idle
    sampled = json.loads(spent.read_text())
    print(table(notes, sampled, seconds - sampled["own"]))
    times = sorted(notes.reruns)
    print(
        f"{len(times)} reruns, median {statistics.median(times):.2f} s, 95 % within "
        f"{times[int(0.95 * len(times))]:.2f} s"
    )
    print(f"{notes.lost} tabs given up after {PATIENCE:.0f} s")
    print(f"growth from the third quarter to the last: {growth(rows):.0f} MiB")
    if notes.wrong:
        raise SystemExit("\n".join(sorted(set(notes.wrong))[:20]))
    if growth(rows) > 60:
        raise SystemExit("memory still grows")


if __name__ == "__main__":
    main()
