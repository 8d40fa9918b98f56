"""A Trace as one strict JSON object, all that a player needs (docs/timeline.md)."""
