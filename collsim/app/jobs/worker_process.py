"""The process of a worker, as the server sees it."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from .computation import QueueName
from .worker import Answer, remove_folder

_ROOT = str(Path(__file__).resolve().parents[3])
_START = f"import sys; sys.path.insert(0, {_ROOT!r}); from collsim.app.jobs.worker import main; main(*sys.argv[1:])"


class WorkerProcess:
    """A process that computes, and the folder for its temporary files, which is removed with it.

    Args:
        queue: the computations that it does.
    """

    def __init__(self, queue: QueueName = "long") -> None:
        self.folder = tempfile.mkdtemp(prefix="collsim-work-")
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, self.folder, queue],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "TMPDIR": self.folder},
            start_new_session=True,
        )

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def compute(
        self,
        function: Callable[..., object],
        arguments: tuple[object, ...],
        report_progress: Callable[..., None],
    ) -> Answer:
        """Return the answer to one request, however it ends.

        Args:
            function: of a module that the process can import; takes `report_progress` besides.
            arguments: of the function.
            report_progress: is called with the stage and the share of the work that is done, and with what there is of
                the result so far where the function says it.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            pickle.dump((function, arguments), self.process.stdin)
            self.process.stdin.flush()
            while True:
                kind, *values = pickle.load(self.process.stdout)
                if kind != "progress":
                    return kind, values[0]
                report_progress(*values)
        except (EOFError, OSError, pickle.UnpicklingError):
            return "died", None

    def kill(self) -> None:
        """End it at once, with the processes that it may have started."""
        try:
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        except ProcessLookupError:
            pass
        self.process.wait()
        remove_folder(self.folder)
