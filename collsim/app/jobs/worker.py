"""A worker: a process that computes for the app, one thing after another, and reports its progress.

It reads pickles `(function, arguments)` from its standard input, calls `function(*arguments)`, and
writes pickles to its standard output: `("progress", stage, share)` as it goes, some with a part of the result behind
them, then `("done", pickled result)`,
`("refused", CollsimError)` or `("failed", sentence)`. Both ends are ours, so pickle is safe here. Whoever wants it to
stop kills it; when its input ends, it ends by itself.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import queue
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO

from collsim.errors import CollsimError

from .job_spec import hear_progress, report_progress

#: How a computation ended (`done`, `refused`, `failed` or `died`), and what came of it.
Answer = tuple[str, Any]


def compile_engine() -> None:
    """Compile the event engine and the flows of the bounds, or load what an earlier process compiled."""
    import collsim as cs
    import collsim.maxflow.kernels  # compiles, as the engine below does

    report_progress("compile", 0.0)
    network = cs.topology.switch(3)
    schedule = cs.schedule("allreduce_ring", topology=network)
    for shortcuts in (True, False):  # 1,000 bytes do not divide by three, so symmetry cannot answer
        cs.simulate(schedule, network, 1_000, engine="event", shortcuts=shortcuts)


def main(folder: str, queue_name: str = "long") -> None:
    """Serve until the input ends.

    Args:
        folder: for temporary files; it is removed with the process.
        queue_name: the queue whose computations it does.
    """
    tempfile.tempdir = folder
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints belongs in the log, not between the pickles
    # processes that this one forks close it, and must not close the real one
    sys.stdin = open(os.devnull)  # noqa: SIM115
    if hasattr(os, "nice") and queue_name != "exclusive":  # what measures this computer would measure its own priority
        os.nice(10)  # a class that clicks about goes first
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    reader = threading.Thread(target=_read_requests, args=(requests, waiting, folder), daemon=True)
    reader.start()
    progress = hear_progress(lambda *values: _write(answers, ("progress", *values)))
    with contextlib.suppress(BrokenPipeError), progress:  # nobody listens any longer
        while True:
            _write(answers, answer(*waiting.get()))
    reader.join()  # its input ends as well: it tidies up and ends the process


def _read_requests(requests: BinaryIO, waiting: queue.SimpleQueue[object], folder: str) -> None:
    try:
        while True:
            waiting.put(pickle.load(requests))
    except EOFError:
        pass
    except Exception:  # nobody must wait without end for a request that cannot be read
        logging.getLogger(__name__).exception("a request could not be read")
    remove_folder(folder)  # nobody else will, where the server was killed
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)  # with the processes of a sweep
    os._exit(0)


def remove_folder(folder: str) -> None:
    """Remove a folder in which a process that is about to end may still be writing, for 2 s at most.

    Args:
        folder: May be gone already.
    """
    until = time.monotonic() + 2.0
    while os.path.isdir(folder):
        shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() > until:
            break
        time.sleep(0.01)


def _write(answers: BinaryIO, message: tuple[object, ...]) -> None:
    pickle.dump(message, answers)
    answers.flush()


def answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Answer:
    """Return the answer to one request.

    Args:
        function: Takes the arguments.
        arguments: Of the request, unpickled.

    Returns:
        "done" and the pickled result, "refused" and the error to show, or "failed" and a line about an unexpected
            error.
    """
    try:
        return "done", pickle.dumps(function(*arguments), pickle.HIGHEST_PROTOCOL)
    except CollsimError as error:
        return "refused", error
    except Exception as error:  # the page shows it, the log has the whole of it
        logging.getLogger(__name__).exception("%s failed", getattr(function, "__qualname__", function))
        return "failed", f"{type(error).__name__}: {error}"
