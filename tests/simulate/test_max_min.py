"""Rates that are kept from moment to moment, against progressive filling from nothing at every moment (Bertsekas &
Gallager 1992, section 6.5.2), which remembers nothing and shares no code with the engine."""

from dataclasses import replace

import numpy as np
import pytest

import collsim as cs
from collsim.simulate import simulate_flows

MIB = 2**20


def filled(crosses, bandwidth):
    """Max-min fair rates of flows; `crosses[flow, link]` is 1 where the flow crosses the link."""
    rate, room, without = np.zeros(len(crosses)), bandwidth.copy(), np.ones(len(crosses), bool)
    while without.any():
        many = crosses[without].sum(axis=0)
        share = np.where(many > 0, room / np.maximum(many, 1), np.inf)
        fullest = share.argmin()
        got = without & (crosses[:, fullest] > 0)
        rate[got] = share[fullest]
        room -= share[fullest] * crosses[got].sum(axis=0)
        without &= ~got
    return rate


def ends(crosses, bandwidth, begin, nbytes):
    """When each flow ends: from one begin or end to the next, with rates worked out from nothing."""
    left, end, now = nbytes.astype(float), np.full(len(begin), np.inf), 0.0
    while np.isinf(end).any():
        on = np.flatnonzero((begin <= now) & np.isinf(end))
        rate = filled(crosses[on], bandwidth)
        over = now + left[on] / rate
        then = min(over.min(initial=np.inf), begin[begin > now].min(initial=np.inf))
        left[on] -= rate * (then - now)
        end[on[over <= then * (1 + 1e-12)]] = now = then
    return end


def network(kind, rng):
    """A network whose cables have one of few bandwidths, so that some are full together."""
    made = {
        "switch": lambda: cs.topology.switch(6),
        "line": lambda: cs.topology.line(7),
        "torus": lambda: cs.topology.torus(3, 4),
        "fat tree": lambda: cs.topology.fat_tree(4),
        "nodes": lambda: cs.machine("pcie-8gpu", nodes=2),
    }[kind]()
    bandwidth = made.links.bandwidth * rng.choice([0.5, 1.0, 1.0, 2.0], len(made.links))
    return replace(made, links=replace(made.links, bandwidth=bandwidth))


def draw_starts(rng, many, how):
    """All at once, at few moments, or each at its own."""
    return {"once": np.zeros(many), "few": rng.integers(0, 4, many) * 1e-3, "each": rng.uniform(0, 4e-3, many)}[how]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("how", ["once", "few", "each"])
@pytest.mark.parametrize("kind", ["switch", "line", "torus", "fat tree", "nodes"])
def test_flows_end_when_filling_from_nothing_says(kind, how, seed):
    rng = np.random.default_rng(seed)
    topo, many = network(kind, rng), 60
    src = rng.integers(0, topo.ranks, many)
    dst = (src + rng.integers(1, topo.ranks, many)) % topo.ranks
    nbytes, start = rng.integers(1, 8, many) * MIB, draw_starts(rng, many, how)
    routes = topo.routes(src, dst)
    crosses, begin = np.zeros((many, len(topo.links))), start.copy()
    for flow, links in enumerate(routes[i] for i in range(many)):
        crosses[flow, links] = 1
        begin[flow] += topo.links.alpha[links].sum()
    expected = ends(crosses, np.asarray(topo.links.bandwidth, float), begin, nbytes)
    assert simulate_flows(topo, src, dst, nbytes, start).finish == pytest.approx(expected, rel=1e-9)
