"""A file format of its own: a line per transfer."""

from pathlib import Path

from collsim.io import Format


def write_arrows(schedule, path):
    """`0 -> 1: chunk 2`, a line per transfer."""
    Path(path).write_text("".join(f"{t['src']} -> {t['dst']}: chunk {t['chunk']}\n" for t in schedule.transfers))


ARROWS = Format("example-arrows", (".arrows",), "schedule", "a line per transfer", None, write_arrows)
