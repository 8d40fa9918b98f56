"""Types of the timeline that a player draws (docs/timeline.md).

Times are seconds, sizes bytes, coordinates CSS pixels.
"""

from typing import NotRequired, TypedDict

#: A text in English and Chinese, `{"en": ..., "zh": ...}`.
TextPair = dict[str, str]


class TimelineMeta(TypedDict):
    """What was run."""

    title: TextPair
    collective: str
    ranks: int
    endpoints: int
    chunks: int
    slots: int
    channels: int
    nbytes: int
    engine: str
    sharing: str
    time: float
    version: str


class TimelineStage(TypedDict):
    """Size of the picture, width of a cable per square root of GB/s, and where the legend of cables may stand."""

    w: float
    h: float
    pipe: float
    key: NotRequired[dict[str, float]]


class TimelinePanel(TypedDict):
    """The box around a node, or the band behind a level of switches."""

    x: float
    y: float
    w: float
    h: float
    label: TextPair
    note: TextPair
    foot: bool


class TimelineDevices(TypedDict):
    """Columns of devices; `endpoint` is -1 for a device without one."""

    name: list[str]
    label: list[str | TextPair]
    kind: list[str]
    panel: list[int]
    endpoint: list[int]
    x: list[float]
    y: list[float]
    w: list[float]
    h: list[float]
    holds: NotRequired[list[list[int]]]
    bars: NotRequired[list[list[dict[str, object]]]]


class TimelineLinks(TypedDict):
    """Columns of directed links; `path` is a flat polyline, `row` the line of the table of links."""

    src: list[int]
    dst: list[int]
    kind: list[str]
    label: list[str]
    alpha: list[float]
    bandwidth: list[float]
    path: list[list[float]]
    row: list[int]


class LinkRow(TypedDict):
    """Links that are alike, as a line of a table."""

    label: TextPair
    note: TextPair
    links: list[int]
    hot: bool


class TimelineRoutes(TypedDict):
    """Routes one after another: route k has `link[start[k]:start[k + 1]]`."""

    start: list[int]
    link: list[int]


class TimelineTransfers(TypedDict):
    """Columns of transfers in the order in which they begin."""

    step: list[int]
    src: list[int]
    dst: list[int]
    chunk: list[int]
    into: list[int]
    reduce: list[int]
    channel: list[int]
    bytes: list[int]
    t0: list[float]
    t1: list[float]
    route: list[int]


class TimelineSteps(TypedDict):
    """Columns of steps; `text` holds a sentence for each, in both languages."""

    t0: list[float]
    t1: list[float]
    text: dict[str, list[str]]
    phase: list[int]


class TimelinePhase(TypedDict):
    """Steps `first` to `last` under one name."""

    label: TextPair
    first: int
    last: int
    reduce: int


class LogicalView(TypedDict):
    """Endpoints in a unit square, and the pairs that ever talk."""

    x: list[float]
    y: list[float]
    kind: str
    edges: list[list[int]]


class TimelineFigures(TypedDict):
    """Times in seconds, bandwidths in bytes per second, and the bytes of each link."""

    time: float
    duration: float
    algbw: float
    busbw: float
    bound: float
    link_bytes: list[int]


class TimelineCause(TypedDict):
    """What limits the run, what would help, and the links that it is."""

    text: TextPair
    more: TextPair
    short: TextPair
    links: NotRequired[list[int]]


class TimelineMistake(TypedDict):
    """The first wrong cell of a schedule, and the transfer that makes it wrong."""

    kind: str
    rank: int
    chunk: int
    step: int | None
    transfer: int | None
    text: TextPair


class TimelineHops(TypedDict):
    """When each hop of each transfer begins and ends."""

    t0: list[float]
    t1: list[float]


class NarrowStage(TypedDict):
    """The picture for a narrow screen: the same devices and links in other places."""

    stage: TimelineStage
    panels: list[TimelinePanel]
    devices: dict[str, list[float] | list[str | TextPair]]
    path: list[list[float]]


class Timeline(TypedDict):
    """Everything that a player needs of a run."""

    schema: str
    meta: TimelineMeta
    stage: TimelineStage
    panels: list[TimelinePanel]
    devices: TimelineDevices
    links: TimelineLinks
    rows: list[LinkRow]
    key: list[dict[str, object]]
    routes: TimelineRoutes
    transfers: TimelineTransfers
    steps: TimelineSteps
    phases: list[TimelinePhase]
    logical: LogicalView
    state: dict[str, object]
    figures: TimelineFigures
    bottleneck: TimelineCause | None
    mistake: TimelineMistake | None
    text: dict[str, object] | None
    hops: NotRequired[TimelineHops]
    flows: NotRequired[dict[str, list[float]]]
    groups: NotRequired[list[dict[str, object]]]
    inside: NotRequired[list[dict[str, object]]]
    narrow: NotRequired[NarrowStage]
    code: NotRequired[dict[str, object]]


#: What a host sends: a timeline, or one that is packed as `{"schema", "z"}`.
EncodedTimeline = dict[str, object]
