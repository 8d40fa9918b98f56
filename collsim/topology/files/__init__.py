"""Topologies from files: one reader per format, picked by what the text looks like."""

from .topology_loader import FormatWarning, load_topology, parse_topology_text

__all__ = ["FormatWarning", "load_topology", "parse_topology_text"]
