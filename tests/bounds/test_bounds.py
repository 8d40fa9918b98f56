"""Lower bounds: hand-worked, and never above what any schedule takes."""

import itertools

import pytest
from sampling import sample

import collsim as cs
from collsim.collective import get_collective

MIB = 2**20


def bound(collective, topology, nbytes, **options):
    return cs.lower_bound(get_collective(collective), topology, nbytes, **options)


def test_allreduce_on_two_dgx_a100_is_bound_by_the_ways_out_of_a_gpu():
    """2 * 15/16 buffers through NVLink (300 GB/s) and PCIe (31.5 GB/s) of every GPU."""
    two = cs.machine("dgx-a100", nodes=2)
    assert bound("allreduce", two, 256 * MIB).time == pytest.approx(2 * 15 / 16 * 256 * MIB / 331.5e9, rel=1e-9)


@pytest.mark.parametrize(
    ("collective", "buffers"),
    [
        ("allreduce", 14 / 8),
        ("allgather", 7 / 8),
        ("reduce_scatter", 7 / 8),
        ("alltoall", 7 / 8),
        ("broadcast", 1),
        ("reduce", 1),
        ("sendrecv", 1),
    ],
)
def test_bandwidth_bounds_on_a_switch(collective, buffers):
    """What every rank must move through its one cable (Chan et al. 2007, table 1)."""
    network = cs.topology.switch(8, bandwidth=25e9, alpha=0)
    assert bound(collective, network, 8 * MIB).time == pytest.approx(buffers * 8 * MIB / 25e9, rel=1e-9)


def test_latency_bound_is_the_way_to_the_farthest_rank():
    assert bound("allreduce", cs.topology.line(8, alpha="1us"), 0).latency == pytest.approx(7e-6)
    assert bound("broadcast", cs.topology.ring(8, alpha="1us"), 0, root=3).latency == pytest.approx(4e-6)
    assert bound("sendrecv", cs.topology.ring(8, alpha="1us"), 0).latency == pytest.approx(1e-6)


def test_a_helper_that_reduces_lifts_the_bound_for_all_ranks_together():
    """In-network reduction: every rank sends and receives one buffer, not 2(n-1)/n."""
    network = cs.topology.switch(8, bandwidth=25e9, alpha=0)
    assert bound("allreduce", network, 8 * MIB, helpers=True).time == pytest.approx(8 * MIB / 25e9, rel=1e-9)


def test_links_that_neither_ranks_nor_switches_that_reduce_use_do_not_count():
    """Nine GPUs: the last is alone in its node and has one of its eight cards, 50 GB/s."""
    machine = cs.machine("dgx-h100", nodes=2)
    schedule = cs.schedule("allreduce_sharp", ranks=9, topology=machine)
    trace = cs.simulate(schedule, machine, "1GiB", ranks=list(range(9)), engine="event")
    assert trace.bound.bandwidth == pytest.approx(2**30 / 50e9)
    assert trace.bound.time <= trace.time
    assert trace.topology.links.bandwidth[list(trace.bound.cut.links)].sum() == 50e9
    placed = cs.lower_bound("allreduce", trace.topology, "1GiB", helpers=True).time
    assert placed == trace.bound.time
    # Where nobody says on which device a helper is, none of a GPU's cables is left out.
    assert cs.lower_bound("allreduce", machine, "1GiB", ranks=9, helpers=True).time < placed / 2


def test_a_group_keeps_the_helpers_of_its_network():
    machine = cs.machine("dgx-h100")
    near = cs.lower_bound("allreduce", machine.with_helpers(1, "switch"), "1GiB", ranks=[0, 1], helpers=True)
    server = cs.lower_bound("allreduce", machine.with_helpers(1), "1GiB", ranks=[0, 1], helpers=True)
    assert near.time == pytest.approx(2**30 / 450e9)
    assert server.time == pytest.approx(2**30 / (450e9 + 63e9), rel=0.01)  # and PCIe 5 to host memory


@pytest.mark.parametrize("name", sample(sorted(cs.algorithms()), 16))
def test_no_run_is_below_its_bound(name):
    for n in (2, 5, 8):
        for network in (
            cs.topology.switch(n),
            cs.topology.fully_connected(n),
            cs.topology.ring(n),
            cs.topology.star(n),
        ):
            for nbytes in (8, 1_000_003):
                try:
                    trace = cs.simulate(cs.schedule(name, ranks=n), network, nbytes)
                except cs.CollsimError:
                    continue  # not for this number of ranks, or no place for a helper
                assert trace.time >= trace.bound.time * (1 - 1e-9), (n, network.name, nbytes)
                assert trace.gap >= 1 - 1e-9


@pytest.mark.parametrize("name", sample(sorted(cs.algorithms()), 16))
def test_no_run_is_below_its_bound_when_blocks_differ_in_size(name):
    """Sizes that the ranks do not divide, down to blocks of nothing: elements are not cut."""
    for n in (2, 3, 5, 8):
        try:
            schedule = cs.schedule(name, ranks=n)
        except cs.CollsimError:
            continue  # not for this number of ranks
        for network in (cs.topology.switch(n, alpha=0), cs.topology.ring(n, alpha=0)):
            for nbytes, dtype in itertools.product(
                (0, 1, 3, n + 1, 4 * n - 1, 4 * n + 4, 8 * n + 13), ("int32", "int8", "float64")
            ):
                try:
                    trace = cs.simulate(schedule, network, nbytes, dtype)
                except cs.TopologyError:
                    continue  # no place for a helper
                assert trace.time >= trace.bound.time * (1 - 1e-9), (n, network.name, nbytes, dtype)


def test_a_gather_of_one_element_moves_nothing():
    """3 bytes of int32 are one element, which the root has; 20 bytes over 3 ranks are blocks of 8, 8 and 4."""
    network = cs.topology.switch(3, bandwidth=1e9, alpha=0)
    trace = cs.simulate(cs.schedule("gather_flat", ranks=3), network, 3, "int32")
    assert trace.bound.time == trace.time == 0
    assert bound("gather", network, 20, dtype="int32").time == pytest.approx(12 / 1e9)
    assert bound("scatter", network, 20, dtype="int32", root=2).time == pytest.approx(16 / 1e9)
