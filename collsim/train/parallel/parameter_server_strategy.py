"""A parameter server: workers push gradients and pull weights; one server, or several with a shard of the weights each.

Sources: Li et al. 2014 (OSDI), sections 3 and 5; Jiang et al. 2020 (OSDI; BytePS). Gradients go in the groups that
`ddp` would make of them, while the backward pass goes on. Each server updates its shard of the weights, as fast as a
GPU of the machine would; a server with slower memory takes longer. Workers copy gradients into messages, and weights
out of them, as DDP does with its buckets.
Asynchronous workers do not wait for one another: in the long run a step lasts as long as the slower of a worker
(compute, push, pull) and the servers (all workers' pushes and pulls).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...errors import CollsimError, require_flags, require_word
from ...errors.arguments import check_arguments
from ...units import ByteSize, parse_bytes, parse_count
from ..workload.model import Model
from ..workload.step_graph import SERVERS, TaskOptions, TrainingStep
from .buckets import BUCKET_BYTES, rebuild_buckets
from .strategy import (
    OPTIMIZERS,
    WholeModelStep,
    WholeModelStrategy,
    Workload,
    parse_accumulate,
    register_strategy,
)

SERVER_PLACEMENTS = ("host", "rank")


@dataclass(frozen=True)
class ParameterServer(WholeModelStrategy):
    """Push and pull; `parameter_server(...)` makes one.

    Attributes:
        servers: how many; more than one hold a shard of the weights each.
        synchronous: all wait for all.
        on: `host` or `rank`, where servers are.
        bucket: bytes of gradients that are pushed together.
        accumulate: microbatches of a step; None: as many as the batch asks for.

    Examples:
        >>> import collsim as cs
        >>> cs.train.ParameterServer(servers=2) == cs.parameter_server(servers=2)
        True
    """

    name: ClassVar[str] = "parameter_server"
    servers: int = 1
    synchronous: bool = True
    on: str = "host"
    bucket: int = BUCKET_BYTES
    accumulate: int | None = None

    def assign_tensors(self, model: Model, step: int = 2) -> list[list[int]]:
        """Numbers of the tensors of each group, in the order of pushing: as `ddp` puts them into buckets.

        Args:
            model: The model.
            step: Number of the training step; the groups are the same in all.
        """
        return rebuild_buckets(model, self.bucket, self.bucket)

    @property
    def uses_nccl(self) -> bool:
        """A push and a pull are none of its collectives."""
        return False

    @property
    def algorithm(self) -> tuple[str, tuple[tuple[str, int | str], ...]]:
        """The schedule of a push with its pull, and its options."""
        server = ("server", "helper" if self.on == "host" else "rank")
        if self.servers == 1:
            return "allreduce_parameter_server", (server,)
        return "allreduce_sharded_parameter_server", (server, ("servers", self.servers))

    def build_step(self, workload: Workload) -> TrainingStep:
        """Build the step. All workers do the same, so they share lane 0.

        Args:
            workload: Model, GPUs, samples and types of the step.

        Returns:
            The step.

        Raises:
            CollsimError: There are more servers on ranks than ranks, or asynchronous workers have no servers of their
                own.
        """
        if self.on == "rank" and self.servers > len(workload.ranks):
            message = "parameter_server: {servers} servers on {ranks} ranks; use fewer, or on='host'"
            raise CollsimError(message, servers=self.servers, ranks=len(workload.ranks))
        if not self.synchronous and self.on == "rank":
            raise CollsimError("parameter_server: asynchronous workers need servers of their own; use on='host'")
        return _Step(self, workload).write_step()


class _Step(WholeModelStep):
    """The step under construction. Groups of gradients are pushed, and their weights pulled, as soon as they and all
    before them are ready."""

    def __init__(self, parallel: ParameterServer, workload: Workload):
        super().__init__(workload)
        self.parallel, self.micro = parallel, workload.accumulate - 1  # the microbatch behind which is pushed
        self.layout = parallel.assign_tensors(workload.model)
        self.left = len(workload.model.tensors)
        self.pushed: list[int] = []

    def write_step(self) -> TrainingStep:
        workload, p = self.workload, self.parallel
        first: list[int] = []
        for micro in range(workload.accumulate):
            ready = None
            if micro == self.micro:
                ready = self.ready
            numbers = self.add_backward(0, micro, self.add_forward(0, micro), ready)
            first = first or numbers
        # Weights of each group are copied to where the model has them, as soon as they were pulled.
        for number, push in enumerate(self.pushed):
            self.copy(number, self.tasks[push].nbytes, f"out of group {number}", (push,))
        self.add_task("wait", "copy", (0,), dependencies=tuple(self.pushed))
        last = self.add_optimizer("update on the server", p.servers)
        self.add_gradient_allocations(first, last)
        staleness = 0
        if not p.synchronous:
            staleness = len(workload.ranks) - 1
            name, options = p.algorithm
            size = workload.model.nbytes
            more: TaskOptions = {"nbytes": size, "algorithm": name, "options": options, "stream": SERVERS}
            self.add_task("servers, for all workers", "allreduce", (0,), **more)
        resident = self.count_resident_bytes(optimizer=False)
        if p.on == "rank":  # the busiest: a rank with a shard, and what all workers sent to it
            resident["shard"] = -(-workload.model.nbytes // p.servers)
            resident["optimizer"] = -(-OPTIMIZERS[workload.optimizer][0] * workload.model.parameters // p.servers)
        return self.finish(p.label, (workload.ranks,), resident, staleness=staleness)

    def ready(self, layer: int, task: int) -> None:
        """Gradients of a layer are there."""
        model = self.workload.model
        self.left -= len(model.layers[layer].tensors)
        while len(self.pushed) < len(self.layout) and min(self.layout[len(self.pushed)]) >= self.left:
            number = len(self.pushed)
            size = sum(model.tensors[i][0] for i in self.layout[number])
            task = self.copy(number, size, f"into group {number}")
            name, options = self.parallel.algorithm
            ranks = () if self.parallel.synchronous else self.workload.ranks[:1]
            more: TaskOptions = {
                "nbytes": size,
                "algorithm": name,
                "options": options,
                "ranks": ranks,
                "microbatch": self.micro,
                "dependencies": (task,),
                "bucket": number,
            }
            self.pushed.append(self.add_task(f"group {number}", "allreduce", (0,), **more))

    def copy(self, number: int, nbytes: int, name: str, after: tuple[int, ...] = ()) -> int:
        """Copy the tensors of a group into one message, or out of it: a kernel for each."""
        return self.add_task(
            name,
            "copy",
            (0,),
            dependencies=after,
            microbatch=self.micro,
            bucket=number,
            memory_bytes=2.0 * nbytes,
            ops=len(self.layout[number]),
        )


@register_strategy
@check_arguments
def parameter_server(
    servers: int = 1,
    *,
    synchronous: bool = True,
    on: str = "host",
    bucket: ByteSize = BUCKET_BYTES,
    accumulate: int | None = None,
) -> ParameterServer:
    """Workers push gradients to servers and pull weights.

    Args:
        servers: how many; more than one hold a shard of the weights each.
        synchronous: all wait for all; False: each goes on with the weights that are there, which are stale by as many
            updates as there are other workers.
        on: `"host"` (endpoints of their own: host memory of a machine) or `"rank"` (GPUs that work too).
        bucket: bytes of gradients that are pushed together, `"25MiB"` unless given.
        accumulate: microbatches of a step.

    Returns:
        A strategy.

    Raises:
        CollsimError: For counts below 1 and unknown places.

    Examples:
        >>> import collsim as cs
        >>> cs.parameter_server(servers=2, on="rank").label
        "parameter_server(servers=2, on='rank')"
    """
    require_word("on of parameter_server", on, SERVER_PLACEMENTS)
    require_flags(synchronous=synchronous)
    size = parse_bytes(bucket, "bucket")
    if size < 1:
        message = "bucket={bucket!r}: a group of 0 bytes holds nothing; the smallest is bucket=1"
        raise CollsimError(message, bucket=bucket)
    return ParameterServer(parse_count(servers, "servers"), synchronous, on, size, parse_accumulate(accumulate))
