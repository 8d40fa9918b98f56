"""A Trace as one strict JSON object, all that a player needs (docs/timeline.md)."""

from .timeline_document import build_timeline, decode, encode

__all__ = ["build_timeline", "decode", "encode"]
