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
    ("ddp_zh_launch", "no_set_epoch", "    sampler.set_epoch(epoch)\n", ""),
    ("ddp_zh_launch", "model_on_cpu", "model.to(device)\n", ""),
    ("ddp_zh_launch", "one_gpu", "torch.cuda.set_device(args.local_rank)", "torch.cuda.set_device(0)"),
    ("ddp_zh_launch", "no_zero_grad", "        optimizer.zero_grad()\n", ""),
    ("ddp_bert_zh", "no_sampler", "collate_fn=collate, sampler=train_sampler)", "collate_fn=collate, shuffle=True)"),
    (
        "ddp_bert_zh",
        "collective_on_some_ranks",
        "                loss = self.loss_reduce(loss)\n                global_step += 1\n                if self.args.local_rank == 0:\n",
        "                global_step += 1\n                if self.args.local_rank == 0:\n                    loss = self.loss_reduce(loss)\n",
    ),
    (
        "ddp_bert_zh",
        "saved_by_all",
        "        if dist.get_rank() == 0:\n            torch.save(self.model",
        "        if True:\n            torch.save(self.model",
    ),
    ("ddp_bert_zh", "bypassed_wrapper", "loss = self.model(**batch).loss", "loss = self.model.module(**batch).loss"),
    ("ddp_bert_zh", "absent_call", "dist.all_gather(output_list, outputs)", "dist.allgather(output_list, outputs)"),
    ("fsdp2_mixed", "no_sampler", "sampler=sampler, drop_last=True", "shuffle=True, drop_last=True"),
    ("fsdp2_mixed", "shuffle_with_sampler", "sampler=sampler, drop_last", "sampler=sampler, shuffle=True, drop_last"),
    ("fsdp2_mixed", "no_zero_grad", "            optimizer.zero_grad()\n", ""),
    (
        "fsdp2_mixed",
        "no_set_device",
        '    torch.cuda.set_device(device)\n    dist.init_process_group(backend="nccl", device_id=device)',
        '    dist.init_process_group(backend="nccl")',
    ),
    ("fsdp2_tp_2d", "no_zero_grad", "    optimizer.zero_grad()\n", ""),
    ("ddp_resnet_amp_zh", "unknown_backend", "'nccl'", "'NCLL'"),
    ("ddp_resnet_amp_zh", "rank_as_device", "local_rank = rank % torch.cuda.device_count()", "local_rank = rank"),
    ("ddp_resnet_amp_zh", "model_on_cpu", "resnet50(num_classes=10).cuda()", "resnet50(num_classes=10)"),
    ("ddp_resnet_amp_zh", "saved_by_all", "            torch.save({'net'", "        torch.save({'net'"),
    ("ddp_comm_hook", "no_zero_grad", "    optimizer.zero_grad()\n", ""),
    ("ddp_comm_hook", "model_on_cpu", "Linear(1024, 1024).to(local)", "Linear(1024, 1024)"),
    ("ddp_comm_hook", "unknown_backend", '"nccl"', '"nvcl"'),
    (
        "rpc_free_async_reduce",
        "tensor_on_cpu",
        'torch.ones(1024, device=f"cuda:{rank}") * rank',
        "torch.ones(1024) * rank",
    ),
    ("rpc_free_async_reduce", "one_gpu", "torch.cuda.set_device(rank)", "torch.cuda.set_device(0)"),
    (
        "rpc_free_async_reduce",
        "collective_on_some_ranks",
        "    work = dist.all_reduce(tensor, async_op=True)\n    work.wait()\n",
        "    if rank == 0:\n        work = dist.all_reduce(tensor, async_op=True)\n        work.wait()\n",
    ),
    ("ddp_model_parallel", "no_group", '    dist.init_process_group("nccl", rank=rank, world_size=world_size)\n', ""),
    ("npu_hccl", "no_sampler", "batch_size=64, sampler=sampler", "batch_size=64, shuffle=True"),
    ("npu_hccl", "no_set_epoch", "    sampler.set_epoch(epoch)\n", ""),
    (
        "gradient_accumulation_fp16_loop",
        "rank_as_device",
        'device = f"cuda:{ddp_local_rank}"',
        'device = f"cuda:{ddp_rank}"',
    ),
    ("gradient_accumulation_fp16_loop", "saved_by_all", " and master_process", ""),
    ("gradient_accumulation_fp16_loop", "no_zero_grad", "    optimizer.zero_grad(set_to_none=True)\n", ""),
    ("distributed_eval_only", "tensor_on_cpu", 'torch.zeros(2, device="cuda")', "torch.zeros(2)"),
    ("distributed_eval_only", "one_gpu", "set_device(local_rank)", "set_device(0)"),
    (
        "detr_utils_style",
        "no_set_epoch",
        "        if args.distributed:\n            sampler_train.set_epoch(epoch)\n",
        "",
    ),
    (
        "detr_utils_style",
        "shuffle_with_sampler",
        "sampler=sampler_val, drop_last",
        "sampler=sampler_val, shuffle=True, drop_last",
    ),
    (
        "detr_utils_style",
        "rank_as_device",
        'args.gpu = int(os.environ["LOCAL_RANK"])',
        'args.gpu = int(os.environ["RANK"])',
    ),
    ("elastic_torchrun_minimal", "model_on_cpu", "ToyModel().to(device_id)", "ToyModel()"),
    ("elastic_torchrun_minimal", "rank_as_device", "device_id = rank % torch.cuda.device_count()", "device_id = rank"),
    (
        "megatron_style_groups",
        "absent_call",
        "dist.broadcast(x, src=rank // tp * tp, group=tp_group)",
        "dist.bcast(x, src=rank // tp * tp, group=tp_group)",
    ),
    (
        "ddp_zh_launch",
        "absent_gradient_call",
        "        loss.backward()\n",
        "        loss.backward()\n        dist.all_reduce_gradients(model)\n",
    ),
]


def find_keys(source):
    return [finding.key for part in read_script(source).parts for finding in part.findings]


def test_there_are_scripts_of_many_kinds():
    assert len(SCRIPTS) >= 60
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
