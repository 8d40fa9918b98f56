"""A Trace as one strict JSON object, all that a player needs (docs/timeline.md).

Times are seconds, sizes bytes, rates bytes per second; coordinates CSS pixels. Columns, not rows; every number is a
plain Python number, so that `json.dumps(allow_nan=False)` never stumbles.

A schedule that does not do what its collective promises is played like any other, and the place where it begins goes
along as `mistake = {"kind", "rank", "chunk", "step", "transfer", "text": {"en", "zh"}}` (null where the schedule is
right; see `mistake.Mistake`): `rank` and `chunk` are the endpoint and slot of the cell, `step` counts from 0,
`transfer` is the id in `transfers` of the one that does it, null for one that is not there. The player opens at that
moment, outlines the cell in every view and says `text`. Hosts pass nothing for it: `timeline(trace)` runs `verify` on
the schedule itself.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...collective import NOTHING, collective
from ...errors import CollsimError, FormatError, Sentence, join_words
from ...simulate.together import Together, Whole
from ..layout.geometry import flat
from ..layout.shapes import StageLayout, layout
from ..sentences import words
from ..sentences.causes import bottleneck
from ..sentences.names import endpoint_name
from ..sentences.narration import narrate
from . import together
from .inside import Drawn, drawn, held_ranks, inside_of
from .logical import logical
from .mistake import mistake
from .phases import Phase, phases
from .rows import key, rows
from .running import running

if TYPE_CHECKING:
    from ...simulate import Trace

SCHEMA = "collsim.timeline/1"
MOST_TRANSFERS = 200_000
_LARGE = 200_000  # bytes of JSON beyond which it is packed
_LONG, _REPEATED = 1_000, 4  # entries of a column, and of each of its values on average, from which text is made once
_TEXT_RANKS, _TEXT_STEPS = 33, 64
_MOST_HOPPING, _MOST_FLOWS = 50_000, 100_000


def timeline(
    trace: Trace | Together, also: npt.NDArray[np.bool_] | None = None, *, inside: bool = True
) -> dict[str, Any]:
    """Everything that a player shows of a run, or of several collectives at once.

    Args:
        also: (links,) links to draw even where nothing crosses them, so that two runs on one machine get the same
        picture.
        inside: also what is in nodes that are drawn as boxes, for a player that opens them.

    Raises CollsimError for a run of more than 200,000 transfers, and says what to look at instead.
    """
    made: dict[str, Any] = _listed(_whole(trace, also, inside))
    return made


def sent(trace: Trace | Together) -> dict[str, Any]:
    """`encode(timeline(trace))`, without ever making lists of the columns where they are long."""
    made: dict[str, Any] = _listed(encode(_whole(trace, None, inside=True)))
    return made


def _whole(trace: Trace | Together, also: npt.NDArray[np.bool_] | None, inside: bool) -> dict[str, Any]:
    """The timeline with arrays for its long columns."""
    trace = trace.whole if isinstance(trace, Together) else trace
    s = trace.schedule
    if len(s) > MOST_TRANSFERS:
        raise _too_many(trace)
    made = drawn(_layout(trace, also), trace, inside)
    routes, route = _routes(trace, made)
    flows = _flows(trace, made, routes, route)
    order = np.argsort(trace.start, kind="stable")
    several = trace if isinstance(trace, Whole) else None
    bands = phases(s) if several is None else together.bands(several)
    lines = rows(trace, made)
    whole: dict[str, Any] = {
        "schema": SCHEMA,
        "meta": _meta(trace),
        "stage": _stage(made.stage),
        "panels": _panels(made.stage),
        "devices": _devices(trace, made),
        "links": _links(made, lines),
        "rows": lines,
        "key": [entry for entry in key(trace) if entry["kind"] in made.kinds],
        "routes": routes,
        "transfers": _transfers(trace, route, order),
        "steps": _steps(trace, bands),
        "phases": [p.entry() for p in bands],
        "logical": logical(s, _across(trace)),
        "state": _state(trace) if several is None else together.state(several),
        "figures": _figures(trace, made),
        "bottleneck": _bottleneck(trace, made),
        "mistake": _mistake(trace, order),
        "text": _text(trace),
    }
    several_said = None if several is None else together.groups(several)
    optional = {
        "hops": _hops(trace, made, order),
        "flows": flows,
        "groups": several_said,
        "inside": inside_of(trace, made) if made.insides else None,
        "code": running(trace) if several is None else None,
    }
    return whole | {name: value for name, value in optional.items() if value is not None}


def encode(made: dict[str, Any]) -> dict[str, Any]:
    """The timeline as a host sends it: itself, or `{"schema", "z"}` with base64 of gzipped JSON where it is large."""
    if len(text := _text_of(made)) <= _LARGE:
        return made
    packed = gzip.compress(text.encode(), compresslevel=6, mtime=0)
    return {"schema": made["schema"], "z": base64.b64encode(packed).decode("ascii")}


def decode(sent: dict[str, Any] | str) -> dict[str, Any]:
    """The timeline from what `encode` or `dumps` made. Raises FormatError for anything else."""
    try:
        made: Any = json.loads(sent) if isinstance(sent, str) else sent
        if isinstance(made, dict) and "z" in made:
            made = json.loads(gzip.decompress(base64.b64decode(made["z"])))
    except (ValueError, OSError, EOFError) as error:
        raise FormatError("this is not a timeline: {error}", error=error) from error
    version = str(made.get("schema", "none")) if isinstance(made, dict) else "none"
    if version.split("/")[0] + "/" + version.split("/")[-1].split(".")[0] != SCHEMA:
        raise FormatError(
            "timeline has schema {version!r}; this collsim reads {schema!r}", version=version, schema=SCHEMA
        )
    assert isinstance(made, dict)
    return made


def dumps(made: dict[str, Any]) -> str:
    """Strict JSON: no NaN, no infinity, nothing that is not JSON."""
    return _plain(_listed(made))


_plain = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode


# ---- columns to text


def _listed(made: Any) -> Any:
    """The same with a list of plain numbers for each column of an array."""
    if isinstance(made, dict):
        return {name: _listed(of) for name, of in made.items()}
    return made.tolist() if isinstance(made, np.ndarray) else made


def _text_of(made: Any) -> str:
    """JSON of a document whose columns may be arrays."""
    if isinstance(made, dict):
        return "{" + ",".join(f"{_plain(str(name))}:{_text_of(of)}" for name, of in made.items()) + "}"
    return _column(made) if isinstance(made, np.ndarray) else _plain(made)


def _column(numbers: npt.NDArray[Any]) -> str:
    """A column as a JSON array. Long ones mostly have few values, each many times: those are written once each, all as
    wide as the widest, and put in a row by number; JSON allows the spaces."""
    if len(numbers) >= _LONG:
        values, at = np.unique(numbers, return_inverse=True)
        if _REPEATED * len(values) <= len(numbers):
            written = [_plain(value) for value in values.tolist()]
            width = max(map(len, written))
            row = np.array([f"{one:>{width}}," for one in written], dtype=np.bytes_)[at.ravel()]
            return f"[{row.tobytes()[:-1].decode()}]"
    return _plain(numbers.tolist())


# ---- parts


def _too_many(trace: Trace) -> CollsimError:
    s = trace.schedule
    extra = [
        f"{name}={value}"
        for name, value in s.options.items()
        if name in ("chunks", "channels") and isinstance(value, int) and value > 1
    ]
    return CollsimError(
        "{label} has {transfers:,} transfers; the player shows at most {most:,}. Choose fewer than {ranks:,} "
        "ranks{fewer}, or read the figures without a picture: trace.row(), trace.links, trace.steps, "
        "collsim.viz.pictures.plots",
        label=s.label,
        transfers=len(s),
        most=MOST_TRANSFERS,
        ranks=s.ranks,
        fewer=Sentence(" or less than {options}", options=join_words(extra, "{first} and {then}")) if extra else "",
    )


def _layout(trace: Trace, also: npt.NDArray[np.bool_] | None) -> StageLayout:
    carried = trace.link_bytes + trace.other_bytes
    return layout(trace.topology, carried if also is None else np.where(also, np.maximum(carried, 1), carried))


def _seconds(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.round(values, 12)


def _steps(trace: Trace, bands: list[Phase]) -> dict[str, Any]:
    said = together.narrated(trace) if isinstance(trace, Whole) else narrate(trace)
    return {
        "t0": _seconds(trace.timing.step_start),
        "t1": _seconds(trace.timing.step_end),
        "text": {"en": [en for en, _ in said], "zh": [zh for _, zh in said]},
        "phase": _phase_of_steps(bands),
    }


def _bottleneck(trace: Trace, made: Drawn) -> dict[str, Any] | None:
    found = bottleneck(trace)
    links = trace.bottleneck.links if trace.bottleneck else ()
    return None if found is None else {**found, "links": _drawn(made, links)}


def _meta(trace: Trace) -> dict[str, Any]:
    s = trace.schedule
    text = f"{s.name}, {words.size(trace.nbytes)}, "
    en, zh = f"{text}{s.ranks} ranks on {trace.topology.name}", f"{text}{s.ranks} 个 rank，{trace.topology.name}"
    if isinstance(trace, Whole):
        en, zh = together.title(trace)
    return {
        "id": _identity(trace),
        "title": {"en": en, "zh": zh},
        "collective": s.collective,
        "algorithm": s.name,
        "topology": trace.topology.name,
        "ranks": s.ranks,
        "endpoints": s.endpoints,
        "chunks": s.chunks,
        "slots": s.slots,
        "channels": s.channels,
        "nbytes": int(trace.nbytes),
        "dtype": trace.dtype,
        "engine": trace.engine,
        "sharing": "fair" if trace.conditions is None else trace.conditions.sharing,
        "time": round(trace.time, 12),
        "version": _version(),
    }


@lru_cache(maxsize=1)
def _version() -> str:
    try:
        return metadata.version("collsim")
    except metadata.PackageNotFoundError:
        return "unknown"


def _identity(trace: Trace) -> str:
    """A hash of what was run and what came out: equal runs have equal ids."""
    s, links = trace.schedule, trace.topology.links
    digest = hashlib.sha256(
        f"{s.label} {trace.topology.name} {trace.nbytes} {trace.dtype} {trace.engine} {trace.time!r}".encode()
    )
    columns: list[Any] = [links.src, links.dst, links.bandwidth, links.alpha, trace.link_bytes, trace.timing.step_end]
    for p in s.patterns:
        columns += [p.src, p.dst, p.chunk, p.into, p.reduce, np.array([p.times, p.shift, p.modulus, p.width])]
    for array in columns:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _stage(made: StageLayout) -> dict[str, Any]:
    stage: dict[str, Any] = {"w": round(made.w, 1), "h": round(made.h, 1), "pipe": round(made.pipe, 5)}
    if made.key is not None:
        stage["key"] = {"x": made.key.x, "y": made.key.y, "w": made.key.w, "h": made.key.h}
    return stage


def _panels(made: StageLayout) -> list[dict[str, Any]]:
    return [
        {"x": p.box.x, "y": p.box.y, "w": p.box.w, "h": p.box.h, "label": p.label, "note": p.note, "foot": p.foot}
        for p in made.panels
    ]


def _devices(trace: Trace, whole: Drawn) -> dict[str, Any]:
    made = whole.stage
    what = made.picture
    ours = {int(there): here for here, there in enumerate(trace.place)}  # the ranks that the schedule uses
    endpoints = [ours.get(e, -1) if e >= 0 else -1 for e in what.endpoint]
    columns: dict[str, Any] = {k: [round(float(getattr(b, k)), 2) for b in made.boxes] for k in ("x", "y", "w", "h")}
    if what.shape == "cluster":
        columns["holds"] = held_ranks(trace, made)
        columns["bars"] = whole.bars(trace)
    return {
        "name": what.name,
        "label": _labels(trace, made, endpoints),
        "kind": what.kind,
        "panel": [made.panel_of(d) for d in range(len(what))],
        "endpoint": endpoints,
        **columns,
    }


def _labels(trace: Trace, made: StageLayout, endpoints: list[int]) -> list[Any]:
    labels = list(made.labels)
    for d, endpoint in enumerate(endpoints):
        if endpoint >= trace.schedule.ranks:
            en, zh = endpoint_name(trace.schedule, endpoint)
            labels[d] = {"en": en.removeprefix("the "), "zh": zh}
    return labels


def _links(made: Drawn, lines: list[dict[str, Any]]) -> dict[str, Any]:
    what = made.stage.picture
    row = [-1] * made.links
    for number, entry in enumerate(lines):
        for link in entry["links"]:
            row[link] = number
    columns: dict[str, Any] = {
        "src": what.src.tolist(),
        "dst": what.dst.tolist(),
        "kind": list(what.link_kind),
        "label": list(what.link_label),
        "alpha": what.alpha.tolist(),
        "bandwidth": what.bandwidth.tolist(),
        "path": [flat(line) for line in made.stage.lines],
    }
    for name, more in made.links_inside().items():
        columns[name] += more
    return {**columns, "row": row}


def _routes(trace: Trace, made: Drawn) -> tuple[dict[str, Any], npt.NDArray[np.int64]]:
    """The routes in use, each once, as links of the picture; and the route of every transfer."""
    t = trace.schedule.transfers
    pair = t["src"].astype(np.int64) * trace.schedule.endpoints + t["dst"]
    pairs, route = np.unique(pair, return_inverse=True)
    src, dst = np.divmod(pairs, trace.schedule.endpoints)
    if not len(pairs):
        return {"start": [0], "link": []}, route.astype(np.int64)
    found = trace.topology.routes(trace.place[src], trace.place[dst])
    links = made.link_of[found.link]
    owner = np.repeat(np.arange(len(pairs)), found.hops)[links >= 0]
    start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(pairs)))])
    return {"start": start.tolist(), "link": links[links >= 0].tolist()}, route.ravel().astype(np.int64)


def _flows(trace: Trace, made: Drawn, routes: dict[str, Any], route: npt.NDArray[np.int64]) -> dict[str, Any] | None:
    """What crosses cables at which rates, others' bytes too, where the engine has stretches of its own for that (no
    barriers).

    Adds to `routes` one route for each cable that is on its own (store and forward, and what others carry).
    """
    s = trace.schedule
    if trace.engine != "event" or trace.timing.flows is None or not 0 < len(s) <= _MOST_HOPPING:
        return None
    own = trace.segments
    stored = bool((own.link >= 0).any())
    others = [other.crossing() for other in trace.others if other.crossing is not None]
    if (stored and not others) or sum(len(f.row) for f in (own, *others)) > _MOST_FLOWS:
        return None  # store and forward has the times of every hop already
    link_of = made.link_of
    parts = [own, *others] if stored else others
    single = np.full(len(link_of) + 1, -1, np.int64)  # a link beyond the topology's is an injection limit
    for link in np.unique(np.concatenate([f.link for f in parts])) if parts else []:
        if link < len(link_of) and link_of[link] >= 0:
            single[link] = len(routes["start"]) - 1
            routes["link"].append(int(link_of[link]))
            routes["start"].append(len(routes["link"]))
    columns = [(single[np.minimum(f.link, len(link_of))], f) for f in parts] + (
        [] if stored else [(route[own.row], own)]
    )
    number = np.concatenate([n for n, _ in columns])
    begin, end, rate = (np.concatenate([getattr(f, name) for _, f in columns]) for name in ("begin", "end", "rate"))
    begin, end = np.maximum(begin, trace.begin), np.minimum(end, trace.time)
    keep = np.flatnonzero((number >= 0) & (end > begin))
    moved = rate[keep] * (end - begin)[keep]
    return {
        "route": number[keep],
        "t0": _seconds(begin[keep]),
        "t1": _seconds(end[keep]),
        "bytes": np.round(moved, 3),
    }


def _transfers(trace: Trace, route: npt.NDArray[np.int64], order: npt.NDArray[np.int64]) -> dict[str, Any]:
    t = trace.schedule.transfers
    columns: dict[str, Any] = {
        name: t[name][order].astype(int) for name in ("step", "src", "dst", "chunk", "into", "reduce", "channel")
    }
    columns["bytes"] = trace.slot_bytes[t["chunk"]][order]
    columns["t0"], columns["t1"] = _seconds(trace.start[order]), _seconds(trace.finish[order])
    columns["route"] = route[order]
    return columns


def _hops(trace: Trace, made: Drawn, order: npt.NDArray[np.int64]) -> dict[str, Any] | None:
    """When each hop of each transfer begins and ends, where the engine has times of its own for them (store and
    forward)."""
    t = trace.schedule.transfers
    if trace.engine != "event" or not 0 < len(t) <= _MOST_HOPPING:
        return None
    flows = trace.segments
    if not (flows.link >= 0).any():
        return None
    routes = trace.topology.routes(trace.place[t["src"]], trace.place[t["dst"]])
    owner = np.repeat(np.arange(len(t)), routes.hops)
    share = (np.arange(len(owner)) - routes.start[owner]) / routes.hops[owner]
    lasts = (trace.finish - trace.start)[owner]
    t0 = trace.start[owner] + share * lasts  # a transfer without bytes has no times of its own
    t1 = t0 + lasts / routes.hops[owner]
    width = len(trace.topology.links)
    hop, flow = owner * width + routes.link, flows.row * width + flows.link
    by_hop = np.argsort(hop, kind="stable")
    known = (flows.link >= 0) & (flows.link < width) & np.isin(flow, hop)
    at = by_hop[np.searchsorted(hop[by_hop], flow[known])]
    t0[at], t1[at] = np.inf, -np.inf
    np.minimum.at(t0, at, flows.begin[known])
    np.maximum.at(t1, at, flows.end[known])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    sequence = np.argsort(place[owner], kind="stable")
    sequence = sequence[made.link_of[routes.link[sequence]] >= 0]
    return {"t0": _seconds(t0[sequence]), "t1": _seconds(t1[sequence])}


def _across(trace: Trace) -> int:
    """Ranks that stand side by side: those of a node, or of a torus's last dimension; 0 where there is no such
    thing."""
    topology = trace.topology
    if len(dims := topology.facts.get("dims", ())) > 1:
        return int(dims[-1])
    nodes = int(topology.devices.node.max(initial=-1)) + 1
    return topology.ranks // nodes if nodes > 1 and topology.ranks == trace.schedule.ranks else 0


def _phase_of_steps(bands: list[Phase]) -> list[int]:
    return [number for number, p in enumerate(bands) for _ in range(p.first, p.last + 1)]


def _state(trace: Trace) -> dict[str, Any]:
    """Who holds what at the start, and what a finished cell is."""
    s = trace.schedule
    kind = collective(s.collective)
    whole = s.slots == s.chunks  # the short forms speak of every slot; scratch needs a list
    held: Any = kind.before
    if held not in ("all", "own", "root") or (held != "own" and not whole):
        held = np.argwhere(kind.held(s.ranks, s.chunks, s.root)[:, : s.slots]).tolist()
    wanted: Any = kind.after
    if wanted not in ("all", "own", "root") or (wanted != "own" and not whole):
        wanted = np.argwhere(kind.wanted(s.ranks, s.chunks, s.root)[0] != NOTHING).tolist()
    return {"held": held, "root": int(s.root), "goal": s.ranks if kind.reduces else 1, "wanted": wanted}


def _figures(trace: Trace, made: Drawn) -> dict[str, Any]:
    link_of = made.link_of
    drawn = link_of >= 0
    carried = (trace.link_bytes + trace.other_bytes)[drawn]
    link_bytes = np.bincount(link_of[drawn], weights=carried, minlength=made.links)
    return {
        "time": trace.time,
        "spent": trace.spent,
        "algbw": float(trace.algbw),
        "busbw": float(trace.busbw),
        "bound": float(trace.bound.time),
        "link_bytes": link_bytes.astype(np.int64).tolist(),
    }


def _mistake(trace: Trace, order: npt.NDArray[np.int64]) -> dict[str, Any] | None:
    """The first wrong cell of the schedule, its transfer as an id of the timeline."""
    found = together.first_mistake(trace) if isinstance(trace, Whole) else mistake(trace.schedule)
    if found is None:
        return None
    transfer = None if found.row is None else int(np.flatnonzero(order == found.row)[0])
    return {
        "kind": found.kind,
        "rank": found.rank,
        "chunk": found.chunk,
        "step": found.step,
        "transfer": transfer,
        "text": {"en": found.text[0], "zh": found.text[1]},
    }


def _drawn(made: Drawn, links: tuple[int, ...]) -> list[int]:
    """Picture ids of links of the topology."""
    return sorted({int(made.link_of[link]) for link in links} - {-1})


def _text(trace: Trace) -> dict[str, Any] | None:
    s = trace.schedule
    if s.endpoints > _TEXT_RANKS or s.steps > _TEXT_STEPS or len(s) > 20_000:
        return None
    names, cells = s.diagram_cells(_TEXT_RANKS, _TEXT_STEPS)
    return {"row": names, "cell": cells}
