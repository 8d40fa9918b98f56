"""Several ways of splitting at once: tensor, context, expert, data and pipeline parallelism, multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ...dtypes import find_itemsize
from ...errors import CollsimError, Sentence
from ..workload.model import Model
from ..workload.step_graph import TrainingStep
from .model_parallel import ContextParallel, ExpertParallel, Pipeline, TensorParallel
from .rank_groups import RANK_ORDER, RankGrid, require_order
from .sharded_units import LayerPartition, ModelUnit, build_units, count_tied_elements, is_shared_expert
from .strategy import ParallelStrategy, ReplicaStrategy, Workload

_Kind = TypeVar("_Kind", bound=ParallelStrategy)


@dataclass(frozen=True)
class Split(ParallelStrategy):
    """Ways of splitting that were multiplied.

    Attributes:
        parts: at most one of each kind.
        rank_order: which kind of parallelism varies fastest over the ranks, as in Megatron-LM.

    Examples:
        >>> import collsim as cs
        >>> split = cs.tensor(8) * cs.pipeline(2) * cs.ddp()
        >>> split.count_replicas(ranks=64)
        4
    """

    parts: tuple[ParallelStrategy, ...] = ()
    rank_order: str = RANK_ORDER

    @property
    def stage_count(self) -> int:
        """GPUs that are stages of a pipeline."""
        return self.pipeline.size

    def list_options(self) -> list[str]:
        """What may be changed of its parts."""
        return [name for part in self.parts for name in part.list_options()]

    def with_options(self, **options: object) -> Split:
        """The same with other options of its parts.

        Args:
            **options: New values by name, each of an option of one of the parts.

        Returns:
            The product, in the same order of ranks.

        Raises:
            CollsimError: A part does not take a value.
        """
        parts = []
        for part in self.parts:
            changed = {name: value for name, value in options.items() if name in part.list_options()}
            parts.append(part.with_options(**changed) if changed else part)
        return replace(self, parts=tuple(parts))

    @property
    def torch_module(self) -> str:
        """A mesh of processes, whose dimensions are the parts."""
        return "DeviceMesh"

    def select_builder(self, recompute: str) -> Split:
        """Itself.

        Args:
            recompute: Activations that are computed again; a product builds every one.
        """
        return self

    @property
    def label(self) -> str:
        """The product, and the order of its ranks where that is not the usual one."""
        product = " * ".join(part.label for part in self.parts)
        if self.rank_order == RANK_ORDER:
            return product
        return f"({product}).with_rank_order({self.rank_order!r})"

    def find_part(self, kind: type[_Kind]) -> _Kind | None:
        """The part of a kind.

        Args:
            kind: Class of the part, `TensorParallel`.
        """
        return next((part for part in self.parts if isinstance(part, kind)), None)

    @property
    def data_strategy(self) -> ReplicaStrategy | None:
        """How replicas keep together."""
        return next((part for part in self.parts if isinstance(part, ReplicaStrategy)), None)

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline; of one stage where there is none."""
        return self.find_part(Pipeline) or Pipeline()

    @property
    def accumulate(self) -> int | None:
        """Microbatches, where data parallelism says so."""
        if self.data_strategy is None:
            return None
        return self.data_strategy.accumulate

    def get_size(
        self, kind: type[TensorParallel] | type[ContextParallel] | type[ExpertParallel] | type[Pipeline]
    ) -> int:
        """Get the number of GPUs along one axis.

        Args:
            kind: Class of the strategy.

        Returns:
            The number; 1 where the product has no such part.
        """
        part = self.find_part(kind)
        if part is None:
            return 1
        return part.size

    @property
    def sizes(self) -> dict[str, int]:
        """How many GPUs along each way, data parallelism aside, and stages of a GPU."""
        kinds: dict[str, Any] = {"tp": TensorParallel, "cp": ContextParallel, "ep": ExpertParallel, "pp": Pipeline}
        return {**{name: self.get_size(kind) for name, kind in kinds.items()}, "interleave": self.pipeline.interleave}

    @property
    def replica_size(self) -> int:
        """GPUs that share one replica of the model."""
        return self.get_size(TensorParallel) * self.get_size(ContextParallel) * self.get_size(Pipeline)

    def with_rank_order(self, order: str) -> Split:
        """The same with ranks counted in another order, `"tp-cp-ep-dp-pp"` in Megatron-LM: the first varies fastest.

        Args:
            order: The parts, joined by `-`; each once.
        """
        return replace(self, rank_order=require_order(order))

    def count_replicas(self, ranks: int) -> int:
        """Count the replicas of the model, which take samples of their own.

        Args:
            ranks: Number of GPUs.

        Returns:
            The number of replicas.

        Raises:
            CollsimError: So many GPUs cannot be split so.
        """
        if ranks % self.replica_size:
            message = "{says} takes {together} GPUs a replica, which does not divide {ranks}; use a multiple of it"
            raise CollsimError(message, says=self.label, together=self.replica_size, ranks=ranks)
        dp, e = ranks // self.replica_size, self.get_size(ExpertParallel)
        if dp > 1 and self.data_strategy is None:
            message = "{says} is one replica on {together} of {ranks} GPUs; say how {dp} keep together: * ddp()"
            raise CollsimError(message, says=self.label, together=self.replica_size, ranks=ranks, dp=dp)
        # Experts are spread over ranks that otherwise share samples, so their number divides those.
        shared = dp * self.get_size(ContextParallel)
        if shared % e:
            message = "expert({e}): {shared} ranks of data and context parallelism do not share experts by {e}"
            raise CollsimError(message, e=e, shared=shared)
        if self.data_strategy is not None and shared % self.data_strategy.replicate:
            message = "fsdp(replicate={replicate}): {shared} data parallel ranks have no such replicas"
            raise CollsimError(message, replicate=self.data_strategy.replicate, shared=shared)
        return dp

    def build_grid(self, ranks: tuple[int, ...]) -> RankGrid:
        """Where ranks stand.

        Args:
            ranks: The ranks, in the order in which the parts count them.
        """
        t, c, p, e = (self.get_size(kind) for kind in (TensorParallel, ContextParallel, Pipeline, ExpertParallel))
        return RankGrid(ranks, t, c, self.count_replicas(len(ranks)), p, e, self.rank_order, self._experts.per_node)

    @property
    def _experts(self) -> ExpertParallel:
        """How GPUs share experts."""
        return self.find_part(ExpertParallel) or ExpertParallel()

    def build_partition(self, workload: Workload) -> LayerPartition:
        """Choose how layers are shared.

        Args:
            workload: Model, GPUs, samples and types of the step.

        Returns:
            How each layer is cut.

        Raises:
            CollsimError: The model's layers cannot be cut so.
        """
        part = self.find_part(TensorParallel) or TensorParallel()
        t, c, e = part.size, self.get_size(ContextParallel), self.get_size(ExpertParallel)
        require_partitions(workload.model, t, c, e)
        item = find_itemsize(workload.dtype)
        is_sequence_cut = part.sequence and t > 1
        samples, experts = workload.micro_batch, self._experts
        if experts.overlap_with == "shared" and not any(map(is_shared_expert, workload.model.layers)):
            message = "overlap_with='shared': {name} has no expert that all tokens go through; 'experts' or 'batch' fit"
            raise CollsimError(message, name=workload.model.name)
        return LayerPartition(
            t,
            c,
            e,
            is_sequence_cut,
            item,
            samples,
            workload.recompute,
            experts.per_node,
            experts.routing,
            experts.overlap_with,
        )

    def build_stages(self, workload: Workload) -> list[tuple[ModelUnit, ...]]:
        """Divide the units of a model over the stages of the pipeline.

        Args:
            workload: Model, GPUs, samples and types of the step.

        Returns:
            The units of each stage.

        Raises:
            CollsimError: There are more stages than units.
        """
        listed, pipe = list(build_units(workload.model, self.build_partition(workload))), self.pipeline
        ranks = pipe.stage_ranks
        # A head that shares its matrix with the embedding needs a copy where the two are on different GPUs.
        if ranks[-1] != ranks[0] and (tied := count_tied_elements(workload.model)):
            listed[-1] = replace(listed[-1], tied_elements=tied)
        return [tuple(part) for part in divide_units(listed, len(ranks), self.label)]

    def has_torch_buckets(self, workload: Workload) -> bool:
        """Nothing but DDP, which then has torch's own buckets: gradients in them beside those that tensors have.

        Args:
            workload: Model and how it is trained; what is recomputed counts.
        """
        return len(self.parts) == 1 and self.parts[0].select_builder(workload.recompute) is self.parts[0]

    def build_step(self, workload: Workload) -> TrainingStep:
        """Build the step; GPUs of a stage share a lane.

        Args:
            workload: Model, GPUs, samples and types of the step.

        Returns:
            The step.
        """
        from .split_builder import SplitBuilder

        if self.has_torch_buckets(workload):
            return self.parts[0].build_step(workload)
        return SplitBuilder(self, workload).build_step()


def as_split(parallel: ParallelStrategy) -> Split:
    """A strategy as a product, of itself alone where it is none."""
    return Split(parallel.parts, parallel.rank_order)


def compose_strategies(left: ParallelStrategy, right: ParallelStrategy) -> Split:
    """Combine two strategies: `tensor(8) * ddp()`.

    Args:
        left: The strategy before the `*`; its order of ranks counts unless the other names one.
        right: The strategy behind the `*`.

    Returns:
        The product.

    Raises:
        CollsimError: The strategies do not compose, or two are of a kind.
    """
    parts: list[ParallelStrategy] = []
    order = RANK_ORDER
    for value in (left, right):
        if not isinstance(value, ParallelStrategy):
            raise _build_part_error(repr(value))
        if not all(part.axis for part in value.parts):
            raise _build_part_error(value.label)
        parts += value.parts
        # The order of ranks is a property of the product; a part that names one wins over the default.
        if value.rank_order != RANK_ORDER:
            order = value.rank_order
    kinds = [part.axis for part in parts]
    for kind in kinds:
        if kinds.count(kind) > 1:
            duplicates = " and ".join(part.label for part, k in zip(parts, kinds, strict=True) if k == kind)
            raise CollsimError("{twice}: a product has one part of a kind", twice=duplicates)
    return Split(tuple(parts), order)


def _build_part_error(label: str) -> CollsimError:
    message = "{text} is no part of a product; tensor, context, expert, pipeline, ddp, zero, fsdp are"
    return CollsimError(message, text=label)


def require_partitions(model: Model, t: int, c: int, e: int) -> None:
    """Refuse what no layer of a model can be partitioned into.

    Args:
        model: The model.
        t: GPUs of tensor parallelism.
        c: GPUs of context parallelism.
        e: GPUs of expert parallelism.

    Raises:
        CollsimError: Its layers do not say how they are partitioned, or have no such number of experts or tokens.
    """
    if t > 1 and not model.has_partitions:
        message = "tensor({t}): no layer of {name} says how it is cut (Layer.partition: column, row, heads, vocab)"
        raise CollsimError(message, t=t, name=model.name)
    if c > 1 and not any(layer.kv_size for layer in model.layers):
        message = "context({c}): no layer of {name} has keys and values to pass on (Layer.kv_size)"
        raise CollsimError(message, c=c, name=model.name)
    if c > 1 and model.tokens % c:
        message = "context({c}): sequences of {tokens} tokens cannot be shared evenly"
        raise CollsimError(message, c=c, tokens=model.tokens)
    experts = {layer.experts for layer in model.layers if layer.experts}
    if e > 1 and (not experts or any(n % e for n in experts)):
        has = Sentence("no experts")
        if experts:
            has = Sentence("layers of {experts} experts", experts=", ".join(map(str, sorted(experts))))
        message = "expert({e}): {name} has {has}; their number has to be a multiple"
        raise CollsimError(message, e=e, name=model.name, has=has)


def divide_units(listed: Sequence[ModelUnit], stages: int, label: str) -> list[list[ModelUnit]]:
    """Divide units over stages.

    Equal blocks as Megatron-LM has them: as many in each, with what is before and behind them on the first and the last
    stage; where that does not come out even, both ends count as a block, and the first stages have one more
    (torchtitan, distributed/pipeline_parallel.py). Other models: even FLOPs.

    Args:
        listed: Units in the order of the forward pass.
        stages: Number of stages.
        label: The strategy as text, for the error.

    Returns:
        The units of each stage.

    Raises:
        CollsimError: There are more stages than units.
    """
    blocks = [i for i, unit in enumerate(listed) if unit.is_block]
    if stages == 1:
        return [list(listed)]
    if len(listed) < stages:
        message = "{says}: {stages} stages, and the model has {listed} layers or blocks to share"
        raise CollsimError(message, says=label, stages=stages, listed=len(listed))
    alike = len({tuple(layer.tensors for layer in listed[i].layers) for i in blocks}) == 1
    if not alike or len(blocks) < stages:
        return _divide_by_flops(listed, stages)
    first, last, many = blocks[0], blocks[-1], len(blocks)
    if many % stages == 0:
        counts = [many // stages] * stages
    else:
        # What is before the blocks (embedding) and behind them (norm and head) costs about as much as a block each.
        units_per_stage, more = divmod(many + 2, stages)
        counts = [units_per_stage + (i < more) for i in range(stages)]
        counts[0] -= 1
        counts[-1] -= 1
    out, begin = [], first
    for count in counts:
        out.append(list(listed[begin : begin + count]))
        begin += count
    out[0] = [*listed[:first], *out[0]]
    out[-1] += listed[last + 1 :]
    return out


def _divide_by_flops(listed: Sequence[ModelUnit], stages: int) -> list[list[ModelUnit]]:
    """A stage ends as soon as it has its share of what is left, and none is empty."""
    costs = [sum(work.flops for work in unit.forward_work) for unit in listed]
    out: list[list[ModelUnit]] = []
    begin = 0
    for left in range(stages, 0, -1):
        share, taken, end = sum(costs[begin:]) / left, 0.0, begin
        # Leave a unit for each stage to come; take the next one if more than half of it still belongs to the share.
        while end < len(listed) - (left - 1) and (end == begin or taken + costs[end] / 2 < share or left == 1):
            taken += costs[end]
            end += 1
        out.append(list(listed[begin:end]))
        begin = end
    return out
