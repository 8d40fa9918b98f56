"""An allreduce in one pass: what the linear program says is right, and the schedule comes near to it."""

from itertools import combinations

import numpy as np
import pytest
from networks import boxes_of_a100, dgx1, graph_of, random_network, uneven_network

import collsim as cs
from collsim.collective import get_collective
from collsim.synthesis.pairs import optional_solver
from collsim.synthesis.pairs.alltoall_rates import find_highest_rate, find_pairs
from collsim.synthesis.tree_packing.allreduce_trees import plan_allreduce_trees
from collsim.synthesis.tree_packing.forests import build_schedule, plan_forests
from collsim.synthesis.tree_packing.tree_rates import find_allreduce_rates

ALLREDUCE = get_collective("allreduce")
LARGE = 2**34
#: Links (rank, rank, GB/s) and the GB/s of an allreduce, worked by hand.
BY_HAND = {
    # Contributions go to the right and sums to the left: each direction of a link carries the buffer once.
    "a line": ([(0, 1, 10), (1, 2, 10), (2, 3, 10)], 10),
    # The slow leaf must send its contribution and receive the sum; nothing else crosses its link.
    "a star with a slow leaf": ([(0, 1, 80), (0, 2, 80), (0, 3, 5)], 5),
    # A ring of n ranks sends 2 (n - 1) times the buffer over 2 n directed links of 10 GB/s.
    "a ring": ([(0, 1, 10), (1, 2, 10), (2, 3, 10), (3, 0, 10)], 2 * 4 * 10 / (2 * 3)),
    # The bridge carries contributions one way and sums the other.
    "two triangles and a bridge": (
        [(0, 1, 90), (1, 2, 90), (0, 2, 90), (3, 4, 90), (4, 5, 90), (3, 5, 90), (2, 3, 20)],
        20,
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_the_rate_is_the_one_worked_by_hand(name):
    edges, rate = BY_HAND[name]
    network = graph_of([(a, b, r * 1e9) for a, b, r in edges], 1 + max(b for _, b, _ in edges))
    found = find_allreduce_rates(find_pairs(network, network.ranks))
    assert found.total == pytest.approx(rate * 1e9, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_cuts_found_by_flows_give_what_all_cuts_written_down_give(seed):
    pywraplp = pytest.importorskip("ortools.linear_solver.pywraplp")
    pairs = find_pairs(random_network(seed), random_network(seed).ranks)
    n, bandwidth = pairs.ranks, pairs.topology.links.bandwidth
    program = pywraplp.Solver.CreateSolver("GLOP")
    share, reducing, broadcasting = (
        [program.NumVar(0, program.infinity(), "") for _ in range(k)] for k in (n, len(pairs), len(pairs))
    )
    for link in np.unique(pairs.routes.link):
        crossing = pairs.pair_of[pairs.routes.link == link].tolist()
        program.Add(sum(reducing[p] + broadcasting[p] for p in crossing) <= bandwidth[link] / 1e9)
    for size in range(1, n):
        for inside in combinations(range(n), size):
            outside = sum(share[v] for v in range(n) if v not in inside)
            into = [p for p in range(len(pairs)) if pairs.dst[p] in inside and pairs.src[p] not in inside]
            out = [p for p in range(len(pairs)) if pairs.src[p] in inside and pairs.dst[p] not in inside]
            program.Add(sum(broadcasting[p] for p in into) >= outside)
            program.Add(sum(reducing[p] for p in out) >= outside)
    program.Maximize(sum(share))
    assert program.Solve() == program.OPTIMAL
    assert find_allreduce_rates(pairs).total / 1e9 == pytest.approx(program.Objective().Value(), rel=1e-5)


@pytest.mark.parametrize("network", [dgx1(), boxes_of_a100(2), boxes_of_a100(4), cs.topology.torus(4, 4)])
def test_on_even_networks_one_pass_gains_nothing_and_two_halves_are_taken(network):
    """ForestColl's optimum for 4 boxes of A100 is 133.33 GB/s, whether or not roots have equal shares."""
    pairs = find_pairs(network, network.ranks)
    halves = network.ranks / sum(1 / find_highest_rate(pairs, None, reverse) for reverse in (True, False))
    assert find_allreduce_rates(pairs).total == pytest.approx(halves, rel=1e-5)
    assert not plan_forests(ALLREDUCE, network, network.ranks, 0, "low", None).in_one_pass


@pytest.mark.parametrize("seed", [2, 4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 14))])
def test_an_allreduce_of_an_uneven_network_takes_at_most_five_percent_more_than_the_program_allows(seed):
    network = uneven_network(seed)
    schedule = cs.synthesize("allreduce", network, method="trees")
    allowed = LARGE / find_allreduce_rates(find_pairs(network, network.ranks)).total
    time = cs.simulate(schedule, network, LARGE, engine="event").time
    assert allowed * (1 - 1e-9) <= time <= 1.05 * allowed


def test_one_pass_takes_nearly_half_the_time_of_two_on_a_line(monkeypatch):
    """A reduce_scatter and an allgather send 2 (n - 1)/n buffers over each link of a line, one pass sends one."""
    line = cs.topology.line(8, bandwidth="10GB/s", alpha=0)
    schedules = [cs.synthesize("allreduce", line, method="trees")]
    monkeypatch.setattr(optional_solver, "is_installed", lambda: False)
    schedules.append(cs.synthesize("allreduce", line, method="trees"))
    for schedule in schedules:
        cs.verify(schedule)
    one, two = (cs.simulate(schedule, line, LARGE, engine="event").time for schedule in schedules)
    assert two / one == pytest.approx(2 * 7 / 8, rel=0.02)
    summaries = [cs.synthesis.report(schedule).summary for schedule in schedules]
    assert [summary.startswith("In one pass") for summary in summaries] == [True, False]


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_the_trees_of_both_parts_share_each_link_and_meet_at_their_roots(seed):
    network = uneven_network(seed)
    pairs = find_pairs(network, network.ranks)
    rates = find_allreduce_rates(pairs)
    up, down = plan_allreduce_trees(pairs, rates, 64, 0.99, None)
    load = np.zeros((pairs.ranks, pairs.ranks))
    for forest in (up, down):
        np.add.at(load, forest.ends, forest.rate)
    allowed = np.zeros_like(load)
    allowed[pairs.src, pairs.dst] = network.links.bandwidth[pairs.routes.link]
    assert (load <= allowed * (1 + 1e-6)).all()
    roots = [np.full(forest.trees, -1) for forest in (up, down)]
    for forest, root in zip((up, down), roots, strict=True):
        root[forest.unit[forest.depth == 1]] = forest.src[forest.depth == 1]
        assert (np.bincount(forest.unit, minlength=forest.trees) == pairs.ranks - 1).all()
    assert (roots[0] == roots[1]).all()
    assert np.bincount(roots[0], minlength=pairs.ranks) / up.trees == pytest.approx(rates.share / rates.total, abs=0.05)


def test_pieces_in_steps_and_in_lanes_are_the_same_transfers():
    network = uneven_network(1)
    plan = plan_forests(ALLREDUCE, network, network.ranks, 0, "low", None)
    assert plan.in_one_pass
    in_steps, in_lanes = (build_schedule(plan, ALLREDUCE, network.ranks, 0, 3, {}, n, LARGE) for n in (0, 2))
    cs.verify(in_lanes)
    sorted_rows = [np.sort(s.transfers[["src", "dst", "chunk", "reduce"]]) for s in (in_steps, in_lanes)]
    assert np.array_equal(*sorted_rows)


def test_it_goes_to_msccl_and_comes_back(tmp_path):
    schedule = cs.synthesize("allreduce", uneven_network(4), method="trees", pieces=1)
    cs.io.write_msccl(schedule, tmp_path / "found.xml")
    cs.verify(cs.io.read_msccl(tmp_path / "found.xml"))
