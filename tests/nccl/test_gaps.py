"""Gaps: what was switched off is found again from the times alone; where nothing fits, that is said."""

from dataclasses import replace

import pytest

import collsim as cs
from collsim.errors import CollsimError
from collsim.nccl import explain, own_run, published_run
from collsim.nccl.measured.gaps import HYPOTHESES, NO_GAP, _under, apart
from collsim.nccl.model.links import MEASURED

SIZES = [2**k for k in range(10, 31, 2)]
TWO = cs.machine("dgx-a100", nodes=2)
CARDS = cs.machine("pcie-8gpu-single-root", nodes=2)


def as_if(machine, **change):
    """Times of a machine as it would run after a change, told as those of the machine itself."""
    setting = {k: v for k, v in change.items() if k.startswith("NCCL")}
    times = [cs.nccl.predict("allreduce", machine, n, **setting).time for n in SIZES]
    return own_run("allreduce", machine, SIZES, times)


@pytest.mark.parametrize(
    ("machine", "change", "key"),
    [
        (cs.machine("dgx-a100"), {"NCCL_P2P_DISABLE": 1}, "p2p_off"),
        (CARDS, {"NCCL_NET_GDR_LEVEL": "LOC"}, "gdr_off"),
        (cs.machine("dgx-h100"), {"NCCL_NVLS_ENABLE": 0}, "nvls_off"),
        (cs.machine("dgx-a100"), {"NCCL_PROTO": "Simple"}, "simple"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_switch_that_was_set_is_found_again(machine, change, key):
    gap = explain(as_if(machine, **change))
    assert gap.best is not None
    assert key in {c.key for c in (gap.best, *gap.as_well)}
    assert gap.best.distance == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("hypothesis", HYPOTHESES, ids=lambda h: h.key)
def test_every_hypothesis_is_found_again_on_a_machine_where_it_applies(hypothesis):
    plain = own_run("allreduce", TWO, SIZES, [1.0] * len(SIZES))
    places = [plain.facts, replace(plain.facts, gdr=False), replace(plain.facts, net="tcp", gdr=False)]
    places += [published_run(name).facts for name in ("rtx4090-8", "rtx4090-4-p2p", "h100-8-nvls", "a100-2x1-gdr")]
    runs = [replace(plain, facts=facts) for facts in places]
    times = [(run, _under(hypothesis, run, MEASURED)) for run in runs]
    found = [explain(replace(run, times=tuple(map(float, t)))) for run, t in times if t is not None]
    assert found
    told = [g for g in found if not g.small]
    assert told or hypothesis.key in ("channels", "gdr_off", "gdr_on", "two_sockets"), "changes too little anywhere"
    assert all(hypothesis.key in {c.key for c in (g.best, *g.as_well)} for g in told)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("a100-4-nop2p", "p2p_off"),
        ("a100-2x1-nogdr", "gdr_off"),
        ("a100-2x4-tcp", "tcp"),
        ("h100-8-ring", "nvls_off"),
        ("v100-8", "simple"),
    ],
)
def test_what_the_owners_switched_is_found_from_published_times(name, key):
    gap = explain(published_run(name).plain)
    assert key in {c.key for c in (gap.best, *gap.as_well)}
    assert "not a finding" in str(gap)
    assert gap.ratio < 1


def test_where_prediction_and_measurement_agree_there_is_nothing_to_explain():
    gap = explain(published_run("a100-8"))
    assert gap.distance < NO_GAP
    assert gap.best is None
    assert "nothing to explain" in str(gap)


def test_a_gap_that_nothing_on_the_list_explains_is_said_to_be_one():
    machine = cs.machine("dgx-a100")
    times = [100 * cs.nccl.predict("allreduce", machine, n).time * (1 + (k % 2) * 50) for k, n in enumerate(SIZES)]
    gap = explain(own_run("allreduce", machine, SIZES, times))
    assert gap.best is None
    assert "none of" in str(gap)


def test_a_slower_network_is_not_called_one_without_rdma():
    run = published_run("a100-2x1-gdr")
    slower = replace(run, facts=replace(run.facts, nic_rate=run.facts.nic_rate / 2))
    gap = explain(replace(run, times=tuple(p.time for p in slower.predicted())))
    assert gap.best.key == "half_network"


def test_a_pinned_algorithm_is_not_guessed_again():
    pinned = published_run("rtx4090-8")
    assert not {"ring", "tree", "simple", "ll"} & {c.key for c in explain(pinned).tried}


def test_hypotheses_come_best_first_and_have_names_of_their_own():
    tried = explain(published_run("a100-2x4-tcp").plain).tried
    assert [c.distance for c in tried] == sorted(c.distance for c in tried)
    assert len({h.key for h in HYPOTHESES}) == len(HYPOTHESES)


@pytest.mark.parametrize(
    ("distance", "said"), [(0.0, "0\N{NO-BREAK SPACE}%"), (0.0953, "10\N{NO-BREAK SPACE}%"), (3.8, "a factor of 45")]
)
def test_a_distance_is_said_as_percent_or_factor(distance, said):
    assert apart(distance) == said


def test_a_run_that_cannot_be_is_a_sentence():
    with pytest.raises(CollsimError, match="2 sizes and 1 times"):
        replace(published_run("a100-8"), nbytes=(1, 2), times=(1.0,))
