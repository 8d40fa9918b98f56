"""Schedules of pipelines in torch.distributed.pipelining: their classes, and a script that runs several of them.

Source: torch 2.13, torch/distributed/pipelining/stage.py and schedules.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...package_data import read_texts
from ..parallel.model_parallel import Pipeline

_PARTS = read_texts(__file__, "pipeline_scripts.toml")

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
    return _PARTS["script"].format(p=p, m=microbatches, classes=listed, layers=2 * most, runs="\n".join(runs))
