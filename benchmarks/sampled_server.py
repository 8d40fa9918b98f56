"""The app's server, which says at its end where its processor time went.

    python benchmarks/sampled_server.py times.json --server.port=8501

A hundred times a second it looks at every thread of its own: the processor time that the thread has used since the last
look counts for the page that it draws, and there for what it is at: the innermost room of collsim or library on its
stack. What a worker uses counts for the function that it computes. At the end all of it goes into the file, in seconds,
with what the looking itself took.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import psutil

LOOK = 0.01
#: What is no page: the thread that talks to all browsers, all other threads, and what a rerun does before its page.
LOOP, OTHER, BEFORE = "(messages)", "(other threads)", "(before a page)"


class Sampler(threading.Thread):
    """Looks at all threads until it is stopped.

    Attributes:
        seconds: of processor time, by page and by what it was at; stacks: the same by whole stacks.
        jobs: seconds of workers, by function. own: seconds of the looking itself.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True, name="sampler")
        self.seconds: Counter[tuple[str, str]] = Counter()
        self.stacks: Counter[tuple[str, str]] = Counter()
        self.jobs: Counter[str] = Counter()
        self.own = 0.0
        self._used: dict[int, float] = {}
        self._end = threading.Event()

    def run(self) -> None:
        while not self._end.wait(LOOK):
            self._threads()
            self._workers()
            self.own = time.thread_time()

    def write(self, path: Path) -> None:
        """Stop, and write what was seen."""
        self._end.set()
        self.join()
        pages: dict[str, dict[str, float]] = {}
        for (page, position), spent in self.seconds.items():
            pages.setdefault(page, {})[position] = spent
        stacks = [[page, stack, spent] for (page, stack), spent in self.stacks.most_common(20_000)]
        record = {"pages": pages, "jobs": dict(self.jobs), "own": self.own, "stacks": stacks}
        path.write_text(json.dumps(record, indent=1))

    def _threads(self) -> None:
        frames = sys._current_frames()
        for thread in threading.enumerate():
            number = thread.ident
            if thread is self or number is None or number not in frames:
                continue
            try:
                used = time.clock_gettime(time.pthread_getcpuclockid(number))
            except OSError:  # it has just ended
                continue
            spent = used - self._used.get(number, 0.0)
            self._used[number] = used
            stack = list(_walk_outwards(frames[number]))
            page = _find_page(thread, stack)
            # the number of a thread that ended is given again, to one whose clock begins at nought
            spent = used if spent < 0 else spent
            self.seconds[page, _locate(stack)] += spent
            self.stacks[page, ";".join(map(_name, reversed(stack)))] += spent

    def _workers(self) -> None:
        module = sys.modules.get("collsim.app.jobs.worker_pool")
        create = getattr(module, "_create_worker_pool", None)  # not while the module is being imported
        if module is None or create is None or not create.cache_info().currsize:
            return
        for job in list(module.get_worker_pool()._jobs.values()):
            if (worker := job.worker) is not None:
                used = _with_children(worker.process.pid)
                self.jobs[job.function.__qualname__] += max(0.0, used - self._used.get(-worker.process.pid, 0.0))
                self._used[-worker.process.pid] = used


def _walk_outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _find_page(thread: threading.Thread, stack: list[FrameType]) -> str:
    """The page that a thread draws, as `collsim.app.main` names it."""
    if thread is threading.main_thread():
        return LOOP
    if not hasattr(thread, "streamlit_script_run_ctx"):
        return OTHER
    whole = (frame for frame in stack if frame.f_code.co_name == "whole")
    return next((str(frame.f_locals["page"].name) for frame in whole), BEFORE)


def _locate(stack: list[FrameType]) -> str:
    """The innermost of a stack that is collsim's or a library's; the rest is Python's own."""
    return next((room for frame in stack if (room := _find_package(frame.f_globals.get("__name__", "")))), "python")


def _find_package(module: str) -> str:
    """`collsim.viz.timeline` for a module in it, `pandas` for one of pandas, nothing for one of Python's."""
    first = module.partition(".")[0]
    if first == "collsim":
        return ".".join(module.split(".")[:4])
    return "" if first in sys.stdlib_module_names or first == __name__ else first


def _name(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__', '')}:{frame.f_code.co_name}"


def _with_children(pid: int) -> float:
    """Seconds that a process and those it started have used."""
    total = 0.0
    try:
        for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
            total += sum(process.cpu_times()[:2])
    except psutil.NoSuchProcess:
        pass
    return total


def main() -> None:
    """Serve until told to end."""
    from streamlit.web import cli

    path, *flags = sys.argv[1:]
    sys.argv = ["streamlit", "run", "app.py", *flags]
    sampler = Sampler()
    sampler.start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the server hands its signal on when it has closed
    try:
        cli.main()
    finally:
        sampler.write(Path(path))


if __name__ == "__main__":
    main()
