"""The tables of published runs, all collections under one another."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def joined(folder: str | Path, into: str | Path) -> tuple[Path, Path]:
    """`cases*.csv` and `measured*.csv` of a folder as one table each, written into another folder."""
    out = []
    for name in ("cases", "measured"):
        parts = [
            pd.read_csv(path, dtype=str, keep_default_na=False) for path in sorted(Path(folder).glob(f"{name}*.csv"))
        ]
        out.append(Path(into) / f"{name}.csv")
        pd.concat(parts).fillna("").to_csv(out[-1], index=False)
    return out[0], out[1]
