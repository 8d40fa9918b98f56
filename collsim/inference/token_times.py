"""How long a model of several GPUs takes to read a prompt and to write a token, and what of it is communication.

Prefill reads all tokens of the prompt at once and is bound by arithmetic; decode writes one token of each sequence and
reads all weights and all keys and values for it, so it is bound by memory (Pope et al. 2022, Efficiently Scaling
Transformer Inference, arXiv 2211.05102). A block runs the collectives that the forward pass of a step of training runs
(`train.parallel.sharded_units`); `nccl.predict` says how long a call in a CUDA graph takes. Experts get the tokens of
all replicas by one alltoall and send them back by another (DeepSeek-AI 2025, DeepEP, README).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Final, TypeAlias

from ..dtypes import find_dtype_name, find_itemsize
from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..locale import translate
from ..nccl import predict
from ..nccl.predicted_schedule import predict_and_simulate
from ..topology import Topology
from ..topology_names import TopologyLike, resolve_topology
from ..train import GpuSpeed, Layer, Model
from ..train.compute.compute_costs import create_unknown_speed_error, find_gpu_speed
from ..train.compute.gpu_speeds import find_step_dtype, get_gpu_speed
from ..train.model_families import model as build_model
from ..train.parallel.combined_split import require_partitions
from ..train.parallel.sharded_units import (
    CollectiveCall,
    LayerPartition,
    build_layer_work,
    count_layer_parameters,
    list_layer_collectives,
    merge_collectives,
)
from ..units import format_bytes, format_time, parse_count
from .kv_cache import (
    KvTransfer,
    count_kv_bytes,
    count_kv_elements,
    find_latent_layer,
    is_head,
    name_slowest_link,
    simulate_kv_transfer,
)

#: What one collective takes.
TimeCall: TypeAlias = "Callable[[CollectiveCall], InferenceCall]"
#: A decode step of a model is captured in a CUDA graph, so no host launches its calls (vLLM and SGLang do so).
_LAUNCH: Final = "graph"
#: A call of which more than this part would remain at half the bytes waits for latency, not for a link's rate.
_LATENCY_BOUND: Final = 0.5


@dataclass(frozen=True)
class InferenceCall:
    """A collective that a phase runs, and how long it takes.

    Attributes:
        purpose: `tensor` (sums of layers that GPUs share), `logits`, `dispatch` (tokens to experts) or `combine` (their
            results back).
        collective: name of the collective.
        nbytes: nccl-tests' size in bytes.
        count: how often the phase runs it.
        ranks: GPUs that take part.
        seconds: of one call.
        low: s, the lower end of the interval that holds four of five measurements.
        high: s, its upper end.
        algorithm: algorithm and protocol that NCCL chooses.
        latency_share: part of the time that does not depend on the size, 0 to 1.
        link: the kind of link that limits its rate, `IB NDR`.

    Examples:
        >>> import collsim as cs
        >>> times = cs.inference.time_inference("llama3-70b", "dgx-h100", tensor=8)
        >>> call = times.decode.calls[0]
        >>> call.collective, call.nbytes, call.count  # two a block, and one of the embedding
        ('allreduce', 16384, 161)
    """

    purpose: str
    collective: str
    nbytes: int
    count: int
    ranks: int
    seconds: float
    low: float
    high: float
    algorithm: str
    latency_share: float
    link: str

    @property
    def total(self) -> float:
        """Seconds of all its runs."""
        return self.count * self.seconds

    @property
    def waits_for_latency(self) -> bool:
        """Whether a faster link would save less than half of its time."""
        return self.latency_share > _LATENCY_BOUND


@dataclass(frozen=True)
class InferencePhase:
    """Prefill of a prompt, or one step of decode.

    Attributes:
        name: `prefill` or `decode`.
        tokens: that a replica reads or writes.
        compute: s of arithmetic and memory on each GPU.
        calls: its collectives, which nothing overlaps.

    Examples:
        >>> import collsim as cs
        >>> decode = cs.inference.time_inference("llama3-8b", "dgx-h100").decode  # one GPU has nobody to talk to
        >>> decode.calls, decode.communication
        ((), 0)
    """

    name: str
    tokens: int
    compute: float
    calls: tuple[InferenceCall, ...]

    @property
    def communication(self) -> float:
        """Seconds of all collectives."""
        return sum(call.total for call in self.calls)

    @property
    def time(self) -> float:
        """Seconds of the phase."""
        return self.compute + self.communication

    @property
    def share(self) -> float:
        """Part of the time that is communication, 0 to 1."""
        return self.communication / self.time

    @property
    def longest_call(self) -> InferenceCall | None:
        """The collective that takes most of it; None where there is none."""
        return max(self.calls, key=lambda call: call.total, default=None)


@dataclass(frozen=True)
class InferenceTimes:
    """Inference of a model on a machine; made by `time_inference`.

    Attributes:
        model: its name.
        machine: name of the machine.
        gpu: the GPU and the type that it computes in.
        tensor: GPUs that share a layer.
        expert: replicas that share the experts.
        batch: sequences of a replica.
        prompt: tokens of each sequence before the answer.
        prefill: all prompts of a replica at once.
        decode: one token of each sequence.
        kv_bytes_per_token: bytes of keys and values of a token, on all GPUs of a replica together.
        kv_transfer: keys and values of one prompt on their way to another node; None on a machine of one node.
        weight_bytes: bytes of weights on a GPU.
        kv_bytes: bytes of keys and values on a GPU.
        capacity: bytes of a GPU's memory.
        has_experts: whether it is a mixture of experts.

    Examples:
        >>> import collsim as cs
        >>> times = cs.inference.time_inference("llama3-70b", "dgx-h100", tensor=8, batch=8, prompt=4096)
        >>> times.fits, times.prefill.time > times.decode.time
        (True, True)
    """

    model: str
    machine: str
    gpu: str
    tensor: int
    expert: int
    batch: int
    prompt: int
    prefill: InferencePhase
    decode: InferencePhase
    kv_bytes_per_token: float
    kv_transfer: KvTransfer | None
    weight_bytes: float
    kv_bytes: float
    capacity: float
    has_experts: bool

    @property
    def gpus(self) -> int:
        """GPUs that take part."""
        return self.tensor * self.expert

    @property
    def fits(self) -> bool:
        """Whether weights, keys and values are less than a GPU's memory."""
        return self.weight_bytes + self.kv_bytes < self.capacity

    @property
    def tokens_per_second(self) -> float:
        """Tokens that all replicas together write in a second."""
        return self.batch * self.expert / self.decode.time

    def list_rows(self) -> list[dict[str, object]]:
        """List the calls of both phases as flat records in SI units.

        Returns:
            A record for each call: phase, purpose, collective, bytes, count, ranks, seconds of one with its interval,
            seconds of all, algorithm, part of it that is latency, link.
        """
        return [
            {"phase": phase.name, **vars(call), "total": call.total}
            for phase in (self.prefill, self.decode)
            for call in phase.calls
        ]

    def list_cells(self, language: str = "en") -> list[dict[str, str]]:
        """List the same as people read it, a cell by its heading.

        Args:
            language: `en` or `zh`.
        """

        return [
            {
                translate(language, "inference", "column.phase"): translate(
                    language, "inference", f"phase.{phase.name}"
                ),
                translate(language, "inference", "column.purpose"): translate(
                    language, "inference", f"purpose.{call.purpose}"
                ),
                translate(language, "inference", "column.call"): f"{call.count:,} × {call.collective}",
                translate(language, "inference", "column.nbytes"): format_bytes(call.nbytes),
                translate(language, "inference", "column.ranks"): f"{call.ranks:,}",
                translate(language, "inference", "column.seconds"): format_time(call.seconds),
                translate(language, "inference", "column.range"): f"{format_time(call.low)} … {format_time(call.high)}",
                translate(language, "inference", "column.total"): format_time(call.total),
                translate(language, "inference", "column.algorithm"): call.algorithm,
                translate(language, "inference", "column.decides"): translate(language, "inference", "latency")
                if call.waits_for_latency
                else call.link,
            }
            for phase in (self.prefill, self.decode)
            for call in phase.calls
        ]

    def to_frame(self) -> pd.DataFrame:
        """A row for each call, as `list_rows` lists them."""
        return pd.DataFrame(self.list_rows())

    def row(self) -> dict[str, object]:
        """The figures as one flat record in SI units, for tables."""
        names = ("model", "machine", "gpu", "tensor", "expert", "batch", "prompt", "kv_bytes_per_token")
        memory = ("weight_bytes", "kv_bytes", "capacity")
        phases = {
            f"{phase.name}_{part}": getattr(phase, part)
            for phase in (self.prefill, self.decode)
            for part in ("time", "compute", "communication")
        }
        return {
            **{name: getattr(self, name) for name in (*names, *memory)},
            **phases,
            "tokens_per_second": self.tokens_per_second,
            "kv_transfer": self.kv_transfer and self.kv_transfer.time,
        }

    def text(self, language: str = "en") -> str:
        """Say how long both phases take, what decides in each, and what was assumed.

        Args:
            language: `en` or `zh`.
        """
        sentences = [*self._describe_phase(self.prefill, language), *self._describe_phase(self.decode, language)]
        sentences.append(self._say("kv", language, token=format_bytes(round(self.kv_bytes_per_token))))
        if self.kv_transfer is not None:
            values = {"prompt": f"{self.prompt:,}", "nbytes": format_bytes(self.kv_transfer.nbytes)}
            values |= {"time": format_time(self.kv_transfer.time), "link": self.kv_transfer.link}
            sentences.append(self._say("transfer", language, **values))
        if not self.fits:
            memory = {"weights": self.weight_bytes, "kv": self.kv_bytes, "capacity": self.capacity}
            sentences.append(self._say("full", language, **{k: format_bytes(round(v)) for k, v in memory.items()}))
        sentences.append(self._say("assumed.experts" if self.has_experts else "assumed", language))
        return translate(language, "words", "sentences").join(sentences)

    def _describe_phase(self, phase: InferencePhase, language: str) -> Iterator[str]:
        call = phase.longest_call
        values = {"time": format_time(phase.time), "compute": format_time(phase.compute)}
        values |= {"batch": f"{self.batch:,}", "prompt": f"{self.prompt:,}", "gpus": f"{self.gpus:,}"}
        if call is None:
            yield self._say(f"{phase.name}.alone", language, **values)
            return
        yield self._say(phase.name, language, **values)
        key = "rate"
        if call.waits_for_latency:
            key = "latency"
        yield self._say(
            key,
            language,
            share=f"{100 * phase.share:.0f} %",
            communication=format_time(phase.communication),
            collective=call.collective,
            count=f"{call.count:,}",
            nbytes=format_bytes(call.nbytes),
            time=format_time(call.seconds),
            link=call.link,
        )

    @staticmethod
    def _say(key: str, language: str, **values: str) -> str:
        return translate(language, "inference", f"inference.{key}", **values)


@check_arguments
def time_inference(
    model: str,
    machine: TopologyLike,
    *,
    tensor: int = 1,
    expert: int = 1,
    batch: int = 1,
    prompt: int = 2048,
    dtype: str = "bfloat16",
    dispatch_dtype: str | None = None,
    compute: str | GpuSpeed | None = None,
) -> InferenceTimes:
    """Estimate prefill and decode of a decoder on several GPUs, with the communication of each.

    A replica is `tensor` GPUs that share every layer. With `expert` above 1 so many replicas read prompts of their own
    and share the experts of every layer: `tensor · expert` GPUs take part, the machine's first.

    Args:
        model: a name of `cs.models()`, of a decoder.
        machine: `cs.machine("dgx-h100", nodes=2)`, or its name.
        tensor: GPUs that share a layer.
        expert: replicas that share the experts.
        batch: sequences of a replica.
        prompt: tokens of a sequence before the answer: prefill reads them, and decode reads their keys and values.
        dtype: type of weights, activations, keys and values: float32, float16 or bfloat16.
        dispatch_dtype: type in which tokens go to experts, `float8_e4m3` in DeepSeek-V3; None: as `dtype`.
        compute: a GPU's name, or a GpuSpeed; None: the machine's GPU.

    Returns:
        Times of both phases with their calls, memory, and the way of keys and values to another node.

    Raises:
        CollsimError: The model is no decoder or cannot be shared so, it has no experts for a `dispatch_dtype`, the
            machine has too few GPUs, or nothing says how fast its GPU is.

    Examples:
        >>> import collsim as cs
        >>> times = cs.inference.time_inference("llama3-70b", "dgx-h100", tensor=8)
        >>> [(call.collective, call.nbytes, call.count) for call in times.prefill.calls]
        [('allreduce', 33554432, 161), ('allgather', 256512, 1)]
        >>> times.prefill.longest_call.waits_for_latency, times.decode.longest_call.waits_for_latency
        (False, True)
    """
    topology = resolve_topology(machine, "time_inference")
    tensor, expert = parse_count(tensor, "tensor"), parse_count(expert, "expert")
    batch, prompt = parse_count(batch, "batch"), parse_count(prompt, "prompt")
    _require_gpus(topology, tensor, expert)
    dtype = find_step_dtype(dtype)
    speed = _find_speed(topology, dtype, compute)
    prefill_model, decode_model = build_model(model, seq=prompt), build_model(model, seq=1)
    per_token = count_kv_bytes(decode_model, dtype)
    require_partitions(decode_model, tensor, 1, expert)
    has_experts = any(layer.experts for layer in decode_model.layers)
    _require_dispatch_dtype(dispatch_dtype, model, has_experts)
    partition = LayerPartition(tensor=tensor, expert=expert, item_bytes=find_itemsize(dtype), micro_batch=batch)
    # Calls of one size are predicted once: logits of both phases, tokens that go to experts and come back.
    time_call = cache(partial(_time_call, topology=topology, partition=partition))
    prefill, decode = (
        InferencePhase(
            name,
            batch * table.tokens,
            _sum_seconds(table, partition, speed, context),
            tuple(_time_calls(_list_calls(table, partition, dispatch_dtype), time_call)),
        )
        for name, table, context in (("prefill", prefill_model, 0), ("decode", decode_model, prompt))
    )
    # A replica on several nodes has none whose GPUs hold all of a prompt.
    transfer = None
    if topology.facts.nodes > 1 and tensor <= topology.ranks // topology.facts.nodes:
        transfer = simulate_kv_transfer(round(per_token * prompt), topology, tensor)
    return InferenceTimes(
        model,
        topology.name,
        f"{speed.gpu}, {speed.dtype}",
        tensor,
        expert,
        batch,
        prompt,
        prefill,
        decode,
        kv_bytes_per_token=per_token,
        kv_transfer=transfer,
        weight_bytes=sum(count_layer_parameters(layer, partition) for layer in decode_model.layers)
        * partition.item_bytes,
        kv_bytes=sum(_count_read_bytes(layer, decode_model, partition) for layer in decode_model.layers) * prompt,
        capacity=speed.capacity,
        has_experts=has_experts,
    )


def _require_gpus(topology: Topology, tensor: int, expert: int) -> None:
    gpus = tensor * expert
    if gpus > topology.ranks:
        message = "tensor={tensor} GPUs a replica and expert={expert} replicas are {gpus} GPUs; {name} has {ranks}"
        raise CollsimError(message, tensor=tensor, expert=expert, gpus=gpus, name=topology.name, ranks=topology.ranks)


def _require_dispatch_dtype(dispatch_dtype: str | None, model: str, has_experts: bool) -> None:
    """Raises CollsimError for a type that does not exist, and for any where no tokens go to experts."""
    if dispatch_dtype is None:
        return
    find_dtype_name(dispatch_dtype)
    if not has_experts:
        message = "dispatch_dtype={value!r}: {model} has no experts, so no tokens go to them; leave it out"
        raise CollsimError(message, value=dispatch_dtype, model=model)


# ---- arithmetic and memory of a GPU ---------------------------------------------------------------------------------


def _find_speed(topology: Topology, dtype: str, compute: str | GpuSpeed | None) -> GpuSpeed:
    """The GPU that is named, else the machine's."""
    if isinstance(compute, str):
        return get_gpu_speed(compute, dtype)
    speed = find_gpu_speed(topology, dtype, compute)
    if speed is None:
        raise create_unknown_speed_error(topology)
    return speed


def _sum_seconds(model: Model, partition: LayerPartition, speed: GpuSpeed, context: int) -> float:
    """Seconds that a GPU computes in a phase.

    Args:
        model: with the tokens of the phase.
        partition: how its layers are shared.
        speed: of the GPU.
        context: tokens whose keys and values attention reads beside the new one; 0 in prefill, where all are new.
    """
    return sum(
        _estimate_layer(number, layer, model, partition, speed, context) for number, layer in enumerate(model.layers)
    )


def _estimate_layer(
    number: int, layer: Layer, model: Model, partition: LayerPartition, speed: GpuSpeed, context: int
) -> float:
    work = build_layer_work(number, layer, partition)
    weights = count_layer_parameters(layer, partition) * partition.item_bytes
    activations, flops = work.memory_bytes - weights, work.flops
    if layer.kv_size and context:
        # One query against all keys: a product of a matrix and a vector, as fast as keys and values are read.
        nbytes = work.memory_bytes + context * _count_read_bytes(layer, model, partition)
        return speed.estimate_seconds(flops * context, nbytes, 0)
    if is_head(layer):  # only the last token of a sequence is continued
        flops, activations = flops / model.tokens, activations / model.tokens
    if layer.kind == "embedding":  # a row for each token, not the table
        weights = 0
    read_share = 1.0
    if layer.experts:  # those that no token chose are not read, where each is as likely
        read_share -= (1 - layer.top_k / layer.experts) ** (partition.micro_batch * model.tokens * partition.expert)
    return speed.estimate_seconds(flops, read_share * weights + activations, 0, layer.kind, work.width)


def _count_read_bytes(layer: Layer, model: Model, partition: LayerPartition) -> float:
    """Bytes of keys and values of one token of each sequence that a GPU keeps and reads in a layer of attention."""
    if not layer.kv_size:
        return 0.0
    elements = count_kv_elements(layer, model.layers) / model.tokens
    shares = 1  # a latent vector belongs to all heads, and every GPU keeps it
    if find_latent_layer(layer, model.layers) is None:
        kv_heads = layer.kv_size / 2 / (layer.outputs / layer.heads)
        # With more GPUs than heads of keys and values each head is on several of them.
        shares = min(partition.tensor, round(kv_heads))
    return elements / shares * partition.micro_batch * partition.item_bytes


# ---- collectives ----------------------------------------------------------------------------------------------------


def _list_calls(
    model: Model, partition: LayerPartition, dispatch_dtype: str | None
) -> list[tuple[str, CollectiveCall]]:
    """What a phase runs, each call once with its purpose and its number."""
    tensor: list[CollectiveCall] = []
    expert: list[CollectiveCall] = []
    for layer in model.layers:
        # What an expert for all tokens adds is summed over GPUs together with what the others add.
        if ".shared." in layer.name:
            continue
        for call in list_layer_collectives(layer, partition):
            (expert if call.stream == "expert" else tensor).append(call)
    calls = [("tensor", call) for call in merge_collectives(tensor)]
    for call in merge_collectives(expert):
        dispatch = combine = call._replace(repeats=call.repeats // 2)
        if dispatch_dtype is not None:
            dispatch = dispatch._replace(
                nbytes=round(call.nbytes / partition.item_bytes * find_itemsize(dispatch_dtype))
            )
        calls += [("dispatch", dispatch), ("combine", combine)]
    if partition.tensor > 1:
        # A product with the matrix of the head: two operations for each of its inputs and each word.
        words = sum(layer.flops / layer.activations / 2 for layer in model.layers if is_head(layer))
        calls.append(
            (
                "logits",
                CollectiveCall("tensor", "allgather", round(words * partition.micro_batch * partition.item_bytes)),
            )
        )
    return calls


def _time_calls(calls: Iterable[tuple[str, CollectiveCall]], time_call: TimeCall) -> Iterator[InferenceCall]:
    """What each call takes, with how often the phase runs it."""
    for purpose, call in calls:
        timed = time_call(call._replace(repeats=1))
        yield replace(timed, purpose=purpose, count=call.repeats)


def _time_call(call: CollectiveCall, topology: Topology, partition: LayerPartition) -> InferenceCall:
    """Predict a call on the GPUs that run it: of one replica, or of all that share experts."""
    count = partition.tensor
    if call.stream == "expert":
        count *= partition.expert
    ranks = list(range(count))
    prediction, trace = predict_and_simulate(call.kind, topology, call.nbytes, ranks=ranks, launch=_LAUNCH)
    # Of a time a + b·n twice the size takes a + 2b·n: twice the time less that is a, which no rate shortens.
    twice = predict(call.kind, topology, 2 * call.nbytes, ranks=ranks, launch=_LAUNCH)
    return InferenceCall(
        call.stream,
        call.kind,
        call.nbytes,
        1,
        count,
        prediction.time,
        prediction.low,
        prediction.high,
        f"{prediction.algorithm} {prediction.protocol}",
        min(1.0, max(0.0, 2 - twice.time / prediction.time)),
        name_slowest_link(trace),
    )
