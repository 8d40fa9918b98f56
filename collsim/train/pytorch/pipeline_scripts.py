"""Schedules of pipelines in torch.distributed.pipelining: their classes, and a script that runs several of them.

Source: torch 2.13, torch/distributed/pipelining/stage.py and schedules.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..parallel import Pipeline

#: Classes of torch.distributed.pipelining.schedules.
TORCH_SCHEDULES = {
    "gpipe": "ScheduleGPipe",
    "1f1b": "Schedule1F1B",
    "interleaved": "ScheduleInterleaved1F1B",
    "zero-bubble": "ScheduleInterleavedZeroBubble",
    "zbv": "ScheduleZBVZeroBubble",
    "dualpipe-v": "ScheduleDualPipeV",
}
#: Those that take one stage of each process, and not a list.
SINGLE_STAGE_SCHEDULES = ("ScheduleGPipe", "Schedule1F1B")

_SCRIPT = '''"""{p} processes run {m} microbatches through each schedule, timed.

    torchrun --standalone --nproc-per-node {p} pipelines.py
"""

import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import (
    PipelineScheduleMulti,
{classes}
)

gpu = torch.cuda.is_available()
dist.init_process_group("nccl" if gpu else "gloo")
rank, p = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
if gpu:
    torch.cuda.set_device(device)
WIDTH, LAYERS, SAMPLES, MICROBATCHES = 512, {layers}, 16, {m}
#: The stages of this process, and how many there are in all.
RUNS = {{
{runs}
}}


def now():
    torch.cuda.synchronize() if gpu else None
    dist.barrier()
    return time.perf_counter()


def part(stages):  # as many layers on each process, whatever the schedule
    layers = [nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS * p // stages)]
    return nn.Sequential(*(layer for linear in layers for layer in (linear, nn.ReLU()))).to(device)


x, y = (torch.randn(SAMPLES * MICROBATCHES, WIDTH, device=device) for _ in "xy")
for kind, (mine, total) in RUNS.items():
    stages = [PipelineStage(part(total), number, total, device) for number in mine]
    several = issubclass(kind, PipelineScheduleMulti)
    schedule = kind(stages if several else stages[0], MICROBATCHES, loss_fn=nn.functional.mse_loss)
    seconds = []
    for _ in range(5):
        begin = now()
        schedule.step(*([x] if 0 in mine else []), **({{"target": y}} if total - 1 in mine else {{}}))
        seconds.append(now() - begin)
    if rank == 0:
        print(f"{{kind.__name__}}: {{1e3 * min(seconds):.3f}} ms")
dist.destroy_process_group()
'''


def format_stages(pipe: Pipeline, rank: str = 'mesh.get_local_rank("pp")') -> str:
    """Write the numbers of a process's stages as an expression.

    Args:
        pipe: The pipeline.
        rank: Expression of the process's rank along it.

    Returns:
        The expression, a list.
    """
    p, ranks = pipe.size, pipe.stage_ranks
    if len(ranks) == p:
        return f"[{rank}]"
    if ranks[-1] == ranks[0]:  # there and back
        return f"[{rank}, {2 * p - 1} - {rank}]"
    return f"[{rank} + {p} * i for i in range({pipe.interleave})]"


def write_pipeline_script(pipes: Sequence[Pipeline], microbatches: int) -> str:
    """Write a script that runs several schedules of as many processes on stages of equal layers.

    Args:
        pipes: The pipelines, of one size.
        microbatches: Microbatches of a step.

    Returns:
        The script.
    """
    p, most = pipes[0].size, max(len(pipe.stage_ranks) for pipe in pipes) // pipes[0].size
    names = [TORCH_SCHEDULES[pipe.schedule] for pipe in pipes]
    runs = [
        f"    {name}: ({format_stages(pipe, 'rank')}, {len(pipe.stage_ranks)}),"
        for name, pipe in zip(names, pipes, strict=True)
    ]
    listed = "\n".join(f"    {name}," for name in sorted(names))
    return _SCRIPT.format(p=p, m=microbatches, classes=listed, layers=2 * most, runs="\n".join(runs))
