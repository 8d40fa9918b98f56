"""Which schedules may be ranked: each content is verified once, and the result is cached.

Whoever orders runs by time (`compare`, `best`, `sweep`, `crossover`, the app's pages ...) asks here first, because a
schedule that does less than its collective promises is faster than any that does it. Schedules of the package's own
algorithms are not verified again: its tests hold them to their promise, and verifying moves every transfer, which takes
far longer than timing the patterns of a large schedule. All others are: functions of a notebook or a file, those of
other packages, imported schedules. The key is the content, not the name, so that a function which is defined anew is
verified anew, and a schedule that is built again is not.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from copy import copy
from hashlib import blake2b

from .errors import CollsimError, ScheduleError, Sentence
from .registry import is_made_by_package
from .schedule import Schedule
from .steps import COLUMNS
from .verify import verify

#: Transfers up to which a schedule of a user is verified before it is ranked (docs/performance.md has the seconds).
MAX_TRANSFERS = 2**26
_MAX_RESULTS = 4096  # contents
_results: OrderedDict[bytes, ScheduleError | None] = OrderedDict()
_lock = threading.Lock()


class UnverifiedError(CollsimError):
    """A schedule too large to be verified: nobody knows whether it is right."""


def require_right(schedule: Schedule) -> None:
    """Raise where a schedule may not be ranked among others.

    Args:
        schedule: one that is about to be timed for a comparison.

    Raises:
        ScheduleError: where it does not do what its collective promises; the sentence of `verify`.
        UnverifiedError: where it is no algorithm of the package and too large to be verified.
    """
    if is_made_by_package(schedule):
        return
    if len(schedule) > MAX_TRANSFERS:
        message = (
            "{label} has {transfers:,} transfers and was not verified: a schedule of your own is ranked only once it "
            "is known to be right, which takes too long beyond {most:,}; use fewer ranks, chunks or channels"
        )
        raise UnverifiedError(message, label=schedule.label, transfers=len(schedule), most=MAX_TRANSFERS)
    if (fault := _verify_once(schedule)) is not None:
        raise copy(fault)  # the cached one must not collect tracebacks


def find_fault(schedule: Schedule) -> Sentence | None:
    """Why a schedule may not be ranked, in a sentence; None where it may. See `require_right`.

    Args:
        schedule: From anywhere.
    """
    try:
        require_right(schedule)
    except CollsimError as error:
        return error.sentence
    return None


def _verify_once(schedule: Schedule) -> ScheduleError | None:
    """What `verify` raises for this content; from the cache where the same was verified before."""
    key = digest_schedule(schedule)
    with _lock:
        if key in _results:
            _results.move_to_end(key)
            return _results[key]
    fault = None
    try:
        verify(schedule)
    except ScheduleError as error:
        fault = error.with_traceback(None)  # a traceback would hold all that was being verified
    with _lock:
        _results[key] = fault
        while len(_results) > _MAX_RESULTS:
            _results.popitem(last=False)
    return fault


def digest_schedule(schedule: Schedule) -> bytes:
    """All that verification and its sentences depend on.

    Args:
        schedule: From anywhere.

    Returns:
        16 bytes; equal for schedules with equal patterns, whatever objects they are.
    """
    shape = (schedule.label, schedule.collective, schedule.ranks, schedule.endpoints)
    digest = blake2b(repr((*shape, schedule.chunks, schedule.slots, schedule.root)).encode(), digest_size=16)
    for step in schedule.patterns:
        digest.update(repr((len(step), step.times, step.shift, step.modulus, step.width)).encode())
        for name in COLUMNS:
            column = getattr(step, name)
            digest.update(column.dtype.str.encode())
            digest.update(column.tobytes())
    return digest.digest()
