"""What may be built: counted before, against what building really takes."""

import importlib
import threading
import tracemalloc

import pytest

import collsim as cs
from collsim import limits
from collsim.limits import Extent, find_memory_limit, require_extent, within
from collsim.topology import fabrics, generic

NETWORKS = {
    "ring": (20_000,),
    "line": (20_000,),
    "star": (20_000,),
    "switch": (20_000,),
    "fully_connected": (300,),
    "tree": (20_000,),
    "torus": (30, 30, 30),
    "mesh": (30, 30, 30),
    "hypercube": (2**12,),
    "fat_tree": (32,),
    "dragonfly": (2, 16, 8),
}


@pytest.fixture
def counted(monkeypatch):
    """The largest extent that was asked for."""
    seen = []

    def noted(what, extent, advice, error=cs.CollsimError):
        seen.append(extent)
        require_extent(what, extent, advice, error)

    for module in (generic, fabrics, importlib.import_module("collsim.topology.machines")):
        monkeypatch.setattr(module, "require_extent", noted)
    return lambda: max(extent.memory for extent in seen)


def peak(build):
    """Bytes that building takes at its peak; a second time, when what is loaded once is loaded."""
    build()
    tracemalloc.start()
    try:
        build()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_takes_no_more_than_was_counted_and_not_much_less(name, counted):
    taken = peak(lambda: cs.topology.NETWORKS[name](*NETWORKS[name]))
    assert taken <= counted() <= 4 * taken


@pytest.mark.parametrize("fabric", fabrics.FABRICS)
def test_a_machine_takes_no_more_than_was_counted_and_not_much_less(fabric, counted):
    taken = peak(lambda: cs.machine("dgx-a100", nodes=400, fabric=fabric))
    assert taken <= counted() <= 4 * taken


@pytest.mark.parametrize(
    "build",
    [
        lambda: cs.machine("dgx-a100", nodes=2**21),
        lambda: cs.machine("dgx-a100", nodes="2097152"),
        lambda: cs.machine("dgx-a100", nodes=4, fabric="fat-tree", radix=20_000),
        lambda: cs.machine("dgx-a100", nodes=2, fabric="dragonfly", switches=4000, cables=4000),
        lambda: cs.machine("dgx-a100", nodes=1000, fabric="rail", oversubscription=1e-6),
        lambda: cs.topology.ring(10**9),
        lambda: cs.topology.hypercube(2**30),
        lambda: cs.topology.torus(10**6, 10**6),
        lambda: cs.topology.fat_tree(10**6),
        lambda: cs.topology.dragonfly(50, 500, 500),
        lambda: cs.topology.fully_connected(10**6).with_helpers(3),
        lambda: cs.topology.fully_connected(200).with_helpers(2**15),
    ],
)
def test_too_much_is_refused_before_it_is_built(build):
    tracemalloc.start()
    try:
        with pytest.raises(cs.TopologyError, match=r"would take .* of memory \(.*\); 4 GiB is the most here, so use"):
            build()
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_who_wants_more_or_less_says_so():
    with within("1MiB"), pytest.raises(cs.TopologyError, match="1 MiB is the most here"):
        cs.topology.ring(10_000)
    with within("1MiB"), within("64MiB"):
        assert cs.topology.ring(10_000).ranks == 10_000
    assert find_memory_limit() == limits.MEMORY
    with within("64GiB"):
        require_extent("a million rings", Extent(links=2**29), "use fewer")  # 40 GiB
    with pytest.raises(cs.CollsimError, match="use fewer"):
        require_extent("a million rings", Extent(links=2**29), "use fewer")


def test_a_limit_holds_in_its_own_thread_only():
    found = []
    with within("1MiB"):
        other = threading.Thread(target=lambda: found.append(find_memory_limit()))
        other.start()
        other.join()
    assert found == [limits.MEMORY]


def test_a_schedule_ends_at_the_rows_that_fit():
    @cs.algorithm("allreduce", name="never_ends")
    def never_ends(n):
        while True:
            yield cs.copy(range(n), [(r + 1) % n for r in range(n)], 0)

    with within("64KiB"), pytest.raises(cs.ScheduleError, match="more than 1,024 transfers"):  # 64 bytes a row
        never_ends(8)
    from collsim import registry

    del registry._REGISTRY["never_ends"]


def test_thirty_thousand_helpers_have_names_and_their_own_cable():
    wide = cs.topology.switch(5).with_helpers(30_000)
    assert (wide.devices.name[5], wide.devices.name[6], wide.devices.name[-1]) == ("switch0", "host0", "host29999")
    assert len(wide.links) == 2 * (5 + 30_000)
    assert wide.routes([0], [30_004]).hops.tolist() == [2]


def test_a_long_value_is_shown_by_its_beginning():
    for bad in ("9" * 900_000, 10**5000, "x" * 10**6):
        for parse in (cs.units.parse_bytes, cs.units.parse_bandwidth, cs.units.parse_time, cs.topology.ring):
            with pytest.raises(cs.CollsimError) as caught:
                parse(bad)
            assert len(str(caught.value)) < 400
    assert cs.units.parse_bytes(str(2**53 + 1)) == 2**53 + 1  # as a float it would be 2^53


ENDLESS = range(10**12)  # takes no memory itself
LEAF_SPINE = cs.machine("dgx-h100", nodes=2, gpus=1, fabric="leaf-spine", radix=8)


@pytest.mark.parametrize(
    ("name", "take"),
    {
        "nbytes": lambda: cs.compare("allreduce", "dgx-a100", ENDLESS),
        "channels": lambda: cs.sweep("allreduce", ("allreduce_ring", {"channels": ENDLESS}), "dgx-a100", 8),
        "order": lambda: cs.sweep("allreduce", "allreduce_ring", "dgx-a100", 8, order=ENDLESS),
        "nodes": lambda: cs.nccl.predict_choices("allreduce", "dgx-a100", 8, ENDLESS),
        "seeds": lambda: cs.analysis.compare_routing(lambda topology: 1.0, LEAF_SPINE, seeds=ENDLESS),
        "buffers": lambda: cs.replay(cs.schedule("allreduce_ring", ranks=4), ENDLESS),
        "src": lambda: cs.copy(ENDLESS, 0, 0),
        "batch": lambda: cs.sweep(model="resnet18", topology="dgx-a100", batch=ENDLESS),
        "schedules": lambda: cs.train.time_schedules(4, 8, 1e-3, 2e-3, schedules=ENDLESS),
    }.items(),
)
def test_a_range_of_too_many_numbers_is_refused_before_it_is_listed(name, take):
    with pytest.raises(cs.CollsimError, match=rf"^{name}=range\(0, 1000000000000\) has more than"):
        take()
