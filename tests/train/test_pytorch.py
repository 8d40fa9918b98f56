"""The PyTorch script of a step: it is Python, it says what the step is, and where torch is installed it runs."""

import ast
import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest

import collsim as cs

BOX = cs.machine("dgx-a100", nodes=2)


def step(parallel, machine=BOX, model="resnet18", **options):
    return cs.training_step(model, machine, parallel=parallel, micro_batch=options.pop("micro_batch", 4), **options)


WAYS = {
    "ddp": (cs.ddp(), {}),
    "cap": (cs.ddp(bucket="5MiB", accumulate=2), {"dtype": "bfloat16"}),
    "all": (cs.ddp(view=True, find_unused=True, broadcast_buffers=False, first="2MiB"), {"optimizer": "momentum"}),
    "caps": (cs.ddp(static_graph=True, first="2MiB", bucket="7MiB"), {"optimizer": "sgd"}),
    "hook": (cs.ddp(hook="fp16"), {}),
    "after": (cs.ddp(overlap=False, hook="bf16"), {"optimizer": "none"}),
    "first": (cs.ddp(), {"step": 1}),
}


def calls(code, name):
    """The keywords of each call of a function in a script."""
    found = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    named = [node for node in found if ast.unparse(node.func).split(".")[-1] == name]
    return [{k.arg: ast.unparse(k.value) for k in node.keywords} for node in named]


@pytest.mark.parametrize("way", WAYS)
def test_the_script_says_to_ddp_what_the_step_says(way):
    parallel, options = WAYS[way]
    code = step(parallel, **options).script()
    (said,) = calls(code, "DistributedDataParallel")
    assert ("gradient_as_bucket_view" in said) == parallel.view
    assert ("find_unused_parameters" in said) == parallel.find_unused
    assert ("static_graph" in said) == parallel.static_graph
    assert said.get("broadcast_buffers", "True") == str(parallel.broadcast_buffers)
    assert said.get("bucket_cap_mb") == ("5" if way == "cap" else None)
    assert said.get("bucket_cap_mb_list") == ("[2.0, 7.0]" if way == "caps" else None)
    assert ("_DEFAULT_FIRST_BUCKET_BYTES = 2097152" in code) == (way == "all")
    assert ("model.no_sync()" in code) == (way in ("cap", "after"))
    assert len(calls(code, "register_comm_hook")) == (way == "hook")
    assert len(calls(code, "init_process_group")) == 1
    assert all(len(line) <= 120 for line in code.splitlines() if not line.startswith("    print("))


def test_data_parallel_is_one_process_and_needs_no_group():
    t = step(cs.data_parallel(), cs.machine("dgx-a100"))
    code = t.script()
    assert len(calls(code, "DataParallel")) == 1
    assert not calls(code, "init_process_group")
    assert t.launch_lines() == "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 python step.py"


def test_a_module_with_the_same_tensors_is_in_the_script():
    model = cs.model("gpt2")
    names = {}
    tree = ast.parse(step(cs.ddp(), model="gpt2", micro_batch=1).script())
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("TENSORS", "USED"):
            exec(ast.unparse(node), names)
    assert [4 * n for n in names["TENSORS"]] == [size for size, _ in model.tensors]
    assert list(reversed(names["USED"])) == list(model.gradient_order)  # what is used last has its gradient first


NAMES = ['"""\nimport os\nos.system("true")\n"""', '") or print("', "a\\", 'b"', "c\u2028d\re", "{asked} %s \x1b[2J"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", [cs.ddp(), cs.data_parallel(), cs.fsdp(), cs.pipeline(2) * cs.zero(1)])
def test_a_name_that_came_from_somebody_else_is_text_in_a_script_and_no_code(name, way):
    """The script is what it is for a plain name, but for what stands between quotes and in comments."""

    def bare(called):
        net = replace(cs.topology.switch(2), name=called)
        model = cs.train.Model(called, [cs.train.Layer(k, (64, 64), flops=1e6) for k in "ab"])
        code = cs.training_step(model, net, parallel=way, batch=4, micro_batch=1, compute="1ms").script()
        assert not re.search("[^\n -~]", code)  # nothing that a terminal obeys or that ends a line
        tree = ast.parse(code)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                node.value = ""
        return ast.dump(tree)

    assert bare(name) == bare("plain")


def test_torchrun_is_started_once_on_a_node_and_tcp_once_for_a_process():
    t = step(cs.ddp())
    assert t.launch_lines() == (
        "torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint FIRST_NODE:29500 --nproc-per-node 8 step.py"
    )
    lines = [line for line in t.launch_lines("tcp://").splitlines() if line.startswith("python")]
    assert [re.findall(r"--local-rank (\d+) --rank (\d+)", line)[0] for line in lines] == [
        (str(r % 8), str(r)) for r in range(16)
    ]
    assert all("--init tcp://FIRST_NODE:29500 --world-size 16" in line for line in lines)
    one = step(cs.ddp(), cs.machine("dgx-a100"), ranks=4)
    assert one.launch_lines() == "torchrun --standalone --nproc-per-node 4 step.py"
    with pytest.raises(cs.CollsimError, match="tcp://"):
        t.launch_lines("file://")


def test_what_pytorch_has_no_module_for_is_refused(tmp_path):
    with pytest.raises(cs.CollsimError, match="no module"):
        step(cs.parameter_server()).save(tmp_path / "step.py")
    assert not list(tmp_path.iterdir())


def run(path, *words, processes=2):
    line = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    done = subprocess.run(
        [*line, str(path), "--same-tensors", "--steps", "4", "--batch", "1", *words],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("way", WAYS)
def test_two_processes_run_it_and_ddp_makes_the_buckets_that_collsim_says(way, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    parallel, options = WAYS[way]
    small = cs.train.transformer(64, 2, 2, seq=16, vocab=30000)
    path = step(parallel, cs.machine("dgx-a100"), small, ranks=[0, 1], **options).save(tmp_path / "step.py")
    said = run(path)
    assert "2 processes, gloo" in said
    if way != "after":  # without overlap DDP sends nothing itself
        made, ours = (re.findall(rf"buckets by {who}: +([\d, ]+) B", said)[0] for who in ("DDP", "collsim"))
        assert made == ours
