"""Larger calls that take less time: only where NCCL changes its choice, and then the answer says so."""

from itertools import pairwise

import pytest

import collsim as cs

#: Powers of two, and halfway between them.
SIZES = [size for k in range(6, 29) for size in (2**k, 3 * 2 ** (k - 1))]
COLLECTIVES = ("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce")


@pytest.mark.parametrize(
    ("name", "nodes"),
    [("dgx-h100", 4), ("hgx-h800", 4), ("gb200-nvl72", 2), ("dgx-1v", 1), ("dgx-1p", 4), ("polaris", 4)],
)
def test_a_time_that_falls_with_the_size_is_said_with_the_change_that_makes_it_fall(name, nodes):
    machine, falls = cs.machine(name, nodes=nodes), 0
    for collective in COLLECTIVES:
        predictions = [cs.nccl.predict(collective, machine, size) for size in SIZES]
        for smaller, larger in pairwise(predictions):
            if larger.time < 0.95 * smaller.time:
                falls += 1
                (sentence,) = smaller.faster_larger_calls
                assert sentence.values["size"] == cs.format_bytes(larger.nbytes)
                assert sentence.values["now"] == f"{smaller.algorithm} {smaller.protocol}"
                assert sentence.values["then"] == f"{larger.algorithm} {larger.protocol}"
    assert falls


@pytest.mark.parametrize(("name", "nodes"), [("dgx-h100", 4), ("aws-p5", 2), ("pcie-8gpu", 2), ("dgx-a100", 1)])
def test_what_is_said_to_take_less_time_does(name, nodes):
    machine = cs.machine(name, nodes=nodes)
    for collective in COLLECTIVES:
        for smaller in (cs.nccl.predict(collective, machine, size) for size in SIZES):
            for sentence in smaller.faster_larger_calls:
                (size,) = (size for size in SIZES if cs.format_bytes(size) == sentence.values["size"])
                larger = cs.nccl.predict(collective, machine, size)
                assert larger.time < smaller.time
                assert f"{larger.algorithm} {larger.protocol}" == sentence.values["then"]


def test_a_choice_that_nccl_may_not_make_is_not_offered():
    machine = cs.machine("dgx-h100", nodes=4)
    assert cs.nccl.predict("broadcast", machine, "1MiB").faster_larger_calls
    assert not cs.nccl.predict("broadcast", machine, "1MiB", NCCL_PROTO="LL").faster_larger_calls
    assert not cs.nccl.predict("alltoall", machine, "1MiB").faster_larger_calls
    assert not cs.nccl.predict("broadcast", machine, "1MiB", ranks=1).faster_larger_calls


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_rccl_takes_another_protocol_where_both_take_as_long(nodes):
    """Its sizes are AMD's, measured: a cap of NCCL's on LL made times fall to 0.35 there."""
    machine = cs.machine("mi300x-8gpu", nodes=nodes)
    for collective in COLLECTIVES:
        times = [cs.nccl.predict(collective, machine, size).time for size in SIZES]
        assert all(later > 0.95 * earlier for earlier, later in pairwise(times)), collective
