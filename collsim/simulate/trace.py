"""A Trace: when every transfer and link was busy, and what follows from it. Read-only; drawing lives in viz."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ..bounds import Bound, lower_bound
from ..collective import get_collective
from ..dtypes import Floats, Longs
from ..errors import CollsimError, Sentence
from ..errors.arguments import check_call
from ..errors.attributes import NamesNearAttributes
from ..errors.dependencies import pandas as pd
from ..schedule import Schedule
from ..topology import Routes, Topology
from ..topology.parts.rank_selection import describe_ranks, has_unused_gpus
from ..topology.parts.shared_gpus import describe_shared_gpus
from ..units import format_bandwidth, format_bytes, format_time
from .link_usage import Usage, build_steady_segments, compute_usage, require_link
from .lockstep import Segments, Timing, run_lockstep
from .paths import Slots

if TYPE_CHECKING:
    from .concurrent_results import FlowTrace
    from .conditions import Conditions, Engine

Scalar = TypeVar("Scalar", bound=np.generic)
SMALL = 0.0005  # a part of the time too small to be told
_BELOW_BOUND = 1e-6  # a part of the bound by which a time must be below it: more than sums of floats differ by
_LOWER_BITS = 26  # of a slot's bytes: 2^27 of them, and 2^27 times what is above them, fit into a float

#: Filled by the layer above (viz): how a Trace shows itself, so that this layer need not know drawing.
views: dict[str, Callable[..., Any]] = {}


@dataclass(frozen=True)
class Bottleneck:
    """The kind of link whose doubling saves most, and the busiest link of that kind.

    Attributes:
        link: id of the busiest link of the kind, a row of the topology's `links`.
        name: its ends, `"node0/nic7 → fabric/switch0"`.
        kind: its cable's kind, `"infiniband"`.
        label: its cable's product name, `"IB HDR"`.
        links: ids of all links of its kind that are as busy (within 1 %).
        busy_share: bytes / bandwidth / duration, with the bytes of others: the part of the run in which it could not
            have carried more.
        savings: part of the time that doubling the bandwidth of all links of a kind saves, per kind in use.
        latency: part of the time that would remain with endless bandwidth.
        busiest: id of the link that is busy for the largest share of the run, of whatever kind.
        busiest_share: that share.
        next_kinds: kind of the busiest link once those of a kind are twice as fast, per kind whose doubling saves
            something; empty where only one kind is in use.

    Examples:
        >>> import collsim as cs
        >>> machine = cs.machine("dgx-a100", nodes=2)
        >>> bottleneck = cs.simulate(
        ...     cs.schedule("allreduce_ring", topology=machine), machine, nbytes="64MiB"
        ... ).bottleneck
        >>> bottleneck.label
        'IB HDR'
        >>> {
        ...     kind: round(part, 2) for kind, part in bottleneck.savings.items()
        ... }  # parts of the time that twice the bandwidth of a kind saves
        {'infiniband': 0.18, 'nvlink': 0.0, 'pcie': 0.0}
    """

    link: int
    name: str
    kind: str
    label: str
    links: tuple[int, ...]
    busy_share: float
    savings: dict[str, float]
    latency: float
    busiest: int
    busiest_share: float
    next_kinds: dict[str, str]

    @property
    def has_alternating_links(self) -> bool:
        """Do several links of its kind hold the run up, one after another? While one link is the limit, twice its
        bandwidth saves at most half of the time in which it is busy."""
        return self.savings[self.kind] > 0.51 * self.busy_share + SMALL

    def __str__(self) -> str:
        others = [
            f"doubling {kind} saves {_format_percent(saved)}"
            for kind, saved in self.savings.items()
            if kind != self.kind
        ]
        tail = ""
        if others:
            tail = f"; {', '.join(others)}"
        alternating = ""
        if self.has_alternating_links:
            alternating = ", and others like it at other times"
        busy = f"{self.name} ({self.label}) is busy {_format_percent(self.busy_share)} of the run{alternating}"
        return f"{busy}; doubling {self.kind} saves {_format_percent(self.savings[self.kind])}{tail}{self._busier}"

    @property
    def _busier(self) -> str:
        """That another kind of link has a busier one, where it has."""
        busier = f"; the busiest link, of another kind, is busy {_format_percent(self.busiest_share)} of the run"
        if self.busiest_share > self.busy_share * (1 + SMALL):
            return busier
        return ""


def _freeze_array(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The same array for reading only."""
    view = array.view()
    view.setflags(write=False)
    return view


@dataclass(frozen=True, eq=False, repr=False)
class Trace(NamesNearAttributes):
    """What a simulation returns.

    Attributes:
        schedule: what was run.
        topology: where it was run, with devices for the schedule's helpers and the rates that were in force: cables of
            a slow rank are slow in it, a failed one is gone.
        nbytes: nccl-tests' size in bytes.
        dtype: type of an element; chunks are cut between elements.
        engine: `lockstep` or `event`.
        slot_bytes: (slots,) bytes.
        placement: (endpoints of the schedule,) the topology's endpoint of each.
        timing: seconds per step and per transfer, bytes per link, and how they were computed.
        rerun: runs the same again with the links of another topology, or without bytes; None for a plain lockstep run.
        conditions: how links were shared and what was wrong with the machine; None for a lockstep run.
        others: what else ran at the same time: other collectives, background traffic.
        background: what other traffic took; None where there was none.
        begin: s, when it was launched; moments count from 0 s, rates and shares from then.

    Examples:
        >>> import collsim as cs
        >>> network = cs.topology.switch(4, bandwidth="25GB/s", alpha="1us")
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), network, "64MiB")
        >>> trace
        <Trace allreduce_ring(4) on switch(4), 64 MiB: 4.04 ms>
        >>> f"{trace.busbw / 1e9:.1f} GB/s, {trace.gap:.2f} times the bound"
        '24.9 GB/s, 1.00 times the bound'
    """

    schedule: Schedule
    topology: Topology
    nbytes: int
    dtype: str
    engine: Engine
    slot_bytes: Longs
    placement: Longs
    timing: Timing
    rerun: Callable[[Topology, bool], Trace] | None = None
    conditions: Conditions | None = None
    others: tuple[Timing, ...] = ()
    background: FlowTrace | None = None
    begin: float = 0.0

    # ---- the figures

    @property
    def time(self) -> float:
        """Seconds from 0 to the arrival of the last transfer: where it was launched later (`begin`), the moment of its
        end."""
        return float(self.timing.step_end.max(initial=0.0))

    @property
    def duration(self) -> float:
        """Seconds from its launch to the arrival of the last transfer: `time` unless it has a `begin`."""
        return max(0.0, self.time - self.begin)

    @property
    def algbw(self) -> float:
        """nbytes / duration, B/s (nccl-tests doc/PERFORMANCE.md); 0 where nothing had to move."""
        if self.duration:
            return self.nbytes / self.duration
        return 0.0

    @property
    def busbw(self) -> float:
        """algbw times the collective's factor, B/s."""
        return self.algbw * get_collective(self.schedule.collective).busbw(self.schedule.ranks)

    @cached_property
    def bound(self) -> Bound:
        """What no schedule can beat on this topology."""
        s = self.schedule
        kind = get_collective(s.collective)
        return lower_bound(
            kind,
            self.topology,
            self.nbytes,
            ranks=s.ranks,
            root=s.root,
            helpers=s.endpoints > s.ranks,
            dtype=self.dtype,
            shares=s.shares,
        )

    @property
    def gap(self) -> float:
        """duration / bound: 1.0 is optimal. Below 1 only with sharing `"none"`, where links carry more than they can.
        `close_gap` finds the schedule that comes nearest."""
        if self.bound.time:
            return self.duration / self.bound.time
        return 1.0

    @cached_property
    def error(self) -> Sentence | None:
        """Why this cannot be the time of a right schedule: it is below the bound, and `verify` says what the schedule
        does not do (or it is too large to be verified); None where nothing is known against it."""
        if self.duration >= self.bound.time * (1 - _BELOW_BOUND):
            return None
        fault = views["fault"](self.schedule)
        if fault is None:
            return None
        return Sentence(
            "{time} is below the bound of {bound}, which no correct {collective} can beat on {topology}. {fault}",
            time=format_time(self.duration),
            bound=format_time(self.bound.time),
            collective=self.schedule.collective,
            topology=self.topology.name,
            fault=fault,
        )

    # ---- traffic

    @cached_property
    def link_bytes(self) -> Longs:
        """(links,) bytes that crossed each directed link."""
        return _freeze_array(_round_total(self.timing.link_bytes, self._sum_link_bytes, self.slot_bytes))

    def _sum_link_bytes(self, slot_bytes: Longs) -> Floats:
        """The same for slots of other sizes: what crosses a link follows from routes alone, whatever the engine."""
        return run_lockstep(self.schedule, self.topology, slot_bytes, self.placement).link_bytes

    @cached_property
    def other_bytes(self) -> Longs:
        """(links,) bytes that others put on each directed link between launch and end of this run: collectives,
        background traffic."""
        return _freeze_array(_require_countable(np.rint(self._other_bytes)).astype(np.int64))

    @cached_property
    def _other_bytes(self) -> Floats:
        """The same with the parts of bytes that are under way at the end."""
        total = np.zeros(len(self.topology.links))
        for other in self.others:
            within = (
                other.step_start.min(initial=self.begin) >= self.begin and other.step_end.max(initial=0.0) <= self.time
            )
            if other.crossing is None or within:
                total += other.link_bytes
                continue
            flows = other.crossing()
            moved = flows.rate * np.maximum(np.minimum(flows.end, self.time) - np.maximum(flows.begin, self.begin), 0.0)
            total += np.bincount(flows.link, weights=moved, minlength=len(total))
        return total

    @cached_property
    def link_busy(self) -> Floats:
        """(links,) seconds each link needs, at full rate, for all bytes that crossed it in the run, those of others
        too."""
        return _freeze_array((self.link_bytes + self._other_bytes) / self.topology.links.bandwidth)

    @cached_property
    def sent_bytes(self) -> Longs:
        """(endpoints,) bytes that left each endpoint; local copies do not count."""
        return self._count_endpoint_bytes("src")

    @cached_property
    def received_bytes(self) -> Longs:
        """(endpoints,) bytes that arrived at each endpoint; local copies do not count."""
        return self._count_endpoint_bytes("dst")

    def _count_endpoint_bytes(self, side: str) -> Longs:
        sum_bytes = partial(self._sum_endpoint_bytes, side)
        return _freeze_array(_round_total(sum_bytes(self.slot_bytes), sum_bytes, self.slot_bytes))

    def _sum_endpoint_bytes(self, side: str, slot_bytes: Longs) -> Floats:
        total = np.zeros(self.schedule.endpoints)
        slots = Slots(slot_bytes)
        for pattern in self.schedule.patterns:
            for step, times in slots.iterate_repetitions(pattern):
                away = step.src != step.dst
                moved = np.broadcast_to(slots.count_bytes(step), len(step))[away]
                total += np.bincount(getattr(step, side)[away], weights=moved, minlength=len(total)) * times
        return total

    @cached_property
    def start(self) -> Floats:
        """(transfers,) seconds at which each transfer begins, in the order of `schedule.transfers`."""
        return self._transfer_times[0]

    @cached_property
    def finish(self) -> Floats:
        """(transfers,) seconds at which each transfer has arrived."""
        return self._transfer_times[1]

    @cached_property
    def _transfer_times(self) -> tuple[Floats, Floats]:
        start, finish = self.timing.transfers()
        return _freeze_array(start), _freeze_array(finish)

    @property
    def how(self) -> str:
        """How the times were computed: `lockstep`; for the event engine `symmetry`, `program order` or `events`."""
        return self.timing.how

    @property
    def _engine_text(self) -> str:
        if self.conditions is None:
            return self.engine
        return f"{self.engine} (sharing {self.conditions.sharing}; computed by {self.how})"

    @cached_property
    def segments(self) -> Segments:
        """The times in which the bytes of each transfer move, and their rates."""
        if self.timing.flows is not None:
            return self.timing.flows()
        return build_steady_segments(
            self.schedule, self.topology, self.slot_bytes, self.placement, self.start, self.finish
        )

    @cached_property
    def _routes(self) -> Routes:
        t = self.schedule.transfers
        return self.topology.routes(self.placement[t["src"]], self.placement[t["dst"]])

    @check_call
    def usage(self, link: int) -> Usage:
        """What one link carries over time: an exact step function in B/s, and the transfers that make it up.

        Args:
            link: Number of the link, its row in `topology.links`.
        """
        return compute_usage(self.segments, require_link(link, self.topology), self._routes)

    # ---- tables

    @property
    def links(self) -> pd.DataFrame:
        """A row per directed link: link, src, dst, kind, label, bandwidth (B/s), bytes, other (bytes of others
        meanwhile), busy (s), share (of the run)."""
        return self._links.copy()

    @cached_property
    def _links(self) -> pd.DataFrame:
        links, names = self.topology.links, self.topology.devices.name
        return pd.DataFrame(
            {
                "link": [f"{names[a]} → {names[b]}" for a, b in zip(links.src, links.dst, strict=True)],
                "src": [names[a] for a in links.src],
                "dst": [names[b] for b in links.dst],
                "kind": [links.cables[c].kind for c in links.cable],
                "label": [links.cables[c].label for c in links.cable],
                "bandwidth": links.bandwidth,
                "bytes": self.link_bytes,
                "other": self.other_bytes,
                "busy": self.link_busy,
                "share": self.link_busy / self.duration if self.duration else self.link_busy * 0,
            }
        )

    @cached_property
    def steps(self) -> pd.DataFrame:
        """A row per step: step, start, end, time (s), transfers, bytes."""
        sizes = [len(p) * p.width for p in self.schedule.patterns for _ in range(p.times)]
        moved = _round_total(self._sum_step_bytes(self.slot_bytes), self._sum_step_bytes, self.slot_bytes)
        begin, end = self.timing.step_start, self.timing.step_end
        return pd.DataFrame(
            {
                "step": np.arange(len(sizes)),
                "start": begin,
                "end": end,
                "time": end - begin,
                "transfers": sizes,
                "bytes": moved,
            }
        )

    def _sum_step_bytes(self, slot_bytes: Longs) -> Floats:
        """(steps,) bytes that the transfers of each step carry."""
        moved: list[float] = []
        slots = Slots(slot_bytes)
        for pattern in self.schedule.patterns:
            for step, times in slots.iterate_repetitions(pattern):
                moved += [float(np.broadcast_to(slots.count_bytes(step), len(step)).sum())] * times
        return np.array(moved)

    def to_frame(self) -> pd.DataFrame:
        """A row per transfer: step, src, dst, chunk, into, reduce, channel, bytes, start, finish (s)."""
        t = self.schedule.transfers
        frame = pd.DataFrame({name: t[name] for name in t.dtype.names or ()})
        frame["bytes"] = self.slot_bytes[t["chunk"]]
        frame["start"], frame["finish"] = self.start, self.finish
        return frame

    def row(self) -> dict[str, object]:
        """The figures as one flat record in SI units, for tables."""
        s = self.schedule
        return {
            "collective": s.collective,
            "algorithm": s.name,
            "topology": self.topology.name,
            "ranks": s.ranks,
            "nbytes": self.nbytes,
            "dtype": self.dtype,
            "engine": self.engine,
            "how": self.how,
            "steps": s.steps,
            "transfers": len(s),
            "time": self.time,
            "algbw": self.algbw,
            "busbw": self.busbw,
            "bound": self.bound.time,
            "gap": self.gap,
            "error": None if self.error is None else str(self.error),
        }

    # ---- why

    @cached_property
    def bottleneck(self) -> Bottleneck | None:
        """The kind of link whose doubling saves most, and what doubling each kind would save, found by running again;
        None where nothing moved."""
        if not self.duration or not self.link_bytes.any():
            return None
        share = np.where(self.link_bytes > 0, self.link_busy / self.duration, 0.0)
        links = self.topology.links
        kinds = np.array([c.kind for c in links.cables])[links.cable]
        used_kinds = self._list_used_kinds()
        savings: dict[str, float] = {}
        next_kinds: dict[str, str] = {}
        # Doubling every kind in turn and running again shows what helps: the busiest link need not be the one that
        # limits.
        for used_kind in used_kinds:
            faster = self.run_again(self.topology.scaled(kind=used_kind, by=2))
            savings[used_kind] = 1 - faster.duration / self.duration
            if len(used_kinds) > 1 and savings[used_kind] >= SMALL:
                next_kinds[used_kind] = links.kind(int(np.argmax(faster.link_busy)))
        busiest = int(np.argmax(share))
        # Where nothing saves anything, the busiest link names the kind.
        kind = _find_largest_saving(savings, str(kinds[busiest]))
        link = int(np.argmax(np.where(kinds == kind, share, -1.0)))
        cable = links.cables[links.cable[link]]
        return Bottleneck(
            link=link,
            name=self.topology.link_name(link),
            kind=cable.kind,
            label=cable.label,
            links=self._find_similar_links(kind, share, share[link] * 0.99),
            busy_share=float(share[link]),
            savings=savings,
            latency=self.run_again(self.topology, no_bytes=True).duration / self.duration,
            busiest=busiest,
            busiest_share=float(share[busiest]),
            next_kinds=next_kinds,
        )

    def _find_similar_links(self, kind: str, share: Floats, least: float) -> tuple[int, ...]:
        """Links of a kind that are busy for more than a share of the run."""
        links = self.topology.links
        same = np.array([c.kind == kind for c in links.cables])[links.cable]
        return tuple(int(i) for i in np.flatnonzero(same & (share > least)))

    def _list_used_kinds(self) -> list[str]:
        """Kinds of links that carried bytes."""
        links = self.topology.links
        used = np.bincount(links.cable[self.link_bytes > 0], minlength=len(links.cables))
        return sorted({cable.kind for cable, count in zip(links.cables, used, strict=True) if count})

    @check_call
    def run_again(self, topology: Topology, no_bytes: bool = False) -> Trace:
        """The same run, with all its options, with the links of another topology (an edit of this Trace's), or without
        any bytes.

        Args:
            topology: an edit of this Trace's topology, with the same devices.
            no_bytes: transfers cost their latency only.

        Returns:
            The Trace of the new run.
        """
        if self.rerun is not None:
            return self.rerun(topology, no_bytes)
        from .run import simulate

        return simulate(self.schedule, topology, 0 if no_bytes else self.nbytes, self.dtype, self.engine)

    def explain(self) -> str:
        """Three sentences: the bottleneck, what would change it (found by running again), and the gap to the lower
        bound."""
        neck = self.bottleneck
        if neck is None:
            return "Nothing had to move."
        alike = ""
        if len(neck.links) > 1:
            alike = f", and {len(neck.links) - 1} links like it"
        alternating = ""
        if neck.has_alternating_links:
            alternating = ", and others of its kind at other times"
        # Beyond half of the time, wider links would mislead: latency is named first.
        if neck.latency > 0.5:
            link, share = self.topology.link_name(neck.busiest), _format_percent(neck.busiest_share)
            busiest = f"the busiest link, {link}, is used {share} of it"
            first = f"Latency makes up {_format_percent(neck.latency)} of the time; {busiest}."
        else:
            first = (
                f"{neck.name} ({neck.label}{alike}) is busy {_format_percent(neck.busy_share)} of the run{alternating}."
            )
        savings = sorted(neck.savings.items(), key=lambda item: -item[1])
        second = "Doubling " + ", ".join(f"{kind} saves {_format_percent(saved)}" for kind, saved in savings) + "."
        least = f"{format_time(self.bound.time)} ({self.bound.limit})"
        third = f"No schedule on this topology can be faster than {least}; this one {self._format_gap}."
        if self.error is not None:
            third = str(self.error)
        shared = describe_shared_gpus(self.topology)
        return " ".join([first, second, third, *([str(shared)] if shared else [])])

    @property
    def _format_gap(self) -> str:
        times = f"{self.gap:.3g}"
        if times == "1":
            return "reaches it"
        return f"takes {times} times as long"

    @check_call
    def close_gap(
        self,
        *,
        effort: Literal["low", "normal", "high"] = "normal",
        switches: bool = True,
        progress: Callable[..., None] | bool | None = None,
    ) -> Any:
        """The schedule synthesized for this machine and size, raced against this run, ring and tree, with the sentences
        where the gain comes from and what gap remains.

        Args:
            effort: how long to search.
            switches: may switches of the machine reduce and multicast?
            progress: True for a bar, or a function called with (done, in all, what).
        """
        return views["close_gap"](self, effort=effort, switches=switches, progress=progress)

    # ---- showing

    @check_call
    def questions(self, seed: int = 0, count: int = 8, language: str = "en") -> Any:
        """Questions about this very run, with worked answers.

        Args:
            seed: the same seed and run give the same questions.
            count: how many; fewer come back where a run has no more to ask about.
            language: `en` or `zh`.
        """
        return views["questions"](self, seed, count, language)

    @check_call
    def animate(self, language: str = "en", **options: object) -> Any:
        """The player, for a notebook cell.

        Args:
            language: `en` or `zh`.
            options: `height` (pixels), `theme` (`light`, `dark`), `view` (`physical`, `logical`), `t` (s at which it
                stands).
        """
        return views["animate"](self, language, **options)

    @check_call
    def save(self, path: str | Path, **options: object) -> Path:
        """Write `x.html` (offline player), `.gif`, `.png`, `.trace.json` (Perfetto) ... by suffix.

        Args:
            path: the file; its suffix says the format.
            options: keywords of the writer of that format.

        Raises:
            CollsimError: For another suffix.
        """
        saved: Path = views["save"](self, path, **options)
        return saved

    def _repr_html_(self) -> str | None:
        return views["html"](self) if "html" in views else None

    def _repr_png_(self) -> bytes | None:
        still: bytes | None = views["animate"](self)._repr_png_() if "animate" in views else None
        return still

    def __repr__(self) -> str:
        return (
            f"<Trace {self.schedule.label} on {self.topology.name}, {format_bytes(self.nbytes)}: "
            f"{format_time(self.time)}{self._suspicion}>"
        )

    @property
    def _suspicion(self) -> str:
        """What `repr` adds to a time that no right schedule can have."""
        with contextlib.suppress(CollsimError):  # a repr never fails, where no bound is known either
            if self.error is not None:
                return f", below its bound of {format_time(self.bound.time)}: no correct {self.schedule.collective}"
        return ""

    def _list_used_ranks(self) -> list[str]:
        """Lines that say which GPUs take part, where some of the topology do not, and what libraries do where ranks
        share one."""
        if not has_unused_gpus(self.topology, self.schedule.ranks):
            return []
        shared = describe_shared_gpus(self.topology)
        ranks = str(describe_ranks(self.topology, self.placement[: self.schedule.ranks]))
        return [ranks, *([str(shared)] if shared else [])]

    def __str__(self) -> str:
        launched = ""
        if self.begin:
            launched = f"; launched at {format_time(self.begin)}, it took {format_time(self.duration)}"
        lines = [
            f"{self.schedule.label} on {self.topology.name}, {format_bytes(self.nbytes)}, {self.dtype}, engine "
            f"{self._engine_text}",
            *self._list_used_ranks(),
            f"time   {format_time(self.time)}{launched}",
            f"algbw  {format_bandwidth(self.algbw)}",
            f"busbw  {format_bandwidth(self.busbw)}",
            f"bound  {format_time(self.bound.time)} ({self.bound.limit}); this run {self._format_gap}",
        ]
        if self.error is not None:
            lines.append(f"error  {self.error}")
        if self.bottleneck is not None:
            lines.append(f"bottleneck  {self.bottleneck}")
        return "\n".join(lines)


def _round_total(total: Floats, sum_bytes: Callable[[Longs], Floats], slot_bytes: Longs) -> Longs:
    """A sum of slots' bytes as whole numbers: `total` where floats hold it, else worked out anew for the upper and the
    lower bits of every slot, which they do. Raises CollsimError above 2^63."""
    if total.max(initial=0.0) < 2**53:
        return np.rint(total).astype(np.int64)
    _require_countable(total)
    upper, lower = sum_bytes(slot_bytes >> _LOWER_BITS), sum_bytes(slot_bytes & (2**_LOWER_BITS - 1))
    return (np.rint(upper).astype(np.int64) << _LOWER_BITS) + np.rint(lower).astype(np.int64)


def _require_countable(total: Floats) -> Floats:
    """Raises CollsimError for more bytes than 64 bits count."""
    if total.max(initial=0.0) >= 2.0**63 * (1 - 1e-9):
        message = "{total:.3g} bytes on one link or endpoint cannot be counted; use a smaller nbytes"
        raise CollsimError(message, total=total.max())
    return total


def _find_largest_saving(savings: dict[str, float], busiest: str) -> str:
    """The kind of link whose doubling saves most; where others save hardly less, the busiest link's."""
    most = max(savings.values())
    if savings[busiest] >= most - SMALL:
        return busiest
    return max(savings, key=lambda kind: savings[kind])


def _format_percent(share: float) -> str:
    if share < SMALL:
        return "nothing"
    return f"{100 * share:.3g} %"
