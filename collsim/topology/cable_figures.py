"""Bandwidth and latency of a cable as people write them: a plain number that no cable can have is warned about.

`bandwidth=25` is 25 B/s and `alpha=1` a whole second, where people mean 25 GB/s and 1 µs. A figure with its unit is
taken as it is.
"""

from __future__ import annotations

from ..errors.collected_warnings import warn
from ..units import Bandwidth, Duration, format_bandwidth, format_time, parse_bandwidth, parse_time

#: B/s: a thousandth of Fast Ethernet, 100 Mbit/s.
SLOWEST = 12.5e6 / 1000
#: B/s: a thousand times what the memory of an accelerator moves, 8 TB/s (HBM3e of a B200).
FASTEST = 8e12 * 1000
#: s: a thousand times 1 ms, the latency of a link between cities.
LONGEST = 1e-3 * 1000


class ImplausibleFigure(UserWarning):
    """A plain number that is a thousand times off what any hardware has: most likely its unit is missing."""


def parse_cable_bandwidth(value: Bandwidth, name: str = "bandwidth") -> float:
    """Parse the bandwidth of a cable, and warn of a plain number that no cable carries.

    Args:
        value: B/s, or text with a unit: `"25GB/s"`, `"200Gbit/s"`.
        name: What errors and warnings call it.

    Returns:
        B/s, one direction.

    Raises:
        CollsimError: It is no rate above 0.

    Warns:
        ImplausibleFigure: A plain number below 12.5 kB/s or above 8 PB/s.
    """
    bandwidth = parse_bandwidth(value, name)
    if _has_no_unit(value) and not SLOWEST <= bandwidth <= FASTEST:
        text = format_bandwidth(bandwidth)
        message = f"{name}={value} is {text}, since a plain number is in B/s; write for example {name}='25GB/s'"
        warn(message, ImplausibleFigure)
    return bandwidth


def parse_cable_alpha(value: Duration, name: str = "alpha") -> float:
    """Parse the latency of a cable, and warn of a plain number that no cable has.

    Args:
        value: s, or text with a unit: `"1.5us"`.
        name: What errors and warnings call it.

    Returns:
        Seconds.

    Raises:
        CollsimError: It is no time of 0 s or more.

    Warns:
        ImplausibleFigure: A plain number of a second or more.
    """
    alpha = parse_time(value, name)
    if _has_no_unit(value) and alpha >= LONGEST:
        text = format_time(alpha)
        message = f"{name}={value} is {text}, since a plain number is in seconds; write for example {name}='1us'"
        warn(message, ImplausibleFigure)
    return alpha


def _has_no_unit(value: object) -> bool:
    return not isinstance(value, str) or value.strip()[-1:].isdigit()
