"""What the search does not try again would have ended as before: small random nodes against trying everything."""

import random
from collections import Counter
from functools import partial
from itertools import permutations

import pytest

from collsim.nccl.search import ring_tree_search, search_round
from collsim.nccl.search.constants import SLOWER_SPEED, get_speeds
from collsim.nccl.search.node_graph import Rules, SearchInput
from collsim.topology.machine_builder import LOC, SYS, Machine, MachineBuilder
from collsim.topology.network import Cable


def make_cable(kind, rate):
    return Cable(kind, kind, rate * 1e9, 1e-6, "drawn by lot", effective=rate * 1e9)


def draw_machine(builder, sm):
    return Machine.from_builder(builder, name="lot", title="lot", about="drawn by lot", source="drawn by lot", sm=sm)


def draw_mesh(seed):
    """Three or four GPUs with NVLinks between some of them, and nothing else."""
    lot, builder = random.Random(seed), MachineBuilder()
    builder.add(*(f"gpu{g}" for g in range(lot.choice((3, 4)))))
    for b in range(len(builder.devices)):
        for a in range(b):
            if lot.random() < 0.85:
                builder.connect(f"gpu{a}", f"gpu{b}", make_cable("nvlink", lot.choice((12, 20, 36, 40, 41.3))))
    return SearchInput.from_machine(draw_machine(builder, 80), len(builder.devices), (), Rules(SYS, LOC))


def draw_box(seed):
    """A node with PCIe, one or two sockets, and two network cards."""
    lot, builder = random.Random(seed), MachineBuilder()
    gpus, sockets = lot.choice((3, 4)), lot.choice((1, 2))
    for g in range(gpus):
        builder.connect(f"gpu{g}", f"cpu{g * sockets // gpus}", make_cable("pcie", lot.choice((12, 24, 48))))
        for peer in range(g):
            if lot.random() < 0.3:
                builder.connect(f"gpu{peer}", f"gpu{g}", make_cable("nvlink", lot.choice((20, 40))))
    if sockets == 2:
        builder.connect("cpu0", "cpu1", make_cable("upi", lot.choice((16, 32, 48))))
    for card in range(2):
        builder.connect(f"nic{card}", f"cpu{card * sockets // 2}", make_cable("pcie", 48))
    rules = Rules(SYS, lot.choice((LOC, SYS)), lot.choice((0, 1, 2)), lot.choice(("intel", "amd")))
    card_rates = (48e9, lot.choice((24e9, 48e9)))
    return SearchInput.from_machine(draw_machine(builder, lot.choice((70, 80, 90))), gpus, card_rates, rules)


def count_most_rings(bandwidth, rings):
    """How many rings of these, each as often as it fits, the links hold: by trying all."""
    if not rings:
        return 0
    (first, *others), most = rings, count_most_rings(bandwidth, rings[1:])
    remaining = Counter(bandwidth)
    remaining.subtract(first)
    if all(amount >= -1e-6 for amount in remaining.values()):
        most = max(most, 1 + count_most_rings(remaining, [first, *others]))
    return most


def try_every_order(search_input):
    """GB/s of the rings that give most, at falling speeds as in the search, but with every order of GPUs tried."""
    node = search_input.build_node_graph()
    steps = [
        list(zip((0, *order), (*order, 0), strict=True)) for order in permutations(range(1, search_input.gpu_count))
    ]
    best, best_setting, types = 0.0, None, sorted({path.type for path in node.gpu_to_gpu.values()})
    for speed in get_speeds(search_input.sm, 1):
        if speed > node.best_gpu_bandwidth or (best_setting and speed / best_setting[0] <= SLOWER_SPEED):
            continue
        for worst in types:
            if best_setting and worst > best_setting[1]:
                continue
            allowed = {ends: path for ends, path in node.gpu_to_gpu.items() if path.type <= worst}
            rings = []
            for order in steps:
                if all(step in allowed for step in order):
                    rings.append(Counter())
                    for step in order:
                        rings[-1].update({link: share * speed for link, share in allowed[step].costs})
            total = speed * count_most_rings(dict(enumerate(node.link_bandwidth)), rings)
            if total > best + 1e-9:
                best, best_setting = total, (speed, worst)
    return best


@pytest.mark.parametrize("seed", sorted(set(range(25)) - {12, 24}))  # on these two it runs out of steps
def test_rings_on_a_mesh_are_those_that_trying_every_order_finds(seed):
    mesh = draw_mesh(seed)
    rings, best = ring_tree_search._search_rings.__wrapped__(mesh), try_every_order(mesh)
    assert rings.total_speed == pytest.approx(best or 0.1)


class Forgets(dict):
    """Keeps nothing, so that everything is tried."""

    def __setitem__(self, key, value):
        pass

    def setdefault(self, key, default=None):
        return None


def forget_everything(monkeypatch):
    """The search without what it remembers, of a round and between rounds."""
    for kind, name in ((search_round.SearchRound, "__post_init__"), (ring_tree_search._Rounds, "__init__")):

        def begin(self, *arguments, original):
            original(self, *arguments)
            setattr(self, "_unfilled_rounds" if arguments else "_exhausted", Forgets())

        monkeypatch.setattr(kind, name, make_method(begin, original=getattr(kind, name)))


def make_method(function, **keywords):
    method = partial(function, **keywords)
    return lambda self, *arguments: method(self, *arguments)


def search_all(search_input):
    rings = ring_tree_search._search_rings.__wrapped__(search_input)
    channels, _ = ring_tree_search.duplicate_channels(len(rings.channels), rings.speed, search_input.sm)
    return rings, ring_tree_search._search_trees.__wrapped__(search_input, channels)


def test_what_is_remembered_changes_no_answer(monkeypatch):
    """Not even where a search runs out of steps: those of what is not tried again are counted."""
    calls, extend_path = Counter(), search_round.SearchRound._extend_path

    def count_calls(self, *state):
        calls[name] += 1
        extend_path(self, *state)

    monkeypatch.setattr(search_round.SearchRound, "_extend_path", count_calls)
    nodes, answers = [draw(seed) for draw in (draw_mesh, draw_box) for seed in range(10)], {}
    for name in ("remembered", "tried"):
        if name == "tried":
            forget_everything(monkeypatch)
        answers[name] = [search_all(node) for node in nodes]
    assert answers["remembered"] == answers["tried"]
    assert calls["remembered"] < 0.8 * calls["tried"]
    assert len({repr(answer) for answer in answers["tried"]}) > 8
