"""The bound of links that blocks cross: closed forms, and no run and no flow beats it."""

import numpy as np
import pytest
from networks import graph_of, random_network

import collsim as cs
from collsim.bounds.distances import find_longest_travel

RATE = 25e9
SIZE = 64 * 2**20


@pytest.mark.parametrize(
    ("network", "mean"),
    [
        # From a rank of a ring of even k to the others: k/4 links in the mean over all k, its own place included.
        (cs.topology.ring(8, bandwidth=RATE, alpha=0), 8 / 4 * 8 / 7),
        (cs.topology.torus(8, 8, bandwidth=RATE, alpha=0), 2 * 8 / 4 * 64 / 63),
        # Half of the bits of two numbers differ in the mean.
        (cs.topology.hypercube(16, bandwidth=RATE, alpha=0), 4 / 2 * 16 / 15),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_an_alltoall_needs_what_its_blocks_cross(network, mean):
    n, links = network.ranks, len(network.links)
    bound = cs.lower_bound("alltoall", network, SIZE)
    assert bound.travel.hops == pytest.approx(mean)
    assert bound.bandwidth == pytest.approx(SIZE / n * n * (n - 1) * mean / (links * RATE))
    assert bound.cut is None


@pytest.mark.parametrize(
    ("network", "links"),
    [
        (cs.topology.torus(8, 16, bandwidth=RATE, alpha=0), 16),
        (cs.topology.torus(4, 4, 8, bandwidth=RATE, alpha=0), 32),
        (cs.topology.mesh(4, 8, bandwidth=RATE, alpha=0), 4),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_an_alltoall_crosses_the_middle_of_the_longest_dimension(network, links):
    half, bound = network.ranks // 2, cs.lower_bound("alltoall", network, SIZE)
    assert (len(bound.cut.ranks), len(bound.cut.links)) == (half, links)
    assert bound.bandwidth == pytest.approx(SIZE / network.ranks * half**2 / (links * RATE))


def test_only_the_slow_links_count_where_they_need_longest():
    """Rows of a mesh of 4 ranks at 100 GB/s and columns at 1: half of the blocks change the row."""
    rows, columns = [(0, 1), (2, 3)], [(0, 2), (1, 3)]
    edges = [(a, b, 100e9) for a, b in rows] + [(a, b, 1e9) for a, b in columns]
    travel = find_longest_travel(graph_of(edges, 4), np.full((4, 4), 1e9))
    assert (travel.bandwidth, travel.hops) == (1e9, pytest.approx(8 / 12))
    assert travel.time == pytest.approx(8 / 4)


@pytest.mark.parametrize("seed", range(12))
def test_no_algorithm_is_faster_on_any_network(seed):
    network = random_network(seed)
    bound = cs.lower_bound("alltoall", network, SIZE)
    for name in cs.algorithms("alltoall"):
        schedule = cs.schedule(name, ranks=network.ranks, topology=network)
        if schedule.endpoints == network.ranks:
            assert cs.simulate(schedule, network, SIZE, engine="event").time >= bound.time * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_no_flow_of_all_pairs_carries_more(seed):
    """The largest alltoall rate when data may take any ways at once, by a linear program over links."""
    pywraplp = pytest.importorskip("ortools.linear_solver.pywraplp")
    network = random_network(seed)
    links, n = network.links, network.ranks
    program = pywraplp.Solver.CreateSolver("GLOP")
    rate = program.NumVar(0, program.infinity(), "")
    flow = [[program.NumVar(0, program.infinity(), "") for _ in range(len(links))] for _ in range(n)]
    for source in range(n):
        for device in range(len(network.devices)):
            into = sum(flow[source][k] for k in np.flatnonzero(links.dst == device))
            out = sum(flow[source][k] for k in np.flatnonzero(links.src == device))
            if device != network.endpoint_device[source]:
                program.Add(into - out == (rate if device in network.endpoint_device[:n] else 0))
    for k in range(len(links)):
        program.Add(sum(flow[source][k] for source in range(n)) <= links.bandwidth[k] / 1e9)
    program.Maximize(rate)
    assert program.Solve() == program.OPTIMAL
    allowed = SIZE / n / (rate.solution_value() * 1e9)
    assert cs.lower_bound("alltoall", network, SIZE).bandwidth <= allowed * (1 + 1e-6)
