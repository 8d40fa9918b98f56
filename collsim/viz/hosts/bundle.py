"""The JavaScript that browsers load: one file for each of its hosts, built by esbuild from the modules of this package.

What is built lies in `viz/bundles` and is committed, so that neither users nor `make app` need Node. `npm run build`
builds it anew (`scripts/bundle.mjs` lists the entries); `sources.json` holds the digest of every module in a bundle.
"""

from __future__ import annotations

import functools
from pathlib import Path

BUNDLES = Path(__file__).parents[1] / "bundles"


@functools.cache
def read_bundle(name: str) -> str:
    """Return the text of a bundle, an ES module with a default export at most.

    Args:
        name: Name of the bundle, as `scripts/bundle.mjs` lists it: `player`, `race`, `step`, ...
    """
    return (BUNDLES / f"{name}.js").read_text(encoding="utf-8")
