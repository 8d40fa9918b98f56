"""Questions: every answer agrees with a count made here by hand, wrong choices are wrong, and seeds give new sheets."""

import re
from fractions import Fraction

import numpy as np
import pytest

import collsim as cs
from collsim.analysis.device_names import name_link
from collsim.teach import questions, worksheet
from collsim.teach.quiz.kinds import ASKERS, QuestionRun
from collsim.teach.quiz.question import Question


def run(name="allreduce_ring", n=8, nbytes="64MiB", **options):
    return cs.simulate(
        cs.schedule(name, ranks=n, **options), cs.topology.switch(n, bandwidth="25GB/s", alpha="1us"), nbytes
    )


def two_machines():
    two = cs.machine("dgx-a100", nodes=2)
    return cs.simulate(cs.schedule("allreduce_ring", topology=two), two, "256MiB")


RUNS = {
    "ring": run(),
    "server": run("allreduce_parameter_server"),
    "tree": run("allreduce_tree", nbytes="4KiB"),
    "gather": run("gather_binomial"),
    "alltoall": run("alltoall_pairwise"),
    "broadcast": run("broadcast_chain", chunks=4),
    "machines": two_machines(),
}


def ask_by_topic(trace, topic, seeds=range(40)):
    """All different questions of one topic that some seed asks."""
    asker = next(
        a
        for a in ASKERS
        for s in range(9)
        if (q := a(QuestionRun(trace), np.random.default_rng(s))) is not None and q.topic == topic
    )
    found = {q.ask[0]: q for s in seeds if (q := asker(QuestionRun(trace), np.random.default_rng(s))) is not None}
    return list(found.values())


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_answer_passes_its_own_check_and_every_wrong_choice_fails(name, language):
    made = questions(RUNS[name], seed=1, count=14, language=language)
    assert len(made) >= 10
    assert len({q.text for q in made}) == len(made)
    for q in made:
        assert q.check(q.answer if q.kind == "number" else int(q.answer)).right, q.text
        if q.kind == "number":
            assert not q.check(q.answer * 1.5 + 1e-9).right
            assert q.check(q.answer_text).right, f"the answer as printed is not accepted: {q.answer_text!r}"
        else:
            assert len(set(q.options)) == len(q.options) >= 2
            for place in range(len(q.options)):
                reply = q.check(place)
                assert reply.right == (place == q.answer)
                assert len(reply.reason) > 10
        assert any("\u4e00" <= c <= "\u9fff" for c in q.text) == (language == "zh")


def test_the_first_three_are_a_link_a_choice_and_a_number():
    made = questions(RUNS["machines"], seed=5, count=3)
    assert sorted(q.kind for q in made) == ["choice", "link", "number"]


def test_the_same_seed_gives_the_same_sheet_and_another_seed_another():
    trace = RUNS["machines"]
    sheets = [worksheet(trace, seed=s)[0] for s in (1, 1, 2, 3, 4)]
    assert sheets[0] == sheets[1]
    assert len(set(sheets)) == 4


def test_bytes_sent_agree_with_the_ring_by_hand():
    # 2(n-1)/n of 64 MiB, n = 8: 14 chunks of 8 MiB
    for q in ask_by_topic(RUNS["ring"], "sent"):
        assert q.answer == 14 * 8 * 2**20
        assert q.check("112 MiB").right
        assert not q.check("64MiB").right


def test_steps_of_the_ring_are_14_and_the_common_mistakes_are_among_the_choices():
    (q,) = {q.answer_text: q for q in ask_by_topic(RUNS["ring"], "steps")}.values()
    assert q.answer_text == "14 steps"
    wrong = {text for one in ask_by_topic(RUNS["ring"], "steps") for text in one.options}
    assert "8 steps" in wrong or "15 steps" in wrong


def test_link_bytes_agree_with_a_walk_over_the_routes():
    trace = RUNS["machines"]
    t = trace.schedule.transfers
    crossing = np.zeros(len(trace.topology.links))
    for row in t:
        crossing[trace.topology.routes([row["src"]], [row["dst"]])[0]] += trace.slot_bytes[row["chunk"]]
    by_name = {name_link(trace, k)[0]: crossing[k] for k in range(len(crossing))}
    for q in ask_by_topic(trace, "link"):
        name = max((n for n in by_name if n in q.text), key=len)
        assert q.answer == by_name[name]


def test_the_bottleneck_is_the_one_that_needs_longest_for_its_bytes():
    trace = RUNS["machines"]
    for q in ask_by_topic(trace, "bottleneck"):
        need = [trace.link_bytes[k] / trace.topology.links.bandwidth[k] for k in q.links]
        assert int(np.argmax(need)) == q.answer
        assert "NIC" in q.answer_text


def test_devices_have_their_names_of_the_picture_in_both_languages():
    """A picture of two machines has GPUs by their ranks, and no `node1/gpu2`."""
    asked = [*ask_by_topic(RUNS["machines"], "bottleneck"), *ask_by_topic(RUNS["machines"], "link")]
    asked += ask_by_topic(RUNS["machines"], "hops")
    for q in asked:
        for text in (*q.ask, *q.explanation, *(word for choice in q.choices for word in choice.text)):
            assert not re.search(r"node\d|fabric/", text), text
    choices = [choice.text for q in asked for choice in q.choices]
    assert any("网卡" in chinese for _, chinese in choices)
    assert not any("网卡" in english for english, _ in choices)


def test_contributions_agree_with_sets_moved_by_hand():
    trace = RUNS["ring"]
    s = trace.schedule
    held = [[{r} for _ in range(s.chunks)] for r in range(s.ranks)]
    after = []
    for k in range(s.steps):
        before = [[set(cell) for cell in row] for row in held]
        for row in s.by_step(k):
            src, dst, c = int(row["src"]), int(row["dst"]), int(row["chunk"])
            held[dst][c] = before[src][c] | (before[dst][c] if row["reduce"] else set())
        after.append([[len(cell) for cell in row] for row in held])
    seen = 0
    for q in ask_by_topic(trace, "contributions"):
        words = q.text.split()
        steps = int(words[words.index("first") + 1])
        chunk, rank = int(words[words.index("chunk") + 1]), int(words[-1].rstrip("?"))
        assert q.answer == after[steps - 1][rank][chunk]
        seen += 1
    assert seen > 5


def test_doubling_is_a_run_on_the_faster_machine_not_a_formula():
    trace = RUNS["machines"]
    for q in ask_by_topic(trace, "doubling"):
        kind = q.text.split()[1]
        again = cs.simulate(trace.schedule, trace.topology.scaled(kind=kind, by=2), trace.nbytes)
        saved = 1 - again.time / trace.time
        wanted = "no change" if saved < 0.0005 else f"{100 * saved:.3g} %"
        assert q.answer_text == wanted


def test_the_time_of_the_server_is_both_ways_through_one_cable():
    # 7 pushes then 7 pulls of 64 MiB over 25 GB/s, and two alphas of 1 us per step
    (q,) = ask_by_topic(RUNS["server"], "time")
    by_hand = 2 * (Fraction(7 * 64 * 2**20, 25 * 10**9) + Fraction(2, 10**6))
    assert float(by_hand) == pytest.approx(q.answer, rel=1e-9)


def test_busbw_is_algbw_times_the_factor_of_nccl_tests():
    (q,) = ask_by_topic(RUNS["ring"], "busbw")
    assert q.answer == pytest.approx(64 * 2**20 / RUNS["ring"].time * 14 / 8)


def test_who_has_the_chunk_agrees_with_replay():
    trace = RUNS["broadcast"]
    for q in ask_by_topic(trace, "who"):
        words = q.text.split()
        steps, chunk = int(words[words.index("first") + 1]), int(words[words.index("chunk") + 1])
        have = {0}
        for k in range(steps):
            moved = {int(r["dst"]) for r in trace.schedule.by_step(k) if r["chunk"] == chunk and int(r["src"]) in have}
            have |= moved
        for text, place in zip(q.options, range(9), strict=False):
            assert (int(text.split()[1]) in have) == (place == q.answer)


def test_the_server_is_named_as_the_hot_endpoint_and_in_a_ring_all_are_the_same():
    assert {q.answer_text for q in ask_by_topic(RUNS["ring"], "hot")} == {"all send the same"}
    assert {q.answer_text for q in ask_by_topic(RUNS["server"], "hot")} == {"rank 0"}


@pytest.mark.parametrize("name", sorted(cs.algorithms()))
def test_questions_can_be_made_of_every_algorithm(name):
    n = 16 if "hierarchical" in name else 8
    s = cs.schedule(name, ranks=n)
    trace = cs.simulate(s, cs.topology.switch(n, reduces=True), "1MiB")
    made = questions(trace, seed=2, count=10)
    assert len(made) == 10
    for q in made:
        assert q.check(q.answer if q.kind == "number" else int(q.answer)).right


def test_questions_of_an_event_run_can_be_asked():
    trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), "1MiB", engine="event")
    assert len(questions(trace, seed=3, count=10)) == 10


def test_answers_take_letters_texts_and_units_and_refuse_what_is_none():
    trace = RUNS["ring"]
    q = next(q for q in questions(trace, 1, 14) if q.kind == "choice")
    letter = chr(65 + int(q.answer))
    assert q.check(letter).right
    assert q.check(letter.lower()).right
    assert q.check(q.answer_text).right
    with pytest.raises(cs.CollsimError, match="none of the choices"):
        q.check("Z")
    time = next(q for q in questions(trace, 1, 14) if q.topic == "time")
    assert time.check("4.7ms").right
    with pytest.raises(cs.CollsimError):
        time.check("soon")


def test_a_run_without_movement_has_no_questions():
    trace = cs.simulate(cs.schedule("allreduce_ring", ranks=1), cs.topology.switch(1), "1MiB")
    with pytest.raises(cs.CollsimError, match="nothing moves"):
        questions(trace)
    with pytest.raises(cs.CollsimError, match="at most 60"):
        questions(RUNS["ring"], count=1000)
    with pytest.raises(cs.CollsimError, match="unknown language"):
        questions(RUNS["ring"], language="xx")


def test_the_key_has_the_answers_and_the_sheet_has_not():
    sheet, key = worksheet(RUNS["server"], seed=4, language="zh")
    for q in questions(RUNS["server"], seed=4, language="zh"):
        assert q.text in sheet
        assert q.explanation_text in key
        assert q.explanation_text not in sheet


def test_a_question_as_a_record_is_plain_json_in_both_languages():
    import json

    for q in questions(RUNS["machines"], 7, 14):
        record = json.loads(json.dumps(q.record(), allow_nan=False))
        assert set(record["text"]) == {"en", "zh"}
        assert record["answer"] == q.answer


@pytest.mark.parametrize(
    ("given", "right"),
    [("10.7 MiB", True), ("10.7MiB", True), ("0.01045 GiB", True), ("10.2 MiB", False), ("11219763 B", True)],
)
def test_a_size_may_be_rounded_to_what_is_no_whole_number_of_bytes(given, right):
    assert bool(Question("number", "x", ("", ""), ("", ""), 10.7 * 2**20, "bytes").check(given)) == right


@pytest.mark.parametrize("given", ["10.7", "10.7 M", "10.7 MiB/s", "..7 MiB", "MiB"])
def test_what_is_no_size_is_refused_as_an_answer(given):
    with pytest.raises(cs.CollsimError):
        Question("number", "x", ("", ""), ("", ""), 10.7 * 2**20, "bytes").check(given)
