"""What all scripts of a step share: how they are started, how processes find one another, how a step is timed."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from ...package_data import read_texts
from ..parallel.strategy import ParallelStrategy, Workload

_PARTS = read_texts(__file__, "script_parts.toml")
JOIN = _PARTS["join"]

#: Optimizers, of parameters and which kernels run them.
_OPTIMIZERS = {
    "adam": "torch.optim.Adam({parameters}{kernels})",
    "momentum": "torch.optim.SGD({parameters}, lr=0.01, momentum=0.9{kernels})",
    "sgd": "torch.optim.SGD({parameters}, lr=0.01{kernels})",
    "none": "None",
}


@dataclass(frozen=True)
class ScriptedStep:
    """A step that a script is to run.

    Attributes:
        workload: model, GPUs, samples and types of the step.
        parallel: how it is split.
        nodes: number of nodes that the GPUs are on.
        time_text: how long it takes, in words.
        memory_by_gpu: the first GPU of each lane, with the most bytes that it holds.
        memory_format: how images lie in memory: channels_first or channels_last.
        optimizer_kernels: foreach or fused; empty where its time is that of no certain kernels.
        compile: mode of torch.compile; none: eager PyTorch.
    """

    workload: Workload
    parallel: ParallelStrategy
    nodes: int
    time_text: str
    memory_by_gpu: tuple[tuple[int, int], ...]
    memory_format: str = "channels_first"
    optimizer_kernels: str = ""
    compile: str = "none"

    def write_compile(self, module: str, *, many: bool = False) -> str:
        """Write the line that compiles a module.

        Args:
            module: Name of the module in the script.
            many: Whether it is a list of modules.

        Returns:
            The line; empty where nothing is compiled.
        """
        if self.compile == "none":
            return ""
        if many:
            return f'{module} = [torch.compile(part, mode="{self.compile}") for part in {module}]\n'
        return f'{module} = torch.compile({module}, mode="{self.compile}")\n'

    def write_optimizer(self, parameters: str) -> str:
        """Write the optimizer with the kernels that its time is of.

        Args:
            parameters: Expression of the parameters that it changes, as the script has it.

        Returns:
            The expression that creates it.
        """
        kernels = ""
        if self.optimizer_kernels:
            kernels = f", {self.optimizer_kernels}=True"
        return _OPTIMIZERS[self.workload.optimizer].format(parameters=parameters, kernels=kernels)


def escape_name(text: str) -> str:
    """A name that somebody gave, for a comment or between double quotes: a line that ends neither."""
    return repr(text)[1:-1].replace('"', "'")


def format_launch_lines(step: ScriptedStep, init: str, file: str = "step.py") -> str:
    """Write the lines that start a script.

    Args:
        step: The step, which says GPUs and nodes.
        init: `env://` (torchrun) or `tcp://` (a line for each process).
        file: Name of the script.

    Returns:
        The lines.
    """
    gpus, nodes = step.workload.ranks, step.nodes
    if step.parallel.is_one_process:
        return f"CUDA_VISIBLE_DEVICES={','.join(map(str, gpus))} python {file}"
    ranks, processes_per_node = len(gpus), len(gpus) // nodes
    # torchrun starts a process a GPU and sets the environment; with tcp:// each process gets a line.
    if init == "env://":
        far = "--standalone"
        if nodes > 1:
            far = f"--nnodes {nodes} --rdzv-backend c10d --rdzv-endpoint FIRST_NODE:29500"
        return f"torchrun {far} --nproc-per-node {processes_per_node} {file}"
    first = "127.0.0.1"
    if nodes > 1:
        first = "FIRST_NODE"
    line = f"python {file} --init tcp://{first}:29500 --world-size {ranks} --local-rank {{local}} --rank {{rank}} &"
    return "\n".join(
        (f"# on node {node}\n" if nodes > 1 else "")
        + "\n".join(line.format(local=i, rank=node * processes_per_node + i) for i in range(processes_per_node))
        for node in range(nodes)
    )


def write_header(step: ScriptedStep, imports: str = "") -> str:
    """Write what a script does, the lines that start it, what it imports, and its first options.

    Args:
        step: The step.
        imports: Lines of further imports.

    Returns:
        The text.
    """
    distributed = not step.parallel.is_one_process
    what = f"{escape_name(step.workload.model.name)}, {len(step.workload.ranks)} GPUs, {step.parallel.label}"
    lines = [format_launch_lines(step, "env://")]
    if distributed:
        by_hand = format_launch_lines(step, "tcp://").replace(" &", "").splitlines()[-1]
        lines += ["or, without torchrun, a process each:", by_hand]
    start = textwrap.indent("\n".join(lines), "    ")
    return _PARTS["begin"].format(what=what, start=start, imports=imports) + (
        _PARTS["ask_distributed"] if distributed else ""
    )


def write_timing(step: ScriptedStep, samples: str) -> str:
    """`one_step()`, the first step and those behind it; `samples` of a step as an expression."""
    return _PARTS["timed"].format(samples=samples, said=escape_name(step.time_text))


def format_numbers(numbers: Sequence[int]) -> str:
    """Numbers as the lines of a list."""
    return textwrap.fill(", ".join(map(str, numbers)), 110, initial_indent="    ", subsequent_indent="    ") + ","
