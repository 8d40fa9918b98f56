"""What one GPU holds and does of a model's layers when several share them.

Tensor parallelism: Shoeybi et al. 2019 (arXiv 1909.08053), Megatron-LM megatron/core/tensor_parallel/mappings.py:
after each row-parallel layer an allreduce in the forward pass, and one as large before each column-parallel layer in
the backward pass. With sequence parallelism (Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2)
each of them is an allgather and a reduce-scatter of the same bytes; the second allgather of a layer's input in the
backward pass runs beside a product there and is left out. Activations: table 2 of the same paper. Experts: two
alltoalls of the tokens there and back. Context parallelism: keys and values go around a ring (Liu et al. 2023, arXiv
2310.01889).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from ..workload.expert_load import EVEN_ROUTING, ExpertRouting, OverlapWith
from ..workload.model import Layer, Model
from ..workload.step_graph import CollectiveOptions, LayerWork


@dataclass(frozen=True)
class LayerPartition:
    """How layers are shared, and what for.

    Attributes:
        tensor: GPUs that share a layer.
        context: GPUs that share a sequence.
        expert: GPUs that share the experts of a layer.
        sequence: whether norms and dropout are cut along the sequence.
        item_bytes: bytes of an element.
        micro_batch: samples of a microbatch.
        recompute: none, selective, alternate or full.
        expert_node: GPUs of a node among those that share experts, to which a token goes once; 0: tokens go to each
            expert by themselves.
        routing: how tokens are routed to experts.
        overlap_with: what computes while tokens travel, see `expert`.
    """

    tensor: int = 1
    context: int = 1
    expert: int = 1
    sequence: bool = False
    item_bytes: int = 4
    micro_batch: int = 1
    recompute: str = "none"
    expert_node: int = 0
    routing: ExpertRouting = EVEN_ROUTING
    overlap_with: OverlapWith = "nothing"

    def get_busiest_load(self, layer: Layer) -> float:
        """Find what the busiest GPU has of a layer.

        Args:
            layer: The layer.

        Returns:
            Its tokens, over the mean of all GPUs without a capacity; 1 where the layer is no expert's.
        """
        if not layer.experts or self.routing.is_even:
            return 1.0
        return self.routing.find_load(layer.experts, layer.top_k, self.expert).busiest


def is_shared_expert(layer: Layer) -> bool:
    """Tell whether a layer is of the expert that all tokens go through, by the name that its family gives it.

    Args:
        layer: The layer.

    Returns:
        Whether it is.
    """
    return ".shared." in layer.name


class CollectiveCall(NamedTuple):
    """A collective of a pass.

    Attributes:
        stream: `tensor`, `context`, `expert` ...; collectives of one stream follow each other.
        kind: name of the collective.
        nbytes: nccl-tests' size in bytes.
        repeats: how often it runs, one after another.
        groups: which groups run it, where they are not those that the stream is named after.
        options: options of its algorithm: amounts of an alltoallv.
    """

    stream: str
    kind: str
    nbytes: int
    repeats: int = 1
    groups: str = ""
    options: CollectiveOptions = ()


@dataclass(frozen=True, eq=False)
class ModelUnit:
    """Layers that are gathered, recomputed and cut off a pipeline together: a block of a transformer, or one layer.

    Attributes:
        name: name of the block or of the layer.
        first: number of its first layer in the model.
        layers: its layers, in the order of the forward pass.
        is_block: whether it is one of many alike.
        partition: how its layers are shared.
        tied_elements: elements of another layer's matrix that it has a copy of.
    """

    name: str
    first: int
    layers: tuple[Layer, ...]
    is_block: bool
    partition: LayerPartition
    tied_elements: int = 0

    @cached_property
    def dense_parameters(self) -> int:
        """Elements of its parameters on a GPU, experts' aside."""
        return sum(count_layer_parameters(layer, self.partition) for layer in self.layers if not layer.experts) + -(
            -self.tied_elements // self.partition.tensor
        )

    @cached_property
    def expert_parameters(self) -> int:
        """Elements of its experts' parameters on a GPU."""
        return sum(count_layer_parameters(layer, self.partition) for layer in self.layers if layer.experts)

    @cached_property
    def parameters(self) -> int:
        """Elements of its parameters on a GPU."""
        return self.dense_parameters + self.expert_parameters

    @cached_property
    def activation_bytes(self) -> float:
        """Bytes of activations that it keeps for the backward pass of a microbatch, with nothing recomputed in
        full."""
        return sum(count_layer_activation_bytes(layer, self.partition) for layer in self.layers)

    @cached_property
    def backward_shares(self) -> tuple[tuple[float, float], ...]:
        """While each layer runs backward, the last first: shares of the unit's activations that are still there, and of
        its gradients that are there already."""
        activations = [count_layer_activation_bytes(layer, self.partition) for layer in self.layers]
        parameters = [count_layer_parameters(layer, self.partition) for layer in self.layers]
        resident, ready = sum(activations), 0
        shares = []
        for nbytes, size in zip(reversed(activations), reversed(parameters), strict=True):
            ready += size
            if size:  # others only free what they kept
                shares.append((resident / (sum(activations) or 1.0), ready / sum(parameters)))
            resident -= nbytes
        return tuple(shares) or ((1.0, 1.0),)

    @cached_property
    def resident_bytes(self) -> float:
        """Bytes of activations that it keeps from the forward to the backward pass."""
        if self.is_recomputed:
            return self.input_bytes
        return self.activation_bytes

    @cached_property
    def recomputed_bytes(self) -> float:
        """Bytes of activations that are there beside its input while it is computed again."""
        if self.is_recomputed:
            return max(0.0, self.activation_bytes - self.input_bytes)
        return 0.0

    @property
    def is_recomputed(self) -> bool:
        """Computed again as a whole in the backward pass."""
        return self.is_block and self.partition.recompute == "full"

    @property
    def input_bytes(self) -> float:
        """Bytes of its input: of a block as large as its output."""
        return self.output_elements * self.partition.item_bytes

    @property
    def output_elements(self) -> float:
        """Elements that a GPU hands on for a microbatch."""
        c = self.partition
        return self.layers[-1].outputs * c.micro_batch / c.context / (c.tensor if c.sequence else 1)

    @property
    def recomputed_flops(self) -> float:
        """Floating point operations that a GPU computes a second time for a microbatch."""
        if self.is_recomputed:
            return sum(work.flops for work in self.forward_work)
        if self.is_block and self.partition.recompute == "selective":
            return sum(work.flops for work in self.attention_work)
        return 0.0

    @cached_property
    def forward_work(self) -> tuple[LayerWork, ...]:
        """What a forward pass computes."""
        return tuple(build_layer_work(self.first + i, layer, self.partition) for i, layer in enumerate(self.layers))

    @cached_property
    def attention_work(self) -> tuple[LayerWork, ...]:
        """Of that what reads all of a sequence."""
        return tuple(
            work for work, layer in zip(self.forward_work, self.layers, strict=True) if layer.partition == "heads"
        )

    def list_work(self, kind: str) -> tuple[LayerWork, ...]:
        """List what a pass computes.

        Args:
            kind: F (forward), B (backward), or the halves of B: I gives the gradient of the input, W that of the
                weights.

        Returns:
            The work layer by layer; what is computed again comes first.
        """
        if kind == "F":
            return self.forward_work
        if kind == "W":
            return tuple(work._replace(is_backward=True, wait_count=0) for work in self.forward_work)
        times = 1
        if kind == "B":
            times = 2
        out = tuple(
            w._replace(
                flops=w.flops * times,
                memory_bytes=w.memory_bytes * times,
                ops=w.ops * times,
                is_backward=True,
                wait_count=count_waits(layer, self.partition, back=True),
            )
            for w, layer in zip(self.forward_work, self.layers, strict=True)
        )
        if self.is_recomputed:
            return self.forward_work + out
        if self.is_block and self.partition.recompute == "selective":
            return self.attention_work + out
        return out

    def list_collectives(self, kind: str) -> tuple[CollectiveCall, ...]:
        """List the collectives of a pass over tensor and expert parallel groups; what is computed again sends again.

        Args:
            kind: Kind of pass: F, B, I or W.

        Returns:
            The collectives in the order of the layers.
        """
        if kind == "W":
            return ()
        there = tuple(message for layer in self.layers for message in list_layer_collectives(layer, self.partition))
        if kind == "F":
            return there
        back = tuple(
            message for layer in self.layers for message in list_layer_collectives(layer, self.partition, back=True)
        )
        if self.is_recomputed:
            return there + back
        return back

    @cached_property
    def kv_bytes(self) -> int:
        """Bytes of keys and values that one hop of the ring of context parallelism carries in a forward pass."""
        c = self.partition
        total = sum(layer.kv_size for layer in self.layers) * c.micro_batch * c.item_bytes
        if c.context > 1:
            return round(total / c.context / c.tensor)
        return 0


def find_backward_peak(
    units: Sequence[ModelUnit], gradients: Sequence[float], recomputes: bool = True
) -> tuple[float, float]:
    """Find what a backward pass through units holds of them in its fullest moment. It goes through them from the last
    to the first, and through their layers: what one has kept is free before the gradients of the one before it are
    there.

    Args:
        units: The units, in the order of the forward pass.
        gradients: Bytes of gradients that the pass adds, for each unit; 0 where earlier passes left them.
        recomputes: Whether the pass computes activations again.

    Returns:
        Bytes of activations, and of gradients that the pass has added.
    """
    resident, behind = sum(unit.resident_bytes for unit in units), 0.0
    most, fullest = 0.0, (0.0, 0.0)
    for unit, nbytes in zip(reversed(units), reversed(gradients), strict=True):
        activations = unit.resident_bytes + recomputes * unit.recomputed_bytes
        resident -= unit.resident_bytes
        for activation_share, gradient_share in unit.backward_shares:
            stored, added = resident + activation_share * activations, behind + gradient_share * nbytes
            if stored + added > most:
                most, fullest = stored + added, (stored, added)
        behind += nbytes
    return fullest


@lru_cache(maxsize=256)
def build_units(model: Model, cut: LayerPartition) -> tuple[ModelUnit, ...]:
    """Group the layers of a model into units: those whose names agree up to a number (`h.3.mlp.up`, `h.3.norm1`), and
    all others by themselves.

    Args:
        model: The model.
        cut: How its layers are shared.

    Returns:
        The units in the order of the forward pass.
    """
    out: list[ModelUnit] = []
    last = ""
    for i, layer in enumerate(model.layers):
        if layer.block and layer.block == last:
            before = out.pop()
            out.append(ModelUnit(before.name, before.first, (*before.layers, layer), True, cut))
        else:
            out.append(ModelUnit(layer.block or layer.name, i, (layer,), bool(layer.block), cut))
        last = layer.block
    if cut.recompute == "alternate":
        return tuple(_mark_alternate_blocks(out))
    return tuple(out)


def _mark_alternate_blocks(listed: Sequence[ModelUnit]) -> Iterator[ModelUnit]:
    """The same, every second block computed again as a whole, the first one too, and the others not at all."""
    blocks = 0
    for unit in listed:
        yield replace(
            unit, partition=replace(unit.partition, recompute="none" if blocks % 2 or not unit.is_block else "full")
        )
        blocks += unit.is_block


def count_tied_elements(model: Model) -> int:
    """Count the elements of the matrix that the head shares with the first layer.

    Args:
        model: The model.

    Returns:
        The number; 0 where the head has its own matrix.
    """
    first, head = model.layers[0], model.layers[-1]
    if head.partition == "vocab" and not head.tensors and first.tensors:
        return first.tensors[0]
    return 0


# ---- of one layer ---------------------------------------------------------------------------------------------------


def count_layer_parameters(layer: Layer, cut: LayerPartition) -> int:
    """Count the elements of a layer's parameters on a GPU: cut by columns all of them, by rows and words the first
    tensor.

    Args:
        layer: The layer.
        cut: How it is shared.

    Returns:
        Elements of a GPU.
    """
    t = cut.tensor * (cut.expert if layer.experts else 1)
    if layer.partition == "column":
        return sum(-(-n // t) for n in layer.tensors)
    if layer.partition in ("row", "vocab") and layer.tensors:
        if not layer.experts:
            rest = layer.tensors[1:]
        else:
            rest = tuple(-(-n // cut.expert) for n in layer.tensors[1:])
        return -(-layer.tensors[0] // t) + sum(rest)
    return layer.parameters


def count_layer_activation_bytes(layer: Layer, cut: LayerPartition) -> float:
    """Count the bytes of activations that a GPU keeps of a layer for a microbatch (Korthikanti et al. 2022, table 2).

    Args:
        layer: The layer.
        cut: How it is shared, and what is recomputed.

    Returns:
        Bytes of a GPU.
    """
    activation_bytes, masks, t = layer.count_activation_bytes(cut.item_bytes), layer.mask_bytes, cut.tensor
    if cut.recompute == "selective" and layer.partition == "heads":
        # Selective: the scores of all pairs of tokens and their dropout masks are computed again; the layer's result
        # and its keys and values stay.
        activation_bytes, masks = min(activation_bytes, (layer.outputs + layer.kv_size) * cut.item_bytes), 0.0
    split = 1
    if layer.partition in ("row", "heads"):
        split = t
    hidden = 1
    if layer.partition == "heads" or (layer.partition == "vocab" and layer.kind != "embedding"):
        hidden = t
    if cut.sequence:
        split = hidden = t
    samples = cut.micro_batch / cut.context * cut.get_busiest_load(layer)
    return (activation_bytes / split + masks / hidden) * samples


def build_layer_work(number: int, layer: Layer, cut: LayerPartition) -> LayerWork:
    """Build what a GPU computes of a layer in a forward pass of a microbatch.

    Args:
        number: Number of the layer in its model.
        layer: The layer.
        cut: How it is shared.

    Returns:
        FLOPs, bytes of memory and operations of a GPU.
    """
    # All GPUs wait for the one whose experts have most to do.
    t, samples = cut.tensor, cut.micro_batch / cut.context * cut.get_busiest_load(layer)
    whole_bytes = {"column": layer.activations, "vocab": layer.activations, "row": layer.outputs, "heads": 0.0}.get(
        layer.partition, layer.traffic
    )
    if layer.kind == "embedding":
        whole_bytes = layer.traffic
    if not layer.partition and cut.sequence:
        whole_bytes = 0.0
    whole_bytes = min(whole_bytes, layer.traffic)
    # `whole` is what each GPU of a tensor parallel group reads or writes in full: the input of a layer that is cut by
    # columns, the output of one that is cut by rows. The rest is cut in t parts.
    moved = (whole_bytes + (layer.traffic - whole_bytes) / t) * samples
    share = 1
    if layer.partition:
        share = t
    nbytes = (moved + count_layer_parameters(layer, cut)) * cut.item_bytes
    width = layer.width // (t if layer.partition == "vocab" else 1)
    if layer.experts:
        width = layer.experts // cut.expert
    return LayerWork(
        number, layer.flops * samples / share, nbytes, layer.ops, width=width, wait_count=count_waits(layer, cut)
    )


def list_layer_collectives(layer: Layer, cut: LayerPartition, back: bool = False) -> list[CollectiveCall]:
    """List the collectives of a layer in one pass of a microbatch.

    Args:
        layer: The layer.
        cut: How it is shared.
        back: Whether it is the backward pass.

    Returns:
        The collectives in order.
    """
    out = []
    tokens = cut.micro_batch / cut.context * cut.item_bytes
    size = round(layer.outputs * tokens)
    if cut.expert > 1 and layer.experts and layer.partition == "row":
        share = 1
        if cut.sequence:
            share = cut.tensor
        out += _list_dispatches(layer, cut, layer.outputs * tokens / share)
    if cut.tensor > 1 and layer.partition == "row":
        kinds: tuple[str, ...] = ("allreduce",)
        if cut.sequence:
            kinds = ("allgather", "reduce_scatter")
        out += [CollectiveCall("tensor", kind, size) for kind in kinds]
    if cut.tensor > 1 and layer.partition == "vocab":
        out += _list_vocab_collectives(layer, cut, back, size, round(layer.activations * tokens))
    return out


def _list_dispatches(layer: Layer, cut: LayerPartition, nbytes: float) -> list[CollectiveCall]:
    """The alltoalls of a layer's tokens, `nbytes` on a GPU, to their experts and back."""
    gpus, node = cut.expert, cut.expert_node
    load = cut.routing.find_load(layer.experts, layer.top_k, gpus)
    if not 0 < node < gpus:
        # Each token goes to `top_k` experts; once there and once back.
        return _list_there_and_back(nbytes * layer.top_k * sum(load.gpu_loads) / gpus, load.gpu_loads)
    # DeepEP (README, csrc/kernels/internode.cu; DeepSeek-AI 2024, section 3.2.2): over the network once to a node, to
    # the GPU of the same local rank, and over NVLink once to each GPU.
    # A token for two experts of one node, or of one GPU, goes there once.
    nodes, places = load.count_reached(gpus // node), load.count_reached(gpus)
    # All nodes wait for the one whose GPUs have most tokens.
    inside = max((places[i : i + node] for i in range(0, gpus, node)), key=sum)
    return [
        *_list_there_and_back(nbytes * sum(nodes), nodes, "expert rails"),
        *_list_there_and_back(nbytes * sum(inside) * (gpus // node), inside, "expert nodes"),
    ]


def _list_there_and_back(nbytes: float, received: Sequence[float], groups: str = "") -> list[CollectiveCall]:
    """The two alltoalls of tokens, `nbytes` on a GPU on average, of which GPUs receive shares that may differ."""
    mean = sum(received) / len(received)
    if max(received) <= mean * (1 + 1e-9):
        return [CollectiveCall("expert", "alltoall", round(nbytes), 2, groups)]
    shares = [f"{part / mean:.4g}" for part in received]
    # On their way back a GPU sends to each what it had received of it.
    rows = [",".join([share] * len(shares)) for share in shares]
    whole, amounts = round(nbytes * len(shares)), (",".join(shares), ";".join(rows))
    return [CollectiveCall("expert", "alltoallv", whole, 1, groups, (("amounts", text),)) for text in amounts]


def count_waits(layer: Layer, cut: LayerPartition, back: bool = False) -> int:
    """Count the collectives of a layer at which a pass waits for all of its GPUs.

    The allgather of sequence parallelism is the other half of an allreduce: GPUs are in step there, and a layer takes 3
    % less with it (Korthikanti et al. 2022, table 4).

    Args:
        layer: The layer.
        cut: How it is shared.
        back: Whether it is the backward pass.

    Returns:
        The number of collectives.
    """
    calls = list_layer_collectives(layer, cut, back)
    # One kernel sends tokens across nodes and on inside them.
    return sum(call.repeats for call in calls if call.kind != "allgather" and call.groups != "expert nodes")


def _list_vocab_collectives(
    layer: Layer, cut: LayerPartition, back: bool, handed: int, taken: int
) -> list[CollectiveCall]:
    """An embedding sums what it hands on, a head the gradient of what it takes."""
    first = layer.kind == "embedding"
    size = taken
    if first:
        size = handed
    if cut.sequence:
        return [CollectiveCall("tensor", "reduce_scatter" if first != back else "allgather", size)]
    if first != back:
        return [CollectiveCall("tensor", "allreduce", size)]
    return []


def merge_collectives(messages: Sequence[CollectiveCall]) -> tuple[CollectiveCall, ...]:
    """Merge equal collectives into one that runs several times.

    Args:
        messages: The collectives of a pass.

    Returns:
        Each kind and size once, in the order in which they first come.
    """
    times: dict[CollectiveCall, int] = {}
    for message in messages:
        once = message._replace(repeats=1)
        times[once] = times.get(once, 0) + message.repeats
    return tuple(message._replace(repeats=many) for message, many in times.items())
