"""A ring of 1,024 ranks, from its name to its time: `python -m pytest benchmarks`. Counts are asserted, times are
printed."""

import subprocess
import sys

import collsim as cs

RANKS = 1024
TRANSFERS = 2 * (RANKS - 1) * RANKS


def network():
    return cs.topology.switch(RANKS, bandwidth="25GB/s", alpha="1us")


def test_build_verify_and_simulate_in_lockstep(benchmark):
    def run():
        s = cs.schedule("allreduce_ring", ranks=RANKS)
        cs.verify(s)
        return cs.simulate(s, network(), "64MiB")

    trace = benchmark.pedantic(run, rounds=3)
    assert len(trace.schedule) == TRANSFERS == 2_095_104
    assert trace.link_bytes.sum() == 2 * 2 * (RANKS - 1) * 64 * 2**20  # two cables, 2(n-1) buffers in all


def test_import(benchmark):
    """`import collsim` in a new interpreter; the compiler stays out of it."""
    code = "import sys, collsim; sys.exit('numba' in sys.modules)"
    run = benchmark.pedantic(lambda: subprocess.run([sys.executable, "-c", code], check=False).returncode, rounds=5)
    assert run == 0


def test_memory_of_the_ring_stays_within_a_gibibyte():
    code = (
        "import resource, collsim as cs\n"
        f"s = cs.schedule('allreduce_ring', ranks={RANKS}); cs.verify(s)\n"
        f"cs.simulate(s, cs.topology.switch({RANKS}), '64MiB')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    kib = int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    assert kib < 2**20
