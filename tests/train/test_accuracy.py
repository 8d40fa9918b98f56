"""A table of measured steps: what a row becomes, and what it cannot become."""

import csv
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from accuracy import steps

import collsim as cs
from collsim.train.measured_steps import parse_row, predict_measured_steps

ROW = {
    "model": "GPT",
    "hidden": "1024",
    "layers": "12",
    "heads": "16",
    "seq": "1024",
    "batch": "32",
    "micro_batch": "2",
    "precision": "fp16",
    "gpus": "8",
    "gpu_type": "A100 80GB",
    "nodes": "1",
    "nic_per_node_GBps": "",
    "tp": "2",
    "pp": "2",
    "dp": "2",
    "mode": "1F1B, interleave 3, selective recompute + sequence parallelism",
    "value": "0.5",
    "unit": "s/iteration",
}


def test_a_row_is_a_call():
    found = parse_row(ROW)
    data = cs.ddp(view=True, overlap=False, hook="fp16")
    assert found.call["parallel"] == cs.tensor(2, sequence=True) * cs.pipeline(2, interleave=3) * data
    assert found.call["recompute"] == "selective"
    assert (found.call["dtype"], found.call["compute"].gpu) == ("float16", "A100")
    assert (found.call["batch"], found.call["micro_batch"], found.seconds) == (32, 2, 0.5)
    assert found.predict() == cs.training_step(**found.call).time


def test_units_become_seconds_of_a_step():
    """32 · 1024 tokens; three passes of the model, four with full recomputation where it is counted."""
    assert parse_row({**ROW, "value": "1000", "unit": "tokens/s/GPU"}).seconds == 32 * 1024 / (1000 * 8)
    flops = cs.train.transformer(1024, 12, 16, seq=1024, vocab=51200).flops * 32
    for mode, times in (("1F1B", 3), ("1F1B, full recompute", 4)):
        row = {**ROW, "mode": mode, "value": "100", "unit": "TFLOP/s/GPU (hardware, recompute counted)"}
        assert parse_row(row).seconds == pytest.approx(times * flops / (100e12 * 8))


@pytest.mark.parametrize(
    ("mode", "parallel"),
    [
        ("FSDP FULL_SHARD, checkpointing=True, grad_accum=1", cs.fsdp()),
        ("FSDP SHARD_GRAD_OP, checkpointing=False", cs.fsdp(False)),
        ("HSDP, no AC, torch.compile", cs.fsdp(replicate=2)),
        # gradients travel in 16 bits (every recipe of Megatron-Bridge: grad_reduce_in_fp32 = False)
        ("Pre-Training Performance: FSDP=0 CP=1 VP=n/a EP=n/a GA=", cs.ddp(view=True, hook="bf16")),
        ("Megatron-DeepSpeed, 1F1B", cs.ddp(view=True)),
        ("DDP, bucket_cap_mb=25", cs.ddp()),
    ],
)
def test_words_of_the_mode_say_how_replicas_keep_together(mode, parallel):
    row = {**ROW, "gpus": "16", "nodes": "2", "tp": "1", "pp": "1", "mode": mode, "precision": "bf16"}
    assert parse_row(row).call["parallel"] == parallel


@pytest.mark.parametrize(
    ("mode", "way"),
    [
        ("Megatron-DeepSpeed, 1F1B", cs.tensor(1) * cs.ddp(view=True, overlap=False, hook="fp16")),
        ("1F1B, full recompute", cs.tensor(1) * cs.ddp(view=True, overlap=False, hook="fp16")),
        ("FSDP, full recompute", cs.fsdp()),
        ("HSDP, full recompute", cs.fsdp(replicate=1)),
        ("DDP, bucket_cap_mb=25", cs.ddp()),
    ],
)
def test_megatrons_gradients_are_in_float16_and_reduced_at_the_end_where_the_model_is(mode, way):
    """megatron/training/arguments.py: only bfloat16 makes it reduce them in float32; overlap is asked for."""
    row = {**ROW, "tp": "1", "pp": "1", "mode": mode}
    found = parse_row(row).call
    assert found["parallel"] == way
    step = cs.training_step(**found).step
    last = max(i for i, task in enumerate(step.tasks) if task.kind == "backward")
    reduced = [(i, task.nbytes) for i, task in enumerate(step.tasks) if task.kind == "allreduce"]
    if "hook='fp16'" in way.label:
        assert all(i > last for i, _ in reduced)
        assert sum(nbytes for _, nbytes in reduced) == 2 * found["model"].parameters


@pytest.mark.parametrize(
    ("mode", "sequence", "scatter"),
    [
        ("Megatron-DeepSpeed, 1F1B, full recompute", False, True),
        ("1F1B, full recompute + sequence parallelism", True, False),
        ("FSDP 2 + TP 2 + PP 2, 1F1B", True, False),
        ("2D + AsyncTP", True, False),
    ],
)
def test_words_of_the_mode_say_what_tensor_parallelism_cuts(mode, sequence, scatter):
    """PyTorch's, with FSDP ("2D"), cuts norms along the sequence; where nothing does, stages send a part of each GPU."""
    parallel = parse_row({**ROW, "mode": mode}).call["parallel"]
    assert parallel.find_part(type(cs.tensor(2))).sequence is sequence
    assert parallel.pipeline.scatter is scatter


@pytest.mark.parametrize(
    ("mode", "recompute"),
    [
        ("FSDP + compile, selective AC", "alternate"),
        ("HSDP, selective AC", "alternate"),
        ("FSDP 8, full AC", "full"),
        ("selective recompute + sequence parallelism", "selective"),
    ],
)
def test_selective_means_half_of_the_blocks_in_pytorch_and_attention_in_megatron(mode, recompute):
    assert parse_row({**ROW, "tp": "1", "pp": "1", "mode": mode}).call["recompute"] == recompute


def test_a_gpu_that_is_said_to_have_less_power_has_a_slower_clock_and_the_memory_of_its_kind():
    """700 to 500 W: the third root of 5/7; HBM2e of 2.4 TB/s in those of 96 GB."""
    usual, less = (parse_row({**ROW, "gpu_type": name}).call["compute"] for name in ("H100 80GB", "H100 96GB (500 W)"))
    assert less.peak_share / usual.peak_share == pytest.approx((5 / 7) ** (1 / 3))
    assert (usual.memory_rate, less.memory_rate, less.memory_share) == (3.35e12, 2.4e12, usual.memory_share)


def test_products_in_8_bits_pay_for_their_casts_and_reach_less_of_their_peak():
    """1,280 of 1,979 Tflop/s against 720 of 989.5; half as much again is moved."""
    wide, narrow = (parse_row({**ROW, "gpu_type": "H100", "precision": p}).call["compute"] for p in ("bf16", "float8"))
    assert narrow.get_flop_rate("gemm") / wide.get_flop_rate("gemm") == pytest.approx(2 * (1280 / 1979) / (720 / 989.5))
    assert narrow.get_flop_rate("attention") == wide.get_flop_rate("attention")
    assert narrow.estimate_seconds(0, 1e9, 0) == pytest.approx(1.5 * wide.estimate_seconds(0, 1e9, 0))
    assert narrow.estimate_seconds(0, 1e9, 0, "norm") == wide.estimate_seconds(0, 1e9, 0, "norm")


def test_a_scale_a_row_saves_half_of_what_one_a_tensor_saves():
    """5,760, 6,418 and 7,186 tokens/s in 16 bits, with a scale a row, and with one a tensor: of 34.4 µs a token 17.8
    are saved."""
    wide, tensor, row = (
        1 / parse_row({**ROW, "gpu_type": "H100", "precision": p}).call["compute"].get_flop_rate("gemm")
        for p in ("bf16", "float8 tensorwise", "float8 rowwise")
    )
    assert (wide - row) / (wide - tensor) == pytest.approx(17.8 / 34.4, abs=0.002)


def test_4_bits_are_six_times_as_fast_as_16_on_blackwell_ultra_and_four_times_before():
    """15 of 2.5 Pflop/s, dense; before 10 of 2.5. Of both 0.889 as much is reached as in 16 bits."""
    for name, times in (("GB300", 15 / 2.5), ("GB200", 10 / 2.5)):
        wide, narrow = (parse_row({**ROW, "gpu_type": name, "precision": p}).call["compute"] for p in ("bf16", "NVFP4"))
        assert narrow.peak / wide.peak == pytest.approx(times * 0.889, rel=1e-3)
        assert narrow.attention_peak == wide.peak


def test_vtrains_own_model_on_one_node_has_words_as_they_are():
    """50,257 are no multiple of 8; on 64 nodes, and elsewhere, 51,200."""
    mode = "Megatron-DeepSpeed, 1F1B, full recompute (use_checkpoint true in its config)"
    heads = [
        parse_row({**ROW, "mode": text, "gpus": str(8 * nodes), "nodes": str(nodes)}).call["model"].layers[-1]
        for text, nodes in ((mode, 1), (mode, 64), ("1F1B", 1))
    ]
    assert [(head.flops / (2 * 1024 * 1024), head.width) for head in heads] == [(50257, 50257), (51200, 0), (51200, 0)]


MIXED = {**ROW, "hidden": "", "layers": "", "heads": "", "seq": "4096", "tp": "1", "pp": "1", "gpu_type": "GB200"}


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Qwen3_30B_a3B (tokendrop)", "qwen3-30b-a3b"),
        ("Qwen3_235B_a22B", "qwen3-235b-a22b"),
        ("GPT OSS 120B", "gpt-oss-120b"),
        ("DeepSeekV3 (w/o MTP)", "deepseek-v3"),
        ("LLAMA3.1_405B", "llama3-405b"),
    ],
)
def test_models_of_measurements_are_those_of_the_catalogue(said, name):
    assert parse_row({**MIXED, "model": said}).call["model"] == cs.model(name, seq=4096)


def test_deepseek_predicts_a_second_token_unless_the_row_says_it_does_not():
    assert parse_row({**MIXED, "model": "DeepSeekV3"}).call["model"] == cs.model("deepseek-v3", seq=4096, second=True)


def test_megatrons_experts_are_shared_by_the_gpus_that_share_a_layer_too():
    """32 GPUs share the experts of 2 that share a layer: 16 blocks of those 2."""
    row = {**MIXED, "model": "Qwen3_235B_a22B", "gpus": "64", "tp": "2", "mode": "FSDP=0 CP=1 VP=1 EP=32 GA=32"}
    assert parse_row(row).call["parallel"] == cs.tensor(2, sequence=True) * cs.expert(16) * cs.ddp(
        view=True, hook="bf16"
    )


def test_megatron_on_hopper_has_the_attention_of_cudnn():
    row = {**ROW, "model": "LLAMA3_8B", "gpu_type": "H100", "tp": "1", "pp": "1", "precision": "bf16"}
    plain = parse_row(row).call["compute"]
    assert parse_row({**row, "mode": "FSDP=0 CP=1 VP=n/a EP=1 GA=8"}).call["compute"] == plain.with_cudnn() != plain


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, cs.pipeline(4)),
        ({"schedule": "interleaved"}, cs.pipeline(4, interleave=2)),
        ({"schedule": " Interleaved", "interleave": "3"}, cs.pipeline(4, interleave=3)),
        ({"interleave": "3"}, cs.pipeline(4, interleave=3)),
        ({"schedule": "zbv"}, cs.pipeline(4, "zbv")),
        ({"schedule": "gpipe", "mode": "1F1B"}, cs.pipeline(4, "gpipe")),
        ({"mode": "Interleaved 1F1B"}, cs.pipeline(4, interleave=2)),
        ({"schedule": "interleaved", "mode": "interleave 3"}, cs.pipeline(4, interleave=3)),
    ],
)
def test_a_pipeline_has_the_schedule_of_its_columns_or_else_of_its_mode(more, expected):
    row = {**ROW, "precision": "bf16", "gpus": "4", "nodes": "1", "tp": "1", "pp": "4", "mode": "", **more}
    assert parse_row(row).call["parallel"] == expected


def test_a_schedule_that_is_unknown_is_named():
    with pytest.raises(cs.CollsimError, match="schedule"):
        parse_row({**ROW, "gpus": "4", "tp": "1", "pp": "4", "schedule": "2f2b"})


def test_equal_calls_are_predicted_once(monkeypatch):
    from collsim.train import measured_steps

    asked = []
    monkeypatch.setattr(measured_steps, "training_step", lambda **call: asked.append(call) or SimpleNamespace(time=2.0))
    row = {**ROW, "batch": "96"}
    assert [parse_row({**row, "value": v}).predict() for v in ("0.5", "0.7", "0.9")] == [2.0] * 3
    measured_steps._time_call.cache_clear()
    assert len(asked) == 1


def test_mpt_has_the_attention_of_triton():
    row = {**ROW, "model": "MPT-1b", "gpu_type": "A100", "precision": "bf16"}
    assert parse_row(row).call["compute"] == parse_row({**row, "model": "GPT"}).call["compute"].with_triton()


def test_the_network_is_as_fast_as_the_row_says():
    row = {**ROW, "gpus": "16", "nodes": "2", "nic_per_node_GBps": "100"}
    assert cs.nccl.read_facts(parse_row(row).call["machine"]).nic_rate == 12.5e9


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gpu_type": "Abacus"}, "no GPU that the catalogue"),
        ({"hidden": ""}, "does not say how wide"),
        ({"batch": "some"}, "is no number"),
        ({"unit": "% faster"}, "wants s/iteration"),
        ({"mode": "LoRA Performance"}, "leaves most weights as they are"),
        ({"model": "Nemotron_3_Nano"}, "Mamba"),
        ({"model": "DeepSeekV4 Flash"}, "sparse attention"),
        ({"unit": "bytes allreduced"}, "wants s/iteration"),
        ({"model": "resnet50", "unit": "tokens/s/GPU"}, "has no tokens"),
        ({"value": "-1"}, "is no figure"),
        ({"tp": "-2"}, "tp='-2': a step needs a whole number of at least 1"),
        ({"pp": "1.5"}, "pp='1.5': a step needs"),
        ({"nodes": "0.5"}, "nodes='0.5': a step needs"),
        ({"layers": "2.5"}, "layers='2.5': a step needs"),
        ({"nic_per_node_GBps": "-5"}, "must be more than 0"),
    ],
)
def test_a_row_that_is_no_call_says_why(changes, says):
    with pytest.raises(cs.CollsimError, match=says):
        parse_row({**ROW, **changes})


def test_a_table_gains_its_columns_and_keeps_its_rows(tmp_path):
    place = tmp_path / "steps.csv"
    with place.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(ROW))
        writer.writeheader()
        writer.writerows([ROW, {**ROW, "gpu_type": "Abacus"}])
    out = predict_measured_steps(place, tmp_path / "out.csv")
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["gpu_type"] for row in rows] == ["A100 80GB", "Abacus"]
    assert float(rows[0]["predicted_s"]) == parse_row(ROW).predict()
    assert float(rows[0]["measured_s"]) == 0.5
    assert rows[1]["predicted_s"] == ""
    assert "Abacus" in rows[1]["unread"]


def table(place, *rows):
    with place.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return place


def test_what_a_spreadsheet_would_run_is_written_as_a_text_and_numbers_stay_numbers(tmp_path):
    names, cells = [*ROW, "=column", "note", "offset"], [*ROW.values(), "@x", "=1+1", "-3.5e1"]
    out = predict_measured_steps(table(tmp_path / "in.csv", names, cells), tmp_path / "out.csv")
    with out.open(newline="") as file:
        (written,) = csv.DictReader(file)
    assert (written["'=column"], written["note"], written["offset"]) == ("'@x", "'=1+1", "-3.5e1")
    assert float(written["predicted_s"]) > 0
    again = predict_measured_steps(out, tmp_path / "again.csv")  # neither columns nor apostrophes come twice
    assert again.read_text() == out.read_text()


def test_a_row_with_more_or_fewer_cells_than_the_header_is_a_sentence(tmp_path):
    longer = table(tmp_path / "in.csv", ROW, [*ROW.values(), "7"])
    with pytest.raises(cs.FormatError, match=r"in.csv, line 2: 19 values; the header has 18"):
        predict_measured_steps(longer, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    out = predict_measured_steps(table(tmp_path / "in.csv", ROW, ["GPT"]), tmp_path / "out.csv")
    assert "gpus='': a step needs" in out.read_text().splitlines()[1]


@pytest.mark.parametrize("name", ["GPT\u2028 1", "GPT\x851", "GPT\n1", "GPT\x0b1", "=GPT\r\n1"])
def test_a_cell_stays_whole_whatever_ends_a_line_in_other_tools(name, tmp_path):
    place = tmp_path / "in.csv"
    with place.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([ROW, {**ROW, "model": name}.values()])
    out = predict_measured_steps(place, tmp_path / "out.csv")
    with out.open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["model"].lstrip("'") == name
    assert float(row["predicted_s"]) > 0


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([[*ROW, "model"], [*ROW.values(), "x"]], "line 1: has 2 columns named 'model'"),
        ([ROW, ROW.values(), ["x" * 200_000]], "line 3: is no CSV"),
    ],
)
def test_what_would_be_lost_is_refused_with_its_line(rows, says, tmp_path):
    with pytest.raises(cs.FormatError, match=says):
        predict_measured_steps(table(tmp_path / "in.csv", *rows), tmp_path / "out.csv")


def test_what_is_no_file_is_not_replaced_by_one(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(cs.FormatError, match="device or a pipe"):
        predict_measured_steps(table(tmp_path / "in.csv", ROW, ROW.values()), pipe)
    assert pipe.is_fifo()
    with pytest.raises(cs.CollsimError, match="out=5 is not a path"):
        predict_measured_steps(tmp_path / "in.csv", 5)


def test_a_file_that_is_no_such_table_is_refused(tmp_path):
    place = tmp_path / "steps.csv"
    place.write_text("model,gpus\na,1\n")
    with pytest.raises(cs.FormatError, match="no column 'batch'"):
        predict_measured_steps(place, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_the_figures_of_the_page_are_counted_per_source_and_the_largest_miss_comes_first():
    """Of -50, 10 and 20 %: the median of their sizes is 20 %, the mean 26.7 %, one is too fast."""
    lines = steps.table({"near": [0.01], "far": [-0.5, 0.1, 0.2]}).splitlines()
    assert lines[2:] == ["| far | 3 | 20.0% | 26.7% | −50% | 1 |", "| near | 1 | 1.0% | 1.0% | +1% | 0 |"]


def test_every_sixth_row_of_the_largest_source_counts_and_what_is_no_call_has_no_error():
    rows = [
        {**ROW, "source": "vTrain (KAIST, MICRO 2024) data/ground_truth_single.csv", "value": str(k)} for k in range(13)
    ]
    found = steps.chosen(rows)["vTrain, one node, every sixth row"]
    assert [row["value"] for row in found] == ["0", "6", "12"]
    assert steps.error({**ROW, "gpu_type": "Abacus"}) is None
    assert steps.error(ROW) == pytest.approx(parse_row(ROW).predict() / 0.5 - 1)


def test_a_choice_costs_what_the_split_that_seems_fastest_takes_more_than_the_fastest():
    """Predicted 1, 2, 3 and measured 12, 10, 11: the first is chosen, and takes 1.2 times as long as the second."""
    assert steps.cost_of_choice([(3.0, 11.0), (1.0, 12.0), (2.0, 10.0)]) == pytest.approx(0.2)
    words = "3 groups: right in 1, within 4% in 2 (67%), on average 8.0% slower, 20% at most"
    assert steps.format_costs([0.0, 0.04, 0.2]) == words


def test_splits_are_compared_where_model_batch_and_gpus_are_the_same():
    row = {**ROW, "source": "vTrain (KAIST, MICRO 2024) data/ground_truth_single.csv"}
    rows = [
        {**row, "tp": "1", "batch": b, "micro_batch": m} for b, m in (("8", "1"), ("8", "2"), ("8", "2"), ("16", "1"))
    ]
    assert [len(group) for group in steps.jobs(rows)] == [3]
    assert [len(group) for group in steps.jobs(rows, "micro_batch")] == [2]
    assert steps.jobs([{**r, "source": "somebody"} for r in rows]) == []


@pytest.mark.parametrize("word", ["", " a ", "'a", "a\r\nb", "１６"])
def test_columns_without_a_name_stay_with_what_is_in_them(tmp_path, word):
    names, cells = [*ROW, "", "note", ""], [*ROW.values(), word, "x", "y"]
    out = predict_measured_steps(table(tmp_path / "in.csv", names, cells, [], cells), tmp_path / "out.csv")
    with out.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == [*names, "predicted_s", "measured_s", "unread"]
    assert [row[:-3] for row in rows] == [cells, cells]


def test_a_table_without_rows_keeps_its_columns(tmp_path):
    out = predict_measured_steps(table(tmp_path / "in.csv", [*ROW, "note"]), tmp_path / "out.csv")
    assert out.read_text().split() == [",".join([*ROW, "note", "predicted_s", "measured_s", "unread"])]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        # run_script.py of v0.1.0: DeepSeek on H100, A2A_1F1B and DeepEP
        # and deepseek_provider.py: experts in eight groups, which are nodes here; a token goes to four of them
        (
            {"model": "DeepSeekV3", "gpu_type": "H100", "note": "25.09"},
            cs.expert(64, 8, overlap_with="batch", max_nodes=4),
        ),
        ({"model": "Qwen3_235B_a22B", "gpu_type": "H100", "note": "25.09"}, cs.expert(64)),
        # workload_base_configs.py of v0.2.0 to v0.5.0: moe_a2a_overlap
        ({"model": "Qwen3_235B_a22B", "gpu_type": "H100", "note": "25.11"}, cs.expert(64, overlap_with="batch")),
        (
            {"model": "DeepSeekV3", "gpu_type": "B200", "note": "26.04.01"},
            cs.expert(64, 8, overlap_with="batch", max_nodes=4),
        ),
        ({"model": "Qwen3_235B_a22B", "gpu_type": "B300", "note": "26.02"}, cs.expert(64, overlap_with="batch")),
        ({"model": "DeepSeekV3", "gpu_type": "GB300", "note": "26.04.01"}, cs.expert(64)),
        ({"model": "DeepSeekV3", "gpu_type": "GB300", "note": "26.06 NeMo"}, cs.expert(64, overlap_with="batch")),
        ({"model": "DeepSeekV3", "gpu_type": "GB300", "note": "26.06", "precision": "BF16"}, cs.expert(64)),
        # what a row says itself counts
        (
            {"model": "DeepSeekV3", "gpu_type": "GB300", "note": "26.06", "overlap": "experts"},
            cs.expert(64, overlap_with="experts"),
        ),
        # run_script.py of v0.1.0: moe_shared_expert_overlap where A2A_1F1B is off
        ({"model": "DeepSeekV3", "gpu_type": "GB200", "note": "25.09"}, cs.expert(64, overlap_with="shared")),
    ],
)
def test_what_computes_while_tokens_travel_is_what_megatrons_recipes_say(more, expected):
    row = {**MIXED, "gpus": "128", "precision": "MXFP8", "mode": "FSDP=0 CP=1 VP=4 EP=64 GA=8", "pp": "2", **more}
    found = parse_row(row).call["parallel"]
    assert next(part for part in found.parts if part.axis == "ep") == expected


@pytest.mark.parametrize(
    ("more", "stages", "experts", "samples"),
    [
        # workload_base_configs.py of v0.2.0: the five recipes that have other settings than the table of 25.11
        ({"model": "Qwen3_235B_a22B", "gpu_type": "B200", "pp": "2"}, 4, 8, 2),
        ({"model": "GPT OSS 120B", "gpu_type": "B200"}, 1, 64, 2),
        ({"model": "GPT OSS 120B", "gpu_type": "H100"}, 1, 8, 1),
        ({"model": "Qwen3_30B_a3B", "gpu_type": "H100", "pp": "2"}, 12, 8, 1),
        ({"model": "Qwen3_30B_a3B", "gpu_type": "GB300"}, 1, 8, 8),
        # and two others
        ({"model": "GPT OSS 120B", "gpu_type": "GB300"}, 1, 8, 2),
        ({"model": "GPT OSS 120B", "gpu_type": "B200", "note": "26.02"}, 1, 8, 2),
    ],
)
def test_a_recipe_counts_where_its_row_repeats_another(more, stages, experts, samples):
    row = {**MIXED, "gpus": "128", "pp": "1", "micro_batch": "2", "mode": "VP=1 EP=8 GA=8", "note": "25.11 NeMo"} | more
    found = parse_row(row).call
    parts = {part.axis: part for part in found["parallel"].parts}
    assert (parts["ep"].size, found["micro_batch"]) == (experts, samples)
    assert stages == getattr(parts.get("pp"), "interleave", 1)


def test_the_slow_kernel_of_a_release_is_counted():
    """cudnn-frontend pull request 322: 1362.768 us for 155.632 us where experts have a bias."""
    row = {**MIXED, "model": "GPT OSS 120B", "gpu_type": "GB300", "precision": "MXFP8", "mode": "VP=1 EP=8 GA=8"}
    slow, fast = (parse_row({**row, "note": f"{note} NeMo"}) for note in ("26.06.01", "26.06"))
    assert slow.call["compute"].bias_gradient_factor == pytest.approx(1362.768 / 155.632, abs=1e-3)
    assert slow.call["compute"] == replace(fast.call["compute"], bias_gradient_factor=8.756)
    assert slow.predict() > 1.2 * fast.predict()


def test_experts_are_launched_one_by_one_until_a_step_is_one_graph():
    """Releases before 26.06: a product a kernel, with its casts; after that nothing waits for the host."""
    row = {**MIXED, "model": "Qwen3_30B_a3B", "gpu_type": "GB300", "mode": "FSDP=0 CP=1 VP=1 EP=8 GA=8"}
    launches = {"BF16": (1, 2), "FP8": (2, 3), "MXFP8": (4, 7)}
    for precision, expected in launches.items():
        compute = parse_row({**row, "precision": precision, "note": "26.04 NeMo"}).call["compute"]
        assert compute.expert_launches == expected
        assert compute.launch_time > 0
    graphed = parse_row({**row, "precision": "MXFP8", "note": "26.06 NeMo"}).call["compute"]
    assert (graphed.expert_launches, graphed.launch_time, graphed.wait_time) == ((0, 0), 0, 0)
    dense = {**row, "model": "LLAMA3_8B", "precision": "MXFP8", "note": "26.06 NeMo", "mode": "VP=1 EP=n/a"}
    assert parse_row(dense).call["compute"].launch_time > 0
