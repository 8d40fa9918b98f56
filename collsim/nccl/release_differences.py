"""What another version of NCCL would do on a machine: other choices and times by size, and calls that one lacks."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..errors import CollsimError, Sentence, require_short_range
from ..errors.arguments import check_arguments
from ..topology.machines import machine, machines
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize
from .model.releases import describe_release, parse_version
from .nccl_prediction import predict

if TYPE_CHECKING:
    import pandas as pd

#: 1 KiB to 1 GiB, a factor of two between them.
_SIZES = tuple(2**k for k in range(10, 31))
#: Calls by the version that they came with: `nccl.h` of NVIDIA/nccl at the tags from v2.26.2-1 on, and of the packages
#: nvidia-nccl-cu13 2.31.2 and 2.32.3. What they carry on symmetric memory or by copy engines is not modelled.
_NEW_CALLS: Final = (
    (27, "ncclCommWindowRegister (symmetric memory); ncclCommShrink"),
    (28, "ncclAlltoAll, ncclGather, ncclScatter; NCCL_CTA_POLICY_ZERO (copy engines)"),
    (29, "ncclPutSignal, ncclSignal (one-sided); ncclCommGrow, ncclCommSuspend"),
    (30, "ncclParamGet …"),
    (31, "ncclAllReduceConfig …"),
    (32, "ncclSetEncryption"),
)


@dataclass(frozen=True)
class ReleaseComparison:
    """Two versions of NCCL on one machine.

    Attributes:
        table: columns nbytes, old and new (algorithm and protocol), old_time and new_time (seconds), differs (whether
            NCCL chooses something else or its time differs).
        new_calls: what the newer version has and the older one lacks.
        notes: which tables were read for each.

    Examples:
        >>> import collsim as cs
        >>> comparison = cs.nccl.compare_releases("2.30", "2.32", "dgx-a100")
        >>> bool(comparison.table["differs"].any()), comparison.new_calls[-1]
        (False, 'ncclSetEncryption')
    """

    table: pd.DataFrame
    new_calls: tuple[str, ...]
    notes: tuple[Sentence, ...]

    def text(self, language: str = "en") -> str:
        """How many sizes differ, and the new calls.

        Args:
            language: of the sentences.
        """
        differing = Sentence(
            "Sizes that differ in algorithm, protocol or time: {differing} of {count}.",
            count=len(self.table),
            differing=int(self.table["differs"].sum()),
        )
        sentences = [differing.text(language)]
        if self.new_calls:
            calls = "; ".join(self.new_calls)
            sentences.append(Sentence("New calls, none of them in these times: {calls}.", calls=calls).text(language))
        return "\n".join([*sentences, *(note.text(language) for note in self.notes)])


@check_arguments
def compare_releases(
    old: str,
    new: str,
    machine: TopologyLike,
    collective: str = "allreduce",
    nbytes: Sequence[ByteSize] = _SIZES,
) -> ReleaseComparison:
    """Compare what two versions of NCCL would do on a machine.

    Args:
        old: a version, as `"2.18"`.
        new: another one.
        machine: a topology or the name of a machine.
        collective: allreduce, allgather, reduce_scatter, broadcast or reduce.
        nbytes: nccl-tests' sizes, bytes or text.

    Returns:
        A row for each size, and which calls the newer version adds.

    Raises:
        CollsimError: a version is not known, or as `predict`.

    Examples:
        >>> import collsim as cs
        >>> comparison = cs.nccl.compare_releases("2.12", "2.30", "dgx-h100", nbytes=["64MiB"])
        >>> comparison.table[["old", "new"]].values.tolist()
        [['Ring Simple', 'NVLS Simple']]
    """
    from ..errors.dependencies import pandas as pd

    topology = resolve_topology(machine, "compare_releases")
    minors = [parse_version(version) for version in (old, new)]
    if None in minors:
        raise CollsimError("give two versions of NCCL, as '2.18' and '2.30'")
    require_short_range("nbytes", nbytes)
    rows = []
    # Both versions predict on the same machine, so that only choice and tables differ.
    for size in nbytes:
        first, second = (predict(collective, topology, size, version=version) for version in (old, new))
        names = [f"{p.algorithm} {p.protocol}" for p in (first, second)]
        rows.append(
            {
                "nbytes": first.nbytes,
                "old": names[0],
                "new": names[1],
                "old_time": first.time,
                "new_time": second.time,
                "differs": names[0] != names[1] or first.time != second.time,
            }
        )
    if not rows:
        raise CollsimError("give at least one size")
    low, high = sorted(minor for minor in minors if minor is not None)
    return ReleaseComparison(
        pd.DataFrame(rows),
        tuple(calls for since, calls in _NEW_CALLS if low < since <= high),
        tuple(describe_release(minor) for minor in minors),
    )


def find_changed_machines(
    old: str, new: str, collective: str, nbytes: Sequence[ByteSize]
) -> dict[str, tuple[int, int]]:
    """Machines of the library, alone and in pairs, and how many sizes two versions of NCCL treat differently on each.

    Args:
        old: a version, as `"2.18"`.
        new: another one.
        collective: as in `compare_releases`.
        nbytes: nccl-tests' sizes, bytes or text.

    Returns:
        Differing sizes for one machine and for two of it, by its name; without the machines on which NCCL does not run.

    Raises:
        CollsimError: a version or the collective is not known.
    """
    compare_releases(old, new, "dgx-a100", collective, nbytes)  # so that only what a machine lacks is passed over below
    changed = {}
    for name in machines():
        with contextlib.suppress(CollsimError):
            tables = [
                compare_releases(old, new, machine(name, nodes=nodes), collective, nbytes).table for nodes in (1, 2)
            ]
            changed[name] = int(tables[0]["differs"].sum()), int(tables[1]["differs"].sum())
    return changed
