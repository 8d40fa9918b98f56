"""Comparing all algorithms over many sizes: the rows and the searches of routes are counted, times are printed."""

import time

import pytest

import collsim as cs
from collsim.simulate import lockstep
from collsim.simulate.paths import find_paths
from collsim.sweep import sweep_runner

pytestmark = pytest.mark.benchmark(timer=time.process_time)


@pytest.mark.parametrize("collective", ["allreduce", "allgather", "alltoall"])
def test_all_algorithms_over_21_sizes_on_two_nodes(benchmark, collective):
    """From nothing: schedules, routes and bounds are made anew in each round."""
    sizes = cs.size_range("1KiB:1GiB:2")

    def run():
        sweep_runner._build_shared.cache_clear()
        return cs.compare(collective, cs.machine("dgx-a100", nodes=2), sizes)

    frame = benchmark.pedantic(run, rounds=3, warmup_rounds=1)
    assert len(frame) == len(sizes) * frame["algorithm"].nunique()


def test_routes_are_found_once_for_all_sizes(monkeypatch):
    found = []
    monkeypatch.setattr(lockstep, "find_paths", lambda *pairs: found.append(pairs) or find_paths(*pairs))
    counts = []
    for sizes in (["1MiB"], cs.size_range("1MiB:1GiB:2")):
        found.clear()
        cs.compare("allreduce", cs.machine("dgx-a100", nodes=2), sizes)
        counts.append(len(found))
    assert counts[0] == counts[1]
