"""How near `expected_cost` comes: processor time of a run over what was expected of it, printed; visits asserted within
a factor of 3, both ways."""

import resource

import pytest

import collsim as cs
from collsim.simulate import expected_cost

JITTER = {"jitter": "1us"}
CASES = [
    ("allreduce_ring", 256, cs.topology.switch(256), JITTER),
    ("allreduce_ring", 512, cs.topology.torus(8, 8, 8), JITTER),
    ("allreduce_ring", 1024, cs.machine("dgx-a100", nodes=128, fabric="fat-tree", oversubscription=2), {}),
    ("allreduce_double_binary_tree", 512, cs.topology.switch(512), {"sharing": "fifo"}),
    ("allreduce_parameter_server", 4096, cs.topology.switch(4096), JITTER),
    ("alltoall_direct", 256, cs.topology.switch(256), {}),
    ("alltoall_direct", 64, cs.topology.switch(64), JITTER),
    ("alltoall_direct", 64, cs.topology.line(64), JITTER),
    ("alltoall_direct", 96, cs.topology.fully_connected(96), {"injection": "25GB/s", **JITTER}),
    ("alltoall_direct", 128, cs.machine("dgx-h100", nodes=16), {}),
    ("alltoall_direct", 64, cs.machine("dgx-h100", nodes=8, fabric="leaf-spine", oversubscription=4), JITTER),
]


def user():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


@pytest.mark.parametrize(("name", "n", "topo", "options"), CASES)
def test_what_was_expected(name, n, topo, options):
    s = cs.schedule(name, n)
    cs.simulate(
        cs.schedule("alltoall_direct", 4), cs.topology.switch(4), 1000, engine="event", jitter="1us"
    )  # loads the compiler
    expected = expected_cost(s, topo, "64MiB", engine="event", **options)
    before = user()
    done = cs.simulate(s, topo, "64MiB", engine="event", **options)
    took = user() - before
    print(
        f"{s.label} on {topo.name} {options}: {took:.4f} s, expected {expected.seconds:.4f} s, ratio "
        f"{took / expected.seconds:.2f}"
    )
    assert done.timing.visits / 3 <= expected.visits <= 3 * done.timing.visits
