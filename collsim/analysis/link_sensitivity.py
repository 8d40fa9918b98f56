"""Sensitivity: how much the time follows each kind of link and each cable, by running again, not by a formula.

The elasticity of the time to a bandwidth is (relative change of time) / (relative change of bandwidth) for 1 % more of
it: -1 means that the time is all in that link, 0 that it does not matter. `doubled` is the part of the time saved by
twice the bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..simulate import Trace
from ..topology import Topology
from ..units import parse_count

#: So much more bandwidth gives the slope: small enough for a straight line, far above what rounding changes.
_STEP = 0.01
#: What it is (`kind` or `link`), its name, elasticity, and the part of the time that doubling saves.
_Row = tuple[str, str, float, float]


@check_arguments
def sensitivity(trace: Trace, most_links: int = 8) -> pd.DataFrame:
    """Measure how the time reacts to each kind of link in use and to the busiest single cables; the largest first.

    Args:
        trace: a run.
        most_links: how many single cables to try, the busiest first.

    Returns:
        Columns: what (`kind` or `link`), name, elasticity, doubled (part of the time saved by doubling the bandwidth).

    Raises:
        CollsimError: for anything but a Trace.

    Examples:
        >>> import collsim as cs
        >>> ring = cs.simulate(cs.schedule("allreduce_ring", 4), "switch(4, alpha=0s)", "64MiB")
        >>> cs.analysis.sensitivity(ring, most_links=0).round(2)
           what   name  elasticity  doubled
        0  kind  cable       -0.99      0.5
    """
    if not isinstance(trace, Trace):
        raise CollsimError("sensitivity wants a Trace, got {trace!r}; simulate(...) makes one", trace=trace)
    most_links = parse_count(most_links, "most_links", least=0)
    rows = [*_measure_kinds(trace), *_measure_cables(trace, most_links)]
    frame = pd.DataFrame(rows, columns=["what", "name", "elasticity", "doubled"])
    return frame.sort_values(["elasticity", "doubled"], ascending=[True, False], kind="stable").reset_index(drop=True)


def _measure_kinds(trace: Trace) -> Iterator[_Row]:
    """A row for each kind of link in use."""
    links = trace.topology.links
    for kind in sorted({links.cables[c].kind for c in np.unique(links.cable[trace.link_bytes > 0])}):
        yield _build_row(trace, "kind", kind, *(trace.topology.scaled(kind=kind, by=by) for by in (1 + _STEP, 2)))


def _measure_cables(trace: Trace, most: int) -> Iterator[_Row]:
    """A row for each of the busiest cables, both directions of one being one cable."""
    links = trace.topology.links
    used = np.flatnonzero(trace.link_bytes)
    cables: dict[frozenset[int], int] = {}
    for link in used[np.argsort(-trace.link_busy[used], kind="stable")].tolist():
        cables.setdefault(frozenset((int(links.src[link]), int(links.dst[link]))), link)
    for link in list(cables.values())[:most]:
        ends, rate = (int(links.src[link]), int(links.dst[link])), float(links.bandwidth[link])
        faster = (trace.topology.with_link(*ends, bandwidth=rate * by) for by in (1 + _STEP, 2))
        yield _build_row(trace, "link", trace.topology.link_name(link), *faster)


def _build_row(trace: Trace, what: str, name: str, more: Topology, twice: Topology) -> _Row:
    if not trace.duration:
        return what, name, 0.0, 0.0
    slope = (trace.run_again(more).duration / trace.duration - 1) / _STEP
    return what, name, slope, 1 - trace.run_again(twice).duration / trace.duration
