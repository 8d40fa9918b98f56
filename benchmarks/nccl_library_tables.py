"""The tables of NCCL's tuner in a library, compared with those that collsim has: what a version changed whose sources are
not at hand. `python benchmarks/nccl_library_tables.py libnccl.so.2` of a package such as nvidia-nccl-cu13 2.32.3.

The struct `ncclTunerConstants_v5_t` (src/include/plugin/tuner/tuner_v5.h) is 144 doubles; its first table, the base
latencies, and the second, those of the hardware, are looked for, and the others stand behind them.
"""

import sys
from pathlib import Path

import numpy as np

from collsim.nccl.search import constants as c

_LINKS = ("NVLINK", "PCI", "NET")


def build_latencies() -> np.ndarray:
    """Base latencies and those of the hardware in the order of the struct, for what collsim knows of it."""
    base = [c.BASE_LATENCY[name] for name in c.ALGORITHMS]
    hardware = [c.STEP_LATENCY[link][name] for link in _LINKS for name in c.ALGORITHMS]
    return np.array(base + hardware, dtype="<f8").ravel()


def read_tables(library: bytes) -> dict[str, np.ndarray]:
    """The tables of caps behind the latencies, rows by generation."""
    latencies = build_latencies().tobytes()
    start = library.find(latencies)
    if start < 0:
        raise SystemExit("the latencies of 2.30 are not in this library: they have changed, or it is no NCCL")
    names = ("llMaxBws", "perChMaxRingLL128Bws", "perChMaxTreeLL128Bws", "perChMaxTreeBws", "perChMaxNVLSTreeBws")
    numbers = np.frombuffer(library, dtype="<f8", count=12 * len(names), offset=start + len(latencies))
    return dict(zip(names, numbers.reshape(len(names), 4, 3), strict=True))


def main() -> None:
    """Print each table, and whether 2.30's is the same."""
    tables = read_tables(Path(sys.argv[1]).read_bytes())
    ours = (c.LL_MAX, c.RING_LL128_MAX, c.TREE_LL128_MAX, c.TREE_MAX, c.NVLSTREE_MAX)
    for (name, table), known in zip(tables.items(), ours, strict=True):
        same = np.array_equal(table, [known[generation] for generation in c.GENERATIONS])
        print(f"{name}: {'as in 2.30' if same else 'changed'}\n{table}")


if __name__ == "__main__":
    main()
