"""PyTorch scripts of products of ways: they are Python, say what the step is, and where torch is installed they run and
send what the step sends."""

import ast
import math
import os
import re
import subprocess
import sys
from collections import Counter

import pytest

import collsim as cs
from collsim.train.pytorch.pipeline_scripts import write_pipeline_script
from collsim.train.workload.decoder_shape import read_decoder_shape

BOX = cs.machine("dgx-a100")
GPT = cs.train.transformer(64, 4, 4, seq=16, vocab=300)
GPT3 = cs.train.transformer(64, 3, 4, seq=16, vocab=300)
LLAMA = cs.train.transformer(
    64, 4, 4, seq=16, vocab=300, kv_heads=2, ffn=128, gated=True, bias=False, tied=False, positions=False, flash=True
)
#: name: ranks, model, way, options of the step
WAYS = {
    "fsdp": (2, GPT, cs.fsdp(), {}),
    "stay": (2, LLAMA, cs.fsdp(False), {"dtype": "float32"}),
    "needed": (2, LLAMA, cs.fsdp(prefetch=False), {"recompute": "full"}),
    "hybrid": (4, LLAMA, cs.fsdp(replicate=2, reduce_dtype="float32"), {}),
    "often": (2, LLAMA, cs.fsdp(no_sync=True, accumulate=3), {}),
    "zero1": (2, GPT, cs.zero(1, accumulate=3), {"recompute": "selective"}),
    "zero2": (2, LLAMA, cs.zero(2, accumulate=3), {"optimizer": "sgd"}),
    "zero3": (2, LLAMA, cs.zero(3), {"recompute": "alternate"}),
    "resnet": (2, cs.model("resnet18"), cs.fsdp(), {}),
    "ddp": (2, GPT, cs.ddp(), {"recompute": "full"}),
    "tensor": (4, GPT, cs.tensor(2) * cs.ddp(), {}),
    "again": (2, LLAMA, cs.tensor(2, sequence=True), {"recompute": "full"}),
    "sequence": (4, GPT, cs.tensor(2, sequence=True) * cs.zero(1), {}),
    "gpipe": (2, LLAMA, cs.pipeline(2, "gpipe"), {"batch": 4, "optimizer": "none"}),
    "tied": (3, GPT3, cs.pipeline(3), {"batch": 4}),
    "tied-cut": (4, GPT, cs.tensor(2) * cs.pipeline(2), {"batch": 4}),
    "tied-sharded": (4, GPT, cs.pipeline(2) * cs.zero(1, reduce_dtype="float32"), {"batch": 8}),
    "1f1b": (4, LLAMA, cs.pipeline(2) * cs.fsdp(), {"batch": 8}),
    "thin": (4, GPT, cs.pipeline(2, "interleaved", interleave=2) * cs.ddp(), {"batch": 8}),
    "zero-bubble": (2, LLAMA, cs.pipeline(2, "zero-bubble", interleave=2), {"batch": 4}),
    "zbv": (4, GPT, cs.pipeline(2, "zbv") * cs.zero(1), {"batch": 8}),
    "three": (
        8,
        LLAMA,
        (cs.tensor(2) * cs.pipeline(2, "dualpipe-v") * cs.ddp()).with_rank_order("dp-tp-cp-ep-pp"),
        {"batch": 8},
    ),
}


def step(ranks, model, way, options):
    given = {"dtype": "bfloat16", "micro_batch": 2 if "batch" not in options else 1} | options
    return cs.training_step(model, BOX, parallel=way, ranks=list(range(ranks)), **given)


def calls(code, name):
    """The calls of a function in a script, each with its keywords."""
    found = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    named = [node for node in found if ast.unparse(node.func).split(".")[-1] == name]
    return [
        {k.arg: ast.unparse(k.value) for k in node.keywords} | {i: ast.unparse(a) for i, a in enumerate(node.args)}
        for node in named
    ]


@pytest.mark.parametrize("way", WAYS)
def test_the_mesh_has_as_many_processes_as_the_step_and_each_way_its_size(way):
    ranks, _, parallel, _ = WAYS[way]
    code = step(*WAYS[way]).script()
    (mesh,) = calls(code, "init_device_mesh")
    sizes, names = ast.literal_eval(mesh[1]), ast.literal_eval(mesh["mesh_dim_names"])
    assert (math.prod(sizes), len(names)) == (ranks, len(sizes))
    if way == "three":  # dp varies fastest, then tp
        assert names == ("pp", "tp", "dp")
    if way == "hybrid":
        assert (names, sizes) == (("replicate", "shard"), (2, 2))
    text = [line for line in code.splitlines() if not line.startswith("    print(") and parallel.label not in line]
    assert max(map(len, text)) <= 120
    assert parallel.label in code


def test_what_keeps_replicas_together_says_what_the_step_says():
    code = {way: step(*WAYS[way]).script() for way in WAYS}
    kept = {
        way: [call.get("reshard_after_forward") for call in calls(text, "fully_shard")] for way, text in code.items()
    }
    assert kept["fsdp"] == kept["zero3"] == kept["hybrid"] == [None, None]
    assert set(kept["stay"]) == set(kept["zero1"]) == set(kept["zero2"]) == {"False", None}  # blocks; the root stays
    assert (kept["ddp"], kept["tensor"], len(calls(code["ddp"], "replicate"))) == ([], [], 2)
    policy = {way: calls(text, "MixedPrecisionPolicy") for way, text in code.items()}
    assert policy["fsdp"] == [{"param_dtype": "torch.bfloat16", "reduce_dtype": "torch.bfloat16"}]
    assert policy["hybrid"] == policy["ddp"] == [{"param_dtype": "torch.bfloat16", "reduce_dtype": "torch.float32"}]
    assert policy["stay"] == []
    synced = {way: "set_requires_gradient_sync(micro == 2)" in text for way, text in code.items()}
    assert [way for way, once in synced.items() if once] == ["often", "zero1"]
    whole = [way for way, text in code.items() if "set_reshard_after_backward(micro == 2)" in text]
    assert whole == ["zero1", "zero2"]
    assert [way for way, text in code.items() if calls(text, "set_modules_to_backward_prefetch")] == ["needed"]


@pytest.mark.parametrize("way", ["gpipe", "1f1b", "thin", "zero-bubble", "zbv", "three"])
def test_a_pipeline_has_the_schedule_the_stages_and_the_microbatches_of_the_step(way):
    parallel = WAYS[way][2]
    trace = step(*WAYS[way])
    code = trace.script()
    pipe = parallel.pipeline if hasattr(parallel, "pipeline") else parallel
    found = {
        "gpipe": "ScheduleGPipe",
        "1f1b": "Schedule1F1B",
        "interleaved": "ScheduleInterleaved1F1B",
        "zero-bubble": "ScheduleInterleavedZeroBubble",
        "zbv": "ScheduleZBVZeroBubble",
        "dualpipe-v": "ScheduleDualPipeV",
    }
    (schedule,) = calls(code, found[pipe.schedule])
    assert schedule["n_microbatches"] == str(trace.request.accumulate)
    tree = ast.parse(code)
    set_ = [node for node in tree.body if isinstance(node, ast.Assign)]
    made = {ast.unparse(node.targets[0]): ast.unparse(node.value) for node in set_}
    stages = ast.literal_eval(made["STAGES"])
    assert [past - first for first, past in stages] == [4 // len(stages)] * len(stages)
    held = [eval(made["mine"], {"mesh": Mesh(rank)}) for rank in range(pipe.size)]
    assert sorted(number for numbers in held for number in numbers) == list(range(len(stages)))
    assert [next(r for r, numbers in enumerate(held) if s in numbers) for s in range(len(stages))] == pipe.stage_ranks


class Mesh:
    """A rank along the pipeline."""

    def __init__(self, rank):
        self.rank = rank

    def get_local_rank(self, way):
        assert way == "pp"
        return self.rank


@pytest.mark.parametrize(
    "model", [*(cs.model(n) for n in ("gpt2", "gpt3-175b", "llama3-8b", "llama2-70b")), GPT, LLAMA]
)
def test_the_sizes_of_a_decoder_are_read_back_from_its_layers(model):
    assert read_decoder_shape(model).build_model(padded=not model.layers[-1].width).layers == model.layers


def test_a_sample_shorter_than_the_table_of_positions_is_read_back_too():
    assert read_decoder_shape(cs.model("gpt2", seq=128)).positions == 1024
    assert read_decoder_shape(cs.model("gpt2", seq=128)).seq == 128


@pytest.mark.parametrize("name", ["resnet18", "bert-base", "qwen3-30b-a3b", "deepseek-v3"])
def test_other_models_have_no_sizes_of_a_decoder(name):
    assert read_decoder_shape(cs.model(name)) is None


@pytest.mark.parametrize(
    ("model", "way", "why"),
    [
        (LLAMA, cs.context(2), "context_parallel is a prototype"),
        ("gpt-oss-20b", cs.expert(2) * cs.zero(1), "no module for experts"),
        ("bert-base", cs.tensor(2), "it knows the layers of cs.train.transformer alone"),
    ],
)
def test_what_torch_or_the_script_cannot_do_is_refused(model, way, why):
    trace = cs.training_step(model, BOX, parallel=way, ranks=[0, 1], micro_batch=1, recompute="full", memory="999GB")
    with pytest.raises(cs.CollsimError, match=why):
        trace.script()


@pytest.mark.parametrize(
    ("way", "sizes", "why"),
    [
        (cs.tensor(4), {"kv_heads": 2}, "kv_heads=2 cannot be shared evenly by 4 GPUs"),
        (cs.tensor(4), {"kv_heads": 2, "head_dim": 16, "h": 48, "heads": 6}, "of .*: heads=6 cannot"),
        (cs.tensor(4, sequence=True), {"seq": 15}, "seq=15 cannot"),
    ],
)
def test_parts_of_heads_and_of_sequences_are_refused(way, sizes, why):
    given = {"h": 64, "layers": 2, "heads": 4, "seq": 16, "vocab": 300} | sizes
    trace = step(4, cs.train.transformer(given.pop("h"), given.pop("layers"), given.pop("heads"), **given), way, {})
    with pytest.raises(cs.CollsimError, match=why):
        trace.script()


# ---- where torch is installed ---------------------------------------------------------------------------------------

#: Collectives of one step by kind, and bytes of what is gathered and of what is reduced.
COUNT = """
from collections import Counter
from torch.utils._python_dispatch import TorchDispatchMode


class Sent(TorchDispatchMode):
    counts = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.__name__.split(".")[0]
        if func.namespace == "c10d":
            whole = args[1] if name == "_reduce_scatter_base_" else args[0]
            whole = whole if torch.is_tensor(whole) else whole[0]
            self.counts[name] += 1
            self.counts[name + "bytes"] += whole.numel() * whole.element_size()
        return func(*args, **(kwargs or {}))


step()
with Sent() as sent:
    step()
for r in range(n):
    dist.barrier()
    print(f"SENT {rank} {dict(sent.counts)}" if r == rank else "", flush=True)
first = one_step()"""


def run(path, processes):
    pytest.importorskip("torch", reason="torch is not installed")
    line = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    done = subprocess.run(
        [*line, str(path), "--steps", "2"],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("way", WAYS)
def test_processes_run_the_script_of_a_product(way, tmp_path):
    trace = step(*WAYS[way])
    said = run(trace.save(tmp_path / "step.py"), WAYS[way][0])
    assert f"{WAYS[way][0]} processes, gloo" in said
    assert re.search(r"first step [\d.]+ ms, then [\d.]+ ms", said)


@pytest.mark.parametrize("recompute", ["none", "full", "alternate"])
def test_tensor_parallelism_cuts_the_blocks_that_are_computed_again_too(recompute, tmp_path):
    """torch warns of a plan that finds no module, and leaves the block whole on every GPU."""
    path = tmp_path / "step.py"
    held = "print(f'HELD {sum(p.to_local().numel() for p in model.blocks.parameters() if hasattr(p, \"to_local\"))}')"
    code = step(2, LLAMA, cs.tensor(2), {"recompute": recompute}).script()
    path.write_text(code.replace("first = one_step()", f"{held}\nfirst = one_step()"))
    matrices = 4 * (64 * 64 + 2 * 64 * 32 + 64 * 64 + 3 * 64 * 128)
    assert f"HELD {matrices // 2}" in run(path, 2)


@pytest.mark.parametrize("way", ["fsdp", "stay", "hybrid", "often", "zero1", "zero2", "zero3", "ddp"])
def test_torch_sends_as_many_collectives_and_bytes_as_the_step(way, tmp_path):
    trace = step(*WAYS[way])
    path = tmp_path / "step.py"
    path.write_text(trace.script().replace("first = one_step()", COUNT))
    found = ast.literal_eval(re.search(r"SENT 0 (.*)", run(path, WAYS[way][0])).group(1))
    names = {"allgather": "_allgather_base_", "reduce_scatter": "_reduce_scatter_base_", "allreduce": "allreduce_"}
    ours = Counter()
    for task in trace.step.tasks:
        if not task.is_compute:
            ours[names[task.kind]] += 1
            ours[names[task.kind] + "bytes"] += task.nbytes
    if way in ("zero1", "zero2", "ddp"):  # buckets of DeepSpeed and of DDP are not torch's units: the bytes are
        found, ours = ({k: v for k, v in one.items() if k.endswith("bytes")} for one in (found, dict(ours)))
    assert found == dict(ours)


@pytest.mark.parametrize(("way", "last"), [("tied", 2), ("tied-cut", 2), ("tied-sharded", 2)])
def test_both_ends_of_a_pipeline_send_what_the_step_sends(way, last, tmp_path):
    """Activations in the type of the computation, and an allreduce of the embedding's gradients: where replicas shard
    them torch adds up shards, the step (as Megatron-LM) all of them."""
    trace = step(*WAYS[way])
    path = tmp_path / "step.py"
    path.write_text(trace.script().replace("first = one_step()", COUNT))
    said = run(path, WAYS[way][0])
    found = {int(r): ast.literal_eval(sent) for r, sent in re.findall(r"SENT (\d+) (.*)", said)}
    lanes = trace.step.lanes
    (whole,) = [task for task in trace.step.tasks if task.name == "embedding" and task.kind == "allreduce"]
    for lane, rank in ((0, 0), (len(lanes) - 1, last)):
        hops = sum(t.nbytes for t in trace.step.tasks if t.kind == "send" and t.lanes[0] == lane)
        assert (found[rank]["sendbytes"], found[rank]["allreduce_"]) == (hops, 1)
        assert found[rank]["allreduce_bytes"] * (2 if way == "tied-sharded" else 1) == whole.nbytes
    assert way != "tied" or "allreduce_" not in found[1]


@pytest.mark.parametrize(
    ("way", "options", "why"),
    [
        (cs.pipeline(2) * cs.fsdp(), {"batch": 8}, "reduces after each microbatch"),
        (cs.pipeline(2) * cs.zero(2), {"batch": 8}, "reduces after each microbatch"),
        (cs.pipeline(2) * cs.zero(1), {"batch": 8}, None),
        (cs.pipeline(2) * cs.fsdp(no_sync=True), {"batch": 8}, "keeps weights"),
        (cs.tensor(2) * cs.ddp(overlap=False, bucket="1MiB"), {}, r"bucket and overlap of ddp\("),
        (cs.tensor(2) * cs.zero(2, overlap=False), {}, r"overlap of zero\(2"),
        (cs.tensor(2) * cs.zero(3, overlap=False), {}, None),
        (cs.tensor(2) * cs.pipeline(2, scatter=True), {"batch": 8}, "sends the whole"),
        (cs.tensor(2) * cs.ddp(), {}, None),
    ],
)
def test_a_script_says_what_torch_does_otherwise(way, options, why):
    code = step(4, LLAMA, way, options).script()
    assert ("Not as in collsim's step" in code) == (why is not None)
    assert why is None or re.search(why, code)
    if "zero(3" in way.label:
        assert calls(code, "set_modules_to_backward_prefetch")


def test_processes_run_several_schedules_of_one_pipeline(tmp_path):
    made = cs.train.time_schedules(2, 4)
    path = tmp_path / "pipelines.py"
    path.write_text(write_pipeline_script([pipe for pipe, _ in made.values()], 4))
    said = run(path, 2)
    assert re.findall(r"^(Schedule\w+): [\d.]+ ms", said, re.MULTILINE) == [
        "ScheduleGPipe",
        "Schedule1F1B",
        "ScheduleInterleaved1F1B",
        "ScheduleInterleavedZeroBubble",
        "ScheduleZBVZeroBubble",
        "ScheduleDualPipeV",
    ]
