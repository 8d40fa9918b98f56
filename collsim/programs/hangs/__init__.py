"""A catalogue of hangs: programs that hang, each with the signs of it, and the same program fixed.

- `catalogue.toml`: the texts; `hanging/` and `fixed/`: the programs.
- `catalogue`: reads both; `stacks`: where each rank waits, as a tool that dumps stacks prints it.
"""

from __future__ import annotations

from .catalogue import Hang, list_hangs

__all__ = ["Hang", "list_hangs"]
