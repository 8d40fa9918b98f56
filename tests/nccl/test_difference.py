"""Where a prediction and a simulation are far apart both doors say which term makes the difference, and on what it
rests."""

import inspect
import re

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim import nccl
from collsim.cli import app
from collsim.nccl.difference import EVIDENCE, FAR, compute_stated_time, compute_terms, find_large_difference
from collsim.nccl.model import links
from collsim.nccl.model.algorithm_time import compute_byte_time, compute_time
from collsim.nccl.predicted_schedule import predict_and_simulate as simulated
from collsim.package_data import read_package_file


def ring(machine, nbytes, name="allreduce_ring"):
    return cs.simulate(cs.schedule(name, topology=machine), machine, nbytes)


@pytest.mark.parametrize("p2p", [True, False])
def test_the_rate_of_data_staged_through_the_host_is_named_with_its_measurements(p2p):
    machine = cs.machine("pcie-8gpu", p2p=p2p)
    found = nccl.explain_difference(ring(machine, "1GiB"))
    assert found.term == "rate"
    assert found.predicted == nccl.predict("allreduce", machine, "1GiB").time
    # 1.75 GiB over the uplinks of switches, which one hop takes in each direction, without P2P two
    uplink = 31.5e9 / (1 if p2p else 2)
    assert found.seconds == pytest.approx(1.75 * 2**30 / uplink * (1 / 0.56 - 1), rel=1e-6)
    assert "staged through host memory" in str(found)
    assert "all that a PCIe link leaves them" in str(found)
    assert "2 RTX 4090" in str(found)


def test_p2p_off_is_slower_in_the_prediction_too():
    on, off = (nccl.predict("allreduce", cs.machine("pcie-8gpu", p2p=p2p), "1GiB").time for p2p in (True, False))
    assert off == pytest.approx(2 * on, rel=0.01)
    switched = nccl.predict("allreduce", cs.machine("pcie-8gpu"), "1GiB", NCCL_P2P_DISABLE=1)
    assert switched.time == pytest.approx(off)


def test_nothing_is_said_where_the_two_agree():
    machine = cs.machine("dgx-a100", nodes=2)
    run = ring(machine, "1GiB")
    ratio = nccl.predict("allreduce", machine, "1GiB", NCCL_ALGO="Ring").time / run.time
    assert 1 / FAR < ratio < FAR
    assert nccl.explain_difference(run) is None
    assert nccl.explain_difference(ring(cs.topology.switch(8), "1GiB")) is None  # nothing that NCCL runs on


def test_the_terms_and_the_bytes_as_stated_add_up_to_the_time():
    for name, nodes, nbytes in (("pcie-8gpu", 1, 2**30), ("dgx-h100", 4, 2**20), ("dgx-a100", 2, 2**10)):
        machine = cs.machine(name, nodes=nodes)
        call = nccl.predict("allreduce", machine, nbytes).call
        assert sum(compute_terms(call).values()) + compute_stated_time(call) == pytest.approx(compute_time(call).total)


def test_blocks_that_are_not_aligned_are_the_term_where_they_are_what_makes_the_difference():
    """0.6 of the rate: two thirds of the aligned time more."""
    machine = cs.machine("dgx-2")
    odd, even = (nccl.predict_with_simulation("allgather", machine, 16 * (2**26 + more)) for more in (8, 0))
    assert even.time < odd.time / 1.5
    said = [note for note in odd.notes if "mostly from the term alignment" in note]
    assert len(said) == 1
    assert said[0].endswith("evidence: 12 V100 (wohlbier/nccl-tests)")
    assert not [note for note in even.notes if "alignment" in note]
    call = odd.call
    assert compute_terms(call)["alignment"] == pytest.approx(compute_byte_time(call)[0] * 0.4)
    assert sum(compute_terms(call).values()) + compute_stated_time(call) == pytest.approx(compute_time(call).total)


def test_a_small_call_is_launch_or_steps():
    found = nccl.explain_difference(ring(cs.machine("dgx-h100"), "1KiB"))
    assert found is None or found.term in ("launch", "steps", "latency")
    slow = nccl.predict_with_simulation("allreduce", cs.machine("dgx-a100", nodes=2), "1MiB")
    assert any("predict is" in note and "mostly from the term" in note for note in slow.notes)


def test_figures_that_are_quoted_stand_next_to_their_constants():
    known = re.sub(r"[\s#]+", " ", inspect.getsource(links) + read_package_file(links.__file__, "links.toml"))
    for kind, said in EVIDENCE.items():
        for figure in re.findall(r"[\d.]+ (?:to [\d.]+ )?of [\d.]+", said):
            assert figure in known or figure.split(" of ")[0] in known, (kind, figure)
        for place in re.findall(r"(?:github\.com/)?([\w-]+/[\w-]+)", said.replace("src/graph/topo.h", "")):
            assert place.split("/")[0] in known, (kind, place)


def test_run_and_predict_say_it():
    place = ["--machine", "pcie-8gpu", "--nbytes", "1GiB"]
    run = CliRunner().invoke(app, ["run", "allreduce_ring", *place])
    predicted = CliRunner().invoke(app, ["predict", "allreduce", *place])
    line = "predict gives 107 ms (NCCL's Ring), simulate 59.7 ms: predict is 1.79 times as long"
    assert line in run.stdout
    assert line in predicted.stderr


@pytest.mark.parametrize("ranks", [4, 10, 5])
def test_rings_that_share_a_card_are_compared_with_those_of_nccl(ranks):
    """Two nodes of dgx-a100: the rings of so few ranks enter by one card, NCCL's by several."""
    machine = cs.machine("dgx-a100", nodes=2)
    run = cs.simulate(cs.schedule("allreduce_ring", ranks=ranks, topology=machine), machine, "1GiB")
    found = nccl.explain_difference(run)
    _, of_nccl = nccl.predict_and_simulate("allreduce", machine, "1GiB", ranks=ranks, NCCL_ALGO="Ring")
    assert found.nccl_simulated == pytest.approx(of_nccl.time)
    link = machine.link_name(run.bottleneck.busiest)
    assert f"takes {cs.format_time(run.time)} on these links, because its transfers share {link}. NCCL's own" in str(
        found
    )
    assert "simulate is" not in str(found)
    assert ("as many ranks as the slower ones" in str(found)) == (ranks == 5)
    assert "共用" in found.text("zh")


def test_a_link_that_everybody_shares_is_not_called_latency():
    """Without P2P all eight hops cross the one cable to host memory: 8 x 2 x 7/8 x 1 GiB at 31.5 GB/s, and 14 steps.
    `predict` counts the same flows, so that only what the cable carries of its rate is left."""
    machine = cs.machine("pcie-8gpu-single-root", p2p=False)
    run = ring(machine, "1GiB")
    found = nccl.explain_difference(run)
    assert found.simulated == pytest.approx(8 * 1.75 * 2**30 / 31.5e9, rel=1e-3)
    assert found.term == "rate"
    assert found.seconds == pytest.approx(found.simulated * (1 / 0.56 - 1), rel=0.01)


@pytest.mark.parametrize(
    ("name", "cause"),
    [("allreduce_parameter_server", ", because its transfers share node0/nic0"), ("allreduce_halving_doubling", ".")],
)
def test_another_algorithm_is_compared_with_what_nccl_would_run_on_the_same_links(name, cause):
    """A parameter server is slow because workers share a card, not because `simulate` and `predict` differ."""
    machine = cs.machine("dgx-a100", nodes=2, nics=1)
    run = cs.simulate(cs.schedule(name, ranks=16, topology=machine), machine, "64MiB")
    found = nccl.explain_difference(run)
    predicted, ring_run = nccl.predict_and_simulate("allreduce", machine, "64MiB")
    assert found.nccl_simulated == pytest.approx(ring_run.time)
    assert found.predicted == pytest.approx(predicted.time)
    times = f"{cs.format_time(ring_run.time)} on the same links, {cs.format_time(predicted.time)} as predicted"
    assert str(found).startswith(f"{name} takes {cs.format_time(run.time)} on these links{cause}")
    assert str(found).endswith(f"NCCL would run a ring: {times}")
    assert "simulate is" not in str(found)
    assert all(cs.format_time(t) in found.text("zh") for t in (run.time, ring_run.time, predicted.time))


CATALOGUE = [name for name in cs.machines() if cs.machine(name).ranks <= 16]


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_line_is_there_wherever_the_two_differ_and_its_term_is_part_of_the_time(name):
    machine = cs.machine(name)
    for collective in ("allreduce", "alltoall", "broadcast"):
        for nbytes in ("1KiB", "1GiB"):
            try:
                alone = nccl.predict(collective, machine, nbytes)
                _, run = simulated(collective, machine, nbytes)
            except cs.CollsimError:  # one rank, or no NCCL there
                continue
            lines = [
                note
                for note in nccl.predict_with_simulation(collective, machine, nbytes).notes
                if "mostly from" in note
            ]
            far = max(alone.time / run.time, run.time / alone.time) > FAR
            assert bool(lines) == far, (collective, nbytes)
            found = find_large_difference(alone, run)
            if found is None:
                continue
            assert str(found) == lines[0]
            assert 0 < found.seconds <= max(alone.time, run.time) * (1 + 1e-9)
            assert found.seconds > abs(alone.time - run.time) / 4, "the largest of five terms"
            assert re.search(r"[\w-]+/[\w-]+|NCCL's own", found.evidence), found.evidence
            if found.term == "latency":
                assert found.seconds > run.time / 2 - alone.time
