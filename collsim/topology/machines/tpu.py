"""Slices of TPU pods that are whole tori. For larger ones use `torus(8, 8, 8, bandwidth="50GB/s")`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..cables import build_ici
from ..machine_builder import Machine, MachineBuilder
from ..network import Cable

_V4 = build_ici(50, "TPU v4", "Jouppi et al. 2023, ISCA")
_V5E = build_ici(50, "TPU v5e", "docs.cloud.google.com/tpu/docs/v5e: 400 GB/s both directions over 4 ports")
_V5P = build_ici(
    100, "TPU v5p", "docs.cloud.google.com/tpu/docs/v5p: 1200 GB/s both directions over 6 ports of a 3D torus"
)


def _build_torus(dims: tuple[int, ...], cable: Cable) -> MachineBuilder:
    """Chips numbered with the last dimension fastest, a ring along each dimension."""
    builder, chips = MachineBuilder(), prod(dims)
    builder.add(*(f"gpu{chip}" for chip in range(chips)))
    for chip in range(chips):
        stride = chips
        for size in dims:
            stride //= size
            here = chip // stride % size
            builder.connect(f"gpu{chip}", f"gpu{chip + ((here + 1) % size - here) * stride}", cable)
    return builder


def _order_snake(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Through all chips, neighbour to neighbour, and back to the first: every row there and the next one back."""
    walk: Any = np.arange(dims[0])[:, None]
    for size in dims[1:]:
        walk = _append_rows(walk, size)
    return tuple(np.ravel_multi_index(walk.T, dims).tolist())


def _append_rows(outer: Any, size: int) -> Any:
    """Each place of the outer walk becomes a row, walked forwards and backwards in turn."""
    rows = [np.arange(size) if i % 2 == 0 else np.arange(size)[::-1] for i in range(len(outer))]
    return np.column_stack([np.repeat(outer, size, axis=0), np.concatenate(rows)])


def _build_slice(name: str, title: str, dims: tuple[int, ...], cable: Cable, source: str) -> Machine:
    ring = _order_snake(dims)
    shape, chips, links = " × ".join(map(str, dims)), prod(dims), 2 * len(dims)
    rate = f"{cable.bandwidth / 1e9:g} GB/s"
    return Machine.from_builder(
        _build_torus(dims, cable),
        name=name,
        title=title,
        about=f"{chips} chips in a {shape} torus, {links} links of {rate} each.",
        chinese=f"{chips} 个芯片组成 {shape} 的 torus，每个芯片 {links} 条链路，每条 {rate}。",
        gpu=title.split(",")[0],
        dims=dims,
        rings=(ring, (ring[0], *ring[:0:-1])),
        source=source,
    )


_CUBES = "Jouppi et al. 2023, ISCA: cubes of 4 × 4 × 4, closed to a torus by optical switches"
_V5P_SHAPES = "docs.cloud.google.com/tpu/docs/v5p: slices of 4 × 4 × 4 and more are whole 3D tori"

MACHINES = [
    _build_slice("tpu-v4-64", "TPU v4, a cube of 64", (4, 4, 4), _V4, _CUBES),
    _build_slice("tpu-v4-128", "TPU v4, two cubes", (4, 4, 8), _V4, f"{_CUBES}; not twisted"),
    _build_slice("tpu-v5p-64", "TPU v5p, a cube of 64", (4, 4, 4), _V5P, _V5P_SHAPES),
    _build_slice(
        "tpu-v5e-256",
        "TPU v5e, a pod of 256",
        (16, 16),
        _V5E,
        "docs.cloud.google.com/tpu/docs/v5e: 256 chips, 2D torus; 16 × 16",
    ),
]
