"""What the server must know of a function before it computes: how long it takes, and where it may run. Nothing here
knows Streamlit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar


class ReportProgress(Protocol):
    """Is called with the stage, the share of the work that is done, and what there is of the result so far."""

    def __call__(self, stage: str, share: float, partial: object = None, /) -> None: ...


#: Who hears of progress in this process: in a worker the server, on the spot nobody.
_listeners: list[ReportProgress] = []


def report_progress(stage: str, share: float, partial: object = None) -> None:
    """Say how far the function is that this process computes.

    Args:
        stage: Name of what is being done.
        share: The share that is done, 0 to 1.
        partial: What is known so far, or None.
    """
    for listener in _listeners:
        listener(stage, share, partial)


def is_progress_heard() -> bool:
    """Whether anybody waits for what a function says of its progress, and may see a part of its result."""
    return bool(_listeners)


@contextmanager
def hear_progress(listener: ReportProgress) -> Iterator[None]:
    """Let a listener hear of the progress of all that this process computes meanwhile.

    Args:
        listener: Called with the arguments of `report_progress`.
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


FunctionT = TypeVar("FunctionT", bound=Callable[..., object])


@dataclass(frozen=True)
class JobSpec:
    """How a function is run for a page.

    Attributes:
        expected: Seconds that it should take, from the same arguments; 0 where nobody can know. It raises CollsimError
            for what is seen to be impossible before anything is computed.
        compiled: Whether it needs the event engine, from the same arguments.
        in_worker: Always by a worker, however quick: what a stranger wrote must be stoppable.
        exclusive: By a worker, and never two at a time: it measures this computer.
    """

    expected: Callable[..., float]
    compiled: Callable[..., bool]
    in_worker: bool
    exclusive: bool


_SPECS: dict[Callable[..., object], JobSpec] = {}


def job(
    expected: Callable[..., float],
    compiled: Callable[..., bool] = lambda *_: False,
    in_worker: bool = False,
    exclusive: bool = False,
) -> Callable[[FunctionT], FunctionT]:
    """Decorate a function that pages compute with (`shell.results`); arguments are the attributes of `JobSpec`.

    The function belongs to a module that knows no Streamlit, may call `report_progress`, and raises CollsimError for
    what cannot be.

    Args:
        expected: Seconds that it should take.
        compiled: Whether it needs the event engine.
        in_worker: Whether only a worker runs it.
        exclusive: Whether it measures this computer.
    """

    def register(function: FunctionT) -> FunctionT:
        _SPECS[function] = JobSpec(expected, compiled, in_worker, exclusive)
        return function

    return register


def get_job_spec(function: Callable[..., object]) -> JobSpec:
    """How a function is run, as `job` was told."""
    return _SPECS[function]


def is_compiled(*_arguments: object) -> bool:
    """Of a function that always needs the event engine."""
    return True


def has_no_estimate(*_arguments: object) -> float:
    """Of a function of which nobody knows how long it takes, such as one that runs a stranger's code."""
    return 0.0
