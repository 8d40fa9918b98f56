"""Scripts as people publish them have no finding; with one mistake put in they have exactly that one."""

from pathlib import Path

import pytest

from collsim.training_scripts import read_script

SCRIPTS = {
    path.stem: path.read_text(encoding="utf-8")
    for path in sorted(Path(__file__).with_name("right_scripts").glob("*.txt"))
}
#: Commands that start such scripts.
COMMANDS = """
torchrun --standalone --nproc_per_node=gpu multigpu_torchrun.py 50 10
torchrun --nnodes=2 --nproc_per_node=8 --rdzv_id=100 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29400 train.py
srun --nodes=2 --ntasks-per-node=4 --gpus-per-task=1 python train.py
sbatch --nodes=4 --wrap='srun torchrun --nnodes 4 --nproc_per_node 8 train.py'
accelerate launch --multi_gpu --num_processes 8 --mixed_precision bf16 run_glue.py
deepspeed --num_gpus=8 train.py --deepspeed --deepspeed_config ds_config.json
horovodrun -np 16 -H host1:8,host2:8 python train.py
mpirun -np 8 -x NCCL_DEBUG=INFO -bind-to none python train.py
OMP_NUM_THREADS=1 torchrun --nproc-per-node 8 --master_port 29501 tools/train.py configs/r50.py --launcher pytorch
""".strip().splitlines()
#: The script, the mistake, what of the script is replaced, and by what.
PLANTED = [
    ("ddp_torchrun_main", "no_zero_grad", "            optimizer.zero_grad(set_to_none=True)\n", ""),
    ("ddp_class_trainer", "no_set_epoch", "        self.train_data.sampler.set_epoch(epoch)\n", ""),
    ("ddp_class_trainer", "no_sampler", ", shuffle=False, sampler=DistributedSampler(dataset)", ", shuffle=True"),
    ("mp_spawn", "model_on_cpu", "model = ToyModel().to(rank)", "model = ToyModel()"),
    (
        "mp_spawn_multi_node",
        "no_group",
        "    dist.init_process_group(backend='nccl', init_method='env://', world_size=args.world_size, rank=rank)\n",
        "",
    ),
    (
        "fsdp2",
        "no_sampler",
        "    sampler = DistributedSampler(dataset)\n    loader = DataLoader(dataset, batch_size=4, sampler=sampler)",
        "    loader = DataLoader(dataset, batch_size=4, shuffle=True)",
    ),
    ("fsdp1_wrap_policy", "no_zero_grad", "        optimizer.zero_grad()\n", ""),
    (
        "slurm_env",
        "rank_as_device",
        'local_rank = int(os.environ["SLURM_LOCALID"])',
        'local_rank = int(os.environ["SLURM_PROCID"])',
    ),
    ("gloo_cpu", "nccl_on_cpu", '"gloo"', '"nccl"'),
    (
        "no_sync_accumulation",
        "rank_as_device",
        'ddp_local_rank = int(os.environ["LOCAL_RANK"])',
        'ddp_local_rank = int(os.environ["RANK"])',
    ),
    ("amp_grad_scaler", "bypassed_wrapper", "model(img), target", "model.module(img), target"),
    ("evaluation_loop", "tensor_on_cpu", "correct = torch.zeros(1, device=device)", "correct = torch.zeros(1)"),
    ("evaluation_loop", "shuffle_with_sampler", "sampler=train_sampler)", "sampler=train_sampler, shuffle=True)"),
    (
        "rank0_checkpoint_barrier",
        "collective_on_some_ranks",
        "    if rank == 0:\n        torch.save(ddp_model.state_dict(), checkpoint)\n    dist.barrier()\n",
        "    if rank == 0:\n        torch.save(ddp_model.state_dict(), checkpoint)\n        dist.barrier()\n",
    ),
    ("dcp_checkpoint", "one_gpu", "torch.cuda.set_device(local_rank)", "torch.cuda.set_device(0)"),
    ("manual_allreduce", "no_synchronization", "            average_gradients(model)\n", ""),
    ("barrier_download", "unknown_backend", 'backend="nccl"', 'backend="ncll"'),
    (
        "batch_sampler",
        "absent_call",
        'dist.init_process_group(backend="nccl", init_method="env://")',
        'dist.init_process_group(backend="nccl", init_method="env://")\ndist.allreduce_coalesced(1)',
    ),
    (
        "elastic_snapshot",
        "saved_by_all",
        '        if dist.get_rank() == 0:\n            torch.save({"net": net.module.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "snapshot.pt")\n        dist.barrier()',
        '        torch.save({"net": net.module.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "snapshot.pt")\n        dist.barrier()',
    ),
    ("hsdp_mesh", "no_zero_grad", "            optimizer.zero_grad()\n", ""),
    (
        "ema_frozen_backbone",
        "absent_gradient_call",
        "            loss.backward()\n",
        "            loss.backward()\n            dist.reduce_gradients(model)\n",
    ),
    ("two_groups_loss_gather", "one_gpu", "torch.cuda.set_device(local_rank)", "torch.cuda.set_device(0)"),
    ("worker_info_stream", "no_set_device", "torch.cuda.set_device(local_rank)\n", "\n"),
    ("synthetic_benchmark", "model_on_cpu", "getattr(models, args.model)().cuda()", "getattr(models, args.model)()"),
    (
        "modulo_device_zero_redundancy",
        "rank_as_device",
        "device_id = rank % torch.cuda.device_count()",
        "device_id = dist.get_rank()",
    ),
    (
        "modulo_device_zero_redundancy",
        "no_sampler",
        "Subset(corpus, list(range(rank, len(corpus), dist.get_world_size())))",
        "corpus",
    ),
    (
        "evaluation_loop",
        "collective_on_some_ranks",
        "    dist.all_reduce(correct)\n    dist.all_reduce(total)\n",
        "    if dist.get_rank() == 0:\n        dist.all_reduce(correct)\n    dist.all_reduce(total)\n",
    ),
    (
        "ema_frozen_backbone",
        "collective_on_some_ranks",
        "        dist.all_reduce(avg_loss, op=dist.ReduceOp.SUM)\n        if rank == 0:\n",
        "        if rank == 0:\n            dist.all_reduce(avg_loss, op=dist.ReduceOp.SUM)\n",
    ),
]


def find_keys(source):
    return [finding.key for part in read_script(source).parts for finding in part.findings]


def test_there_are_scripts_of_many_kinds():
    assert len(SCRIPTS) >= 40
    assert len({key for _, key, _, _ in PLANTED}) >= 15


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_published_script_has_no_finding(name):
    assert find_keys(SCRIPTS[name]) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_usual_command_has_no_finding(command):
    assert find_keys(command) == []


@pytest.mark.parametrize(("name", "key", "old", "new"), PLANTED, ids=[f"{row[0]}-{row[1]}" for row in PLANTED])
def test_one_mistake_is_one_finding(name, key, old, new):
    source = SCRIPTS[name]
    assert old in source
    assert find_keys(source.replace(old, new, 1)) == [key]


def test_a_stream_that_is_not_divided_is_found():
    source = SCRIPTS["iterable_stream"].replace("from datasets.distributed import split_dataset_by_node\n", "")
    source = source.replace("stream = split_dataset_by_node(stream, rank=rank, world_size=world)\n", "")
    assert find_keys(source) == ["no_sampler"]
