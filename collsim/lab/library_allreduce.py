"""A library's own allreduce in the same processes: how long it takes, and which of our algorithms it rounds as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import CollsimError, require_word
from ..registry import algorithms
from ..registry import schedule as registered
from ..replay import replay
from ..schedule import Schedule
from .launch import measure_runs
from .mpiexec import require_library
from .ranks.emulated_network import ImitatedNetwork
from .ranks.endpoint_program import RankProgram
from .ranks.rank_process import RankTask
from .ranks.wire import new_token
from .real_run import TIME_LIMIT, RealRun, check_request

LIBRARIES = ("mpi", "gloo")
#: The ring as Gloo has it, next to our algorithms: each rank sends to the one before it (`_sum_as_gloo_ring`).
GLOO_RING = "allreduce_ring, each to the rank before it"
_ROUNDING = 10_007  # elements whose sums are compared; prime, so that no chunk divides it


@dataclass(frozen=True)
class LibraryRun:
    """A library's own allreduce, and whose order of additions it has.

    Attributes:
        on: the library, `mpi` or `gloo`.
        ranks: number of processes.
        nbytes: bytes of a rank's buffer.
        times: s of each run.
        differs: name of an algorithm of ours (of Gloo's GLOO_RING, too) -> elements in which its sum differs from the
            library's; the nearest first.
    """

    on: str
    ranks: int
    nbytes: int
    times: tuple[float, ...]
    differs: dict[str, int]

    @property
    def best(self) -> float:
        """Seconds of the fastest run."""
        return min(self.times)

    @property
    def rounds_as(self) -> tuple[str, ...]:
        """Our algorithms whose sums are its sums, bit for bit."""
        return tuple(name for name, count in self.differs.items() if not count)


def time_library_allreduce(
    on: str, ranks: int, nbytes: Any = 4 * _ROUNDING, repeat: int = 5, time_limit: Any = TIME_LIMIT
) -> LibraryRun:
    """Time the allreduce of `"mpi"` (MPI.Allreduce) or `"gloo"` (dist.all_reduce) on processes of this computer, and
    compare how it rounds.

    A sum of floats tells in which order it was made: of the algorithms that differ in no element one is what the
    library ran, at this size and number of ranks, or adds in the same order. float32, sum.

    Args:
        on: "mpi" or "gloo".
        ranks: Processes.
        nbytes: Of each rank's array; enough elements that two orders of adding cannot round alike by chance.
        repeat: Measured runs.
        time_limit: s for all of it; after that the processes are ended.

    Raises:
        CollsimError: The library is not installed, the time is up, or its ranks do not agree on the sum.
    """
    require_library(require_word("back end", on, LIBRARIES))
    plan = registered("allreduce_direct_one_shot", ranks=ranks)
    request = check_request(plan, nbytes, on=on, repeat=repeat, time_limit=time_limit)
    data = np.random.default_rng(0).normal(size=(ranks, request.nbytes // 4)).astype(np.float32)
    results, times = _run(request, data)
    if not all(np.array_equal(results[0], other) for other in results[1:]):
        raise CollsimError("the ranks of {on} do not agree on the sum", on=on)
    differing = {
        name: _count_differing(results[0], replay(plan, data)[0]) for name, plan in _build_candidates(ranks).items()
    }
    if on == "gloo":
        differing[GLOO_RING] = _count_differing(results[0], _sum_as_gloo_ring(data))
    return LibraryRun(on, ranks, request.nbytes, times, dict(sorted(differing.items(), key=lambda item: item[1])))


def find_published_choices(on: str, ranks: int, nbytes: int) -> dict[str, tuple[str, str | None]]:
    """What these libraries publish that they run: by library their name of the algorithm and ours, None without one.

    Args:
        on: "mpi" for all MPI libraries whose rules are known, or "gloo".
        ranks: Of the allreduce.
        nbytes: Of each rank's array.
    """
    from ..nccl.libraries import gloo, mpi

    if on == "gloo":
        run = gloo.choose_gloo_algorithm("allreduce", ranks, nbytes)
        return {"gloo": (run.name, run.algorithm)}
    choices = {name: mpi.choose_mpi_algorithm(name, "allreduce", ranks, nbytes) for name in mpi.LIBRARIES}
    return {name: (choice.name, choice.algorithm) for name, choice in choices.items()}


def _build_candidates(ranks: int) -> dict[str, Schedule]:
    """Our allreduces on so many ranks, as they are without options."""
    plans = {}
    for name in algorithms("allreduce"):
        try:
            plan = registered(name, ranks=ranks)
        except CollsimError:
            continue
        if plan.endpoints == plan.ranks:
            plans[name] = plan
    return plans


def _count_differing(result: npt.NDArray[np.generic], ours: npt.NDArray[np.generic]) -> int:
    """Elements in which two sums differ in any bit."""
    return int((ours.view(np.uint32) != result.view(np.uint32)).sum())


def _sum_as_gloo_ring(data: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The sum as Gloo's ring adds it: of block b first the part of rank b - 1, then of b - 2 and on around; blocks are
    whole segments, rounded up to whole elements (gloo/allreduce.cc, ring and computeReduceScatterOffsets)."""
    from ..nccl.libraries.gloo import count_segments

    count, total = len(data), data.shape[1]
    segments = count_segments(count, data[0].nbytes)
    block = -(-total // segments) * (segments // count)
    result: npt.NDArray[Any] = np.empty_like(data[0])
    for b in range(count):
        part = slice(min(b * block, total), min((b + 1) * block, total))
        result[part] = data[b - 1, part]
        for k in range(2, count + 1):
            result[part] += data[(b - k) % count, part]
    return result


def _run(request: RealRun, data: npt.NDArray[np.generic]) -> tuple[list[npt.NDArray[np.generic]], tuple[float, ...]]:
    """The library's sums, a rank each, and s of each run."""
    token, sizes = new_token(), np.array([data.shape[1]])
    tasks = [
        RankTask(
            RankProgram(rank, (), (), {}),
            ImitatedNetwork(),
            token,
            row[None],
            sizes,
            "add",
            {0: row},
            give=True,
            on=request.on,
            use_library_allreduce=True,
            count=len(data),
        )
        for rank, row in enumerate(data)
    ]
    runs = measure_runs(tasks, request.repeat, request.time_limit)
    # A run ends when its slowest rank has the sum.
    times = tuple(max(float(outcome.moments.arrived[0]) for outcome in outcomes) for outcomes in runs)
    return [outcome.slots[0] for outcome in runs[-1]], times
