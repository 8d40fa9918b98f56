"""Dispatch: tokens worked out by hand, what a card sends across nodes by the closed form, and refusals."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

import collsim as cs
from collsim.app.pages.race import lineup
from collsim.collective import count_token_visits
from collsim.train.workload.expert_load import ExpertRouting


def count_across(trace):
    """Bytes that each card sends out of its node; the switch between nodes is in none."""
    links, node = trace.topology.links, trace.topology.devices.node
    return trace.link_bytes[(node[links.src] >= 0) & (node[links.dst] < 0)]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_visits_are_those_of_all_choices_counted(most):
    """Three nodes of two ranks with two experts each; a token has four of the twelve, on so many nodes at most."""
    choices = [c for c in combinations(range(12), 4) if len({expert // 4 for expert in c}) <= most]
    on_first = [len({expert // 2 for expert in c if expert < 4}) for c in choices]
    expected = [on_first.count(ranks) / len(choices) for ranks in (1, 2)]
    assert count_token_visits(3, 2, 2, 4, most) == pytest.approx(expected)


@pytest.mark.parametrize(("nodes", "most"), [(2, 0), (4, 2), (8, 4)])
def test_a_training_step_and_a_dispatch_count_the_same_copies(nodes, most):
    visits = count_token_visits(nodes, 8, 256 // (8 * nodes), 8, most)
    load = ExpertRouting(nodes=nodes, max_nodes=most).find_load(experts=256, top_k=8, gpus=8 * nodes)
    assert load.count_reached(nodes) == pytest.approx([sum(visits)] * nodes)
    to_rank = sum(ranks * share for ranks, share in enumerate(visits, 1)) / 8
    assert load.count_reached(8 * nodes) == pytest.approx([to_rank] * 8 * nodes)


def test_a_card_sends_what_the_formula_says():
    """M nodes, top k of E experts: k (M-1)/M copies of a token by an alltoallv, one for each rank by a dispatch, one for
    each node where tokens cross once; those that miss a node are C(E - E/M, k) of C(E, k)."""
    nodes, top_k, experts, tokens = 4, 6, 8 * 32, 2**24
    machine, size = cs.machine("dgx-h100", nodes=nodes), 32 * top_k * tokens
    misses = {parts: comb(experts - experts // parts, top_k) / comb(experts, top_k) for parts in (nodes, 32)}
    plain = cs.simulate(cs.schedule("alltoallv_direct", topology=machine, load="even"), machine, size)
    assert count_across(plain) == pytest.approx(np.full(32, top_k * 3 / 4 * tokens), rel=1e-4)
    copies = {"direct": 24 * (1 - misses[32]), "hierarchical": 3 * (1 - misses[nodes])}
    for pattern, count in copies.items():
        s = cs.schedule(f"dispatch_{pattern}", topology=machine, top_k=top_k)
        run = cs.simulate(s, machine, size)
        assert count_across(run) == pytest.approx(np.full(32, count * tokens), rel=1e-4)
        assert run.time >= run.bound.time
    assert run.bound.cut.nbytes == pytest.approx(8 * count * tokens, rel=1e-4)
    cs.verify(s)
    few = cs.simulate(cs.schedule("dispatch_hierarchical", topology=machine, top_k=top_k, max_nodes=2), machine, size)
    assert count_across(few).max() < 0.65 * count * tokens


def test_a_dispatch_of_128_ranks_moves_what_it_promises():
    s = cs.schedule("dispatch_hierarchical", ranks=128)
    cs.verify(s)
    with pytest.raises(cs.CollsimError, match="more than 128"):
        cs.schedule("dispatch_direct", ranks=136)


def test_the_race_of_tokens_to_experts_is_won_by_who_crosses_once():
    times = [runner.time for runner in lineup.run_field(lineup.READY["dispatch"]).runners]
    assert times[0] > times[1] > 1.5 * times[2]


@pytest.mark.parametrize("options", [{"top_k": 65}, {"top_k": 9, "max_nodes": 1, "per_node": 1}])
def test_more_experts_of_a_token_than_there_are_is_a_sentence(options):
    with pytest.raises(cs.CollsimError, match="experts that a token may go to"):
        cs.schedule("dispatch_direct", ranks=8, **options)
    with pytest.raises(cs.CollsimError, match="max_nodes"):
        cs.schedule("dispatch_direct", ranks=8, max_nodes=-1)
