"""Prefill and decode against closed forms worked by hand and published tables."""

import re
from pathlib import Path

import pytest

import collsim as cs
from collsim.errors import CollsimError
from collsim.inference import count_kv_bytes, simulate_kv_transfer, time_inference

DOCS = Path(__file__).parents[2] / "docs"

#: DeepEP, README of 2025-02-25: low-latency kernels on H800 with one 400 Gbit/s card a GPU, 128 tokens of 7,168 elements
#: to 8 experts each, dispatched in 8 bits and combined in 16: GPUs, seconds of a dispatch and of a combine.
DEEPEP = [(32, 182e-6, 350e-6), (64, 186e-6, 353e-6), (128, 192e-6, 369e-6), (256, 194e-6, 360e-6)]


def get_calls(phase, purpose):
    return [call for call in phase.calls if call.purpose == purpose]


@pytest.mark.parametrize(
    ("model", "kilobytes"),
    # DeepSeek-AI 2025 (arXiv 2505.09343), table 1; Llama 3 70B by hand: 2 · 80 blocks · 8 heads · 128 · 2 bytes
    [("llama3-405b", 516.096), ("deepseek-v3", 70.272), ("llama3-70b", 327.68)],
)
def test_a_token_leaves_the_published_bytes_of_keys_and_values(model, kilobytes):
    assert count_kv_bytes(cs.model(model)) == pytest.approx(kilobytes * 1e3, rel=1e-12)
    assert count_kv_bytes(cs.model(model), "float32") == pytest.approx(2 * kilobytes * 1e3, rel=1e-12)


def test_tensor_parallelism_sums_twice_a_block_and_once_for_the_words():
    times = time_inference("llama3-70b", "dgx-h100", tensor=8, batch=3, prompt=100)
    for phase, tokens in ((times.prefill, 300), (times.decode, 3)):
        (sums,), (logits,) = get_calls(phase, "tensor"), get_calls(phase, "logits")
        assert (sums.collective, sums.count, sums.nbytes) == ("allreduce", 2 * 80 + 1, tokens * 8192 * 2)
        assert (logits.collective, logits.count, logits.nbytes) == ("allgather", 1, 3 * 128256 * 2)
        predicted = cs.nccl.predict("allreduce", "dgx-h100", sums.nbytes, ranks=range(8), launch="graph")
        assert (sums.seconds, sums.low, sums.high) == (predicted.time, predicted.low, predicted.high)
        assert phase.communication == pytest.approx(161 * sums.seconds + logits.seconds)
        assert phase.time == phase.compute + phase.communication


def test_decode_reads_weights_and_keys_and_values_once():
    gpu = cs.train.get_gpu_speed("H100", "bfloat16")
    one, many = (time_inference("llama3-8b", "dgx-h100", batch=batch, prompt=8000) for batch in (1, 9))
    # Eight sequences more: their keys and values (131,072 bytes a token) and their arithmetic (two operations for each
    # weight but the words', four for each of the 4,096 elements of a query, token and block).
    words = 128256 * 4096
    flops = 8 * (2 * (cs.model("llama3-8b").parameters - words) + 32 * 4 * 4096 * 8000)
    seconds = flops / (gpu.peak * gpu.peak_share) + 8 * 8000 * 131072 / (gpu.memory_rate * gpu.memory_share)
    assert many.decode.compute - one.decode.compute == pytest.approx(seconds, rel=0.02)
    weights = (cs.model("llama3-8b").parameters - words) * 2 / (gpu.memory_rate * gpu.memory_share)
    assert one.decode.compute == pytest.approx(weights + 8000 * 131072 / (gpu.memory_rate * gpu.memory_share), rel=0.05)


def test_experts_get_each_token_top_k_times_and_send_it_back():
    machine = cs.machine("dgx-h100", nodes=2)
    times = time_inference("deepseek-v3", machine, expert=16, batch=128, prompt=512, dispatch_dtype="float8_e4m3")
    for phase, tokens in ((times.prefill, 128 * 512), (times.decode, 128)):
        (there,), (back,) = get_calls(phase, "dispatch"), get_calls(phase, "combine")
        assert there.count == back.count == 61 - 3, "the first three blocks are dense"
        assert (there.nbytes, back.nbytes) == (tokens * 8 * 7168, tokens * 8 * 7168 * 2)
        assert there.ranks == back.ranks == 16
        assert not get_calls(phase, "tensor") + get_calls(phase, "logits"), "a replica is one GPU"
    plain = time_inference("deepseek-v3", machine, expert=16, batch=128, prompt=512)
    assert get_calls(plain.decode, "dispatch")[0].nbytes == get_calls(times.decode, "combine")[0].nbytes


@pytest.mark.parametrize(("gpus", "dispatch", "combine"), DEEPEP, ids=[str(row[0]) for row in DEEPEP])
def test_dispatch_and_combine_take_about_what_deepep_measured(gpus, dispatch, combine):
    machine = cs.machine("dgx-h100", nodes=gpus // 8, gpu="H800")
    times = time_inference("deepseek-v3", machine, expert=gpus, batch=128, dispatch_dtype="float8_e4m3")
    (there,), (back,) = get_calls(times.decode, "dispatch"), get_calls(times.decode, "combine")
    assert there.seconds == pytest.approx(dispatch, rel=0.15)
    assert back.seconds == pytest.approx(combine, rel=0.15)


def test_experts_that_no_token_chose_are_not_read():
    """One token goes to 8 of 256 experts, a thousand tokens go to all of them."""
    machine = cs.machine("dgx-h100", nodes=4)
    few, many = (time_inference("deepseek-v3", machine, expert=32, batch=n, prompt=1).decode.compute for n in (1, 64))
    assert few < 0.75 * many


def test_small_calls_wait_for_latency_and_large_ones_for_a_link():
    times = time_inference("llama3-70b", cs.machine("dgx-h100", nodes=2), tensor=16, prompt=4096)
    assert times.decode.longest_call.waits_for_latency
    assert not times.prefill.longest_call.waits_for_latency
    assert "IB" in times.prefill.longest_call.link


def test_keys_and_values_move_over_one_card_for_each_sender():
    machine = cs.machine("dgx-h100", nodes=2)
    for senders in (1, 2, 8):
        moved = simulate_kv_transfer("1GiB", machine, senders)
        assert moved.time == pytest.approx(2**30 / senders / 50e9, rel=0.01)
        assert "IB" in moved.link
    times = time_inference("llama3-70b", machine, tensor=8, prompt=1000)
    assert times.kv_transfer.nbytes == 327_680_000
    assert time_inference("llama3-8b", "dgx-h100").kv_transfer is None, "there is no other node"


def test_what_does_not_fit_is_said():
    assert time_inference("llama3-70b", "dgx-h100", tensor=8).fits
    one = time_inference("llama3-70b", "dgx-h100")
    assert not one.fits
    assert "74.5 GiB" in one.text()
    # Latent attention keeps one vector for all heads, so each GPU of a replica has all of it.
    shared = time_inference("deepseek-v3", cs.machine("dgx-h100", nodes=2), tensor=8, expert=2, prompt=1000)
    assert shared.kv_bytes == pytest.approx(70_272_000)
    assert time_inference("llama3-70b", "dgx-h100", tensor=8, prompt=1000).kv_bytes == pytest.approx(327_680_000 / 8)


def test_both_languages_have_the_same_figures():
    times = time_inference("mixtral-8x7b", cs.machine("dgx-a100", nodes=2), tensor=2, expert=8, batch=4)
    english, chinese = times.text(), times.text("zh")
    for phase in (times.prefill, times.decode):
        figure = cs.format_time(phase.time)
        assert figure in english
        assert figure in chinese
    assert "{" not in english + chinese
    assert times.row()["decode_time"] == times.decode.time
    assert times.to_frame()["total"].sum() == pytest.approx(times.prefill.communication + times.decode.communication)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"model": "resnet50"}, "option"),
        ({"model": "bert-base"}, "no decoder"),
        ({"tensor": 16}, "8"),
        ({"tensor": 0}, "tensor"),
        ({"batch": 1.5}, "batch"),
        ({"prompt": -1}, "prompt"),
        ({"expert": 2}, "experts"),
        ({"model": "deepseek-v3", "expert": 7}, "multiple"),
        ({"dtype": "int4"}, "int4"),
        ({"model": "mixtral-8x7b", "expert": 8, "dispatch_dtype": "fp9"}, "fp9"),
        ({"dispatch_dtype": "fp9"}, "fp9"),
        ({"dispatch_dtype": "float8_e4m3"}, "llama3-70b has no experts"),
        ({"machine": "dgx-h101"}, "dgx-h100"),
        ({"compute": "H999"}, "H"),
    ],
)
def test_bad_input_is_refused(options, reason):
    with pytest.raises(CollsimError, match=reason):
        time_inference(**{"model": "llama3-70b", "machine": "dgx-h100"} | options)


def test_a_transfer_needs_two_nodes_and_gpus_to_send():
    with pytest.raises(CollsimError, match="one node"):
        simulate_kv_transfer("1MiB", "dgx-h100")
    with pytest.raises(CollsimError, match="senders=9"):
        simulate_kv_transfer("1MiB", cs.machine("dgx-h100", nodes=2), 9)


@pytest.mark.parametrize("suffix", ["", ".zh"])
def test_the_accuracy_page_says_how_far_the_predictions_of_deepep_are_off(suffix):
    """The predictions on the page about inference are printed by its code; DeepEP's figures stand below them."""
    page = (DOCS / "howto" / f"inference{suffix}.md").read_text("utf-8")
    predicted = re.findall(r"^ *(\d+) GPUs: dispatch (\d+) µs, combine (\d+) µs$", page, re.MULTILINE)
    published = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    assert len(predicted) == 4
    assert [row[0] for row in predicted] == [row[0] for row in published]
    errors = [
        float(ours) / float(theirs) - 1
        for ours_row, theirs_row in zip(predicted, published, strict=True)
        for ours, theirs in zip(ours_row[1:], theirs_row[1:], strict=True)
    ]
    stated = f"−{-100 * min(errors):.0f} % 到 +" if suffix else f"−{-100 * min(errors):.0f} % to +"
    assert f"{stated}{100 * max(errors):.0f} %" in (DOCS / f"accuracy{suffix}.md").read_text("utf-8")


@pytest.mark.parametrize(("model", "said"), [("llama3-8b", False), ("mixtral-8x7b", True)])
def test_only_a_mixture_says_what_is_assumed_of_its_experts(model, said):
    times = time_inference(model, "dgx-h100")
    for language, text in (("en", "each expert is as likely"), ("zh", "每个专家")):
        assert (text in times.text(language)) is said
