"""Networks on which schedules are timed: generic shapes, machines, and what people load from files."""

from .network import Cable, Devices, Links, Routes, Topology, ring_orders

__all__ = ["Cable", "Devices", "Links", "Routes", "Topology", "ring_orders"]
