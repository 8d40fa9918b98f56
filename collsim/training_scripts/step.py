"""What the steps of a training script would do on a machine: their time and what each GPU sends."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import nccl, train
from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..locale import translate
from ..topology import machine as build_machine
from ..topology.machines import machines
from ..topology_names import TopologyLike, resolve_topology
from ..units import format_bytes, format_time
from .reading import ScriptPart

#: Samples on a GPU where the script does not say it: the batch size that PyTorch's examples use most.
_USUAL_BATCH = 32
#: Of a machine that is named; a number in a command line may be anything.
_MAX_NODES = 1024
_FLOAT32 = 4  # bytes of a gradient: scripts without autocast train in float32, and DDP's gradients stay in it


@dataclass(frozen=True)
class ScriptStep:
    """A step of a training script on a machine.

    Attributes:
        time: seconds of a step; of a model that collsim does not know, of the allreduce of its gradients alone.
        gpus: how many GPUs take part.
        batch: samples of all GPUs together.
        gradient_bytes: bytes of all gradients.
        trace: the step; None for a model that collsim does not know.
        machine: name of the topology.

    Examples:
        >>> from collsim.training_scripts import predict_step, read_script
        >>> source = "import torch\\nmodel = torch.nn.DataParallel(torch.nn.Linear(100, 10).cuda())\\n"
        >>> step = predict_step(read_script(source).parts[0], "dgx-a100")
        >>> step.gpus, step.gradient_bytes
        (8, 4040)
    """

    time: float
    gpus: int
    batch: int
    gradient_bytes: int
    trace: train.StepTrace | None
    machine: str

    def text(self, language: str = "en") -> str:
        """The step in a few sentences.

        Args:
            language: of the sentences.
        """
        values = {"machine": self.machine, "gpus": self.gpus, "time": format_time(self.time)}
        gradients = format_bytes(self.gradient_bytes)
        if self.trace is None:
            return translate(language, "scripts", "step.message", bytes=gradients, **values)
        sentences = [translate(language, "scripts", "step.time", batch=self.batch, **values)]
        sentences.append(translate(language, "scripts", "step.gradients", bytes=gradients))
        return translate(language, "scripts", "space").join([*sentences, self.trace.explain(language)])


@check_arguments
def predict_step(part: ScriptPart, machine: TopologyLike) -> ScriptStep | None:
    """Predict a step of a script on a machine.

    Args:
        part: the script, as `read_script` found it.
        machine: a topology or the name of a machine, such as `"dgx-a100"`; all its GPUs take part unless the script or
            the command says how many. Of a machine by its name there are as many nodes as the command needs.

    Returns:
        The step, by `training_step` where the script names a model of the library, by `nccl.predict` where it writes
        its layers out with numbers; None where it has neither.

    Raises:
        CollsimError: there is no such machine, or a topology has fewer GPUs than the command wants.

    Examples:
        >>> from collsim.training_scripts import predict_step, read_script
        >>> part = read_script("torchrun --nproc_per_node=8 train.py --arch resnet18 --batch-size 64").parts[0]
        >>> step = predict_step(part, "dgx-a100")
        >>> step.gpus, step.batch
        (8, 512)
    """
    topology = resolve_topology(machine, "predict_step")
    ranks = part.ranks
    if part.parallelism == "DataParallel" or ranks is None or (ranks == 1 and not part.is_command):
        ranks = topology.ranks
    if isinstance(machine, str) and machine in machines() and ranks > topology.ranks:
        # The name of a machine is one node of it, and the command wants several.
        nodes = math.ceil(ranks / topology.ranks)
        if nodes > _MAX_NODES:
            message = (
                "{ranks:,} processes are {nodes:,} nodes of {machine}, and a step of at most {most:,} is computed; "
                "give a topology"
            )
            raise CollsimError(message, ranks=ranks, nodes=nodes, machine=machine, most=_MAX_NODES)
        topology = build_machine(machine, nodes=nodes)
    if not part.model:
        if not part.parameters:
            return None
        nbytes = part.parameters * _FLOAT32
        time = 0.0
        if ranks > 1:
            time = nccl.predict("allreduce", topology, nbytes, ranks=ranks).time
        return ScriptStep(time, ranks, (part.batch or _USUAL_BATCH) * ranks, nbytes, None, topology.name)
    copies = max(1, ranks // (part.tensor * part.pipeline))
    parallel: train.ParallelStrategy = train.ddp()
    if part.tensor * part.pipeline > 1:
        parallel = train.tensor(part.tensor) * train.pipeline(part.pipeline)
        if copies > 1:
            parallel = parallel * train.ddp()
    elif part.parallelism == "DataParallel":
        parallel = train.data_parallel()
    elif part.parallelism == "FSDP":
        parallel = train.fsdp()
    batch = part.batch or _USUAL_BATCH
    if part.parallelism == "DataParallel" or part.divides_batch:
        batch = max(batch // copies, 1) * copies
    else:
        batch *= copies
    model = train.model(part.model)
    trace = train.training_step(model, topology, parallel=parallel, batch=batch, ranks=ranks, optimizer="sgd")
    return ScriptStep(trace.time, ranks, batch, model.parameters * _FLOAT32, trace, topology.name)
