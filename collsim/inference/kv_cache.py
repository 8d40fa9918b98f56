"""Keys and values that inference keeps of every token, and what it takes to move them to other GPUs.

Prefill and decode on GPUs of their own: Zhong et al. 2024, DistServe (arXiv 2401.09670), and Qin et al. 2024, Mooncake
(arXiv 2407.00079). Bytes of a token: DeepSeek-AI 2025, Insights into DeepSeek-V3 (arXiv 2505.09343), table 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ..dtypes import find_itemsize
from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..schedule import Schedule
from ..simulate import Trace, simulate
from ..steps import copy
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize, parse_bytes, parse_count

if TYPE_CHECKING:
    from ..train import Layer, Model

#: Layer of latent attention (DeepSeek) whose output is all that the cache keeps of a token.
_LATENT: Final = ".attention.keys.down"


@check_arguments
def count_kv_bytes(model: Model, dtype: str = "bfloat16") -> float:
    """Count the bytes of keys and values that the cache keeps of one token, on all GPUs of a replica together.

    Args:
        model: a decoder; `cs.model(name)` makes one. Attention windows are not taken off: a long context needs less in
            the blocks that have one.
        dtype: in which keys and values are kept.

    Returns:
        Bytes a token.

    Raises:
        CollsimError: The model is no decoder, or the type is unknown.

    Examples:
        Llama 3.1 405B and DeepSeek-V3, whose attention is latent (arXiv 2505.09343, table 1: 516.096 and 70.272 kB):

        >>> import collsim as cs
        >>> from collsim.inference import count_kv_bytes
        >>> count_kv_bytes(cs.model("llama3-405b")), count_kv_bytes(cs.model("deepseek-v3"))
        (516096.0, 70272.0)
    """
    elements = sum(count_kv_elements(layer, model.layers) for layer in model.layers)
    if not model.tokens or not elements or not any(map(is_head, model.layers)):
        message = "{name} is no decoder: nothing in it gives the next token from keys and values of those before"
        raise CollsimError(message, name=model.name)
    return elements / model.tokens * find_itemsize(dtype)


def count_kv_elements(layer: Layer, layers: tuple[Layer, ...]) -> float:
    """Count the elements that the cache keeps of a sample because of one layer of attention.

    Args:
        layer: the layer.
        layers: all layers of its model, one of which makes the latent vector where attention is latent.

    Returns:
        Elements of all its tokens; 0 for layers that are no attention.
    """
    if not layer.kv_size:
        return 0.0
    latent = find_latent_layer(layer, layers)
    if latent is not None:
        return latent.outputs
    return layer.kv_size


def find_latent_layer(layer: Layer, layers: tuple[Layer, ...]) -> Layer | None:
    """Find the layer whose output is all that the cache keeps of a token, where attention is latent.

    Args:
        layer: one of attention.
        layers: all layers of its model.

    Returns:
        The layer; None where keys and values themselves are kept.
    """
    name = layer.block + _LATENT
    return next((other for other in layers if other.name == name), None)


def is_head(layer: Layer) -> bool:
    """Whether a layer gives the next token: a product with one column for each word.

    Args:
        layer: the layer.
    """
    return layer.partition == "vocab" and layer.kind != "embedding"


@dataclass(frozen=True)
class KvTransfer:
    """Keys and values of one prompt on their way from the GPUs that read it to those that write the answer.

    Attributes:
        nbytes: of all tokens.
        senders: GPUs that send an equal part each.
        trace: simulated: GPU k of the first node sends to GPU k of the second.

    Examples:
        >>> import collsim as cs
        >>> moved = cs.inference.simulate_kv_transfer("640MiB", cs.machine("dgx-h100", nodes=2), senders=8)
        >>> moved.senders, round(moved.time * 1e3, 2)  # 8 cards of 50 GB/s
        (8, 1.68)
    """

    nbytes: int
    senders: int
    trace: Trace

    @property
    def time(self) -> float:
        """Seconds until all of it is there."""
        return self.trace.time

    @property
    def link(self) -> str:
        """The kind of link that takes longest."""
        return name_slowest_link(self.trace)


def name_slowest_link(trace: Trace) -> str:
    """Name the kind of link that limits a run by its product, `IB NDR`.

    Args:
        trace: of the run.

    Returns:
        The name; empty where nothing moves.
    """
    bottleneck = trace.bottleneck
    if bottleneck is None:
        return ""
    return bottleneck.label


@check_arguments
def simulate_kv_transfer(nbytes: ByteSize, machine: TopologyLike, senders: int = 1) -> KvTransfer:
    """Simulate how keys and values of a prompt move from the first node of a machine to the second.

    Args:
        nbytes: bytes of all tokens, or text such as `"640MiB"`.
        machine: of at least two nodes.
        senders: GPUs of a node that hold an equal part each.

    Returns:
        The simulated transfer.

    Raises:
        CollsimError: The machine has one node, or fewer GPUs on a node than senders.

    Examples:
        >>> import collsim as cs
        >>> from collsim.inference import simulate_kv_transfer
        >>> one = simulate_kv_transfer("1GiB", cs.machine("dgx-h100", nodes=2), senders=1)
        >>> eight = simulate_kv_transfer("1GiB", cs.machine("dgx-h100", nodes=2), senders=8)
        >>> round(one.time / eight.time)
        8
    """
    size, count = parse_bytes(nbytes, "nbytes"), parse_count(senders, "senders")
    topology = resolve_topology(machine, "simulate_kv_transfer")
    nodes = topology.facts.nodes
    if nodes < 2:
        message = "{name} has one node, and keys and values go from one node to another; give nodes=2"
        raise CollsimError(message, name=topology.name)
    gpus = topology.ranks // nodes
    if count > gpus:
        message = "senders={senders} of {gpus} GPUs on a node of {name}"
        raise CollsimError(message, senders=count, gpus=gpus, name=topology.name)
    gpu = np.arange(count)
    moves = copy(gpu, count + gpu, chunk=0, into=1)
    schedule = Schedule("kv_transfer", "sendrecv", 2 * count, 2 * count, chunks=1, slots=2, patterns=(moves,))
    # GPU k of each of the two nodes; each sends its part, and a call's size is that of one rank.
    ranks = [*gpu.tolist(), *(gpus + gpu).tolist()]
    return KvTransfer(size, count, simulate(schedule, topology, -(-size // count), ranks=ranks))
