"""What the search does not try again would have ended as before: small random nodes against trying everything."""

import random
from collections import Counter
from functools import partial
from itertools import permutations

import pytest

from collsim.nccl.search import ring_tree_search, search_round
from collsim.nccl.search.constants import SLOWER_SPEED, get_speeds
from collsim.nccl.search.node_graph import Rules, SearchInput
from collsim.topology.network import Cable
from collsim.topology.plan import LOC, SYS, Machine, Plan


def cable(kind, rate):
    return Cable(kind, kind, rate * 1e9, 1e-6, "drawn by lot", effective=rate * 1e9)


def drawn(plan, sm):
    return Machine.drawn(plan, name="lot", title="lot", about="drawn by lot", source="drawn by lot", sm=sm)


def meshed(seed):
    """Three or four GPUs with NVLinks between some of them, and nothing else."""
    lot, plan = random.Random(seed), Plan()
    plan.add(*(f"gpu{g}" for g in range(lot.choice((3, 4)))))
    for b in range(len(plan.devices)):
        for a in range(b):
            if lot.random() < 0.85:
                plan.join(f"gpu{a}", f"gpu{b}", cable("nvlink", lot.choice((12, 20, 36, 40, 41.3))))
    return SearchInput.from_machine(drawn(plan, 80), len(plan.devices), (), Rules(SYS, LOC))


def boxed(seed):
    """A node with PCIe, one or two sockets, and two network cards."""
    lot, plan = random.Random(seed), Plan()
    gpus, sockets = lot.choice((3, 4)), lot.choice((1, 2))
    for g in range(gpus):
        plan.join(f"gpu{g}", f"cpu{g * sockets // gpus}", cable("pcie", lot.choice((12, 24, 48))))
        for peer in range(g):
            if lot.random() < 0.3:
                plan.join(f"gpu{peer}", f"gpu{g}", cable("nvlink", lot.choice((20, 40))))
    if sockets == 2:
        plan.join("cpu0", "cpu1", cable("upi", lot.choice((16, 32, 48))))
    for card in range(2):
        plan.join(f"nic{card}", f"cpu{card * sockets // 2}", cable("pcie", 48))
    rules = Rules(SYS, lot.choice((LOC, SYS)), lot.choice((0, 1, 2)), lot.choice(("intel", "amd")))
    return SearchInput.from_machine(
        drawn(plan, lot.choice((70, 80, 90))), gpus, (48e9, lot.choice((24e9, 48e9))), rules
    )


def most_rings(room, rings):
    """How many rings of these, each as often as there is room, hold: by trying all."""
    if not rings:
        return 0
    (first, *rest), most = rings, most_rings(room, rings[1:])
    left = Counter(room)
    left.subtract(first)
    if all(amount >= -1e-6 for amount in left.values()):
        most = max(most, 1 + most_rings(left, [first, *rest]))
    return most


def tried_all(asked):
    """GB/s of the rings that give most, as `rings` goes down the speeds, but with every order of GPUs tried."""
    node = asked.build_node_graph()
    steps = [list(zip((0, *order), (*order, 0), strict=True)) for order in permutations(range(1, asked.gpu_count))]
    best, at, types = 0.0, None, sorted({way.type for way in node.gpu_to_gpu.values()})
    for speed in get_speeds(asked.sm, 1):
        if speed > node.best_gpu_bandwidth or (at and speed / at[0] <= SLOWER_SPEED):
            continue
        for worst in types:
            if at and worst > at[1]:
                continue
            allowed = {ends: way for ends, way in node.gpu_to_gpu.items() if way.type <= worst}
            rings = []
            for order in steps:
                if all(step in allowed for step in order):
                    rings.append(Counter())
                    for step in order:
                        rings[-1].update({link: times * speed for link, times in allowed[step].costs})
            total = speed * most_rings(dict(enumerate(node.link_bandwidth)), rings)
            if total > best + 1e-9:
                best, at = total, (speed, worst)
    return best


@pytest.mark.parametrize("seed", sorted(set(range(25)) - {12, 24}))  # on these two it runs out of steps
def test_rings_on_a_mesh_are_those_that_trying_every_order_finds(seed):
    asked = meshed(seed)
    found, best = ring_tree_search._rings.__wrapped__(asked), tried_all(asked)
    assert found.total_speed == pytest.approx(best or 0.1)


class Forgets(dict):
    """Keeps nothing, so that everything is tried."""

    def __setitem__(self, key, value):
        pass

    def setdefault(self, key, default=None):
        return None


def forgetful(monkeypatch):
    """The search without what it remembers, of a round and between rounds."""
    for kind, name in ((search_round.SearchRound, "__post_init__"), (ring_tree_search._Rounds, "__init__")):

        def begin(self, *given, before):
            before(self, *given)
            setattr(self, "_walked" if given else "_vain", Forgets())

        monkeypatch.setattr(kind, name, partial_method(begin, before=getattr(kind, name)))


def partial_method(function, **given):
    done = partial(function, **given)
    return lambda self, *args: done(self, *args)


def answers(asked):
    rings = ring_tree_search._rings.__wrapped__(asked)
    channels, _ = ring_tree_search.duplicate_channels(len(rings.channels), rings.speed, asked.sm)
    return rings, ring_tree_search._trees.__wrapped__(asked, channels)


def test_what_is_remembered_changes_no_answer(monkeypatch):
    """Not even where a search runs out of steps: those of what is not tried again are counted."""
    calls, step = Counter(), search_round.SearchRound._walk

    def counted(self, *state):
        calls[name] += 1
        step(self, *state)

    monkeypatch.setattr(search_round.SearchRound, "_walk", counted)
    nodes, found = [make(seed) for make in (meshed, boxed) for seed in range(10)], {}
    for name in ("remembered", "tried"):
        if name == "tried":
            forgetful(monkeypatch)
        found[name] = [answers(asked) for asked in nodes]
    assert found["remembered"] == found["tried"]
    assert calls["remembered"] < 0.8 * calls["tried"]
    assert len({repr(one) for one in found["tried"]}) > 8
