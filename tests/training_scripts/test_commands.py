"""Command lines: who starts how many processes, and what their options mean to the script."""

import json

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.training_scripts import predict_step, read_script
from collsim.training_scripts.commands import read_command_line

EXAMPLE = "python main.py -b 512 --dist-backend nccl -a resnet18 imagenet/"


@pytest.mark.parametrize(
    ("text", "launcher", "nodes", "ranks"),
    [
        ("python train.py", "python", 1, 1),
        ("torchrun --nproc_per_node=8 train.py", "torchrun", 1, 8),
        ("torchrun --nnodes 2 --nproc-per-node 4 --rdzv-backend c10d train.py --lr 0.1", "torchrun", 2, 4),
        ("torchrun --nnodes=1:4 --nproc_per_node=gpu train.py", "torchrun", 1, None),
        (
            "CUDA_VISIBLE_DEVICES=0,1 python3 -m torch.distributed.launch --nproc_per_node 2 train.py",
            "torch.distributed.launch",
            1,
            2,
        ),
        ("mpirun -np 16 -H a:8,b:8 -x NCCL_DEBUG=INFO python train.py", "mpirun", 1, 16),
        ("srun -N 4 --ntasks-per-node=8 python train.py", "srun", 4, 8),
        ("horovodrun -np 4 python train.py", "horovodrun", 1, 4),
        ("srun -n16 --gres=gpu:8 --ntasks-per-node=8 python train.py", "srun", 2, 8),
        ("accelerate launch --num_processes 16 --num_machines 2 train.py", "accelerate", 2, 8),
        ("deepspeed --num_nodes 2 --num_gpus 8 train.py --deepspeed_config ds.json", "deepspeed", 2, 8),
        ("python -u -m torch.distributed.launch --nproc_per_node=2 train.py", "torch.distributed.launch", 1, 2),
        ("nohup torchrun --nproc_per_node=8 train.py > log.txt 2>&1 &", "torchrun", 1, 8),
        ("python3.10 -m accelerate.commands.launch --num_processes=2 train.py", "accelerate", 1, 2),
    ],
)
def test_a_launcher_and_its_processes(text, launcher, nodes, ranks):
    command = read_command_line(text)
    assert (command.launcher, command.script, command.nodes, command.ranks_per_node) == (
        launcher,
        "train.py",
        nodes,
        ranks,
    )


@pytest.mark.parametrize(
    "text", ["", "python", "torchrun --nproc_per_node=8", "python -c 'print(1)'", "python 'unclosed"]
)
def test_a_command_without_a_script_is_refused(text):
    with pytest.raises(cs.CollsimError):
        read_command_line(text)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (EXAMPLE, ["ignored_backend"]),
        (EXAMPLE.replace("nccl", "'gloo'"), ["ignored_backend"]),
        (EXAMPLE + " --multiprocessing-distributed --world-size 1 --rank 0 --dist-url tcp://127.0.0.1:1", []),
        (EXAMPLE.replace("nccl", "“nccl”"), ["ignored_backend", "typographic_marks"]),
        (EXAMPLE.replace("nccl", "ncll"), ["unknown_backend"]),
        ("python -m torch.distributed.launch --nproc_per_node 2 train.py", ["old_launcher"]),
        ("torchrun --nproc_per_node=8 train.py --backend nccl", []),
        ("python train.py", []),
        ("nohup torchrun --nproc_per_node=8 train.py > log.txt 2>&1 &", []),
        ("torchrun train.py --nproc_per_node=8", ["option_behind_script"]),
    ],
)
def test_mistakes_of_a_command(text, keys):
    assert sorted(finding.key for finding in read_script(text).findings) == keys


def test_a_command_on_a_machine_is_the_training_step_that_it_is():
    part = read_script(EXAMPLE).parts[0]
    step = predict_step(part, "rtx4090-8gpu")
    same = cs.training_step("resnet18", "rtx4090-8gpu", parallel=cs.data_parallel(), batch=512, optimizer="sgd")
    assert step.time == same.time
    assert step.gradient_bytes == 11_689_512 * 4  # torchvision's parameters of resnet18
    spread = read_script(EXAMPLE + " --multiprocessing-distributed").parts[0]
    ddp = cs.training_step("resnet18", "rtx4090-8gpu", parallel=cs.ddp(), batch=512, optimizer="sgd")
    assert predict_step(spread, "rtx4090-8gpu").time == ddp.time


def test_a_script_with_its_own_layers_is_one_allreduce():
    source = (
        "import torch.nn as nn\nfrom torch.nn.parallel import DistributedDataParallel as D\nm = D(nn.Linear(100, 10))\n"
    )
    part = read_script(source).parts[0]
    assert part.parameters == 1010
    step = predict_step(part, "dgx-a100")
    assert step.time == cs.nccl.predict("allreduce", "dgx-a100", 4040).time
    assert predict_step(read_script("import torch\nloss.backward()\n").parts[0], "dgx-a100") is None


def test_the_command_prints_what_python_says(tmp_path):
    file = tmp_path / "run.sh"
    file.write_text(EXAMPLE + "\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["read-script", str(file), "--machine", "dgx-a100", "--json"])
    document = json.loads(result.output)
    step = document.pop("steps")["0"]
    assert result.exit_code == 0
    assert document == read_script(EXAMPLE).to_dict()
    assert step["time"] == predict_step(read_script(EXAMPLE).parts[0], "dgx-a100").time


def test_the_command_ends_with_1_and_writes_the_corrected_script(tmp_path):
    source = "import torch\nmodel = torch.nn.DataParallel(torch.nn.Linear(1, 1), device_ids=[0])\n"
    file, out = tmp_path / "train.py", tmp_path / "fixed.py"
    file.write_text(source, encoding="utf-8")
    result = CliRunner().invoke(app, ["read-script", str(file), "-o", str(out)])
    assert result.exit_code == 1
    assert out.read_text(encoding="utf-8") == read_script(source).parts[0].corrected
    assert ".to(0)" in out.read_text(encoding="utf-8")
    assert CliRunner().invoke(app, ["read-script", "-"], input=EXAMPLE).exit_code == 0


@pytest.mark.parametrize(
    ("language", "count", "each"), [("en", "processes: 16", "the script, too"), ("zh", "进程：16", "脚本也贴上")]
)
def test_a_command_with_a_launcher_says_how_many_processes_it_starts_and_nothing_of_a_script_that_it_does_not_show(
    language, count, each
):
    part = read_script("torchrun --nnodes 2 --nproc_per_node 8 train.py").parts[0]
    assert count in part.describe(language)
    assert each in part.describe(language)
    assert "--nproc_per_node=<" not in part.describe(language)
    script = "import torch.distributed as dist\ndist.init_process_group('nccl')\nloss.backward()\n"
    assert "--nproc_per_node=<" in read_script(script).parts[0].describe(language)
