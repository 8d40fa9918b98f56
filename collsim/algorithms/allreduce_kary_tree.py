"""Reduce up a k-ary tree, broadcast down it, in chunks: no port ever serves more than k children and a parent."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import pipeline_chunks
from collsim.trees import broadcast_down, build_kary_tree, measure_depths, reduce_up


def _measure_depth(n, arity):
    return int(measure_depths(build_kary_tree(n, arity)).max())


def _count_sent(n, arity):
    children = np.clip(n - 1 - arity * np.arange(n), 0, arity)
    return max(children + (np.arange(n) > 0))


def _estimate_cost(n, K, alpha, beta, arity, chunks):
    deep = _measure_depth(n, arity)
    steps = 2 * deep + chunks - 1
    busier = chunks - 1 if chunks > 2 and deep > 1 else 0  # steps in which children and parent meet at one port
    if n > 1:
        return steps * alpha + (steps * min(arity, n - 1) + busier) * K / chunks * beta
    return 0


@algorithm(
    "allreduce",
    steps=lambda n, arity, chunks: 2 * _measure_depth(n, arity) + chunks - 1 if n > 1 else 0,
    sent=_count_sent,
    cost=_estimate_cost,
    source="Sanders, Speck & Träff 2009 (pipelined trees); Open MPI coll_base_topo.c build_tree",
    chunks=lambda n, chunks: chunks,
    most_ranks=2**20,
    phases=("reduce", "broadcast"),
)
def allreduce_kary_tree(n, arity=2, chunks=1):
    """Reduce up a k-ary tree, broadcast down it, in chunks: no port ever serves more than k children and a parent.

    Args:
        n: number of ranks.
        arity: children of a rank (k).
        chunks: pieces of the buffer that follow one another in a pipeline.
    """
    parent = build_kary_tree(n, arity)
    yield from pipeline_chunks([*reduce_up(parent), *broadcast_down(parent)], chunks)
