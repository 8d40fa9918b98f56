"""Files of MSCCL programs as Schedules, and Schedules as files."""

from __future__ import annotations

import random
from pathlib import Path

from ...collective import Collective
from ...errors import CollsimError, FormatError, ScheduleError
from ...errors.arguments import check_arguments
from ...errors.collected_warnings import warn
from ...files import FilePath, refuse
from ...schedule import Schedule
from ..file_formats import register_built_in
from .compile import compile_schedule
from .interpreter import BufferLayout, InterpretedRun, Order, find_collective_kind, interpret
from .lowering import lower
from .msccl_program import Program, describe_excess, format_position, parse, write

__all__ = ["read_msccl", "write_msccl"]

_MAX_RACED = 100_000  # instructions of a program that is searched for races
_MAX_WORK = 10_000_000  # instructions run to find a root


@check_arguments
def read_msccl(
    path: FilePath, *, collective: str | None = None, root: int | None = None, strict: bool = False
) -> Schedule:
    """Read the schedule of an MSCCL XML file; it verifies, or the file is refused.

    Args:
        path: Of the file.
        collective: What a program of kind `custom` should do.
        root: Of a broadcast or reduce; without it, the rank for which the program is right.
        strict: Refuse programs beyond the runtime's limits (256 steps per thread block, 216 thread blocks per gpu) too.

    Returns:
        The schedule.

    Raises:
        FormatError: Naming gpu, thread block and step for a malformed file, a deadlock, a send or receive without its
            partner, a read of what was never written and a wrong result.

    Warns:
        UserWarning: Where a step waits for one that does not signal (hasdep=0), and of a race: a result that is right
            in one order of the thread blocks but not in another.

    Examples:
        >>> import collsim as cs
        >>> cs.io.write_msccl(cs.schedule("allreduce_ring", ranks=4), "ring.xml")
        >>> cs.io.read_msccl("ring.xml").collective
        'allreduce'
    """
    program = _parse_file(path, strict)
    kind = find_collective_kind(program, path, collective)
    _require_rank(program, root)
    _warn_of_silence(program, path)
    run = _run_of_layouts(program, path, kind, root)
    _warn_of_races(program, path, run.buffers)
    return _lower_program(program, path, run)


def _parse_file(path: FilePath, strict: bool) -> Program:
    program = parse(path)
    if strict and (excess := describe_excess(program)) is not None:
        refuse(path, "", excess)
    return program


def _require_rank(program: Program, root: int | None) -> None:
    if root is not None and not 0 <= root < program.ranks:
        message = "root={root} is not a rank; with {ranks} ranks it is 0 to {last}"
        raise CollsimError(message, root=root, ranks=program.ranks, last=program.ranks - 1)


def _run_of_layouts(program: Program, path: FilePath, kind: Collective, root: int | None) -> InterpretedRun:
    """The run in the first placement that the program is meant for; it has to be right in each of them."""
    known: int | None = 0
    if kind.rooted:
        known = program.root
        if root is not None:
            known = root
    runs: list[InterpretedRun] = []
    for inplace in program.layouts:
        layouts = [
            BufferLayout(kind, program.ranks, program.chunks, r, inplace) for r in _find_roots(program, path, known)
        ]
        try:
            runs.append(_run(program, path, layouts))
        except FormatError as error:
            # The first layout decides whether the program can be read at all; a later one only whether its promise
            # holds.
            if not runs:
                raise
            message = '{error}. In place it is right; out of place, which outofplace="1" promises, it is not'
            raise FormatError(message, error=error) from None
    return runs[0]


def _lower_program(program: Program, path: FilePath, run: InterpretedRun) -> Schedule:
    try:
        return lower(program, run)
    except FormatError as error:
        refuse(path, "", error)


def _count_instructions(program: Program) -> int:
    return sum(len(block.steps) for gpu in program.gpus for block in gpu.blocks)


def _find_roots(program: Program, path: FilePath, known: int | None) -> list[int]:
    """The root if it is known, else every rank: MSCCL files do not say."""
    if known is None and program.ranks * _count_instructions(program) > _MAX_WORK:
        refuse(path, "", "too large to find its root by trying all {ranks} ranks; give root=", ranks=program.ranks)
    if known is None:
        return list(range(program.ranks))
    return [known]


def _run(program: Program, path: FilePath, layouts: list[BufferLayout]) -> InterpretedRun:
    """The run under the first layout that is right. Raises what is wrong under the first of all."""
    first: FormatError | None = None
    for buffers in layouts:
        try:
            return interpret(program, path, buffers)
        except FormatError as error:
            first = first or error
            if not any(word in str(error) for word in ("wrong result", "undefined read")):
                raise
    assert first is not None
    raise first


def _warn_of_silence(program: Program, path: FilePath) -> None:
    for g, gpu in enumerate(program.gpus):
        last = [max((s for s, step in enumerate(block.steps) if step.signals), default=-1) for block in gpu.blocks]
        for b, block in enumerate(gpu.blocks):
            for s, step in enumerate(block.steps):
                if step.waits is None:
                    continue
                other, number = step.waits
                if last[other] < number:
                    message = (
                        f"waits for step {number} of thread block {other}, which never signals (hasdep=0): the "
                        "runtime would hang"
                    )
                    warn(f"{Path(path).name}, {format_position(g, b, s)} {message}")
                    return


def _warn_of_races(program: Program, path: FilePath, buffers: BufferLayout) -> None:
    """Run it again in other orders: a program whose result depends on which thread block is faster lacks a
    dependency."""
    for first in _list_orders(program):
        try:
            interpret(program, path, buffers, first=first)
        except FormatError as error:
            warn(f"a race: the result depends on which thread block is faster; in another order, {error}")
            return


def _list_orders(program: Program) -> tuple[Order, ...]:
    """The orders of thread blocks that a program of its size is tried in."""
    size = _count_instructions(program)
    many = 1 + max((len(gpu.blocks) for gpu in program.gpus), default=0)
    luck = random.Random(0)
    orders: tuple[Order, ...] = (
        lambda key: key[0] * many - key[1],
        lambda key: luck.random(),
        lambda key: key[1] - key[0] * many,
        lambda key: key[0] * many + key[1],
    )
    if size < 1_000:
        orders += orders[1:2] * 8
    if size < 5_000:
        return orders
    if size < _MAX_RACED:
        return orders[:2]
    return ()


@check_arguments
def write_msccl(
    schedule: Schedule,
    path: FilePath,
    *,
    name: str | None = None,
    protocol: str | None = None,
    inplace: bool | None = None,
) -> None:
    """Write a schedule as MSCCL XML, so that GPUs can run it: `MSCCL_XML_FILES=my.xml NCCL_ALGO=MSCCL,RING,TREE`.

    Args:
        schedule: What is written.
        path: Of the file.
        name: Of the program; that of the schedule unless given.
        protocol: Simple, LL or LL128; that of the file it was read from unless given.
        inplace: Send and receive buffer are one (the default); alltoall is always out of place.

    Raises:
        ScheduleError: For a collective or helper endpoints that MSCCL does not have, a schedule beyond the runtime's
            limits, or one that does not do what its collective promises.

    Examples:
        >>> import collsim as cs
        >>> cs.io.write_msccl(cs.schedule("allreduce_ring", ranks=4), "ring.xml")
        >>> with open("ring.xml") as file:
        ...     print(file.readline()[:24])
        <algo name="allreduce_ri
    """
    protocol = protocol or schedule.options.get("protocol", "Simple")
    try:
        program = compile_schedule(schedule, name=name, protocol=protocol, inplace=inplace)
    except FormatError as error:
        message = "{label} makes no program that is right: {error}"
        raise ScheduleError(message, label=schedule.label, error=error) from error
    write(program, path)


register_built_in("msccl", read=read_msccl, write=write_msccl, looks=lambda head: "<algo" in head)
