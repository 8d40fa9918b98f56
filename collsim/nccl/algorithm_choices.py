"""What NCCL chooses over sizes and numbers of nodes, and where ring and tree cross: the data of two pictures.

Two opinions everywhere: what NCCL's tuner believes (it is what NCCL acts on) and what the model of the links gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ..errors import CollsimError, require_short_range
from ..errors.arguments import check_arguments
from ..topology import Topology
from ..units import ByteSize, parse_bytes, parse_count
from .machine.machine_facts import Facts
from .machine.topology_facts import read_facts
from .model.calibration_knobs import get_calibration, get_link_parameters, select_pinned_settings
from .model.links import LinkParameters
from .nccl_environment import NcclOptions
from .nccl_prediction import Prediction, apply_calibration, predict

if TYPE_CHECKING:
    import pandas as pd

#: 1 KiB to 1 GiB, a factor of four between them.
SIZES = tuple(2**k for k in range(10, 31, 2))


def grow_facts(machine: Facts | Topology, nodes: int) -> Facts:
    """Describe a machine with another number of nodes.

    Args:
        machine: The machine, of at least two nodes where more than one is wanted: they say what joins nodes.
        nodes: Number of nodes.

    Returns:
        Its facts with so many nodes.

    Raises:
        CollsimError: Nothing says what joins the nodes.
    """
    facts = read_facts(machine)
    if nodes == facts.nodes:
        return facts
    if facts.net == "none" and nodes > 1:
        raise CollsimError(
            "this machine has one node and says nothing of a network; give it with two nodes, such as machine(..., "
            "nodes=2)"
        )
    return replace(facts, ranks=nodes * facts.local_ranks, nodes=nodes, hosts=facts.hosts * nodes // facts.nodes)


@check_arguments
def predict_choices(
    collective: str,
    machine: Facts | Topology,
    nbytes: ByteSize | Sequence[ByteSize] = SIZES,
    nodes: Sequence[int] = (1, 2, 4, 8, 16, 32),
    links: LinkParameters | None = None,
    **settings: Unpack[NcclOptions],
) -> pd.DataFrame:
    """What NCCL runs for every size and number of nodes: a row each.

    Columns: nodes, ranks, nbytes, algorithm, protocol, channels, time and tuner (seconds), notes (what was assumed, as
    `predict` says).

    Args:
        collective: allreduce, allgather, reduce_scatter, broadcast, reduce, alltoall or sendrecv.
        machine: a machine of at least two nodes (what joins them must be known), or one node with `nodes=[1]`.
        nbytes: nccl-tests' sizes, bytes or text; one, or several.
        nodes: numbers of nodes.
        links: what links carry; None: what the machine was calibrated to, where it was, else collsim's own figures.
        settings: NCCL_ALGO ... as for `predict`.

    Returns:
        The table.

    Raises:
        CollsimError: As `predict`.

    Examples:
        >>> import collsim as cs
        >>> choices = cs.nccl.predict_choices("allreduce", cs.machine("dgx-a100", nodes=2), ["1KiB", "64MiB"], [2])
        >>> choices[["nbytes", "algorithm", "protocol"]]
             nbytes algorithm protocol
        0      1024      Tree       LL
        1  67108864      Ring    LL128
    """
    from ..errors.dependencies import pandas as pd

    # One size: else the letters of a text would be taken for sizes.
    if not isinstance(nbytes, Sequence) or isinstance(nbytes, str):
        nbytes = [nbytes]
    require_short_range("nbytes", nbytes)
    require_short_range("nodes", nodes)
    rows = []
    for count in nodes:
        facts = grow_facts(machine, parse_count(count, "nodes"))
        for size in nbytes:
            p = _predict_with_calibration(collective, machine, facts, size, links, **settings)
            believed = np.nan
            if p.tuner_time is not None:
                believed = p.tuner_time
            names = {"algorithm": p.algorithm, "protocol": p.protocol, "channels": p.channels}
            numbers = {"nodes": facts.nodes, "ranks": facts.ranks, "nbytes": p.nbytes}
            rows.append({**numbers, **names, "time": p.time, "tuner": believed, "notes": p.notes})
    if not rows:
        raise CollsimError("give at least one size and one number of nodes")
    return pd.DataFrame(rows)


def _predict_with_calibration(
    collective: str,
    machine: Facts | Topology,
    facts: Facts,
    nbytes: ByteSize,
    links: LinkParameters | None,
    **settings: Unpack[NcclOptions],
) -> Prediction:
    """The prediction for so many nodes of a machine, with what the machine was calibrated to where no links are
    given."""
    p = predict(collective, facts, nbytes, links=get_link_parameters(machine) if links is None else links, **settings)
    known = None
    if links is None:
        known = get_calibration(machine)
    if known is None:
        return p
    return apply_calibration(p, known, select_pinned_settings(settings))


@dataclass(frozen=True)
class Crossover:
    """Ring and tree over sizes.

    Attributes:
        crossing: bytes from which on the ring is faster by the model; None: nowhere.
        tuner_crossing: the same by NCCL's own formulas.
        table: columns nbytes, ring, tree, ring_tuner, tree_tuner (seconds).
        notes: what was assumed, as `predict` says.

    Examples:
        >>> import collsim as cs
        >>> crossover = cs.nccl.compare_ring_and_tree(cs.machine("dgx-a100", nodes=2), ["64KiB", "64MiB"])
        >>> crossover.crossing is None  # the ring is faster at both sizes
        True
    """

    table: pd.DataFrame
    crossing: float | None
    tuner_crossing: float | None
    notes: tuple[str, ...] = ()


@check_arguments
def compare_ring_and_tree(
    machine: Facts | Topology,
    nbytes: Sequence[object] = SIZES,
    nodes: int | None = None,
    links: LinkParameters | None = None,
) -> Crossover:
    """Allreduce with NCCL_ALGO=Ring and =Tree: from which size on the ring is faster, by the model and by NCCL's own
    formulas.

    Args:
        machine: of at least two nodes.
        nbytes: sizes in rising order, bytes or text.
        nodes: number of nodes; None: as many as the machine has.
        links: as in `predict_choices`.

    Returns:
        The times, and where they cross.

    Raises:
        CollsimError: For a machine on which NCCL has no trees.

    Examples:
        >>> import collsim as cs
        >>> crossover = cs.nccl.compare_ring_and_tree(cs.machine("dgx-a100", nodes=2), ["64KiB", "64MiB"])
        >>> crossover.table.nbytes.tolist()
        [65536, 67108864]
    """
    from ..errors.dependencies import pandas as pd

    if nodes is None:
        facts = read_facts(machine)
    else:
        facts = grow_facts(machine, parse_count(nodes, "nodes"))
    require_short_range("nbytes", nbytes)
    rows, notes = [], dict[str, None]()
    for size in sorted({parse_bytes(n) for n in nbytes}):
        row: dict[str, float] = {"nbytes": size}
        for name in ("Ring", "Tree"):
            p = _predict_with_calibration("allreduce", machine, facts, size, links, NCCL_ALGO=name)
            notes |= dict.fromkeys(p.notes)
            row |= {name.lower(): p.time, f"{name.lower()}_tuner": np.nan if p.tuner_time is None else p.tuner_time}
        rows.append(row)
    table = pd.DataFrame(rows)
    return Crossover(
        table, _find_crossing(table, "ring", "tree"), _find_crossing(table, "ring_tuner", "tree_tuner"), tuple(notes)
    )


def _find_crossing(table: pd.DataFrame, ring: str, tree: str) -> float | None:
    """The last size from which on the ring is ahead, found between two sizes on logarithmic axes; None where one is
    ahead everywhere."""
    x, ahead = np.log(table["nbytes"].to_numpy(float)), np.log(table[tree].to_numpy() / table[ring].to_numpy())
    crossings = np.flatnonzero((ahead[:-1] < 0) & (ahead[1:] >= 0))
    if not len(crossings):
        return None
    k = int(crossings[-1])
    return float(np.exp(x[k] - ahead[k] * (x[k + 1] - x[k]) / (ahead[k + 1] - ahead[k])))
