"""Questions that stop a run: each is answered by arithmetic that is not the run's own."""

import pytest

import collsim as cs
from collsim.analysis.run_facts import RunFacts
from collsim.teach.quiz.moment_questions import list_step_questions

PLACE = cs.machine("dgx-a100", nodes=2)
SWITCH = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")


def list_questions(name, place, nbytes="256MiB", **options):
    return list_step_questions(RunFacts(cs.simulate(cs.schedule(name, topology=place, **options), place, nbytes)))


def right(moment):
    return moment.question.choices[int(moment.question.answer)].text


def test_a_ring_over_two_nodes_is_asked_three_times():
    first, second, last = list_questions("allreduce_ring", PLACE, channels=1)
    assert [m.step for m in (first, second, last)] == [0, 15, 29]
    assert right(first) == ("7 → 8 and 15 → 0", "7 → 8 和 15 → 0")
    assert first.pairs[int(first.question.answer)] == ((7, 8), (15, 0))
    assert "674" in first.question.explanation_text  # 16 MiB / 25 GB/s + 3.2 us
    assert right(second)[0] == "Put it in place of the rank's value"
    assert right(last)[0] == "480 MiB"  # 2 * 15/16 * 256 MiB


def test_on_equal_cables_nobody_is_asked_who_is_last():
    first, *_ = list_questions("allreduce_ring", SWITCH)
    assert first.question.topic == "held"
    assert right(first)[0] == "5"  # step 4: 4 contributions arrive at one of the receiver's own
    assert first.step == 3


def test_where_several_arrive_at_once_nobody_is_asked_for_the_sum_of_two():
    found = list_questions("allreduce_parameter_server", SWITCH)
    assert [m.question.topic for m in found] == ["copy"], "seven gradients reach the server in one step"


@pytest.mark.parametrize("name", [a for a, entry in cs.algorithms().items() if entry.collective == "allreduce"])
def test_every_question_has_one_right_answer_and_reasons_in_both_languages(name):
    network = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us", reduces=True)
    for moment in list_step_questions(RunFacts(cs.simulate(cs.schedule(name, ranks=8), network, "8MiB"))):
        record = moment.record()
        texts = [choice["text"]["en"] for choice in record["choices"]]
        assert len(set(texts)) == len(texts) >= 3
        assert 0 <= record["answer"] < len(texts)
        assert all(choice["reason"][language] for choice in record["choices"] for language in ("en", "zh"))
        assert record["text"]["en"].startswith(f"Step {moment.step + 1}")
        assert record["text"]["zh"].startswith(f"第 {moment.step + 1} 步")


def test_answers_do_not_always_stand_in_the_same_place():
    places = {m.question.answer for n in (4, 8, 16) for m in list_step_questions(RunFacts(run_of(n)))}
    assert len(places) > 1


def run_of(n):
    network = cs.topology.switch(n, bandwidth="25GB/s", alpha="1us")
    return cs.simulate(cs.schedule("allreduce_ring", ranks=n), network, "16MiB")


def test_without_barriers_there_is_nothing_to_stop_at():
    run = cs.simulate(cs.schedule("allreduce_ring", ranks=8), SWITCH, "8MiB", engine="event")
    assert list_step_questions(RunFacts(run)) == []
