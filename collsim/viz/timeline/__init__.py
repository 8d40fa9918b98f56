"""A Trace as one strict JSON object, all that a player needs (docs/timeline.md)."""

from .document import decode, encode, timeline

__all__ = ["decode", "encode", "timeline"]
