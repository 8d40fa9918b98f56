"""Comparing all algorithms over many sizes: processor time of all processes, printed; the rows counted."""

import resource

import pytest

import collsim as cs
from collsim.simulate import lockstep
from collsim.simulate.paths import find_paths


def read_processor_time():
    """s of this process and of its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@pytest.mark.parametrize("collective", ["allreduce", "allgather", "alltoall"])
def test_all_algorithms_over_21_sizes_on_two_nodes(collective):
    machine, sizes = cs.machine("dgx-a100", nodes=2), cs.size_range("1KiB:1GiB:2")
    cs.compare(collective, "switch(4)", "1KiB")  # loads pandas
    before = read_processor_time()
    frame = cs.compare(collective, machine, sizes)
    print(f"{collective}: {read_processor_time() - before:.2f} s for {len(frame)} rows")
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
