"""The two ways to a maximum flow, with the compiler and without, agree with each other and with networkx."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

from collsim import maxflow
from collsim.maxflow import ENDLESS, build_arcs, max_flow


def drawn(seed):
    """A random graph of a few nodes with parallel and opposite edges: nodes, sources, targets, capacities."""
    rng = np.random.default_rng(seed)
    nodes, edges = int(rng.integers(2, 30)), int(rng.integers(1, 90))
    src, dst = rng.integers(0, nodes, (2, edges))
    apart = src != dst
    return nodes, src[apart], dst[apart], rng.integers(1, 50, edges)[apart]


def by_networkx(nodes, src, dst, capacity):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    for a, b, c in zip(src.tolist(), dst.tolist(), capacity.tolist(), strict=True):
        graph.add_edge(a, b, capacity=c + graph.get_edge_data(a, b, {"capacity": 0})["capacity"])
    return nx.maximum_flow_value(graph, 0, nodes - 1)


@pytest.mark.parametrize("seed", range(40))
def test_flow_cut_and_what_is_left_are_the_same_with_and_without_the_compiler(seed, monkeypatch):
    nodes, src, dst, capacity = drawn(seed)
    graph = build_arcs(nodes, src, dst, capacity)
    ways = []
    for few in (0, 10**9):  # arcs up to which no compiler is loaded
        monkeypatch.setattr(maxflow, "_MAX_UNCOMPILED_ARCS", few)
        monkeypatch.setattr(maxflow, "_is_loaded", lambda: False)
        left = graph.capacity.copy()
        ways.append((max_flow(graph, left, 0, nodes - 1, int(ENDLESS)), left))
    ((value, side), left), ((other, other_side), other_left) = ways
    assert value == other == by_networkx(nodes, src, dst, capacity)
    assert np.array_equal(side, other_side)
    assert np.array_equal(left, other_left)
    assert capacity[side[src] & ~side[dst]].sum() == value


def test_enough_is_enough_without_the_compiler_too(monkeypatch):
    monkeypatch.setattr(maxflow, "_is_loaded", lambda: False)
    graph = build_arcs(2, [0], [1], [100])
    assert max_flow(graph, graph.capacity.copy(), 0, 1, 7) == (7, None)


def test_the_compiler_is_imported_before_its_parts():
    """Else two threads, one with a flow and one with an event engine, each get half of it, for the life of the process."""
    code = """
import builtins
find, names = builtins.__import__, []
def record(name, places=None, *rest):
    if name.startswith("numba") and places["__name__"].startswith("collsim"):
        names.append(name)
    return find(name, places, *rest)
builtins.__import__ = record
import collsim.maxflow.kernels
builtins.__import__ = find
print(names[0])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "numba\n"
