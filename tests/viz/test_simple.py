"""The simple page's numbers, and the line of code that runs in each step."""

import numpy as np
import pytest

import collsim as cs
from collsim.analysis.run_facts import RunFacts
from collsim.viz.simple.simple_document import build_simple_run, count_cards, factor_bytes
from collsim.viz.timeline.running_line import makes_same_transfers, trace_source_lines
from collsim.viz.timeline.textbook import TEXTBOOK
from collsim.viz.timeline.timeline_document import build_timeline

MIB = 2**20
PLACE = cs.machine("dgx-a100", nodes=2)


def ring(channels):
    return cs.simulate(cs.schedule("allreduce_ring", topology=PLACE, channels=channels), PLACE, "256MiB")


def test_each_gpu_sends_twice_fifteen_sixteenths_of_the_buffer():
    run = build_simple_run(RunFacts(ring(1)))
    assert run.sent == 480 * MIB
    assert run.factors == (2, 15, 16, 256 * MIB)
    whole, above, below, nbytes = run.factors
    assert whole * above / below * nbytes == run.sent


def test_all_cards_are_eight_and_one_ring_leaves_through_one():
    assert [count_cards(ring(channels)) for channels in (1, 2, 8)] == [1, 2, 8]
    one, all_ = build_simple_run(RunFacts(ring(1))), build_simple_run(RunFacts(ring(8)))
    assert one.time == pytest.approx(30 * (16 * MIB / 25e9 + 3.2e-6))
    assert all_.time == pytest.approx(30 * (2 * MIB / 25e9 + 3.2e-6))
    assert all_.sent == one.sent


@pytest.mark.parametrize(
    ("sent", "nbytes", "ranks", "product"),
    [
        (480, 256, 16, (2, 15, 16, 256)),
        (240, 256, 16, (1, 15, 16, 256)),  # allgather, reduce-scatter
        (256, 256, 16, None),  # 16/15 of a product
        (0, 256, 16, None),
        (8, 8, 1, None),
    ],
)
def test_bytes_are_a_product_only_where_they_are_one(sent, nbytes, ranks, product):
    assert factor_bytes(sent, nbytes, ranks) == product


def test_where_ranks_send_differently_the_busiest_is_told():
    network = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")
    run = build_simple_run(RunFacts(cs.simulate(cs.schedule("allreduce_parameter_server", ranks=8), network, "8MiB")))
    assert run.sent is None
    assert run.most == 7 * 8 * MIB
    assert (run.factors, run.cards) == (None, 0)


# ---- the running line


@pytest.mark.parametrize("name", TEXTBOOK)
@pytest.mark.parametrize("n", [2, 3, 8])
def test_the_textbook_makes_the_same_transfers(name, n):
    assert makes_same_transfers(TEXTBOOK[name], cs.schedule(name, ranks=n))


def test_another_order_of_the_ring_is_not_the_textbooks():
    plan = cs.schedule("allreduce_ring", ranks=8) + cs.schedule("allgather_ring", ranks=8)
    assert not makes_same_transfers(TEXTBOOK["allreduce_ring"], plan)


def test_the_line_that_runs_reduces_while_the_schedule_reduces():
    code = trace_source_lines(ring(1))
    assert code["lines"][0] == "def allreduce_ring(n):"
    lines = [code["lines"][at] for at in code["at"]]
    assert all("yield reduce" in line for line in lines[:15])
    assert all("yield copy" in line for line in lines[15:])
    assert code["note"][8] == "k = 8"
    assert code["note"][15] == "k = 0"
    assert build_timeline(ring(1))["code"] == code


def test_with_channels_the_registrys_own_function_is_shown():
    code = trace_source_lines(ring(8))
    assert "channels" in code["lines"][0]
    assert "repeat(reduce(" in code["lines"][code["at"][0]]
    assert code["note"][8] == "k = 8"


@pytest.mark.parametrize("name", cs.algorithms())
def test_every_algorithm_has_a_line_for_every_step(name):
    entry = cs.algorithms()[name]
    if entry.collective == "sendrecv":
        pytest.skip("one step, no loop")
    run = cs.simulate(
        cs.schedule(name, ranks=8), cs.topology.switch(8, reduces=True, bandwidth="25GB/s", alpha="1us"), "1MiB"
    )
    code = trace_source_lines(run)
    if code is None:
        pytest.skip("it returns its steps, or is longer than a screen")
    assert len(code["at"]) == len(code["note"]) == run.schedule.steps
    assert all("yield" in code["lines"][at] or "(" in code["lines"][at] for at in code["at"])


def test_a_learners_own_schedule_has_no_line():
    @cs.algorithm("allreduce")
    def mine(n):
        yield cs.reduce(np.arange(1, n), 0, chunk=0)
        yield cs.copy(0, np.arange(1, n), chunk=0)

    plan = mine(4)
    network = cs.topology.switch(4, bandwidth="25GB/s", alpha="1us")
    assert cs.simulate(plan, network, "1MiB").time > 0
