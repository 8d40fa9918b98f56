"""What the page Lab was asked for, as one frozen value, and its address. An address starts no process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import collsim as cs
from collsim.errors import CollsimError
from collsim.lab import MAX_RANKS
from collsim.lab.real_run import require_real_size
from collsim.units import parse_bandwidth, parse_bytes, parse_time

from ...scenario.address_parameters import Control, PageAddress, declare_word, list_words
from ...scenario.choice import (
    count,
    create_quantity_reader,
    create_whole_reader,
    declare_menu,
    declare_number,
    declare_quantity,
)

#: Odd, so that the median run is one of the runs, whose columns can be drawn.
REPEATS = (1, 3, 9, 25)
#: What is on the sheet: one collective, or a step of training of so many layers, several of which fill a bucket.
SHEETS = ("collective", "step")
#: Layers in a bucket divide the layers, so that all buckets of a step are of one size.
LAYERS, IN_A_BUCKET = 8, (1, 2, 4, 8)
#: How such a step is split: DDP with buckets, FSDP with the next layer gathered meanwhile, a pipeline in two orders.
SPLITS = ("ddp", "fsdp", "gpipe", "1f1b")
#: How many times as long a straggler computes.
STRAGGLES = 2.0
#: How late a late rank is, in s, and by which factor a slow cable is slower.
LATE, SLOW = 0.1, 4.0
LIMIT = 120.0  # s of one click


def list_algorithms() -> list[str]:
    """Algorithms that run on processes: all that are there."""
    return sorted(cs.algorithms())


def read_size(text: str) -> str:
    """A size as it was written.

    Args:
        text: A size with its unit, as it was typed.

    Raises:
        CollsimError: for one that is not run for real
    """
    require_real_size(parse_bytes(text))
    return text


_read_time = create_quantity_reader(parse_time)


def _read_layers(text: str) -> int:
    """Layers of a bucket."""
    if text not in map(str, IN_A_BUCKET):
        raise CollsimError("layers={text!r} must be one of {known}", text=text, known=", ".join(map(str, IN_A_BUCKET)))
    return int(text)


@dataclass(frozen=True)
class LabChoice:
    """One measurement, as the page is asked for it.

    Attributes:
        algorithm: Name of the algorithm.
        nbytes: Size of the collective, as text.
        ranks: Number of processes.
        bandwidth: Of each cable of the imitated network, as text.
        alpha: Latency of each cable, as text.
        late: The rank that begins later, -1 for none.
        slow: The rank that sends more slowly, or computes longer in a step of training; -1 for none.
        repeat: How often it is run.
        sheet: The tab that is open: a collective, or a step of training.
        layers: Layers that fill a bucket of DDP.
        backward: Time of one layer's backward pass, as text.
        split: One of `SPLITS`.
    """

    algorithm: str = declare_menu("allreduce_ring", "algorithm", list_algorithms, names="algorithm")
    nbytes: str = declare_quantity("1MiB", read_size, ("4KiB", "64KiB", "256KiB", "1MiB", "4MiB", "16MiB"))
    ranks: int = declare_number(8, "ranks", MAX_RANKS, 2)
    bandwidth: str = declare_quantity(
        "10MB/s", create_quantity_reader(parse_bandwidth), ("1MB/s", "5MB/s", "10MB/s", "25MB/s", "100MB/s")
    )
    alpha: str = declare_quantity("10ms", _read_time, ("0s", "1ms", "5ms", "10ms", "20ms", "50ms"))
    late: int = declare_word(-1, count("late", MAX_RANKS - 1, 0))
    slow: int = declare_word(-1, count("slow", MAX_RANKS - 1, 0))
    repeat: int = declare_word(9, create_whole_reader(REPEATS), control=Control("segments", lambda: REPEATS))
    sheet: str = declare_menu(
        "collective", "sheet", lambda: SHEETS, kind="segments", text="lab.what", names="lab.sheet"
    )
    layers: int = declare_word(2, _read_layers, control=Control("segments", lambda: IN_A_BUCKET))
    backward: str = declare_quantity("50ms", _read_time, ("5ms", "10ms", "20ms", "50ms", "100ms"))
    split: str = declare_menu("ddp", "split", lambda: SPLITS, kind="segments", names="lab.split")

    @property
    def straggler(self) -> dict[int, float]:
        """Who computes longer, by what."""
        if 0 <= self.slow < self.ranks:
            return {self.slow: STRAGGLES}
        return {}

    @property
    def wrong(self) -> dict[str, Any]:
        """Keywords of what is wrong with the ranks."""
        late = {}
        if 0 <= self.late < self.ranks:
            late = {"late": {self.late: LATE}}
        return late | ({"slow": {self.slow: SLOW}} if 0 <= self.slow < self.ranks else {})


ADDRESS = PageAddress(LabChoice(), list_words(LabChoice))
