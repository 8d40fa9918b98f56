"""Graphviz DOT of a schedule: a node per endpoint and step, an edge per transfer, for papers (`dot -Tsvg`).

Source: graphviz.org/doc/info/lang.html. Time runs from left to right; the row of an endpoint is a line of grey edges.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import CollsimError
from ..files import FilePath, write_text
from ..schedule import Schedule
from .file_formats import register_built_in

_MAX_TRANSFERS = 20_000


def write_dot(schedule: Schedule, path: FilePath) -> None:
    """Write a schedule as a Graphviz digraph.

    Args:
        schedule: Repeated steps are written out.
        path: Of the file.

    Raises:
        CollsimError: It has more than 20,000 transfers, too many for a picture.
    """
    if len(schedule) > _MAX_TRANSFERS or schedule.endpoints * schedule.steps > _MAX_TRANSFERS:
        message = "{label} has {transfers:,} transfers; a picture takes {most:,}. Use fewer ranks"
        raise CollsimError(message, label=schedule.label, transfers=len(schedule), most=_MAX_TRANSFERS)
    write_text(path, (f"{line}\n" for line in _list_lines(schedule)))


def _list_lines(schedule: Schedule) -> Iterator[str]:
    title = schedule.label.replace("\\", "\\\\").replace('"', '\\"')
    yield f'digraph "{title}" {{'
    yield '  rankdir=LR; node [shape=box, fontname="Helvetica", fontsize=10]; edge [fontname="Helvetica", fontsize=9];'
    # A column of nodes for each moment between steps; an invisible chain keeps each rank on its line.
    for moment in range(schedule.steps + 1):
        names = [schedule.name_endpoint(r) if moment == 0 else "" for r in range(schedule.endpoints)]
        shape = ", shape=point"
        if moment == 0:
            shape = ""
        nodes = " ".join(f'n{r}_{moment} [label="{name}"{shape}];' for r, name in enumerate(names))
        yield f"  {{ rank=same; {nodes} }}"
    for r in range(schedule.endpoints):
        yield (
            f"  {' -> '.join(f'n{r}_{m}' for m in range(schedule.steps + 1))} [color=grey80, arrowhead=none, "
            "weight=100];"
        )
    for t in schedule.transfers:
        if t["chunk"] == t["into"]:
            slot = f"{t['chunk']}"
        else:
            slot = f"{t['chunk']}→{t['into']}"
        look = "color=steelblue"
        if t["reduce"]:
            look = "color=firebrick"
        label = f"{'+' if t['reduce'] else '='}{slot}"
        yield f'  n{t["src"]}_{t["step"]} -> n{t["dst"]}_{t["step"] + 1} [label="{label}", {look}, constraint=false];'
    yield "}"


register_built_in("dot", write=write_dot)
