"""What every way of splitting has in common: the passes through the model, and what GPUs hold of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, TypeVar

from ...dtypes import find_itemsize
from ...errors import CollsimError, require_word
from ...errors.arguments import check_arguments
from ...units import DataType, parse_count
from ..workload.model import Layer, Model
from ..workload.step_graph import StepBuilder, TaskOptions, TrainingStep, require_tasks
from .rank_groups import RANK_ORDER

if TYPE_CHECKING:
    from .replica_sync import ReplicaSync
    from .split_builder import SplitBuilder

Optimizer: TypeAlias = Literal["adam", "momentum", "sgd", "none"]
#: Bytes per parameter that an optimizer holds, and that one step of it reads and writes, all in float32: Adam has two
#: moments (reads the gradient, the weight and both, and writes all but the gradient), SGD with momentum one
#: (torch/optim/adam.py, sgd.py).
OPTIMIZERS: dict[str, tuple[int, int]] = {"adam": (8, 28), "momentum": (4, 20), "sgd": (0, 12), "none": (0, 0)}


def get_optimizer_bytes(optimizer: str) -> int:
    """Bytes per parameter that an optimizer holds. Raises CollsimError for unknown ones."""
    return OPTIMIZERS[require_word("optimizer", optimizer, OPTIMIZERS)][0]


@dataclass(frozen=True)
class Workload:
    """What a TrainingStep is made for.

    Attributes:
        model: the model that is trained.
        ranks: GPUs, ranks of the topology.
        nodes: number of nodes that they are on.
        batch: samples of the step, over all GPUs.
        micro_batch: samples of a GPU at a time.
        accumulate: microbatches of the step.
        dtype: type of the computation.
        optimizer: a name in OPTIMIZERS.
        step_number: which step of the run, from 1.
        recompute: activations that are computed again in the backward pass: none, selective (attention's scores),
            alternate (those of every second block) or full.
    """

    model: Model
    ranks: tuple[int, ...]
    nodes: int
    batch: int
    micro_batch: int
    accumulate: int
    dtype: str
    optimizer: str
    step_number: int
    recompute: str = "none"

    @property
    def has_wide_weights(self) -> bool:
        """Whether weights are wider than what is computed in, as under torch.autocast."""
        itemsize = find_itemsize(self.dtype)
        return any(itemsize < find_itemsize(layer.dtype) for layer in self.model.layers)


@dataclass(frozen=True)
class ParallelStrategy:
    """A way of splitting a step over GPUs; a value: equal where its options are.

    A strategy says once what it is: its text form (`label`), its place in products (`axis`, `parts`), the step that it
    builds, its module of PyTorch and its options of Megatron-LM. Everything else asks for these, not for its class.

    Attributes:
        name: the function that makes it.
        axis: what it splits in a product: dp, tp, cp, ep or pp; "" for what cannot be multiplied.
        leading: options that its function takes by position, which a label always shows and nothing changes.
        rank_order: which kind of parallelism varies fastest over the ranks.

    Examples:
        >>> import collsim as cs
        >>> isinstance(cs.ddp(), cs.train.ParallelStrategy)
        True
        >>> (cs.tensor(2) * cs.ddp()).count_replicas(ranks=8)
        4
    """

    name: ClassVar[str] = ""
    axis: ClassVar[str] = ""
    leading: ClassVar[tuple[str, ...]] = ()

    @property
    def accumulate(self) -> int | None:
        """Microbatches of a step; None: as many as the batch asks for."""
        return None

    @property
    def parts(self) -> tuple[ParallelStrategy, ...]:
        """What is multiplied; itself where nothing is."""
        return (self,)

    @property
    def rank_order(self) -> str:
        """Which kind of parallelism varies fastest over the ranks, as in Megatron-LM."""
        return RANK_ORDER

    @property
    def stage_count(self) -> int:
        """GPUs that are stages of a pipeline."""
        return 1

    @property
    def holds_model(self) -> bool:
        """Whether every GPU holds the whole model, and a microbatch for itself."""
        return False

    @property
    def overlap(self) -> bool:
        """Whether gradients are reduced beside the backward pass."""
        return True

    # ---- text form --------------------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The call that makes it: what differs from its defaults."""
        first = [repr(getattr(self, name)) for name in self.leading]
        options = [f"{name}={self.format_option(name, value)}" for name, value in self.list_changed_options().items()]
        return f"{self.name}({', '.join([*first, *options])})"

    def list_options(self) -> list[str]:
        """What may be changed of it, by name; how many GPUs share what is none of it."""
        return [f.name for f in fields(self) if f.name not in self.leading]

    def list_changed_options(self) -> dict[str, object]:
        """Options that differ from their defaults."""
        options = self.list_options()
        return {
            f.name: value for f in fields(self) if f.name in options and (value := getattr(self, f.name)) != f.default
        }

    def format_option(self, name: str, value: object) -> str:
        """The value of an option as its call has it.

        Args:
            name: Name of the option.
            value: Its value.
        """
        return repr(value)

    def with_options(self, **options: object) -> ParallelStrategy:
        """The same with other options, checked by the function that makes it.

        Args:
            options: Options to replace, as the function that makes the strategy takes them.
        """
        stated = {name: getattr(self, name) for name in self.list_options()} | options
        return _MAKERS[self.name](*(getattr(self, name) for name in self.leading), **stated)

    # ---- other tools ------------------------------------------------------------------------------------------------

    @property
    def torch_module(self) -> str:
        """The module of PyTorch that runs its step: DistributedDataParallel, DataParallel, DeviceMesh, or none."""
        return ""

    @property
    def is_one_process(self) -> bool:
        """Whether one process drives all GPUs."""
        return False

    @property
    def uses_nccl(self) -> bool:
        """Whether NCCL's model knows all of its collectives."""
        return True

    def list_megatron_options(self) -> list[str]:
        """List the options of Megatron-LM (megatron/training/arguments.py) that split a step so.

        Returns:
            Options, a line each.

        Raises:
            CollsimError: It has none.
        """
        return []

    def list_torch_fsdp_options(self) -> list[str]:
        """The same where Megatron-LM runs torch's FSDP2; none where this strategy is no FSDP that torch has."""
        return []

    def find_missing_megatron_options(self) -> dict[str, bool]:
        """Options that Megatron-LM has not, as they are written, and whether this strategy uses them."""
        return {}

    # ---- products and steps -----------------------------------------------------------------------------------------

    def __mul__(self, other: ParallelStrategy) -> ParallelStrategy:
        """Both at once: `tensor(8) * pipeline(4) * ddp()`."""
        from .combined_split import compose_strategies

        return compose_strategies(self, other)

    def select_builder(self, recompute: str) -> ParallelStrategy:
        """Select what builds the step: a part of products by itself is a product of one.

        Args:
            recompute: Activations that are computed again: none, selective, alternate or full.

        Returns:
            The strategy, or the product of it alone.

        Raises:
            CollsimError: It does not model that recomputation.
        """
        from .combined_split import as_split

        return as_split(self)

    def count_replicas(self, ranks: int) -> int:
        """Count the replicas of the model, which take samples of their own.

        Args:
            ranks: Number of GPUs.

        Returns:
            The number of replicas: all of them where GPUs do not share one.

        Raises:
            CollsimError: So many GPUs cannot be split so.
        """
        return self.select_builder("none").count_replicas(ranks)

    def build_step(self, workload: Workload) -> TrainingStep:
        """The TrainingStep of a model. Raises CollsimError for what cannot be split so.

        Args:
            workload: Model, batch, number format and GPU.
        """
        return self.select_builder(workload.recompute).build_step(workload)

    def assign_tensors(self, model: Model, step: int = 2) -> list[list[int]]:
        """Assign the tensors of a model to messages of gradients.

        Args:
            model: The model.
            step: Which step of the run, from 1.

        Returns:
            Numbers of the tensors of each, in the order of launch; nothing where gradients go by layer.
        """
        return []


class WholeModelStrategy(ParallelStrategy, ABC):
    """Every GPU holds the whole model; such a strategy builds its step itself."""

    @property
    def holds_model(self) -> bool:
        """Always."""
        return True

    def select_builder(self, recompute: str) -> ParallelStrategy:
        """Select what builds the step: itself, where nothing is computed again.

        Args:
            recompute: Activations that are computed again: none, selective, alternate or full.

        Returns:
            The strategy, or the product of it alone.

        Raises:
            CollsimError: It does not model that recomputation.
        """
        if recompute == "none":
            return self
        if self.axis:
            return super().select_builder(recompute)
        message = "recompute={recompute!r} is not modelled with {says}; use ddp, zero or fsdp"
        raise CollsimError(message, recompute=recompute, says=self.label)

    def count_replicas(self, ranks: int) -> int:
        """A replica on each GPU."""
        return ranks

    @abstractmethod
    def build_step(self, workload: Workload) -> TrainingStep:
        """The TrainingStep of a model. Raises CollsimError for what cannot be split so."""


@dataclass(frozen=True)
class TorchReplicas:
    """How PyTorch keeps the replicas of a product together, where each is a module on a mesh of processes.

    Attributes:
        call: the function that shares a module: `fully_shard` or `replicate`.
        imports: lines that import what it needs.
        purpose: what it does, for a comment.
        reduce_dtype: type of gradients on the wire.
        missing: options of the strategy that torch has not.
        keeps_weights: gathered weights stay until the backward pass.
        waits_for_gathers: a block is gathered when it is needed, and not ahead.
        reduces_each: gradients are reduced after each microbatch.
        reduces_once: gradients are reduced after the last microbatch.
        gathers_once: weights are gathered once a step.
    """

    call: str
    imports: tuple[str, ...]
    purpose: str
    reduce_dtype: str
    missing: tuple[str, ...] = ()
    keeps_weights: bool = False
    waits_for_gathers: bool = False
    reduces_each: bool = False
    reduces_once: bool = False
    gathers_once: bool = False


class ReplicaStrategy(ParallelStrategy, ABC):
    """How the replicas of a model keep together; a part of a product."""

    axis: ClassVar[str] = "dp"

    @property
    def replicate(self) -> int:
        """Replicas that are sharded over the rest each; 1 where all are sharded over all, or none is."""
        return 1

    @property
    def shares_gradients(self) -> bool:
        """Whether a GPU keeps a part of the gradients alone."""
        return False

    @property
    def reduce_dtype(self) -> str | None:
        """Type of gradients on the wire; None: the computation's."""
        return None

    @abstractmethod
    def describe_torch(self, dtype: str) -> TorchReplicas:
        """Describe the call of PyTorch that keeps replicas of a stage together.

        Args:
            dtype: Type that the step computes in.

        Returns:
            The call, and what it does otherwise than the step.
        """

    @abstractmethod
    def create_sync(self, builder: SplitBuilder) -> ReplicaSync:
        """Create the collectives and the memory of replicas in a step under construction."""


_MAKERS: dict[str, Callable[..., ParallelStrategy]] = {}
_MakeStrategy = TypeVar("_MakeStrategy", bound=Callable[..., ParallelStrategy])


def register_strategy(make: _MakeStrategy) -> _MakeStrategy:
    """Register a function that makes strategies: `with_options` calls it again."""
    _MAKERS[make.__name__] = make
    return make


def parse_accumulate(accumulate: int | None) -> int | None:
    """Check a number of microbatches; None stays, for as many as the batch asks for."""
    if accumulate is None:
        return None
    return parse_count(accumulate, "accumulate")


# ---- passes ---------------------------------------------------------------------------------------------------------


class WholeModelStep(StepBuilder):
    """The step of a strategy by which every GPU holds the whole model, under construction.

    Args:
        workload: Model, GPUs, samples and types of the step.
    """

    def __init__(self, workload: Workload):
        super().__init__()
        # Each microbatch passes each layer twice; too many tasks are refused before any is built.
        require_tasks(2 * workload.accumulate * len(workload.model.layers))
        self.workload = workload

    def _build_pass_options(self, layer: Layer, times: int) -> TaskOptions:
        """Of one pass of a layer; the backward pass is two (gradients of its input and of its weights)."""
        samples, item = self.workload.micro_batch, find_itemsize(self.workload.dtype)
        moved = (layer.traffic * samples + layer.parameters) * item * times
        return {"flops": layer.flops * samples * times, "memory_bytes": moved, "ops": layer.ops * times}

    def add_forward(self, lane: int, micro: int, after: tuple[int, ...] = (), threads: int = 1) -> list[int]:
        """Add the forward pass of one microbatch, a task per layer.

        Args:
            lane: Lane that computes.
            micro: Number of the microbatch.
            after: Tasks that the first layer waits for.
            threads: Threads under one lock of Python, which launch in turns.

        Returns:
            Numbers of the tasks, by layer.
        """
        numbers = []
        for i, layer in enumerate(self.workload.model.layers):
            options = self._build_pass_options(layer, 1)
            options["ops"] *= threads
            options |= {"dependencies": () if i else after, "layer": i, "microbatch": micro}
            numbers.append(self.add_task(layer.name, "forward", (lane,), **options))
        return numbers

    def add_backward(
        self, lane: int, micro: int, passed: list[int], ready: Callable[[int, int], None] | None = None
    ) -> list[int]:
        """Add the backward pass of one microbatch, last layer first. Activations live from a layer's forward to its
        backward task.

        Args:
            lane: Lane that computes.
            micro: Number of the microbatch.
            passed: Tasks of the forward pass, by layer.
            ready: Called behind each layer with its number and its task, when its gradients are there.

        Returns:
            Numbers of the tasks, last layer first.
        """
        item, layers = find_itemsize(self.workload.dtype), self.workload.model.layers
        numbers = []
        for i in range(len(layers) - 1, -1, -1):
            layer = layers[i]
            options = self._build_pass_options(layer, 2) | {"layer": i, "microbatch": micro}
            number = self.add_task(layer.name, "backward", (lane,), **options)
            activation_bytes = (layer.count_activation_bytes(item) + layer.mask_bytes) * self.workload.micro_batch
            self.add_allocation(lane, "activations", activation_bytes, passed[i], number)
            numbers.append(number)
            if ready is not None:
                ready(i, number)
        return numbers

    def add_optimizer(self, name: str = "optimizer", shards: int = 1) -> int:
        """The optimizer's step over all parameters, or over one of so many equal parts of them.

        Args:
            name: of the task.
            shards: Equal parts the parameters are in, of which each GPU updates one.
        """
        moved = OPTIMIZERS[self.workload.optimizer][1] / 4 * self.workload.model.nbytes + self._count_copy_bytes()
        return self.add_task(name, "optimizer", (0,), memory_bytes=moved / shards, ops=1)

    def add_gradient_allocations(self, backwards: list[int], last: int) -> None:
        """Gradients from the (first) backward task of their layer on, until the optimizer has used them.

        Args:
            backwards: Each layer's (first) backward task, the last layer's first.
            last: The task that needs the gradients last.
        """
        for number, layer in zip(backwards, self.workload.model.layers[: len(backwards)][::-1], strict=True):
            self.add_allocation(0, "gradients", layer.nbytes, number, last)

    def _count_copy_bytes(self) -> int:
        """Bytes of the copy, in the type that is computed in, of weights that are wider."""
        itemsize = find_itemsize(self.workload.dtype)
        layers = self.workload.model.layers
        return sum(itemsize * layer.parameters for layer in layers if itemsize < find_itemsize(layer.dtype))

    def count_resident_bytes(self, *, optimizer: bool = True) -> dict[str, int]:
        """Count the bytes that a GPU holds of the model all the time. Computing in 16 bits takes a copy of the weights
        in 16 bits beside those in float32, which gradients and the optimizer stay in: with Adam 18 bytes per parameter,
        gradients included (Megatron-LM, megatron/training/theoretical_memory_usage.py; torch.autocast caches such a
        copy too). A model whose weights are in 16 bits has no copy, and its gradients and optimizer are in 16 bits.

        Args:
            optimizer: Whether the GPU holds the optimizer's state.

        Returns:
            Bytes by kind: parameters, buffers, optimizer.
        """
        model = self.workload.model
        resident = {"parameters": model.nbytes + self._count_copy_bytes(), "buffers": model.buffer_bytes}
        if optimizer:
            resident["optimizer"] = OPTIMIZERS[self.workload.optimizer][0] * model.nbytes // 4
        return resident

    def finish(
        self, label: str, lanes: tuple[tuple[int, ...], ...], *resident: dict[str, int], staleness: int = 0
    ) -> TrainingStep:
        """Freeze the step.

        Args:
            label: The strategy as text.
            lanes: Ranks of each lane.
            *resident: Of each lane, what its GPUs hold all the time.
            staleness: Updates by others between a worker's reading of the weights and its own update.
        """
        w = self.workload
        what = w.batch, w.micro_batch, w.dtype, resident, tuple(self.allocations), staleness
        return TrainingStep(w.model, label, lanes, self.tasks, *what)


@check_arguments
def count_state_bytes(
    parameters: float, dtype: DataType = "bfloat16", optimizer: str = "adam", shards: int = 1
) -> float:
    """Bytes of weights, gradients and optimizer of so many parameters on one GPU.

    18 each with Adam in 16 bits, 16 in float32; with the optimizer's part (and the weights in float32, where there are
    two kinds) spread over `shards` ranks 6 + 12/shards (Megatron-LM, megatron/training/theoretical_memory_usage.py).

    Args:
        parameters: how many, 1 or more.
        dtype: in which weights and gradients are kept.
        optimizer: adam, momentum, sgd or none.
        shards: ranks that share the optimizer's part.

    Returns:
        Bytes.

    Raises:
        CollsimError: For numbers below 1, and unknown types and optimizers.

    Examples:
        >>> import collsim as cs
        >>> cs.train.count_state_bytes(7_000_000_000, "bfloat16", shards=8) / 1e9
        52.5
    """
    small = find_itemsize(dtype) < 4
    resident = 4 + 4
    if small:
        resident = 2 + 4
    shared = (4 if small else 0) + get_optimizer_bytes(optimizer)
    return parse_count(parameters, "parameters") * (resident + shared / parse_count(shards, "shards"))
