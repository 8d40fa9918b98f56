"""In the sandbox: execute a rank program in all modes, and answer with what each execution left and no verdict."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType

import numpy as np

from ..errors import CollsimError
from .frames import Kind, build_frame
from .handins import File, find_program
from .learner_tables import DeadlinePassed, Send, build_failure

_COLLECTED = 1_000_000  # new objects after which the garbage collector runs


@dataclass(frozen=True)
class ProgramRequest:
    """How a rank program is started (see `collsim.rank_engine.start.build_plan`).

    Attributes:
        ranks: how many ranks run it.
        entry: the function that every rank calls; None: found by its name.
        collective: what it should do, or None.
        nbytes: bytes of each rank's array.
        limit: messages up to so many bytes are buffered; -1: none.
        arguments: more arguments of the entry, by name.
    """

    ranks: int
    entry: str | None
    collective: str | None
    nbytes: int
    limit: float
    arguments: Mapping[str, object] = field(default_factory=dict)


def send_executions(source: str, request: ProgramRequest, send: Send) -> None:
    """Execute a program and send a frame with what came of it, or with why it could not be executed.

    Args:
        source: the program.
        request: how it is started.
        send: takes a frame.
    """
    # a process that runs no rank program starts without these
    from ..rank_engine.engine import Stop
    from ..rank_engine.execute import execute
    from ..rank_engine.modes import execute_modes
    from ..rank_engine.provenance import find_provenance
    from ..rank_engine.record import pack_executions, share_arrays
    from ..rank_engine.start import build_plan

    # Posts and ranks refer to one another; the collector would look at tens of thousands of them again and again, for
    # a third of the time of a run, and finds little: this process ends with the program.
    gc.freeze()
    gc.set_threshold(_COLLECTED)
    arrays: dict[bytes, np.ndarray] = {}
    _stop_at_signal()
    try:
        plan = build_plan(source, request.ranks, request.entry, request.collective, request.nbytes, request.arguments)
        executions = execute_modes(lambda mode, keeps: share_arrays(execute(plan, mode, keeps), arrays), request.limit)
        if request.collective is not None and not (executions[0].hangs or executions[0].errors):
            executions[0] = replace(executions[0], provenance=find_provenance(plan, executions[0]))
        send(build_frame(Kind.EXECUTIONS, (), pack_executions(executions)))
    except DeadlinePassed:
        raise
    except Stop:  # a signal came where no rank ran
        error = CollsimError("the program takes too long; fewer ranks or smaller messages take less time")
        send(build_failure(request.ranks, error))
    except BaseException as error:
        send(build_failure(request.ranks, error))


def _stop_at_signal() -> None:
    """Stop the rank whose turn it is at the signal of the process outside, which ends this one a little later."""
    from ..rank_engine.engine import Stop

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stop

    if hasattr(signal, "SIGXCPU") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGXCPU, stop)


def send_answer(file: File, exercise: str, request: ProgramRequest, ranks: Sequence[int], send: Send) -> None:
    """Execute the program that answers an exercise with several numbers of ranks.

    Args:
        file: one that answers the exercise.
        exercise: its name.
        request: how it is started.
        ranks: the numbers of ranks, in the order of the frames.
        send: takes a frame for each of them.
    """
    try:
        source, entry = find_program(file, exercise)
    except BaseException as error:
        send(build_failure(request.ranks, error))
        return
    for count in ranks:
        send_executions(source, replace(request, ranks=count, entry=entry), send)
