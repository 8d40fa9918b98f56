"""What is said about a measurement, from moments that are made up: a rank, a step, all steps, a run."""

from dataclasses import replace

import numpy as np
import pytest

import collsim as cs
from collsim.lab.lateness import compare_steps, compute_lateness, find_delayed_runs, write_sentences
from collsim.lab.prediction import MessageCost, predict_run
from collsim.lab.ranks.emulated_network import ImitatedNetwork
from collsim.lab.real_trace import Measurement, RealTrace, build_timing

ALPHA, RATE = 0.01, 1e7
PLAN = cs.schedule("allreduce_ring", ranks=4)  # 6 steps


def build_trace(*later, network=ImitatedNetwork(ALPHA, RATE), calibrated=None, started=None):  # noqa: B008
    """A RealTrace whose runs come later than predicted: each a list of s by which each step ends later."""
    predicted = predict_run(PLAN, 2**18, "float32", ALPHA, RATE)
    step = PLAN.transfers["step"]
    by = np.array(later)[:, step]
    finish = predicted.finish + by
    start = predicted.start + np.concatenate([np.zeros((len(by), 4)), by[:, :-4]], axis=1)
    if started is not None:
        start[:, PLAN.transfers["src"] == started[0]] += started[1]
    measured = Measurement(start, finish - ALPHA, finish, "here", 2, 100)
    what = PLAN, predicted.topology, 2**18, "float32", "real", predicted.slot_bytes, predicted.placement
    return RealTrace(
        *what,
        build_timing(predicted, measured),
        conditions=predicted.conditions,
        measured=measured,
        predicted=predicted,
        network=network,
        calibrated=calibrated,
    )


def join_sentences(trace):
    pairs = write_sentences(trace)
    for en, zh in pairs:
        assert zh
        assert zh != en
    return " ".join(en for en, _ in pairs)


def test_each_step_is_late_by_what_it_adds():
    late = compute_lateness(build_trace([0.001, 0.001, 0.004, 0.004, 0.004, 0.004]))
    assert late[0] == pytest.approx([0.001, 0, 0.003, 0, 0, 0])


def test_the_median_over_runs_and_the_middle_half_stand_next_to_each_step():
    frame = compare_steps(build_trace(*([k * 1e-3] * 6 for k in range(5))))
    assert frame["late"].to_numpy() == pytest.approx([2e-3, 0, 0, 0, 0, 0])
    assert (frame["low"][0], frame["high"][0]) == pytest.approx((1e-3, 3e-3))
    assert (frame["measured"] - frame["predicted"]).to_numpy() == pytest.approx([2e-3] * 6)


def test_as_predicted_is_said():
    assert join_sentences(build_trace([0.0] * 6)).startswith("As predicted")


def test_all_steps_late_by_the_same_blame_no_step():
    steps = np.arange(1, 7) * 1e-3
    assert join_sentences(build_trace(steps)).startswith("No step is to blame: most come 1 ms to 1 ms late")


def test_what_a_message_costs_explains_it_where_it_was_measured():
    cost = MessageCost(ALPHA + 1e-3, RATE)
    text = join_sentences(build_trace(np.arange(1, 7) * 1e-3, calibrated=cost))
    assert "a message costs 11 ms here" in text
    assert "prediction is 6 ms longer, of 6 ms" in text


def test_a_cost_that_was_measured_while_the_computer_was_busier_explains_nothing():
    text = join_sentences(build_trace(np.arange(1, 7) * 1e-3, calibrated=MessageCost(ALPHA + 4e-3, RATE)))
    assert "which would take 24 ms longer; the runs took 6 ms longer" in text
    assert "prediction is" not in text


def test_a_byte_costs_no_less_than_it_is_paced_to_and_a_disturbed_time_decides_nothing():
    network = ImitatedNetwork(ALPHA, RATE)
    small, large = MessageCost.choose_sizes(network)
    right = [ALPHA + size / RATE for size in (small, large)]
    found = MessageCost.fit(network, [t + 1e-3 for t in right])
    assert (found.alpha, found.bandwidth) == pytest.approx((ALPHA + 1e-3, RATE))
    held = MessageCost.fit(network, [right[0] + 0.02, right[1] + 1e-3])
    assert (held.alpha, held.bandwidth) == pytest.approx((ALPHA + 1e-3, RATE))


def test_one_late_step_is_named():
    text = join_sentences(build_trace([1e-4, 2e-4, 3e-4, 8e-3, 8.1e-3, 8.2e-3]))
    assert text.startswith("Step 4 is to blame: 7.7 ms of the 8.2 ms")


def test_a_rank_that_begins_late_is_named():
    text = join_sentences(build_trace([0.02] * 6, started=(2, 0.02)))
    assert text.startswith("Rank 2 differs most: compared with the prediction, it begins 20")


def test_a_run_that_was_held_up_is_named_with_its_step():
    usual = [1e-3 * k for k in range(1, 7)]
    runs = [usual] * 6 + [[*usual[:2], *(u + 0.1 for u in usual[2:])]]
    trace = build_trace(*runs)
    assert [(run, step) for run, step, _ in find_delayed_runs(trace)] == [(6, 2)]
    assert "1 of 7 runs were delayed, run 7 most: 100" in join_sentences(trace)


def test_the_columns_are_those_of_the_median_run():
    trace = build_trace([3e-3] * 6, [1e-3] * 6, [2e-3] * 6)
    assert trace.measured.median_run == 2
    assert trace.time == pytest.approx(trace.predicted.time + 2e-3)
    assert trace.best == pytest.approx(trace.predicted.time + 1e-3)


def test_sooner_than_predicted_is_said_too():
    trace = build_trace([-1e-3 * k for k in range(1, 7)])
    assert "sooner than predicted" in join_sentences(trace)


def test_nothing_paced_blames_the_processors():
    text = join_sentences(build_trace(np.arange(1, 7) * 1e-3, network=ImitatedNetwork()))
    assert "4 processes wait for 2 processors" in text


def test_the_lines_are_there_in_both_languages():
    trace = build_trace([1e-3] * 6)
    assert "predicted" in trace.text()
    assert "预测" in trace.text("zh")
    with pytest.raises(cs.CollsimError, match="language"):
        trace.explain("fr")


def test_the_picture_s_document_has_a_box_for_each_rank_and_step():
    from collsim.viz.real.lab_document import build_lab_document

    trace = build_trace(np.arange(1, 7) * 1e-3, calibrated=MessageCost(ALPHA, RATE))
    document = build_lab_document(trace.predicted, trace)
    assert [len(boxes) for boxes in document["measured"]["boxes"]] == [6] * 4
    step, start, came, finish, reduces = document["measured"]["boxes"][1][0]
    assert (step, reduces) == (0, 1)
    assert finish - came == pytest.approx(ALPHA)
    assert start < came
    assert document["measured"]["expected"] == pytest.approx([0.0] * 6)
    assert document["predicted"]["ends"][-1] == pytest.approx(trace.predicted.time)
    assert "measured" not in build_lab_document(trace.predicted)
    assert replace(trace).measured is trace.measured


def test_other_cables_are_tried_on_the_prediction():
    trace = build_trace([0.001] * 6)
    faster = trace.topology.scaled(kind=trace.bottleneck.kind, by=2)
    assert trace.run_again(faster).time == trace.predicted.run_again(faster).time
