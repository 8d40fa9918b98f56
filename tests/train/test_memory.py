"""Memory over a step, by closed form."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collsim as cs
from collsim.train import Layer
from collsim.train.memory import MEMORY_KINDS

NET = cs.topology.switch(2, bandwidth="25GB/s", alpha="1us")
SIZES = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**5), st.integers(0, 10**4)), min_size=1, max_size=8)


def model_of(rows):
    return cs.train.Model(
        "m", tuple(Layer(f"l{i}", (p,), activations=float(k), mask_bytes=float(m)) for i, (p, k, m) in enumerate(rows))
    )


@settings(max_examples=80, deadline=None)
@given(
    rows=SIZES,
    micro=st.integers(1, 5),
    accumulate=st.integers(1, 3),
    view=st.booleans(),
    half=st.booleans(),
    optimizer=st.sampled_from(["adam", "momentum", "sgd", "none"]),
    timed=st.booleans(),
)
def test_ddp_holds_what_the_closed_form_says(rows, micro, accumulate, view, half, optimizer, timed):
    """States stay; a layer's activations live from its forward to its backward; its gradient from its (first) backward
    on."""
    model = model_of(rows)
    t = cs.training_step(
        model,
        NET,
        parallel=cs.ddp(view=view, accumulate=accumulate),
        micro_batch=micro,
        compute=[(1e-3 * timed, 2e-3 * timed)] * len(rows),
        dtype="float16" if half else "float32",
        optimizer=optimizer,
    )
    item, total = (2 if half else 4), sum(p for p, _, _ in rows)
    kept = [(k * item + m) * micro for _, k, m in rows]
    grads = [0 if view else 4 * p for p, _, _ in rows]
    states = total * (
        4 + (2 if half else 0) + {"adam": 8, "momentum": 4, "sgd": 0, "none": 0}[optimizer] + 4
    )  # and buckets
    n = len(rows)
    passing = [sum(kept[: i + 1]) + sum(grads[i:]) for i in range(n)]  # in the backward task of layer i
    if accumulate > 1:
        passing.append(sum(kept) + sum(grads))  # gradients of the first microbatch stay
    assert t.memory.max() == pytest.approx(states + max([*passing, sum(grads)]), abs=2 * n)


def test_what_gpus_hold_has_its_words_in_both_languages():
    """Every kind of every way of splitting; what does not fit is told with them."""
    box, small = cs.machine("dgx-a100"), cs.train.transformer(64, 4, 4, seq=32)
    ways = [cs.ddp(hook="fp16", overlap=False), cs.ddp(view=False), cs.data_parallel(), cs.parameter_server(on="rank")]
    ways += [cs.fsdp(no_sync=True, accumulate=2), cs.zero(1), cs.tensor(2) * cs.pipeline(2) * cs.zero(2)]
    steps = [cs.training_step(small, box, parallel=way, micro_batch=2, memory="80GB") for way in ways]
    steps.append(cs.training_step(small, "dgx-h100", parallel=cs.ddp(), ranks=1, micro_batch=2, compute="eager"))
    found = {kind for t in steps for lane in range(len(t.step.lanes)) for kind in t.memory.list_kinds(lane)}
    assert found == MEMORY_KINDS.keys()
    assert all(re.search("[一-鿿]", words.text("zh")) for words in MEMORY_KINDS.values())
    with pytest.raises(cs.CollsimError) as said:
        cs.training_step("llama3-8b", box, parallel=cs.ddp(), micro_batch=1)
    listed = re.search("（(.*)）；", said.value.text("zh")).group(1).split("、")
    assert not re.search("optimizer|parameters|gradients", "".join(listed))


def test_memory_of_a_rank_and_over_time():
    t = cs.training_step("resnet18", "dgx-a100", parallel=cs.data_parallel(), batch=64)
    assert sum(t.memory.peak(0).values()) == t.memory.max()
    assert sum(t.memory.peak(7).values()) < t.memory.max()  # GPU 0 has the optimizer, and all inputs and outputs
    frame = t.memory.to_frame()
    assert frame.total.max() == pytest.approx(t.memory.max(), abs=8)
    assert set(frame.lane) == {0, 1}
    with pytest.raises(cs.CollsimError, match="takes no part"):
        t.memory.peak(8)


def test_a_transformer_in_16_bits_holds_18_bytes_a_parameter_and_its_buckets():
    t = cs.training_step("gpt2", "dgx-a100", parallel=cs.ddp(view=True), batch=8, dtype="bfloat16")
    held = t.memory.step.resident_bytes[0]
    assert sum(held.values()) == 18 * cs.model("gpt2").parameters


@pytest.mark.parametrize("room", ["5.2GB", "11.8GB", "13.2GB", "14.2GB"])
@pytest.mark.parametrize("way", [cs.ddp(), cs.ddp(view=True), cs.data_parallel(), cs.parameter_server()])
def test_a_microbatch_that_is_said_to_fit_does(way, room):
    """With fewer samples another moment is the fullest, with all gradients and no activations."""
    model = cs.train.transformer(2048, 12, 32, seq=512, vocab=32_000, flash=True)
    with pytest.raises(cs.CollsimError, match="does not fit") as said:
        cs.training_step(model, "dgx-a100", parallel=way, micro_batch=16, memory=room)
    assert re.search(rf"on a GPU of {room[:-2]}\sGB = [\d.]+\sGiB \(", str(said.value))
    fits = re.search(r"micro_batch=(\d+) would fit", str(said.value))
    if fits:
        assert cs.training_step(model, "dgx-a100", parallel=way, micro_batch=int(fits[1]), memory=room).time > 0
    else:
        assert "even without activations" in str(said.value)
        with pytest.raises(cs.CollsimError, match="does not fit"):
            cs.training_step(model, "dgx-a100", parallel=way, micro_batch=1, memory=room)
