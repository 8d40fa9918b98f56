"""Machines as people draw them."""

from __future__ import annotations

from ..topology import Topology
from .layout import Layout
from .picture import Picture


def arrange_nodes(what: Picture, topology: Topology) -> Layout | None:
    """Place the insides of one to eight nodes and the fabric between them; None where they are not machines we know."""
    return None
