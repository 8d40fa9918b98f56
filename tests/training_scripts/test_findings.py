"""Right scripts have no finding; every mistake is found at its line, and the corrected script has it no more."""

import contextlib
import json
import time

import pytest
from correct_scripts import CORRECT, DATA, MODELS, STARTS
from sampling import keep_fast, sample

import collsim as cs
from collsim.training_scripts import read_script

RIGHT = STARTS["torchrun"] + MODELS["moved"] + DATA["sampler"]


def find_keys(source):
    return [finding.key for finding in read_script(source).findings]


@pytest.mark.parametrize("name", CORRECT)
def test_a_right_script_has_no_finding(name):
    assert find_keys(CORRECT[name]) == []


MISTAKES = {
    "model_on_cpu": (".to(device)\nmodel = DDP", "\nmodel = DDP", "model = DDP(model)"),
    "no_set_device": (
        'torch.cuda.set_device(local_rank)\ndevice = torch.device("cuda", local_rank)',
        'device = torch.device("cuda")',
        "init_process_group",
    ),
    "one_gpu": ("set_device(local_rank)", "set_device(0)", "set_device(0)"),
    "rank_as_device": ("set_device(local_rank)", "set_device(dist.get_rank())", "get_rank())"),
    "no_sampler": ("sampler=sampler", "shuffle=True", "shuffle=True"),
    "shuffle_with_sampler": ("sampler=sampler", "sampler=sampler, shuffle=True", "sampler=sampler, shuffle"),
    "no_set_epoch": ("    sampler.set_epoch(epoch)\n", "", "for epoch"),
    "no_zero_grad": ("        optimizer.zero_grad()\n", "", "loss.backward()"),
    "bypassed_wrapper": ("model(inputs", "model.module(inputs", "model.module"),
    "absent_gradient_call": (
        "        loss.backward()\n",
        "        loss.backward()\n        dist.reduce_grad(model.parameters())\n",
        "reduce_grad",
    ),
    "unknown_backend": ('"nccl"', '"ncll"', "ncll"),
    "no_group": ('dist.init_process_group(backend="nccl")\n', "", "model = DDP(model)"),
    "absent_call": ("sampler = Dist", "dist.allreduce(torch.ones(1).cuda())\nsampler = Dist", "dist.allreduce"),
    "tensor_on_cpu": (
        "sampler = Dist",
        "total = torch.ones(1)\ndist.all_reduce(total)\nsampler = Dist",
        "all_reduce(total",
    ),
}


@pytest.mark.parametrize("key", MISTAKES)
def test_a_mistake_is_found_at_its_line_and_fixed(key):
    old, new, where = MISTAKES[key]
    source = RIGHT.replace(old, new)
    assert source != RIGHT
    part = read_script(source).parts[0]
    assert [finding.key for finding in part.findings] == [key]
    assert where in source.splitlines()[part.findings[0].line - 1]
    if part.findings[0].edits:
        assert find_keys(part.corrected) == []
        assert part.corrected != source
    else:
        assert key in ("unknown_backend", "absent_call", "no_group")


def test_a_local_rank_that_holds_the_global_one_is_wrong_once():
    source = RIGHT.replace('int(os.environ["LOCAL_RANK"])', "dist.get_rank()")
    part = read_script(source).parts[0]
    assert [(finding.key, finding.line) for finding in part.findings] == [("rank_as_device", 9)]
    assert part.corrected == RIGHT


def test_gloo_sends_no_tensors_of_gpus():
    source = (
        "import torch\nimport torch.distributed as dist\ndist.init_process_group('gloo')\nx = torch.ones(4).cuda()\n"
    )
    assert find_keys(source + "dist.all_reduce(x)\n") == []
    assert find_keys(source + "dist.send(x, 1)\ndist.recv(x, 0)\n") == ["gloo_gpu_send"] * 2
    assert find_keys((source + "dist.send(x, 1)\n").replace("gloo", "nccl")) == []
    assert find_keys((source + "dist.send(x, 1)\n").replace(".cuda()", "")) == []


def test_a_function_that_nothing_calls_averages_nothing():
    averaging = "def average(model):\n    for p in model.parameters():\n        dist.all_reduce(p.grad)\n"
    source = (
        f"import torch, torch.distributed as dist\n{averaging}dist.init_process_group('gloo')\n"
        "m = torch.nn.Linear(1, 1)\no = torch.optim.SGD(m.parameters(), 0.1)\n"
        "for x in range(3):\n    o.zero_grad()\n    m(torch.ones(1)).backward()\n    o.step()\n"
    )
    assert find_keys(source) == ["no_synchronization"]
    assert find_keys(source.replace("    o.step", "    average(m)\n    o.step")) == []


def test_nccl_on_a_cpu_is_one_mistake():
    source = (
        "import torch, torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        "dist.init_process_group('nccl')\nm = DDP(torch.nn.Linear(1, 1).to('cpu'))\n"
    )
    assert find_keys(source) == ["nccl_on_cpu"]


def test_a_notebook_is_read_as_the_code_of_its_cells():
    wrong = RIGHT.replace("        optimizer.zero_grad()\n", "")
    half = wrong.index("sampler = Dist")
    sources = ["%%time\n" + wrong[:half], wrong[half:], "!torchrun --nproc_per_node=4 train.py"]
    cells = [{"cell_type": "code", "source": text.splitlines(keepends=True)} for text in sources]
    cells.insert(0, {"cell_type": "markdown", "source": ["# DDP"]})
    reading = read_script(json.dumps({"cells": cells, "nbformat": 4}))
    assert [finding.key for finding in reading.findings] == ["no_zero_grad"]
    assert [part.ranks for part in reading.parts if part.is_command] == [4]


@pytest.mark.parametrize("text", ['{"cells": 1}', '{"cells": [{}]}', '{"cells": [', '{"cells": ' + "[" * 50_000])
def test_a_damaged_notebook_is_no_notebook(text):
    with contextlib.suppress(cs.CollsimError):  # it is Python without calls, or refused; never another error
        assert read_script(text).findings == ()


def test_names_in_a_circle_and_a_text_of_ranks_end():
    head = "import torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\n"
    circle = "local_a = f'{local_b}'\nlocal_b = f'{local_a}'\nlocal_rank = rank\nrank = local_rank\n"
    assert find_keys(head + circle + "torch.cuda.set_device(local_a)\ntorch.cuda.set_device(local_rank)\n") == []
    part = read_script(head + "device = f'cuda:{dist.get_rank()}'\ntorch.cuda.set_device(device)\n").parts[0]
    assert [(finding.key, finding.line) for finding in part.findings] == [("rank_as_device", 4)]
    assert "device = f'cuda:{local_rank}'" in part.corrected
    assert read_script(part.corrected).findings == ()


def test_what_articles_do_with_data_parallel_and_a_group():
    source = (
        "import torch\nimport torch.nn as nn\ntorch.distributed.init_process_group(backend='nccl')\n"
        "model = nn.Linear(10, 1)\nmodel = nn.DataParallel(model, device_ids=[0, 1])\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nx = torch.rand(1, 10).cuda()\n"
        "loss = model(x).sum()\nloss.backward()\noptimizer.step()\nprint('Training completed.')\n"
    )
    part = read_script(source).parts[0]
    assert part.parallelism == "DataParallel"
    assert [(f.key, f.line) for f in part.findings] == [
        ("unused_group", 3),
        ("model_on_cpu_data_parallel", 5),
        ("batch_of_one", 7),
    ]
    assert "init_process_group" not in part.corrected
    assert find_keys(part.corrected) == ["batch_of_one"]


def test_a_group_without_any_use_leaves_models_different():
    source = STARTS["torchrun"] + "model = nn.Linear(1, 1).to(device)\n" + DATA["made in the loop"]
    assert find_keys(source) == ["no_synchronization"]


def test_a_source_without_line_breaks_or_indentation_is_put_back():
    flat = "\n".join(line.strip() for line in CORRECT["one GPU"].splitlines())
    part = read_script(flat).parts[0]
    assert part.was_restored
    assert part.findings == ()
    one_line = " ".join(line.strip() for line in (STARTS["torchrun"] + MODELS["moved"]).splitlines()[1:3])
    assert read_script(one_line + " # 创建模型 model = torch.nn.Linear(1, 1)").parts[0].source.count("\n") == 4


def test_an_article_is_read_block_by_block():
    article = (
        "# 标题\n先初始化：\n```python\nimport torch.distributed as dist\ndist.init_process_group('nccl')\n```\n然后训练：\n"
        "```python\nimport torch\nmodel = torch.nn.DataParallel(torch.nn.Linear(1, 1).cuda())\n```\n运行命令如下：\n"
        "python main.py -b 512 --dist-backend nccl -a resnet18 imagenet/\n完成。\n"
    )
    reading = read_script(article)
    assert [part.is_command for part in reading.parts] == [False, True]
    assert [finding.key for finding in reading.findings] == ["unused_group", "ignored_backend"]
    assert reading.is_right  # both are notes


@pytest.mark.parametrize("finding", read_script(RIGHT.replace('"nccl"', '"ncll"')).findings)
def test_a_finding_has_its_words_in_both_languages(finding):
    for language in ("en", "zh"):
        assert "ncll" in finding.text(language)
        assert "{" not in finding.text(language) + finding.reason(language)


def test_every_key_of_a_finding_has_its_texts():
    from collsim.locale import LANGUAGES, load_messages

    keys = [*MISTAKES, "unused_group", "model_on_cpu_data_parallel", "batch_of_one", "no_synchronization", "no_loader"]
    keys += ["ignored_backend", "old_launcher", "typographic_marks", "nccl_on_cpu", "rank_as_node"]
    for language in LANGUAGES[:2]:
        messages = load_messages(language, "scripts")
        assert [key for key in keys if not {f"{key}.text", f"{key}.reason"} <= messages.keys()] == []


@pytest.mark.parametrize(
    "source",
    [
        "",
        "今天天气很好。",
        "def f(:\n",
        "(" * 5000,
        "-" * 100_000 + "1",
        "x = " + "f(" * 3000 + ")" * 3000,
        "a." * 50_000 + "b",
        "\x00",
        "x" * 200_001,
        "```python\n" * 3000,
        "\n" * 200_000,
        "A=1 " * 50_000,
        "\\\n" * 60_000 + "“",
    ],
)
def test_what_is_no_script_or_has_no_end_is_refused(source):
    with pytest.raises(cs.CollsimError):
        read_script(source)


@pytest.mark.parametrize("source", [RIGHT.replace("    ", "\t"), DATA["made in the loop"]])
def test_a_loop_on_one_line_is_not_fixed_in_front_of_it(source):
    loop = "for epoch in range(3): loss.backward(); optimizer.step()\n"
    part = read_script("import torch\n" + loop).parts[0]
    assert [finding.key for finding in part.findings] == ["no_zero_grad"]
    assert part.corrected == part.source
    assert read_script(source).parts[0].findings == ()


def test_a_line_of_an_article_that_starts_no_script_is_passed_over():
    article = "先看版本：\npython --version\n再运行：\npython main.py -a resnet18 --dist-backend nccl d/\n完成。\n"
    assert [part.model for part in read_script(article).parts] == ["resnet18"]
    with pytest.raises(cs.CollsimError, match="starts no script"):
        read_script("python --version")


def test_numbers_without_end_are_no_sizes():
    number = "9" * 4_000
    source = f"import torch\nm = torch.nn.DataParallel(torch.nn.Linear({number}, {number}).cuda())\n"
    source += f"loader = torch.utils.data.DataLoader(d, batch_size={number})\n"
    part = read_script(source).parts[0]
    assert (part.parameters, part.batch) == (0, None)
    assert part.describe("zh")
    with pytest.raises(cs.CollsimError, match="cannot be read"):
        read_script(source.replace(number, "0x" + "f" * 6_000))
    assert read_script(f"torchrun --nproc_per_node=²³ train.py -b {'9' * 3000}").parts[0].batch is None


@pytest.mark.parametrize(
    "line", sample(["x = torch.randn(2)\n", "x = m.to(x)\n", "loss.backward()\n    opt.step()\n"], 1)
)
def test_a_long_loop_is_read_once_and_not_for_each_line(line):
    head = "import torch\nimport torch.nn as nn\ntorch.distributed.init_process_group('nccl')\n"
    head += "model = nn.parallel.DistributedDataParallel(Net().cuda())\n"
    start = time.process_time()
    read_script(head + "x = torch.randn(2)\n" * 3_000 + "for i in d:\n" + f"    {line}" * 3_000)
    assert time.process_time() - start < 20  # it was minutes where each line read the loop again


@pytest.mark.parametrize(
    "line",
    keep_fast(["dist.reduce_grad()\n", "DDP(model)\n", "DataLoader(data)\n", "loss.backward()\n"], ["DDP(model)\n"]),
)
def test_thousands_of_mistakes_take_no_longer_than_their_lines(line):
    head = (
        "import torch\nimport torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
    )
    head += "from torch.utils.data import DataLoader\ndist.init_process_group('nccl')\nmodel = DDP(Net())\n"
    part = read_script(head + line * 8_000).parts[0]
    assert len(part.findings) < 100
    assert len(part.corrected) < 400_000


def test_nothing_of_a_script_runs(tmp_path):
    target = tmp_path / "touched"
    read_script(f"import os\nopen({str(target)!r}, 'w')\n__import__('os').mkdir({str(target)!r})\n")
    assert not target.exists()


def test_a_script_in_a_file_is_a_path_and_a_text_is_never_opened(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(RIGHT, encoding="utf-8")
    assert read_script(file) == read_script(RIGHT)
    with pytest.raises(cs.CollsimError, match="is the name of a file"):
        read_script(str(file))


FSDP_SCRIPT = """import os
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
model = FSDP(Net().cuda())
"""


@pytest.mark.parametrize(
    ("tail", "line"),
    [
        ("if local_rank == 0:\n    torch.save(model.state_dict(), 'a.pt')\n", 10),
        ("if dist.get_rank() == 0:\n    state = FSDP.optim_state_dict(model, optimizer)\n", 10),
        ("def save(model):\n    torch.save(model.state_dict(), 'a.pt')\nif local_rank == 0:\n    save(model)\n", 12),
        ("state = model.state_dict()\nif local_rank == 0:\n    torch.save(state, 'a.pt')\n", None),
        ("if local_rank == 0:\n    torch.save(optimizer.state_dict(), 'a.pt')\n", None),
    ],
)
def test_the_state_of_a_model_in_fsdp_is_gathered_by_all_ranks(tail, line):
    findings = [finding for finding in read_script(FSDP_SCRIPT + tail).findings if finding.severity == "fails"]
    assert [finding.line for finding in findings] == [line] * (line is not None)
    assert all(finding.key == "state_on_some_ranks" for finding in findings)
    unsharded = FSDP_SCRIPT.replace("from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n", "")
    unsharded = unsharded.replace("FSDP(Net().cuda())", "Net().cuda()") + tail.replace("FSDP.", "x.")
    assert "state_on_some_ranks" not in find_keys(unsharded)


@pytest.mark.parametrize(
    ("option", "batch"),
    [
        ('"--batch-size", "-b", type=int, default=48', 48),
        ('"-b", "--train-batch", dest="batch_size", default=48', 48),
        ('"--batch-size", type=int', None),
        ('"--other", default=48', None),
    ],
)
def test_the_batch_of_a_loader_may_be_the_default_of_an_option(option, batch):
    source = f"""import argparse
from torch.utils.data import DataLoader
parser = argparse.ArgumentParser()
parser.add_argument({option})
options = parser.parse_args()
size = options.batch_size
loader = DataLoader(data, batch_size=size)
loss.backward()
"""
    assert read_script(source).parts[0].batch == batch
    assert read_script(source.replace("size = ", "options.batch_size //= 2\nsize = ")).parts[0].batch is None
