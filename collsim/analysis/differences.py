"""Two runs side by side: time, bytes and busy time of every link, what makes up the time, and what moved."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..collective import get_collective
from ..errors import CollsimError, Sentence, Words
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..faults import UnverifiedError, require_right
from ..simulate import Trace
from ..units import format_bytes, format_time
from .critical_transfers import CriticalPath, critical_path


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Run `b` against run `a`, the base.

    Attributes:
        a, b: the runs.
        speedup: time of a / time of b: above 1, b is faster.

    Examples:
        >>> import collsim as cs
        >>> network = cs.topology.switch(8)
        >>> ring, tree = (
        ...     cs.simulate(cs.schedule(name, ranks=8), network, nbytes="64MiB")
        ...     for name in ("allreduce_ring", "allreduce_tree")
        ... )
        >>> round(cs.analysis.compare_runs(tree, ring).speedup, 2)  # the ring against the tree
        3.41
    """

    a: Trace
    b: Trace

    @property
    def speedup(self) -> float:
        if not self.b.time:
            return float("inf")
        return self.a.time / self.b.time

    @cached_property
    def links(self) -> pd.DataFrame:
        """A row per link of either run that carried bytes: link, kind, bytes_a, bytes_b, busy_a, busy_b (s), share_a,
        share_b, and the differences b - a; the largest change of bytes first."""

        def sum_links(trace: Trace, tail: str) -> pd.DataFrame:
            table = trace.links[["link", "kind", "bytes", "busy", "share"]]
            grouped = table.groupby(["link", "kind"], sort=False, as_index=False).sum()
            return grouped.rename(columns={name: name + tail for name in ("bytes", "busy", "share")})

        both = sum_links(self.a, "_a").merge(sum_links(self.b, "_b"), on=["link", "kind"], how="outer").fillna(0)
        both = both[(both.bytes_a > 0) | (both.bytes_b > 0)]
        for name in ("bytes", "busy", "share"):
            both[name] = both[name + "_b"] - both[name + "_a"]
        return both.sort_values("bytes", key=lambda x: -x.abs(), kind="stable").reset_index(drop=True)

    @cached_property
    def kinds(self) -> pd.DataFrame:
        """Bytes per kind of link in both runs, and the difference."""
        table = self.links.groupby("kind")[["bytes_a", "bytes_b"]].sum()
        return table.assign(bytes=table.bytes_b - table.bytes_a)

    @cached_property
    def paths(self) -> tuple[CriticalPath, CriticalPath]:
        """The critical paths of both runs."""
        return critical_path(self.a), critical_path(self.b)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Two columns, a row per figure: time, algbw, busbw, bound, gap, steps, transfers, alpha, beta, waiting."""
        columns = {}
        for name, trace, path in zip("ab", (self.a, self.b), self.paths, strict=True):
            row = trace.row()
            columns[name] = {
                **{
                    key: row[key]
                    for key in (
                        "algorithm",
                        "topology",
                        "nbytes",
                        "time",
                        "algbw",
                        "busbw",
                        "bound",
                        "gap",
                        "steps",
                        "transfers",
                    )
                },
                **{key: float(getattr(path, key).sum()) for key in ("alpha", "beta", "waiting")},
            }
        return pd.DataFrame(columns)

    def __str__(self) -> str:
        """One or two sentences: which is faster, and what moved."""
        a, b = _describe(self.a), _describe(self.b)
        change = f"{format_time(self.b.time)} in place of {format_time(self.a.time)}"
        if abs(self.speedup - 1) < 5e-4:
            first = f"{b} takes as long as {a}: {format_time(self.a.time)}."
        elif self.speedup > 1:
            first = f"{b} is {self.speedup:.3g} times as fast as {a}: {change}."
        else:
            first = f"{b} takes {1 / self.speedup:.3g} times as long as {a}: {change}."
        moved = self.kinds[self.kinds.bytes.abs() > 0]
        words = {True: "more", False: "less"}
        changes = [f"{kind} carries {format_bytes(abs(b))} {words[b > 0]}" for kind, b in moved.bytes.items()]
        return f"{first} {'; '.join(changes or self._list_moved()) or 'No link carries more or less'}."

    def _list_moved(self) -> list[str]:
        """Where the same bytes took another way: the links that lost and gained the most."""
        by_loss = self.links.sort_values("bytes", kind="stable")
        ends = [
            *by_loss[by_loss.bytes < 0].head(2).to_dict("records"),
            *by_loss[by_loss.bytes > 0].tail(2)[::-1].to_dict("records"),
        ]
        return [
            f"{row['link']} carries {format_bytes(row['bytes_b'])} instead of {format_bytes(row['bytes_a'])}"
            for row in ends
        ]

    def __repr__(self) -> str:
        return f"<Comparison {self}>"


def _describe(trace: Trace) -> str:
    return f"{trace.schedule.label} on {trace.topology.name}"


@check_arguments
def compare_runs(a: object, b: object) -> Comparison:
    """Compare two runs of one collective; `a` is the base. They may differ in anything else.

    Args:
        a: the run that the other is held against.
        b: the other run.

    Returns:
        A `Comparison`.

    Raises:
        CollsimError: for anything but two Traces, and for runs of different collectives.
        ScheduleError: where one of them does not do what its collective promises: its time says nothing.

    Examples:
        >>> import collsim as cs
        >>> ring = cs.schedule("allreduce_ring", ranks=4)
        >>> slow, fast = (
        ...     cs.simulate(ring, cs.topology.switch(4, bandwidth=rate), nbytes="1MiB")
        ...     for rate in ("10GB/s", "20GB/s")
        ... )
        >>> round(cs.analysis.compare_runs(slow, fast).speedup, 2)  # latency does not halve
        1.87
    """
    if not isinstance(a, Trace) or not isinstance(b, Trace):
        wrong = next(run for run in (a, b) if not isinstance(run, Trace))
        raise CollsimError("compare_runs wants two Traces, got {value!r}", value=wrong)
    require_one_collective("compare_runs", [(run.schedule.label, run.schedule.collective) for run in (a, b)])
    for run in (a, b):
        with contextlib.suppress(UnverifiedError):  # whoever made both runs may look at their difference
            require_right(run.schedule)
    return Comparison(a, b)


def require_one_collective(caller: Words, runs: Sequence[tuple[str, str]]) -> None:
    """Raise CollsimError where runs are of different collectives, whose times say nothing about one another.

    Args:
        caller: what refuses, for the sentence.
        runs: the label and the collective of each, at least one; `reduce_scatter+allgather` is an allreduce.
    """
    first, first_collective = runs[0]
    for other, other_collective in runs[1:]:
        if get_collective(other_collective).name != get_collective(first_collective).name:
            raise CollsimError(
                "{who} wants runs of one collective: {first} is for {first_collective}, {other} for {other_collective}",
                who=Sentence.from_words(caller),
                first=first,
                first_collective=first_collective,
                other=other,
                other_collective=other_collective,
            )
