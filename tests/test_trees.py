"""The trees are those of NCCL: its exact construction, for even and odd numbers of nodes."""

import numpy as np
import pytest

import collsim as cs
from collsim.trees import (
    build_double_binary_tree,
    build_interleaved_tree,
    build_kary_tree,
    build_node_chains,
    count_nodes,
    find_node_starts,
    measure_depths,
)


def children(parent):
    return {int(p): sorted(np.flatnonzero(parent == p).tolist()) for p in set(parent.tolist()) - {-1}}


def test_eight_nodes_are_as_drawn_in_nccl():
    """src/graph/trees.cc: 0 has 4; 4 has 2 and 6; 2 has 1 and 3; 6 has 5 and 7."""
    assert children(build_interleaved_tree(8)) == {0: [4], 4: [2, 6], 2: [1, 3], 6: [5, 7]}


def test_fourteen_nodes_are_as_drawn_in_nccl():
    assert children(build_interleaved_tree(14)) == {
        0: [8],
        8: [4, 12],
        4: [2, 6],
        12: [10, 13],
        2: [1, 3],
        6: [5, 7],
        10: [9, 11],
    }


def by_the_source(n, r):
    """ncclGetBtree, read line by line: (parent, children)."""
    bit = 1
    while bit < n and not bit & r:
        bit <<= 1
    if r == 0:
        return -1, [bit >> 1] if n > 1 else []
    up = (r ^ bit) | (bit << 1)
    if up >= n:
        up = r ^ bit
    low = bit >> 1
    first = r - low if low else -1
    while low and r + low >= n:
        low >>= 1
    return up, [c for c in (first, r + low if low else -1) if c >= 0]


@pytest.mark.parametrize("n", [*range(1, 70), 399])
def test_parents_and_children_are_those_of_the_source(n):
    parent = build_interleaved_tree(n)
    below = children(parent)
    for r in range(n):
        up, down = by_the_source(n, r)
        assert parent[r] == up
        assert below.get(r, []) == sorted(down)


@pytest.mark.parametrize("n", range(2, 100))
def test_both_trees_span_all_nodes_in_lg_n_levels(n):
    for tree in build_double_binary_tree(n):
        assert (tree < 0).sum() == 1
        assert measure_depths(tree).max() == (n - 1).bit_length()
        assert max(len(c) for c in children(tree).values()) <= 2


@pytest.mark.parametrize("n", range(2, 100))
def test_hardly_any_node_is_inside_both_trees(n):
    first, second = (set(children(tree)) for tree in build_double_binary_tree(n))
    assert first & second == (set() if n % 2 == 0 else {0})  # even n: each node is a leaf of one tree


def test_the_second_tree_is_the_mirror_or_the_shift_of_the_first():
    """Even: node r plays role n-1-r, so the root is n-1. Odd: role r-1, so the root is 1 and node 0 plays n-1."""
    first, second = build_double_binary_tree(8)
    assert second[7] == -1
    assert all(second[7 - r] == 7 - first[r] for r in range(1, 8))
    first, second = build_double_binary_tree(7)
    assert second[1] == -1
    assert all(second[(r + 1) % 7] == (first[r] + 1) % 7 for r in range(1, 7))


def test_inside_a_node_the_gpus_form_a_chain():
    """One node: NCCL's tree is a chain, reduced to one end and broadcast back: 2(g-1) hops."""
    first, second = build_node_chains(4, np.zeros(1, np.int64), "balanced")
    assert first.tolist() == second.tolist() == [-1, 0, 1, 2]
    assert cs.schedule("allreduce_double_binary_tree", ranks=8, per_node=8).steps == 2 * 7


@pytest.mark.parametrize(
    ("pattern", "smaller", "larger"),
    [("balanced", 1, 0), ("split", 1, 1), ("tree", 0, 0)],
)
def test_children_attach_where_nccl_attaches_them(pattern, smaller, larger):
    """src/graph/connect.cc: of node 4 of 8 (children 2 and 6), at GPU 0 or 1 of its chain."""
    tree, _ = build_node_chains(8 * 2, 2 * np.arange(8), pattern)
    assert tree[2 * 2] == 4 * 2 + smaller
    assert tree[6 * 2] == 4 * 2 + larger


def test_the_tree_of_nodes_with_different_numbers_of_ranks_crosses_the_network_once_a_node():
    """11 ranks on nodes of 6 and 5: one chain in each, and one hop between them; a node of one rank has no second."""
    machine = cs.nccl.predict_and_simulate("allreduce", cs.machine("rtx4090-8gpu", nodes=2), "64MiB", ranks=11)[1]
    starts = find_node_starts(11, 1, machine.topology)
    assert starts.tolist() == [0, 6]
    for tree in build_node_chains(11, starts, "split"):
        parent = np.asarray(tree)
        node = np.arange(11) >= 6
        assert (node[parent >= 0] != node[parent[parent >= 0]]).sum() == 1
    for tree in build_node_chains(3, np.array([0, 1]), "split"):
        assert all(parent != rank for rank, parent in enumerate(tree))


def test_level_order_has_k_children():
    assert children(build_kary_tree(13, 3)) == {0: [1, 2, 3], 1: [4, 5, 6], 2: [7, 8, 9], 3: [10, 11, 12]}


def test_nodes_come_from_the_machine_or_from_per_node():
    assert count_nodes(12, 4) == 3
    assert count_nodes(12, 5) == 3  # 4 is the largest divisor below
    assert count_nodes(7, 4) == 7
    assert count_nodes(16, 1, cs.machine("dgx-a100", nodes=2)) == 2
    assert count_nodes(8, 4, cs.topology.switch(8)) == 2  # a switch has no nodes
