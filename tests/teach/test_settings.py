"""Exercises that are answered by a value: the right one passes, those beside it are told why not, and every number in
an answer is that of a run."""

import pytest

import collsim as cs
from collsim.teach import exercise, settings

SWITCH = cs.topology.switch(16, bandwidth="3GB/s", alpha="50us")


def resnet(bucket):
    return cs.training_step("resnet50", SWITCH, parallel=cs.ddp(bucket=bucket), micro_batch=32, compute="A100")


@pytest.mark.parametrize("name", settings())
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_exercise_says_its_task_and_three_hints(name, language):
    e = exercise(name, language)
    assert len({e.hint(k) for k in (1, 2, 3)}) == 3
    assert e.title in str(e)
    assert any("\u4e00" <= c <= "\u9fff" for c in e.ask + e.title + e.hint(1)) == (language == "zh")
    with pytest.raises(cs.CollsimError, match="three hints"):
        e.hint(0)


def test_a_bucket_is_judged_by_its_step_and_the_two_ends_of_the_curve_are_wrong():
    e = exercise("bucket-size")
    for size, right in (("256KiB", False), ("25MiB", False), ("50MiB", True), ("1GiB", False)):
        found = e.check(size)
        assert found.passed == right
        assert found.trace.time == resnet(size).time
        assert cs.format_time(found.trace.time) in found.reason
    assert resnet("50MiB").time == min(resnet(f"{n}MiB").time for n in (1, 5, 10, 25, 40, 50, 60, 80, 100, 500))


def test_the_fewest_microbatches_follow_from_one_step():
    """A step of k takes T + (k − 1)·c, and w of it is exposed: w / that < 1/4 where k > (4·w − T) / c + 1."""
    one = cs.training_step("bert-base", SWITCH, parallel=cs.ddp(), micro_batch=4, compute="A100")
    more = one.what_if(accumulate=2).time - one.time
    fewest = int((4 * one.exposed - one.time) / more + 1) + 1
    e = exercise("synchronise-less")
    assert [e.check(n).passed for n in (fewest - 1, fewest, fewest + 1)] == [False, True, False]


def test_gpu_0_sends_seven_copies_and_seven_parts_of_the_inputs():
    m = cs.model("resnet50")
    by_hand = 7 * (m.nbytes + m.buffer_bytes) + 7 * 32 * m.input_bytes + 7 * 32 * 1000 * 4
    e = exercise("hub-bytes")
    assert e.check(by_hand)
    assert e.check(f"{by_hand / 1e6:.0f}MB")
    assert not e.check(7 * m.nbytes)  # the inputs are forgotten
    assert "7 copies" in e.check(7 * m.nbytes).reason


def test_the_smallest_batch_is_the_first_that_is_good_enough():
    box = cs.machine("dgx-1v")

    def ratio(n):
        hub, ring = (
            cs.training_step("resnet18", box, parallel=way, micro_batch=n) for way in (cs.data_parallel(), cs.ddp())
        )
        return hub.time / ring.time

    smallest = next(n for n in range(90, 200) if ratio(n) <= 1.2)
    assert ratio(smallest - 1) > 1.2
    e = exercise("hub-is-enough")
    assert [e.check(n).passed for n in (smallest - 1, smallest, smallest + 1)] == [False, True, False]


def test_a_slow_cable_is_unnoticed_while_the_server_receives_from_all_others():
    """5 buffers cross the server's cable each way while one crosses rank 3's: up to 5 times slower it has time. With 6
    both steps take 6 buffers' time instead of 5."""
    buffer, alpha = 256 * 1024 / 10e6, 10e-3
    e = exercise("unnoticed-cable")
    found = {factor: e.check(factor) for factor in (1, 4, 5, 6)}
    assert [factor for factor, one in found.items() if one] == [5]
    times = [one.trace.time for one in found.values()]
    assert times == pytest.approx([2 * (alpha + most * buffer) for most in (5, 5, 5, 6)])


def test_the_slow_cable_of_the_exercise_is_that_of_a_run_for_real():
    server = cs.schedule("allreduce_parameter_server", ranks=6)
    run = cs.run_for_real(server, "256KiB", slow={3: 6})
    assert exercise("unnoticed-cable").check(6).trace.time == pytest.approx(run.predicted.time)


def test_under_fsdp_a_gpu_sends_blocks_three_times_and_the_root_twice():
    """16 GPUs: 15/16 of 2 bytes a parameter; ZeRO-3's 3 · P for all would be 0.9 % too much."""
    m = cs.model("llama2-13b")
    root = sum(sum(layer.tensors) for layer in m.layers if not layer.name.startswith("h."))
    blocks = m.parameters - root
    e = exercise("fsdp-bytes")
    assert e.check(15 / 16 * 2 * (3 * blocks + 2 * root))
    assert not e.check(15 / 16 * 2 * 3 * m.parameters)
    assert "2.81 times" in e.check(15 / 16 * 2 * 3 * m.parameters).reason
    assert not e.check(2 * m.parameters)


def test_the_fastest_number_of_replicas_is_one_for_each_node():
    """Each gathers over NVLink alone; fewer gather over slow InfiniBand, more send more gradients over it."""
    e = exercise("how-many-replicas")
    found = {count: e.check(count) for count in (1, 2, 4, 8, 16)}
    assert [count for count, one in found.items() if one] == [8]
    over = {
        count: one.trace.count_crossing_bytes().set_index("link").nbytes.get("infiniband", 0.0)
        for count, one in found.items()
    }
    assert min(over, key=over.get) == 8
    assert found[8].trace.time == min(one.trace.time for one in found.values())


def test_the_fewest_microbatches_solve_the_formula_of_the_bubble():
    """(p − 1) / (m + p − 1) < 0.12 with p = 8: m > 51.3."""
    fewest = next(m for m in range(1, 100) if 7 / (m + 7) < 0.12)
    e = exercise("small-bubble")
    assert [e.check(m).passed for m in (fewest - 1, fewest, fewest + 1)] == [False, True, False]
    assert f"{100 * 7 / (fewest + 7):.3g} %" in e.check(fewest).reason


def test_orders_that_fit_are_those_that_split_the_backward_pass_and_do_not_overlap_two_microbatches():
    """Idle of 96 + idle, from the papers: 7 · 3 plain, 7 · 3 / 2 interleaved, 7 / 2 zero bubble, 7 dualpipe-v."""
    e = exercise("order-that-fits")
    idle = {"gpipe": 21, "1f1b": 21, "interleaved": 10.5, "zero-bubble": 3.5, "zbv": 3.5, "dualpipe-v": 7}
    for name, waits in idle.items():
        assert f"{100 * waits / (96 + waits):.3g} %" in e.check(name).reason, name
    assert [name for name in idle if e.check(name)] == ["zero-bubble", "zbv"]


def test_the_split_to_choose_is_the_fastest_that_fits_into_40_gb():
    e = exercise("choose-the-split")
    found = {pair: e.check(pair) for pair in ((1, 1), (2, 1), (4, 1), (8, 1), (2, 2), (1, 4), (4, 2))}
    assert [pair for pair, one in found.items() if one] == [(4, 1)]
    too_large = [pair for pair, one in found.items() if one.trace.memory.max() > 40e9]
    assert too_large == [(1, 1), (2, 1), (1, 4)]
    assert min(one.trace.time for one in found.values()) < found[4, 1].trace.time  # but for memory it would be another
    split = cs.tensor(2, sequence=True) * cs.zero(1)
    with pytest.raises(cs.CollsimError, match="does not fit"):
        cs.training_step(
            "gpt3-13b",
            cs.machine("dgx-a100", nodes=8),
            parallel=split,
            batch=64,
            micro_batch=1,
            dtype="bfloat16",
            memory="40GB",
        )


def test_experts_are_best_spread_over_a_node_and_two_of_five_shares_do_not_fit():
    e = exercise("spread-the-experts")
    answers = {share: e.check(share) for share in (1, 2, 4, 8, 16)}
    assert [share for share, answer in answers.items() if answer] == [8]
    assert [share for share, answer in answers.items() if "does not fit" in answer.reason] == [1, 2]
    memory = [answers[share].trace.memory.max() for share in (4, 8, 16)]
    assert memory == sorted(memory, reverse=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fsdp-bytes", "many"),
        ("spread-the-experts", 3),
        ("how-many-replicas", 3),
        ("small-bubble", 10**6),
        ("order-that-fits", "2f2b"),
        ("choose-the-split", 4),
        ("choose-the-split", (3, 1)),
        ("bucket-size", "64M"),
        ("synchronise-less", 0),
        ("hub-bytes", "many"),
        ("hub-is-enough", 10**6),
        ("hub-is-enough", [1]),
        ("unnoticed-cable", 0),
        ("unnoticed-cable", 10**6),
    ],
)
def test_what_is_no_value_is_told_and_does_not_pass(name, value):
    found = exercise(name).check(value)
    assert not found
    assert found.trace is None
    assert len(found.reason) > 20
    assert "hint(1)" in str(found)


def test_names_near_both_kinds_are_suggested():
    with pytest.raises(cs.CollsimError, match="bucket-size"):
        exercise("bucket-sizes")
    with pytest.raises(cs.CollsimError, match="ring-allreduce"):
        exercise("ring-allreduc")
