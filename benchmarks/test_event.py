"""The event engine at the sizes of docs/performance.md: `python -m pytest benchmarks`. Counts are asserted, times are
printed.

Each benchmark warms up once, so that compilation (once a machine) and the loading of its cache (once a process) are not
in it.
"""

import time

import numpy as np
import pytest

import collsim as cs
from collsim.simulate import simulate_flows

MIB = 2**20
pytestmark = pytest.mark.benchmark(
    timer=time.process_time
)  # seconds of processor time: other work on the machine counts less


def switch(n):
    return cs.topology.switch(n, bandwidth="25GB/s", alpha="1us")


def timed(benchmark, run, rounds=3):
    return benchmark.pedantic(run, rounds=rounds, warmup_rounds=1)


@pytest.mark.parametrize("sharing", ["fair", "fifo", "none"])
@pytest.mark.parametrize("how", ["symmetry", "program order", "events"])
def test_ring_of_1024(benchmark, sharing, how):
    """Even chunks can use symmetry; uneven ones (one element more than divides) go in program order; or all through the
    queue."""
    if (sharing, how) == ("fifo", "symmetry"):
        pytest.skip("store and forward never uses symmetry")
    if (sharing, how) == ("none", "symmetry"):
        pytest.skip("the same as fair")
    s, topo = cs.schedule("allreduce_ring", 1024), switch(1024)
    nbytes = 64 * MIB + 4 * (how == "program order")
    t = timed(
        benchmark, lambda: cs.simulate(s, topo, nbytes, engine="event", sharing=sharing, shortcuts=how != "events")
    )
    assert t.how == how
    assert len(s) == 2_095_104
    assert t.sent_bytes.sum() == 2 * 1023 * nbytes


def test_ring_of_1024_with_jitter(benchmark):
    """No two events at one moment: the queue has to sort them all."""
    s, topo = cs.schedule("allreduce_ring", 1024), switch(1024)
    t = timed(benchmark, lambda: cs.simulate(s, topo, 64 * MIB, engine="event", jitter="1us", shortcuts=False))
    assert t.how == "events"


@pytest.mark.parametrize(
    ("how", "extra"), [("symmetry", 0), ("program order", 4), ("events", 0), ("events", 4)], ids=str
)
def test_ring_of_4096(benchmark, how, extra):
    """Even chunks, or uneven ones with four bytes more."""
    s, topo = cs.schedule("allreduce_ring", 4096), switch(4096)
    nbytes, shortcuts = 64 * MIB + extra, how != "events"
    t = timed(benchmark, lambda: cs.simulate(s, topo, nbytes, engine="event", shortcuts=shortcuts), rounds=1)
    assert (t.how, len(s)) == (how, 33_546_240)


def draw_flows(hosts):
    """Sixteen flows per host to random others: sources, destinations, bytes."""
    rng = np.random.default_rng(1)
    src = np.repeat(np.arange(hosts), 16)
    dst = (src + rng.integers(1, hosts, len(src))) % hosts
    return src, dst, rng.integers(MIB, 64 * MIB, len(src))


@pytest.mark.parametrize("hosts", [256, 1024])
def test_sixteen_random_flows_per_host(benchmark, hosts):
    src, dst, nbytes = draw_flows(hosts)
    topo = switch(hosts)
    t = timed(benchmark, lambda: simulate_flows(topo, src, dst, nbytes), rounds=1)
    assert t.link_bytes.sum() == 2 * nbytes.sum()


@pytest.mark.parametrize(("hosts", "ports"), [(1024, 16), (4096, 26)])
def test_sixteen_random_flows_per_host_on_a_fat_tree(benchmark, hosts, ports):
    """Three layers; a tree of switches of 26 ports has 4,394 hosts, of which 4,096 send."""
    topo = cs.topology.fat_tree(ports, bandwidth="25GB/s", alpha="1us")
    src, dst, nbytes = draw_flows(hosts)
    t = timed(benchmark, lambda: simulate_flows(topo, src, dst, nbytes), rounds=1)
    assert hosts <= topo.ranks
    assert len(topo.routes([0], [hosts - 1])[0]) == 6
    assert 2 * nbytes.sum() < t.link_bytes.sum() <= 6 * nbytes.sum()


def test_incast_of_4096_workers(benchmark):
    s, topo = cs.schedule("allreduce_parameter_server", 4096), switch(4096)
    t = timed(benchmark, lambda: cs.simulate(s, topo, 64 * MIB, engine="event"))
    assert t.received_bytes[0] == 4095 * 64 * MIB


def test_alltoall_of_256(benchmark):
    s, topo = cs.schedule("alltoall_direct", 256), switch(256)
    t = timed(benchmark, lambda: cs.simulate(s, topo, 64 * MIB, engine="event", shortcuts=False))
    assert t.sent_bytes.sum() == 256 * 255 * 64 * MIB // 256


@pytest.mark.parametrize("channels", [8, 1])
@pytest.mark.parametrize("shortcuts", [True, False])
def test_ring_of_1024_on_an_oversubscribed_fat_tree(benchmark, shortcuts, channels):
    topo = cs.machine("dgx-h100", nodes=128, fabric="fat-tree", oversubscription=2)
    s = cs.schedule("allreduce_ring", topology=topo, channels=channels)
    t = timed(benchmark, lambda: cs.simulate(s, topo, 64 * MIB, engine="event", shortcuts=shortcuts))
    assert t.sent_bytes.sum() == 2 * 1023 * 64 * MIB
