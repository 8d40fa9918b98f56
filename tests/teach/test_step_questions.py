"""Questions about a step of training: answers by closed form where there is one, wrong choices that are wrong."""

from functools import cache

import numpy as np
import pytest

import collsim as cs
from collsim.teach import questions
from collsim.teach.quiz.split_questions import SPLIT_ASKERS
from collsim.teach.quiz.step_questions import STEP_ASKERS, QuestionStep

BOX = cs.machine("dgx-a100")
SWITCH = cs.topology.switch(16, bandwidth="3GB/s", alpha="50us")


def step(parallel, model="resnet50", network=SWITCH, **options):
    return cs.training_step(model, network, parallel=parallel, micro_batch=32, compute="A100", **options)


def split(parallel, **options):
    return cs.training_step("llama2-7b", BOX, parallel=parallel, batch=64, micro_batch=1, dtype="bfloat16", **options)


STEPS = {
    "ddp": lambda: step(cs.ddp()),
    "one bucket": lambda: step(cs.ddp(bucket="1GB")),
    "first": lambda: step(cs.ddp(), step=1),
    "after": lambda: step(cs.ddp(overlap=False)),
    "hub": lambda: step(cs.data_parallel(), network=cs.machine("dgx-1v")),
    "copies": lambda: step(cs.data_parallel(False), network=cs.machine("dgx-1v")),
    "server": lambda: step(cs.parameter_server()),
    "vgg": lambda: step(cs.ddp(bucket="1MiB"), "vgg16"),
    "sharded": lambda: split(cs.fsdp()),
    "stages": lambda: split(cs.tensor(2) * cs.pipeline(4), recompute="full"),
}


@cache
def get_step(name):
    """Computed when a test needs it: every worker imports this file."""
    return STEPS[name]()


def size(text):
    number, unit = text.split(" ")
    return float(number) * {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]


def ask_by_topic(name, topic):
    for asker in (*STEP_ASKERS, *SPLIT_ASKERS):
        one = asker(QuestionStep(get_step(name)), np.random.default_rng(0))
        if one is not None and one.topic == topic:
            return one
    return None


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_answer_passes_its_own_check_and_every_wrong_choice_fails(name, language):
    made = questions(get_step(name), seed=3, count=20, language=language)
    assert len(made) >= 3
    assert len({q.topic for q in made}) == len(made)
    for q in made:
        assert q.check(q.answer if q.kind == "number" else int(q.answer)).right
        assert q.check(q.answer_text).right, q.answer_text
        assert len(set(q.options)) == len(q.options)
        for place in range(len(q.options)):
            assert q.check(place).right == (place == q.answer)
        assert any("\u4e00" <= c <= "\u9fff" for c in q.text) == (language == "zh")


def test_every_kind_is_asked_of_some_step():
    topics = {q.topic for t in map(get_step, STEPS) for q in questions(t, count=20)}
    known = {"waits", "buckets", "overlap", "exposed", "hub", "network", "first", "no_sync", "memory"}
    assert topics == known | {"sharded", "prefetch", "bubble", "held", "crossings", "straggler"}


def test_buckets_of_1_mib_are_those_that_torch_makes():
    q = ask_by_topic("ddp", "buckets")
    assert q.answer_text == "35 allreduces"  # torch 2.13 with bucket_cap_mb=1
    assert {text.split()[0] for text in q.options} == {"35", "161", "98", "1"}  # a tensor each; 97.5 MiB in pieces


def test_the_bucket_that_is_waited_for_is_the_one_with_the_longest_wait():
    t = get_step("ddp")
    waits = {task.bucket: t.waits[i] for i, task in enumerate(t.step.tasks) if task.bucket >= 0 and not task.is_compute}
    assert ask_by_topic("ddp", "exposed").answer_text.startswith(f"bucket {max(waits, key=waits.get)} ")


def test_what_no_sync_saves_is_three_of_four_allreduces():
    q = ask_by_topic("ddp", "no_sync")
    nbytes = cs.model("resnet50").nbytes
    ring = 2 * 15 / 16 * nbytes
    assert size(q.answer_text) == pytest.approx(ring, rel=0.01)
    assert any(size(text) == pytest.approx(4 * ring, rel=0.01) for text in q.options)


def test_the_hub_without_nccl_sends_a_copy_to_each_of_the_others():
    q = ask_by_topic("copies", "hub")
    m = cs.model("resnet50")
    by_hand = 7 * (m.nbytes + m.buffer_bytes + 32 * m.input_bytes + 32 * 1000 * 4)
    assert size(q.answer_text) == pytest.approx(by_hand, rel=0.01)
    assert ask_by_topic("ddp", "hub") is None


def test_blocks_are_gathered_twice_for_each_microbatch_and_the_root_once():
    """8 GPUs, 8 microbatches, 2 bytes a parameter: 7/8 · 2 B · 8 · (2 (P − r) + r + P)."""
    m = cs.model("llama2-7b")
    total = m.parameters
    root = sum(sum(layer.tensors) for layer in m.layers if not layer.name.startswith("h."))
    q = ask_by_topic("sharded", "sharded")
    assert size(q.answer_text) == pytest.approx(7 / 8 * 2 * 8 * (3 * total - root), rel=0.002)
    assert ask_by_topic("stages", "sharded") is ask_by_topic("ddp", "sharded") is None


def test_the_first_of_four_stages_holds_four_microbatches_in_1f1b():
    q = ask_by_topic("stages", "held")
    assert q.answer_text == "4"
    assert "64" in q.options  # all of them, as GPipe would
    assert ask_by_topic("sharded", "held") is None


def test_a_straggler_delays_the_step_by_more_than_its_share_and_less_than_by_itself():
    t = get_step("stages")
    late = t.what_if(slow={0: 1.5}).time
    assert ask_by_topic("stages", "straggler").answer_text == cs.format_time(late)
    assert t.time * (1 + 0.5 / 8) < late < 1.5 * t.time


def test_the_bubble_of_twice_as_many_microbatches_is_more_than_half():
    q = ask_by_topic("stages", "bubble")
    t = get_step("stages")
    assert 0.5 * t.bubble / t.time < float(q.answer_text.removesuffix(" %")) / 100 < t.bubble / t.time


def test_the_same_seed_asks_the_same_and_a_step_that_sends_nothing_is_refused():
    assert [str(q) for q in questions(get_step("ddp"), 5)] == [str(q) for q in questions(get_step("ddp"), 5)]
    alone = cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), micro_batch=8, ranks=[0])
    with pytest.raises(cs.CollsimError, match="nothing is sent"):
        questions(alone)
