"""Reasons of questions teach: they say the mechanism with a number, and arithmetic that is not the engine's own gives
the same number."""

import re

import pytest

import collsim as cs
from collsim.analysis.run_facts import RunFacts
from collsim.lessons.chapters import SECTIONS
from collsim.teach.quiz.moment_questions import list_step_questions

MIB = 2**20
SWITCH = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")


def read_reasons(section):
    """The reasons of a lesson's question in English, by the answer that they belong to, and the right answer."""
    question = SECTIONS[section][1].fill_texts().question
    return [choice.reason[0] for choice in question.choices], question.answer_text


def test_the_server_of_a_lesson_takes_and_sends_what_its_reason_says():
    reasons, answer = read_reasons("server")
    assert "960 MiB in, then 960 MiB out" in reasons[2], "15 workers, 64 MiB each"
    assert answer == f"{2 * 15 * 64 * MIB / 25e9 * 1e3:.1f} ms"


def test_a_ring_of_more_ranks_sends_more_and_smaller_chunks():
    reasons, _ = read_reasons("volume")
    assert f"{2 * 7} chunks of K/8 become {2 * 63} chunks of K/64" in reasons[1]


def test_an_inner_rank_of_one_tree_is_a_leaf_of_the_other():
    reasons, answer = read_reasons("pipelined")
    assert re.findall(r"[\d.]+(?= buffers|(?= as a leaf))", reasons[1]) == ["1.5", "0.5"]
    assert answer == f"{3 * 0.5 + 0.5:g} buffers", "half of the data to a parent and two children, and to a parent"


def test_nearly_all_of_a_ring_over_nvlink_is_bytes_over_their_rate():
    reasons, _ = read_reasons("inside")
    assert f"takes {112 * MIB / 300e9 * 1e6:.0f} µs" in reasons[2]
    assert f"{300 / 31.5:.3g} times" in reasons[1]


def test_small_buckets_pay_the_latency_of_every_ring():
    reasons, _ = read_reasons("training")
    one = 30 * 2 * 50e-6  # steps of a ring of 16, two cables each
    assert f"{one * 1e3:g} ms: {35 * one * 1e3:.0f} ms in all" in reasons[2]


def test_sums_in_float16_are_a_few_last_places_apart():
    reasons, _ = read_reasons("rounding")
    apart = float(re.search(r"differ by ([\d.]+)", reasons[1])[1])
    assert apart == pytest.approx(4 * 2**-8, rel=0.01), "4 units in the last place of numbers from 4 to 8"


@pytest.mark.parametrize("name", ["allreduce_ring", "allreduce_tree", "allreduce_parameter_server"])
def test_every_right_answer_about_a_run_or_a_moment_of_it_comes_with_a_number(name):
    run = cs.simulate(cs.schedule(name, topology=SWITCH), SWITCH, "64MiB")
    asked = [*cs.teach.questions(run, 1, 20), *(m.question for m in list_step_questions(RunFacts(run)))]
    for question in asked:
        for k in range(2):
            reasons = [question.choices[int(question.answer)].reason[k]] if question.choices else []
            assert re.search(r"\d", " ".join([*reasons, question.explanation[k]])), question.ask[k]


def test_who_arrives_last_is_told_with_bytes_and_rates():
    machine = cs.machine("dgx-a100", nodes=2)
    run = cs.simulate(cs.schedule("allreduce_ring", topology=machine, channels=1), machine, "256MiB")
    first = list_step_questions(RunFacts(run))[0].question
    assert first.choices[int(first.answer)].reason == (
        "They leave by the slowest cables: 16 MiB at 25 GB/s.",
        "它们走最慢的线缆：16 MiB，速率 25 GB/s。",
    )
    same = next(choice.reason[0] for choice in first.choices if "at the same time" in choice.text[0])
    assert f"or {16 * MIB / 25e9 * 1e6 + 3.2:.0f} µs" in same, "the latency of the way is 3.2 µs"


def test_a_server_of_its_own_is_called_a_server_in_questions():
    network = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")
    plan = cs.schedule("allreduce_parameter_server", topology=network, server="helper")
    run = cs.simulate(plan, network, "64MiB")
    question = next(q for q in cs.teach.questions(run, 1, 30) if q.topic == "hot")
    assert question.choices[int(question.answer)].text == ("the server", "服务器")
