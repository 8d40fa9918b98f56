"""Command lines: who starts how many processes, and what their options mean to the script."""

import json
import time

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.training_scripts import predict_step, read_script
from collsim.training_scripts.commands import find_command_lines, read_command_line

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
        ("mpirun -np 16 -H a:8,b:8 -x NCCL_DEBUG=INFO python train.py", "mpirun", 2, 8),
        ("mpirun -np 16 python train.py", "mpirun", 1, 16),
        ("mpirun --map-by ppr:4:node -np 8 --bind-to none python train.py", "mpirun", 2, 4),
        ("mpiexec -n 16 -ppn 8 python train.py", "mpiexec", 2, 8),
        ("horovodrun -np 16 -H a:4,b:4,c:4,d:4 python train.py", "horovodrun", 4, 4),
        ("jsrun -n 12 -a 1 -c 7 -g 1 -r 6 python train.py", "jsrun", 2, 6),
        ("jsrun -n12 -r6 -a2 python train.py", "jsrun", 2, 12),
        ("srun -N 2 --ntasks-per-node=1 torchrun --nnodes=$SLURM_NNODES --nproc_per_node=8 train.py", "torchrun", 2, 8),
        ("srun -N 2 --ntasks-per-node=8 apptainer exec --nv img.sif python train.py", "srun", 2, 8),
        ("docker run --gpus all --rm img:2 torchrun --nproc_per_node=8 train.py", "torchrun", 1, 8),
        ("docker run --name python img mpirun -np 4 python train.py", "mpirun", 1, 4),
        ("singularity exec --nv torch.sif python train.py", "python", 1, 1),
        ("kubectl exec -it pod-0 -c main -- torchrun --nproc_per_node 4 train.py", "torchrun", 1, 4),
        ('bsub -n 16 -R "span[ptile=8]" mpirun -np 16 -ppn 8 python train.py', "mpirun", 2, 8),
        ('bash -c "cd /app && torchrun --nproc_per_node=8 train.py"', "torchrun", 1, 8),
        ("docker exec c1 bash -lc 'source /opt/env.sh; deepspeed --num_gpus 8 train.py'", "deepspeed", 1, 8),
        ('ssh node1 "cd app; python train.py"', "python", 1, 1),
        ('sbatch --wrap="srun -n 16 -N 2 python train.py"', "srun", 2, 8),
        ("nsys profile -o out torchrun --nproc_per_node=2 train.py", "torchrun", 1, 2),
        (
            "torchrun --nnodes $(wc -l < hosts) --master_port $(python port.py) --nproc_per_node 8 train.py",
            "torchrun",
            1,
            8,
        ),
        ("torchrun --nproc_per_node `nvidia-smi -L | wc -l` train.py | tee log.txt", "torchrun", 1, None),
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
    ("text", "environment"),
    [
        ("docker run -e NCCL_DEBUG=INFO --env=A=1 img python train.py", {"NCCL_DEBUG": "INFO", "A": "1"}),
        ("export NCCL_P2P_DISABLE=1 && B=2 python train.py", {"NCCL_P2P_DISABLE": "1", "B": "2"}),
        ("env -u X lower=1 python train.py --x=3", {"lower": "1"}),
        ("mpirun -np 2 -x PATH -x NCCL_ALGO=Ring python train.py", {"NCCL_ALGO": "Ring"}),
    ],
)
def test_variables_in_front_of_a_command_are_its_environment(text, environment):
    assert read_command_line(text).environment == environment


def test_a_command_inside_others_is_found_in_a_text_and_a_sentence_is_none():
    command = "docker run --gpus all img \\\n  torchrun --nproc_per_node=8 \\\n  train.py"
    text = f"time flies like python in the night\n\n$ {command}\nssh is not python\n"
    assert find_command_lines(text) == ["docker run --gpus all img  torchrun --nproc_per_node=8  train.py"]


@pytest.mark.parametrize("unit", ["docker x ", "A=1 ", "\\\n", "docker run .py ", "time .py\n", "$(", "`(", "srun "])
def test_hostile_text_is_read_at_once(unit):
    text = unit * (200_000 // len(unit))
    before = time.process_time()
    assert find_command_lines(text) == []
    with pytest.raises(cs.CollsimError):
        read_command_line(text)
    assert time.process_time() - before < 2


@pytest.mark.parametrize(
    "text",
    [
        *("", "python", "torchrun --nproc_per_node=8", "python -c 'print(1)'", "python 'unclosed"),
        *("docker run -it img bash", "docker build -t python .", "bash -c 'bash -c \"x\"'", "kubectl exec pod --"),
        *('bash -c "python \'unclosed"', "srun " * 9 + "python train.py"),
    ],
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


def test_a_command_for_several_nodes_has_as_many_of_a_machine_that_is_named():
    part = read_script("torchrun --nnodes 2 --nproc_per_node 8 train.py --arch resnet18 --batch-size 64").parts[0]
    step = predict_step(part, "dgx-a100")
    two = cs.machine("dgx-a100", nodes=2)
    same = cs.training_step("resnet18", two, parallel=cs.ddp(), batch=1024, optimizer="sgd")
    assert (step.gpus, step.batch, step.time) == (16, 1024, same.time)
    with pytest.raises(cs.CollsimError, match="ranks=16"):
        predict_step(part, cs.machine("dgx-a100"))


def test_what_a_command_says_is_printed_where_the_machine_is_too_small(tmp_path):
    file = tmp_path / "run.sh"
    file.write_text("torchrun --nnodes 2 --nproc_per_node 8 train.py --arch resnet18\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["read-script", str(file), "--machine", "switch(4)"])
    assert "processes: 16" in result.output
    assert result.exit_code != 0


def test_a_machine_that_does_not_exist_is_refused_where_nothing_trains(tmp_path):
    file = tmp_path / "run.sh"
    file.write_text("echo done\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["read-script", str(file), "--machine", "dgx-a101"])
    assert result.exit_code != 0
    assert isinstance(result.exception, cs.CollsimError) or "dgx-a100" in result.output


@pytest.mark.parametrize(
    ("head", "options", "ranks"),
    [
        ('GPUS=8\nNODES=2\nARGS="--nproc_per_node $GPUS --nnodes $NODES"\n', "$ARGS", 16),
        ("GPUS=8  # each node\nARGS=(\n  --nproc_per_node $GPUS\n  --nnodes 4\n)\n", "${ARGS[@]}", 32),
        ("export GPUS=${GPUS:-4}\n", "--nproc_per_node=${GPUS} --nnodes=${NODES:-2}", 8),
        ("GPUS=$(nvidia-smi -L | wc -l)\n", "--nproc_per_node=$GPUS", None),
        ("A=$B\nB=$A\n", "--nproc_per_node=$A", None),
        ('A="$A $A $A $A $A $A $A $A $A"\n', "$A", 1),
    ],
)
def test_variables_of_a_shell_script_are_put_in(head, options, ranks):
    (part,) = read_script(f"#!/bin/bash\n{head}torchrun {options} train.py --micro-batch-size 1\n").parts
    assert (part.launch, part.ranks, part.findings) == ("torchrun", ranks, ())


MEGATRON = (
    "torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 8 "
    "--pipeline-model-parallel-size 2 --micro-batch-size 1 --model gpt2"
)


def test_sizes_of_megatron_say_how_a_model_is_split_and_must_divide_the_processes():
    reading = read_script(MEGATRON)
    part = reading.parts[0]
    assert (part.tensor, part.pipeline, reading.is_right) == (8, 2, True)
    assert "over 8 GPUs and by pipeline parallelism into 2 stages" in part.describe()
    assert part.to_dict("zh")["pipeline"] == 2
    step = predict_step(part, "dgx-a100")
    whole = read_script(f"{MEGATRON} --global-batch-size 6").parts[0]
    assert (step.batch, predict_step(whole, "dgx-a100").batch) == (2, 6)
    assert step.trace.request.parallel.label == "tensor(8) * pipeline(2) * ddp()"
    (finding,) = read_script(MEGATRON.replace("--nnodes 4", "--nnodes 3")).findings
    assert (finding.key, finding.values) == ("split_of_other_ranks", {"ranks": 24, "gpus": 16})
    assert read_script("torchrun --nproc_per_node 8 train.py").parts[0].to_dict()["tensor"] == 1
