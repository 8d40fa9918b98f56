"""Lower bounds: hand-worked, and never above what any schedule takes."""

import pytest

import collsim as cs

MIB = 2**20


def bound(collective, topology, nbytes, **options):
    return cs.lower_bound(cs.collective(collective), topology, nbytes, **options)


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


@pytest.mark.parametrize("name", sorted(cs.algorithms()))
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
