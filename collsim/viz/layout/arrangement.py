"""Where everything of a topology is drawn: as people draw machines, and generic networks by their shape."""

from __future__ import annotations

from dataclasses import replace

from ...topology import Topology
from .many_nodes import arrange_cluster
from .nodes import arrange_nodes
from .reduction import Carried, build_picture
from .shapes import StageLayout, arrange


def lay_out(topology: Topology, carried: Carried | None = None) -> StageLayout:
    """Place everything that is drawn of a topology.

    Args:
        topology: The machine or network.
        carried: (links,) bytes on each link, or which links are used: what is idle may be left out. None to draw
            everything.
    """
    drawn = build_picture(topology, carried)
    if drawn.shape == "cluster":
        return arrange_cluster(drawn, topology)
    if drawn.nodes > 0 and topology.facts.dims:  # a machine whose chips are joined as a torus
        return arrange(replace(drawn, shape="torus"), topology.facts)
    if drawn.nodes > 0:
        stage = arrange_nodes(drawn, topology)
        if stage is not None:
            return stage
    return arrange(drawn, topology.facts)
