"""Networks on which schedules are timed: generic shapes, machines, and what people load from files.

>>> from collsim import topology
>>> topology.ring(8, bandwidth="25GB/s", alpha="1us")
<Topology ring(8): 8 ranks, 8 devices, 16 links>
"""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package
from .files import FormatWarning, parse_topology_text
from .files import load_topology as load_topology
from .generic import (
    NETWORKS,
    dragonfly,
    fat_tree,
    fully_connected,
    hypercube,
    line,
    mesh,
    ring,
    star,
    switch,
    torus,
    tree,
)
from .machines import machine as machine
from .network import Cable, Devices, Hop, Links, Routes, build_ring_orders
from .network import Topology as Topology

__all__ = [
    "NETWORKS",
    "Cable",
    "Devices",
    "FormatWarning",
    "Hop",
    "Links",
    "Routes",
    "build_ring_orders",
    "dragonfly",
    "fat_tree",
    "fully_connected",
    "hypercube",
    "line",
    "mesh",
    "parse_topology_text",
    "ring",
    "star",
    "switch",
    "torus",
    "tree",
]


if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(__name__, __all__)
