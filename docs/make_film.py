"""Make the animated pictures of the README, docs/ring.gif and docs/ring.zh.gif: `python docs/make_film.py`.

The same film as `collsim run allreduce_ring --machine dgx-a100 --nodes 2 --nbytes 256MiB --channels 1 --out ring.gif`,
with six pictures a step instead of two. A ring of one channel, so that one can follow a chunk.
"""

from __future__ import annotations

from pathlib import Path

import collsim as cs

DOCS = Path(__file__).parent
FILES = {"en": DOCS / "ring.gif", "zh": DOCS / "ring.zh.gif"}
FRAMES = 180


def trace() -> cs.Trace:
    """Ring allreduce of 256 MiB on two DGX A100, one channel."""
    two = cs.machine("dgx-a100", nodes=2)
    return cs.simulate(cs.schedule("allreduce_ring", topology=two, channels=1), two, "256MiB")


if __name__ == "__main__":
    for language, file in FILES.items():
        trace().save(file, language=language, frames=FRAMES)
