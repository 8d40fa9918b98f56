"""Larger calls that take less time, because NCCL chooses something faster for them.

Its tuner compares estimates of its own: it takes LL as long as it expects more of the steps that LL128 adds than of the
bytes that LL doubles. Published times fall at such changes, too: two nodes with eight H200 each take 81 us for 128 KiB
and 64 for 256, a broadcast between two A100 59 us for 64 KiB and 26 for 128 (schmaustech/nvidiatools-dell-h200,
thomaslie210/NCCL_Test_Results). RCCL changes by a table of sizes, where both take about as long.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import Sentence
from ...units import format_bytes
from .algorithm_time import compute_time
from .tuner import compute_cost_table, compute_tuner_time

if TYPE_CHECKING:
    from .algorithm_time import Call
    from .tuner import TunerChoice

#: The most of a time that counts as less.
_LESS = 0.95


def describe_faster_larger_call(call: Call, choice: TunerChoice | None) -> tuple[Sentence, ...]:
    """Describe that a call of up to four times the size takes less time, where NCCL chooses otherwise for it.

    Args:
        call: with the algorithm and protocol that were chosen.
        choice: of the tuner, with the costs of all that it compared; None where it does not choose.

    Returns:
        A sentence; nothing where larger calls take longer.
    """
    comm, collective = call.comm, call.collective
    if choice is None or comm.rccl:
        return ()
    table = [cost for cost in compute_cost_table(collective, comm) if (cost.algorithm, cost.protocol) in choice.costs]
    for nbytes in _list_larger_sizes(call.nbytes):
        estimates = {
            (cost.algorithm, cost.protocol): compute_tuner_time(collective, cost, comm, nbytes) for cost in table
        }
        algorithm, protocol = min(estimates, key=lambda pair: estimates[pair], default=(call.algorithm, call.protocol))
        smaller = call
        if algorithm != call.algorithm:  # the loads of a topology are those of one algorithm
            smaller = replace(call, loads=None)
        larger = replace(smaller, algorithm=algorithm, protocol=protocol, nbytes=nbytes)
        if (algorithm, protocol) == (call.algorithm, call.protocol):
            continue
        if compute_time(larger).total < _LESS * compute_time(smaller).total:
            template = (
                "a call of {size} takes less time than one of {smaller}: there NCCL's tuner changes from {now} to "
                "{then}, by estimates that are not collsim's"
            )
            now, then = f"{call.algorithm} {call.protocol}", f"{algorithm} {protocol}"
            sizes = {"size": format_bytes(nbytes), "smaller": format_bytes(call.nbytes)}
            return (Sentence(template, **sizes, now=now, then=then),)
    return ()


def _list_larger_sizes(nbytes: int) -> list[int]:
    """The next sizes of tables and charts, up to four times this one: powers of two, and halfway between them."""
    above = 1 << nbytes.bit_length()
    return [
        size for size in (above * 3 // 4, above, above * 3 // 2, above * 2, above * 3) if nbytes < size <= 4 * nbytes
    ]
