"""A channel for each pair of ranks, so that a piece waits only for the piece before it on its own pair."""

from __future__ import annotations

import numpy as np

from ...dtypes import Longs


def color_pairs(src: Longs, dst: Longs) -> Longs:
    """(edges,) a channel for each pair such that pairs with the same source or destination differ.

    Args:
        src: (edges,) ranks.
        dst: (edges,) ranks; several edges may join the same two.
    """
    # By distance: two ranks never have the same distance to a third.
    distance = (dst - src) % (1 + int(max(src.max(initial=0), dst.max(initial=0))))
    _, dense = np.unique(distance, return_inverse=True)
    channel: Longs = dense.ravel().astype(np.int64)
    return channel
