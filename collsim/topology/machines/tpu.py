"""A cube of TPU v4: the smallest slice whose rings are closed. For larger ones use `torus(8, 8, 8, bandwidth="50GB/s")`."""

from __future__ import annotations

from ..cables import ICI
from ..plan import Machine, Plan

_SIDE = 4


def _cube() -> Plan:
    plan = Plan()
    plan.add(*(f"gpu{chip}" for chip in range(_SIDE**3)))
    for chip in range(_SIDE**3):
        for stride in (1, _SIDE, _SIDE**2):
            here = chip // stride % _SIDE
            plan.join(f"gpu{chip}", f"gpu{chip + ((here + 1) % _SIDE - here) * stride}", ICI)
    return plan


def _snake() -> tuple[int, ...]:
    """Through all chips, neighbour to neighbour, and back to the first: planes there along three rows, back along the fourth."""
    rows = [[(y, x) for x in (range(_SIDE) if y % 2 == 0 else reversed(range(_SIDE)))] for y in range(_SIDE)]
    plane = [place for row in rows for place in row]
    walk = [(z, y, x) for z in range(_SIDE) for y, x in (plane if z % 2 == 0 else plane[::-1])]
    return tuple((z * _SIDE + y) * _SIDE + x for z, y, x in walk)


MACHINES = [
    Machine.drawn(
        _cube(),
        name="tpu-v4-64",
        title="TPU v4, a cube of 64",
        about="64 chips in a 4 × 4 × 4 torus, 6 links of 50 GB/s each.",
        gpu="TPU v4",
        dims=(_SIDE, _SIDE, _SIDE),
        rings=(_snake(), (_snake()[0], *_snake()[:0:-1])),
        source="Jouppi et al. 2023, ISCA: cubes of 4 × 4 × 4, closed to a torus by optical switches",
    )
]
