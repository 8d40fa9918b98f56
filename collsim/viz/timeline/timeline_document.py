"""A Trace as one strict JSON object, all that a player needs (docs/timeline.md).

Times are seconds, sizes bytes, rates bytes per second; coordinates CSS pixels. Columns, not rows; every number is a
plain Python number, so that `json.dumps(allow_nan=False)` never stumbles.

A schedule that does not do what its collective promises is played like any other, and the place where it begins goes
along as `mistake = {"kind", "rank", "chunk", "step", "transfer", "text": {"en", "zh"}}` (null where the schedule is
right; see `mistake.Mistake`): `rank` and `chunk` are the endpoint and slot of the cell, `step` counts from 0,
`transfer` is the id in `transfers` of the one that does it, null for one that is not there. The player opens at that
moment, outlines the cell in every view and says `text`. Hosts pass nothing for it: `build_timeline(trace)` runs
`verify` on the schedule itself.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from ...analysis.endpoint_names import name_box
from ...analysis.run_facts import RunFacts
from ...collective import NOTHING, get_collective
from ...errors import CollsimError, FormatError, Sentence, join_words
from ...errors.arguments import check_arguments
from ...locale import LANGUAGES, build_text, map_languages
from ...package_data import __version__
from ...simulate.concurrent_results import ConcurrentTrace, MergedTrace
from ..layout.arrangement import lay_out
from ..layout.geometry import flatten_points
from ..layout.shapes import Label, StageLayout
from ..sentences import words
from ..sentences.narration import narrate
from ..sentences.time_sentences import describe_bottleneck
from . import concurrent_timeline
from .link_rows import build_rows, list_link_kinds
from .logical_view import build_logical_view
from .mistake import find_mistake
from .node_stages import Drawing, build_drawing, describe_insides, list_ranks_in_devices
from .running_line import trace_source_lines
from .schedule_phases import Phase, list_phases
from .timeline_types import (
    EncodedTimeline,
    LinkRow,
    NarrowStage,
    Timeline,
    TimelineCause,
    TimelineFigures,
    TimelineMeta,
    TimelineMistake,
    TimelinePanel,
    TimelineRoutes,
    TimelineStage,
)

if TYPE_CHECKING:
    from ...simulate import Trace

SCHEMA = "collsim.timeline/1"
MAX_TRANSFERS = 200_000
_LARGE = 200_000  # bytes of JSON beyond which it is packed
_LONG, _REPEATED = 1_000, 4  # entries of a column, and of each of its values on average, from which text is made once
_TEXT_RANKS, _TEXT_STEPS = 33, 64
_MAX_HOPPING, _MAX_FLOWS = 50_000, 100_000


@check_arguments
def build_timeline(
    trace: Trace | ConcurrentTrace | RunFacts, also: npt.NDArray[np.bool_] | None = None, *, inside: bool = True
) -> Timeline:
    """Everything that a player shows of a run, or of several collectives at once.

    Args:
        trace: The run, or several collectives at once; the facts of a run where something else is shown of it, too.
        also: (links,) links to draw even where nothing crosses them, so that two runs on one machine get the same
            picture.
        inside: Whether nodes that are drawn as boxes get their inside, too, for a player that opens them.

    Returns:
        The document of docs/timeline.md: only lists, numbers, texts and None.

    Raises:
        CollsimError: The run has more than 200,000 transfers; the message says what to look at instead.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import build_timeline
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), nbytes="1MiB")
        >>> timeline = build_timeline(trace)
        >>> timeline["schema"], len(timeline["steps"])
        ('collsim.timeline/1', 4)
    """
    return cast(Timeline, _convert_arrays(_build_columns(trace, also, inside)))


def build_encoded_timeline(trace: Trace | ConcurrentTrace | RunFacts) -> EncodedTimeline:
    """`encode(build_timeline(trace))`, without ever making lists of the columns where they are long.

    Args:
        trace: As `build_timeline` takes it.
    """
    return cast(EncodedTimeline, _convert_arrays(encode(_build_columns(trace, None, inside=True))))


def _build_columns(
    run: Trace | ConcurrentTrace | RunFacts, also: npt.NDArray[np.bool_] | None, inside: bool
) -> dict[str, object]:
    """The timeline with arrays for its long columns."""
    if isinstance(run, ConcurrentTrace):
        run = run.whole
    facts = run if isinstance(run, RunFacts) else RunFacts(run)
    trace = facts.trace
    s = trace.schedule
    if len(s) > MAX_TRANSFERS:
        raise _refuse_transfers(trace)
    drawing = build_drawing(_lay_out_stage(trace, also), facts, inside)
    routes = _list_routes(facts, drawing)
    flows = _list_flows(facts, drawing, routes)
    order = np.argsort(trace.start, kind="stable")
    several = None
    if isinstance(trace, MergedTrace):
        several = trace
    optional: dict[str, object] = {"hops": _time_hops(trace, drawing, order), "flows": flows}
    if several is None:
        bands, state = list_phases(facts), _describe_state(trace)
        optional["code"] = trace_source_lines(trace)
    else:
        bands, state = concurrent_timeline.build_bands(several), concurrent_timeline.describe_state(several)
        optional["groups"] = concurrent_timeline.describe_groups(several)
    if drawing.insides:
        optional["inside"] = describe_insides(trace, drawing)
    if drawing.stage.narrow is not None:
        optional["narrow"] = _describe_narrow_stage(trace, drawing.stage.narrow)
    lines = build_rows(facts, drawing)
    document: dict[str, object] = {
        "schema": SCHEMA,
        "meta": _describe_run(trace),
        "stage": _describe_stage(drawing.stage),
        "panels": _describe_panels(drawing.stage),
        "devices": _describe_devices(trace, drawing),
        "links": _describe_links(drawing, lines),
        "rows": lines,
        "key": [entry for entry in list_link_kinds(trace) if entry["kind"] in drawing.kinds],
        "routes": routes,
        "transfers": _list_transfers(facts, order),
        "steps": _describe_steps(facts, bands),
        "phases": [p.to_document() for p in bands],
        "logical": build_logical_view(s, _count_ranks_across(trace)),
        "state": state,
        "figures": _describe_figures(trace, drawing),
        "bottleneck": _describe_bottleneck(facts, drawing),
        "mistake": _describe_mistake(facts, order),
        "text": _draw_text_diagram(trace),
    }
    return document | {name: value for name, value in optional.items() if value is not None}


@check_arguments
def encode(document: Timeline | EncodedTimeline) -> EncodedTimeline:
    """The timeline as a host sends it: itself, or `{"schema", "z"}` with base64 of gzipped JSON where it is large.

    Args:
        document: A timeline, as `build_timeline` makes it.

    Returns:
        The timeline itself up to 200 kB of JSON; else its schema and its compressed text.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import build_timeline, encode
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=64), cs.topology.ring(64), nbytes="1MiB")
        >>> sorted(encode(build_timeline(trace)))  # large: gzipped
        ['schema', 'z']
    """
    if len(text := _encode_document(document)) <= _LARGE:
        return cast(EncodedTimeline, document)
    packed = gzip.compress(text.encode(), compresslevel=6, mtime=0)
    return {"schema": document["schema"], "z": base64.b64encode(packed).decode("ascii")}


@check_arguments
def decode(encoded: Mapping[str, object] | str) -> Timeline:
    """The timeline from what `encode` or `dump_json` made.

    Args:
        encoded: What `encode` or `dump_json` made.

    Returns:
        The timeline, as `build_timeline` made it.

    Raises:
        FormatError: For anything else.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import build_timeline, decode, encode
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), nbytes="1MiB")
        >>> timeline = build_timeline(trace)
        >>> decode(encode(timeline)) == timeline
        True
    """
    try:
        if isinstance(encoded, str):
            document: object = json.loads(encoded)
        else:
            document = encoded
        if isinstance(document, dict) and "z" in document:
            document = json.loads(gzip.decompress(base64.b64decode(document["z"])))
    except (ValueError, OSError, EOFError) as error:
        raise FormatError("this is not a timeline: {error}", error=error) from error
    version = "none"
    if isinstance(document, dict):
        version = str(document.get("schema", "none"))
    if version.split("/")[0] + "/" + version.split("/")[-1].split(".")[0] != SCHEMA:
        message = "timeline has schema {version!r}; this collsim reads {schema!r}"
        raise FormatError(message, version=version, schema=SCHEMA)
    return cast(Timeline, document)


def dump_json(document: Mapping[str, object]) -> str:
    """Strict JSON: no NaN, no infinity, nothing that is not JSON.

    Args:
        document: A timeline, as `build_timeline` makes it.
    """
    return _encode_json(_convert_arrays(document))


_encode_json = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode


# ---- columns to text


def _convert_arrays(value: object) -> object:
    """The same with a list of plain numbers for each column of an array."""
    if isinstance(value, dict):
        return {name: _convert_arrays(entry) for name, entry in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value


def _encode_document(value: object) -> str:
    """JSON of a document whose columns may be arrays."""
    if isinstance(value, dict):
        entries = (f"{_encode_json(str(name))}:{_encode_document(entry)}" for name, entry in value.items())
        return f"{{{','.join(entries)}}}"
    if isinstance(value, np.ndarray):
        return _encode_column(value)
    return _encode_json(value)


def _encode_column(numbers: npt.NDArray[np.generic]) -> str:
    """A column as a JSON array. Long ones mostly have few values, each many times: those are written once each, all as
    wide as the widest, and put in a row by number; JSON allows the spaces."""
    if len(numbers) >= _LONG:
        values, index = np.unique(numbers, return_inverse=True)
        if _REPEATED * len(values) <= len(numbers):
            written = [_encode_json(value) for value in values.tolist()]
            width = max(map(len, written))
            row = np.array([f"{text:>{width}}," for text in written], dtype=np.bytes_)[index.ravel()]
            return f"[{row.tobytes()[:-1].decode()}]"
    return _encode_json(numbers.tolist())


# ---- parts


def _refuse_transfers(trace: Trace) -> CollsimError:
    s = trace.schedule
    extra = [
        f"{name}={value}"
        for name, value in s.options.items()
        if name in ("chunks", "channels") and isinstance(value, int) and value > 1
    ]
    fewer: Sentence | str = ""
    if extra:
        fewer = Sentence(" or less than {options}", options=join_words(extra, "{first} and {then}"))
    return CollsimError(
        "{label} has {transfers:,} transfers; the player shows at most {most:,}. Choose fewer than {ranks:,} "
        "ranks{fewer}, or read the figures without a picture: trace.row(), trace.links, trace.steps, "
        "collsim.viz.pictures.plots",
        label=s.label,
        transfers=len(s),
        most=MAX_TRANSFERS,
        ranks=s.ranks,
        fewer=fewer,
    )


def _lay_out_stage(trace: Trace, also: npt.NDArray[np.bool_] | None) -> StageLayout:
    carried = trace.link_bytes + trace.other_bytes
    if also is not None:
        carried = np.where(also, np.maximum(carried, 1), carried)
    return lay_out(trace.topology, carried)


def _round_seconds(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.round(values, 12)


def _describe_steps(facts: RunFacts, bands: list[Phase]) -> dict[str, object]:
    trace = facts.trace
    if isinstance(trace, MergedTrace):
        sentences = concurrent_timeline.narrate_together(trace, facts.parts)
    else:
        sentences = narrate(facts)
    return {
        "t0": _round_seconds(trace.timing.step_start),
        "t1": _round_seconds(trace.timing.step_end),
        "text": {language: [text[k] for text in sentences] for k, language in enumerate(LANGUAGES)},
        "phase": [number for number, p in enumerate(bands) for _ in range(p.first, p.last + 1)],
    }


def _describe_bottleneck(facts: RunFacts, drawing: Drawing) -> TimelineCause | None:
    causes, limit = describe_bottleneck(facts), facts.trace.bottleneck
    if causes is None or limit is None:
        return None
    links = _map_links(drawing, limit.links)
    return {"text": causes["text"], "more": causes["more"], "short": causes["short"], "links": links}


def _describe_run(trace: Trace) -> TimelineMeta:
    s = trace.schedule
    values = {"algorithm": s.name, "size": words.format_size(trace.nbytes), "ranks": s.ranks}
    title = build_text("timeline", "document.title", topology=trace.topology.name, **values)
    if isinstance(trace, MergedTrace):
        title = concurrent_timeline.build_title(trace)
    return {
        "title": map_languages(title),
        "collective": s.collective,
        "ranks": s.ranks,
        "endpoints": s.endpoints,
        "chunks": s.chunks,
        "slots": s.slots,
        "channels": s.channels,
        "nbytes": int(trace.nbytes),
        "engine": trace.engine,
        "sharing": "fair" if trace.conditions is None else trace.conditions.sharing,
        "time": round(trace.time, 12),
        "version": __version__,
    }


def _describe_stage(layout: StageLayout) -> TimelineStage:
    stage: TimelineStage = {"w": round(layout.w, 1), "h": round(layout.h, 1), "pipe": round(layout.pipe, 5)}
    if layout.key is not None:
        stage["key"] = asdict(layout.key)
    return stage


def _describe_panels(layout: StageLayout) -> list[TimelinePanel]:
    return [
        {"x": p.box.x, "y": p.box.y, "w": p.box.w, "h": p.box.h, "label": p.label, "note": p.note, "foot": p.foot}
        for p in layout.panels
    ]


def _describe_devices(trace: Trace, drawing: Drawing) -> dict[str, object]:
    layout = drawing.stage
    what, endpoints = layout.picture, _list_endpoints(trace, layout)
    columns: dict[str, object] = {**_describe_boxes(layout)}
    if what.shape == "cluster":
        columns["holds"] = list_ranks_in_devices(trace, layout)
        columns["bars"] = drawing.build_bars(trace)
    return {
        "name": what.name,
        "label": _label_devices(trace, layout, endpoints),
        "kind": what.kind,
        "panel": [layout.find_panel(d) for d in range(len(what))],
        "endpoint": endpoints,
        **columns,
    }


def _list_endpoints(trace: Trace, layout: StageLayout) -> list[int]:
    """For each device the rank or helper of the schedule on it, -1 for none."""
    rank_of = {int(position): rank for rank, position in enumerate(trace.placement)}  # the ranks that the schedule uses
    return [rank_of.get(e, -1) if e >= 0 else -1 for e in layout.picture.endpoint]


def _describe_boxes(layout: StageLayout) -> dict[str, list[float]]:
    return {k: [round(float(getattr(b, k)), 2) for b in layout.boxes] for k in ("x", "y", "w", "h")}


def _describe_narrow_stage(trace: Trace, layout: StageLayout) -> NarrowStage:
    return {
        "stage": _describe_stage(layout),
        "panels": _describe_panels(layout),
        "devices": {
            **_describe_boxes(layout),
            "label": _label_devices(trace, layout, _list_endpoints(trace, layout)),
        },
        "path": [flatten_points(line) for line in layout.lines],
    }


def _label_devices(trace: Trace, layout: StageLayout, endpoints: list[int]) -> list[Label]:
    labels = list(layout.labels)
    for d, endpoint in enumerate(endpoints):
        if endpoint >= trace.schedule.ranks:
            labels[d] = map_languages(name_box(trace.schedule, endpoint))
        elif endpoint >= 0 and len(trace.topology.memory_links):  # a GPU that several ranks share has all their numbers
            device_of = trace.topology.endpoint_device[trace.placement[: trace.schedule.ranks]]
            labels[d] = ", ".join(map(str, np.flatnonzero(device_of == device_of[endpoint])))
    return labels


def _describe_links(drawing: Drawing, lines: list[LinkRow]) -> dict[str, object]:
    what = drawing.stage.picture
    row = [-1] * drawing.links
    for number, entry in enumerate(lines):
        for link in entry["links"]:
            row[link] = number
    columns: dict[str, list[object]] = {
        "src": what.src.tolist(),
        "dst": what.dst.tolist(),
        "kind": list(what.link_kind),
        "label": list(what.link_label),
        "alpha": what.alpha.tolist(),
        "bandwidth": what.bandwidth.tolist(),
        "path": [flatten_points(line) for line in drawing.stage.lines],
    }
    for name, more in drawing.list_inside_links().items():
        columns[name] += more
    return {**columns, "row": row}


def _list_routes(facts: RunFacts, drawing: Drawing) -> TimelineRoutes:
    """The routes in use, each once, as links of the picture."""
    pairs = len(facts.pairs[0])
    if not pairs:
        return {"start": [0], "link": []}
    links = drawing.link_of[facts.pair_routes.link]
    owner = np.repeat(np.arange(pairs), facts.pair_routes.hops)[links >= 0]
    start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=pairs))])
    return {"start": start.tolist(), "link": links[links >= 0].tolist()}


def _list_flows(facts: RunFacts, drawing: Drawing, routes: TimelineRoutes) -> dict[str, object] | None:
    """What crosses cables at which rates, others' bytes too, where the engine has stretches of its own for that (no
    barriers).

    Adds to `routes` one route for each cable that is on its own (store and forward, and what others carry).
    """
    trace, s = facts.trace, facts.trace.schedule
    if trace.engine != "event" or trace.timing.flows is None or not 0 < len(s) <= _MAX_HOPPING:
        return None
    segments = trace.segments
    stored = bool((segments.link >= 0).any())
    others = [other.crossing() for other in trace.others if other.crossing is not None]
    if (stored and not others) or sum(len(f.row) for f in (segments, *others)) > _MAX_FLOWS:
        return None  # store and forward has the times of every hop already
    link_of = drawing.link_of
    parts = others
    if stored:
        parts = [segments, *others]
    single = np.full(len(link_of) + 1, -1, np.int64)  # a link beyond the topology's is an injection limit
    for link in sorted({int(link) for flows in parts for link in flows.link}):
        if link < len(link_of) and link_of[link] >= 0:
            single[link] = len(routes["start"]) - 1
            routes["link"].append(int(link_of[link]))
            routes["start"].append(len(routes["link"]))
    columns = [(single[np.minimum(flows.link, len(link_of))], flows) for flows in parts]
    if not stored:
        columns.append((facts.pair_of_transfer[segments.row], segments))
    number = np.concatenate([n for n, _ in columns])
    begin, end, rate = (np.concatenate([getattr(f, name) for _, f in columns]) for name in ("begin", "end", "rate"))
    begin, end = np.maximum(begin, trace.begin), np.minimum(end, trace.time)
    keep = np.flatnonzero((number >= 0) & (end > begin))
    moved = rate[keep] * (end - begin)[keep]
    return {
        "route": number[keep],
        "t0": _round_seconds(begin[keep]),
        "t1": _round_seconds(end[keep]),
        "bytes": np.round(moved, 3),
    }


def _list_transfers(facts: RunFacts, order: npt.NDArray[np.int64]) -> dict[str, object]:
    trace, t = facts.trace, facts.trace.schedule.transfers
    columns: dict[str, object] = {
        name: t[name][order].astype(int) for name in ("step", "src", "dst", "chunk", "into", "reduce", "channel")
    }
    columns["bytes"] = trace.slot_bytes[t["chunk"]][order]
    columns["t0"], columns["t1"] = _round_seconds(trace.start[order]), _round_seconds(trace.finish[order])
    columns["route"] = facts.pair_of_transfer[order]
    return columns


def _time_hops(trace: Trace, drawing: Drawing, order: npt.NDArray[np.int64]) -> dict[str, object] | None:
    """When each hop of each transfer begins and ends, where the engine has times of its own for them (store and
    forward)."""
    t = trace.schedule.transfers
    if trace.engine != "event" or not 0 < len(t) <= _MAX_HOPPING:
        return None
    flows = trace.segments
    if not (flows.link >= 0).any():
        return None
    routes = trace.topology.routes(trace.placement[t["src"]], trace.placement[t["dst"]])
    owner = np.repeat(np.arange(len(t)), routes.hops)
    share = (np.arange(len(owner)) - routes.start[owner]) / routes.hops[owner]
    lasts = (trace.finish - trace.start)[owner]
    t0 = trace.start[owner] + share * lasts  # a transfer without bytes has no times of its own
    t1 = t0 + lasts / routes.hops[owner]
    width = len(trace.topology.links)
    hop, flow = owner * width + routes.link, flows.row * width + flows.link
    by_hop = np.argsort(hop, kind="stable")
    is_known = (flows.link >= 0) & (flows.link < width) & np.isin(flow, hop)
    hop_of_flow = by_hop[np.searchsorted(hop[by_hop], flow[is_known])]
    t0[hop_of_flow], t1[hop_of_flow] = np.inf, -np.inf
    np.minimum.at(t0, hop_of_flow, flows.begin[is_known])
    np.maximum.at(t1, hop_of_flow, flows.end[is_known])
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    sequence = np.argsort(position[owner], kind="stable")
    sequence = sequence[drawing.link_of[routes.link[sequence]] >= 0]
    return {"t0": _round_seconds(t0[sequence]), "t1": _round_seconds(t1[sequence])}


def _count_ranks_across(trace: Trace) -> int:
    """Ranks that stand side by side: those of a node, or of a torus's last dimension; 0 where there is no such
    thing."""
    topology = trace.topology
    if len(dims := topology.facts.dims) > 1:
        return int(dims[-1])
    nodes = int(topology.devices.node.max(initial=-1)) + 1
    if nodes > 1 and topology.ranks == trace.schedule.ranks:
        return topology.ranks // nodes
    return 0


def _describe_state(trace: Trace) -> dict[str, object]:
    """Who holds what at the start, and what a finished cell is."""
    s = trace.schedule
    kind = get_collective(s.collective)
    has_no_scratch = s.slots == s.chunks  # the short forms speak of every slot; scratch needs a list
    initial: object = kind.before
    if initial not in ("all", "own", "root") or (initial != "own" and not has_no_scratch):
        initial = np.argwhere(kind.mark_initial_slots(s.ranks, s.chunks, s.root)[:, : s.slots]).tolist()
    wanted: object = kind.after
    if wanted not in ("all", "own", "root") or (wanted != "own" and not has_no_scratch):
        wanted = np.argwhere(kind.find_expected_contributions(s.ranks, s.chunks, s.root)[0] != NOTHING).tolist()
    return {"initial": initial, "root": int(s.root), "goal": s.ranks if kind.reduces else 1, "wanted": wanted}


def _describe_figures(trace: Trace, drawing: Drawing) -> TimelineFigures:
    link_of = drawing.link_of
    is_drawn = link_of >= 0
    carried = (trace.link_bytes + trace.other_bytes)[is_drawn]
    link_bytes = np.bincount(link_of[is_drawn], weights=carried, minlength=drawing.links)
    return {
        "time": trace.time,
        "duration": trace.duration,
        "algbw": float(trace.algbw),
        "busbw": float(trace.busbw),
        "bound": float(trace.bound.time),
        "link_bytes": link_bytes.astype(np.int64).tolist(),
    }


def _describe_mistake(facts: RunFacts, order: npt.NDArray[np.int64]) -> TimelineMistake | None:
    """The first wrong cell of the schedule, its transfer as an id of the timeline."""
    if isinstance(facts.trace, MergedTrace):
        first_mistake = concurrent_timeline.find_first_mistake(facts.trace, facts.parts)
    elif facts.is_right:
        first_mistake = None
    else:
        first_mistake = find_mistake(facts.trace.schedule)
    if first_mistake is None:
        return None
    transfer = None
    if first_mistake.row is not None:
        transfer = int(np.flatnonzero(order == first_mistake.row)[0])
    return {
        "kind": first_mistake.kind,
        "rank": first_mistake.rank,
        "chunk": first_mistake.chunk,
        "step": first_mistake.step,
        "transfer": transfer,
        "text": map_languages(first_mistake.text),
    }


def _map_links(drawing: Drawing, links: tuple[int, ...]) -> list[int]:
    """Picture ids of links of the topology."""
    return sorted({int(drawing.link_of[link]) for link in links} - {-1})


def _draw_text_diagram(trace: Trace) -> dict[str, object] | None:
    s = trace.schedule
    if s.endpoints > _TEXT_RANKS or s.steps > _TEXT_STEPS or len(s) > 20_000:
        return None
    names, cells = s.diagram_cells(_TEXT_RANKS, _TEXT_STEPS)
    return {"row": names, "cell": cells}
