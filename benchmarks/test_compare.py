"""Comparing all algorithms over many sizes: processor time of all processes, printed; the rows counted."""

import resource

import pytest

import collsim as cs


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
