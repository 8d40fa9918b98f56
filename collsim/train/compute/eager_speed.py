"""How fast a GPU runs a model's operations as eager PyTorch launches them, one kernel each.

Measured on single operations of one H100 (`eager_operations.csv`): a matrix product takes its FLOPs at a share of the
peak and a constant, what moves memory takes its bytes at a share of the memory's rate. The host launches operations
ahead of the GPU, so that a pass takes the longer of the two sums. Short runs on one GPU: long runs on many GPUs draw
more power and clock lower, which the shares of `gpu_speeds` include.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...dtypes import find_itemsize
from ...errors import CollsimError, require_word
from ...units import Duration, parse_time
from .gpu_speeds import GpuSpeed, get_gpu_speed

if TYPE_CHECKING:
    from ..workload.model import Layer

MemoryFormat = Literal["channels_first", "channels_last"]
OptimizerKernels = Literal["foreach", "fused"]
MEMORY_FORMATS = ("channels_first", "channels_last")
OPTIMIZER_KERNELS = ("foreach", "fused")
#: GPUs with the chip of a measured one, whose rates are its data sheet's.
_MEASURED_CHIP = {"H100": "H100", "H200": "H100", "H800": "H100"}
#: Times as many bytes as a fused optimizer: torch's foreach kernels read and write the operands of each step of the
#: formula (momentum 8 accesses of an element for 5, torch/optim/sgd.py; AdamW 22.5 for 7: what 50 to 600 tensors of 2.6
#: to 20 million elements and steps of GPT-2 took on one H100, 30 ps an element).
_FOREACH_TRAFFIC = {"none": 1.0, "sgd": 1.0, "momentum": 8 / 5, "adam": 22.5 / 7}
#: Operations beside a product in 16 bits whose weights are float32: casts of its weight and bias (torch.autocast).
_CASTS = 2
_DIRECTIONS = {False: "forward", True: "backward"}
#: Products of a pass for one of the forward pass: a backward pass computes the gradients of input and of weights.
_PRODUCTS = {False: 1, True: 2}
#: s of the host for an operation of a forward and of a backward pass, and for an optimizer: what blocks of decoders
#: with next to nothing to compute took on one H100 (hidden 1,024, one sample: 22 operations of a block in 344 us).
_FORWARD_LAUNCH, _BACKWARD_LAUNCH, _OPTIMIZER_LAUNCH = 15.5e-6, 12.5e-6, 3e-4
#: Reads and writes of a backward pass for one of a forward pass (gelu 3 for 2, SwiGLU 9 for 5).
_BACKWARD_POINTWISE = 1.5
#: Bytes of an access to a score of eager attention: where products are in 16 bits, softmax in float32 and the casts to
#: it and back move as many as all in float32.
_SCORE_BYTES = 4
#: Share of the speed of causal attention, all of whose scores are counted and half of which are computed.
_NOT_CAUSAL = 0.54


class OperationRate(NamedTuple):
    """The rate of one operation.

    Attributes:
        share: Share of the peak (FLOP/s), or of the memory's rate (B/s).
        half: Terms of a sum, or tokens, with which half of it is reached; 0 where it is reached at once.
        seconds: s of each kernel beside that.
    """

    share: float
    half: float
    seconds: float


@dataclass(frozen=True)
class EagerSpeed(GpuSpeed):
    """A GPU that runs a model in eager PyTorch, without other GPUs.

    Attributes:
        memory_format: How images lie in memory: channels_first (torch's default) or channels_last.
        optimizer_kernels: foreach (torch's default) or fused.
        rates: Rate of each operation, by (operation, direction).
        forward_launch: s in which the host launches an operation of a forward pass.
        backward_launch: s in which it launches an operation of a backward pass.
        optimizer_launch: s in which it launches an optimizer's step.

    Examples:
        >>> import collsim as cs
        >>> cs.train.get_eager_speed("H100", optimizer_kernels="fused").optimizer_kernels
        'fused'
    """

    memory_format: MemoryFormat = "channels_first"
    optimizer_kernels: OptimizerKernels = "foreach"
    rates: Mapping[tuple[str, str], OperationRate] = field(default_factory=dict, repr=False, hash=False)
    forward_launch: float = _FORWARD_LAUNCH
    backward_launch: float = _BACKWARD_LAUNCH
    optimizer_launch: float = _OPTIMIZER_LAUNCH

    @property
    def label(self) -> str:
        """The GPU, the type that it computes in, and how PyTorch runs the model."""
        layout = self.memory_format.replace("_", " ")
        return f"{self.gpu}, {self.dtype}, eager PyTorch ({layout}, optimizer {self.optimizer_kernels})"

    def estimate_pass_seconds(
        self, layer: Layer, flops: float, memory_bytes: float, ops: float, is_backward: bool
    ) -> tuple[float, float]:
        """Estimate what a pass of a layer takes.

        Args:
            layer: The layer.
            flops: Floating point operations of the pass on this GPU.
            memory_bytes: Bytes that it moves, as `LayerWork` counts them.
            ops: Operations that it launches.
            is_backward: Whether it is a backward pass.

        Returns:
            Seconds of the GPU, and seconds of the host that launches its operations.
        """
        launch = self.forward_launch
        if is_backward:
            launch = self.backward_launch
        casts = 0.0
        if layer.tensors and self._casts_weights(layer):
            # 4 bytes are read and 2 written for each weight.
            casts = 6.0 * layer.parameters / self._pointwise_rate
            ops += _CASTS
        if layer.kind in ("gemm", "moe"):
            gpu = self._estimate_product_seconds(layer, flops, is_backward)
        elif layer.kind in ("flash", "attention"):
            gpu = self._estimate_attention_seconds(layer, flops, is_backward)
        elif layer.kind == "convolution":
            gpu = self._estimate_convolution_seconds(layer, flops, memory_bytes, is_backward)
        elif layer.kind == "norm":
            gpu = self._estimate_norm_seconds(layer, memory_bytes / _PRODUCTS[is_backward], is_backward)
        else:
            gpu = self._move(memory_bytes, "pointwise") + flops / (self.peak * self.rates["product", ""].share)
        return gpu + casts, ops * launch

    def estimate_optimizer_seconds(self, memory_bytes: float, optimizer: str) -> float:
        """Estimate what the optimizer's step takes.

        Args:
            memory_bytes: Bytes that a fused kernel moves.
            optimizer: adam, momentum, sgd or none.

        Returns:
            Seconds.
        """
        if self.optimizer_kernels == "foreach":
            memory_bytes *= _FOREACH_TRAFFIC[optimizer]
        return max(self._move(memory_bytes, "pointwise"), self.optimizer_launch)

    def _casts_weights(self, layer: Layer) -> bool:
        """Whether torch.autocast casts the weights of a layer: float32 weights of a product in 16 bits."""
        is_product = layer.kind in ("gemm", "moe", "convolution")
        return is_product and find_itemsize(self.dtype) < find_itemsize(layer.dtype)

    def _get_itemsize(self, layer: Layer) -> int:
        """Bytes of an element outside of products: torch.autocast keeps the residuals of a transformer, its norms and
        most of its activation functions in float32, and batch norms in 16 bits."""
        if layer.partition or (layer.kind in ("embedding", "norm") and not layer.buffers):
            return max(find_itemsize(self.dtype), find_itemsize(layer.dtype))
        return find_itemsize(self.dtype)

    @property
    def _pointwise_rate(self) -> float:
        """B/s that pointwise operations move."""
        return self.memory_rate * self.rates["pointwise", ""].share

    def _get_rate(self, operation: str, is_backward: bool) -> OperationRate:
        direction = _DIRECTIONS[is_backward]
        return self.rates.get((operation, direction)) or self.rates[operation, ""]

    def _move(self, nbytes: float, operation: str, is_backward: bool = False) -> float:
        rate = self._get_rate(operation, is_backward)
        return nbytes / (self.memory_rate * rate.share) + rate.seconds

    def _estimate_pointwise_seconds(self, layer: Layer, elements: float, is_backward: bool) -> float:
        if not elements:
            return 0.0
        if is_backward:
            elements *= _BACKWARD_POINTWISE
        return self._move(elements * self._get_itemsize(layer), "pointwise")

    def _estimate_product_seconds(self, layer: Layer, flops: float, is_backward: bool) -> float:
        rate = self.rates["product", ""]
        passes = _PRODUCTS[is_backward]
        share = rate.share
        if self.dtype != "float32" and layer.width % 8:
            share = self.rates["unaligned product", ""].share
        seconds = flops / (self.peak * share) + rate.seconds * passes
        done = _compute_share(layer, flops, is_backward)
        if layer.partition == "vocab":
            # FLOPs over twice the inputs are the words of the vocabulary; a head has an output for each token.
            logits = layer.flops * layer.outputs / (2 * layer.activations)
            return seconds + self._estimate_loss_seconds(4 * logits * done, is_backward)
        return seconds + self._estimate_pointwise_seconds(layer, layer.pointwise * done, is_backward)

    def _estimate_loss_seconds(self, nbytes: float, is_backward: bool) -> float:
        """Softmax and cross entropy of logits in float32, with their casts where the product is in 16 bits."""
        accesses = 2 + is_backward
        seconds = self._move(accesses * nbytes, "loss", is_backward)
        if self.dtype != "float32":
            # A cast reads 2 bytes and writes 4, where `nbytes` counts 4 for each logit: one and a half times.
            seconds += self._move(1.5 * nbytes, "pointwise")
        return seconds

    def _estimate_attention_seconds(self, layer: Layer, flops: float, is_backward: bool) -> float:
        passes = _PRODUCTS[is_backward]
        done = _compute_share(layer, flops, is_backward)
        if layer.pointwise:  # scores are stored
            product = self.rates["product", ""]
            moved = _SCORE_BYTES * layer.pointwise * done
            if is_backward:
                moved *= _BACKWARD_POINTWISE
            return flops / (self.peak * product.share) + 2 * passes * product.seconds + self._move(moved, "pointwise")
        rate = self._get_rate("attention", is_backward)
        share, tokens = rate.share, layer.width
        if layer.kind == "attention":
            share *= _NOT_CAUSAL
            tokens = round(layer.flops / (4 * layer.outputs))
        seconds = flops / (self.peak * share) * (1 + rate.half / tokens) + rate.seconds
        return seconds + self._estimate_pointwise_seconds(layer, 2 * layer.outputs * done, is_backward)

    def _estimate_convolution_seconds(
        self, layer: Layer, flops: float, memory_bytes: float, is_backward: bool
    ) -> float:
        peak = self.convolution_peak or self.peak
        rate = self._get_rate("convolution", is_backward)
        terms = layer.flops / (2 * layer.outputs)
        share = rate.share / (1 + rate.half / terms)
        if layer.kernel == 1:
            share = rate.share
        if layer.width:
            share *= min(1.0, layer.width / 32)
        passes = _PRODUCTS[is_backward]
        done = _compute_share(layer, flops, is_backward)
        pointwise = layer.pointwise * done
        moved = memory_bytes - pointwise * passes * find_itemsize(self.dtype)
        product = max(flops / (peak * share), moved / self._pointwise_rate)
        return product + rate.seconds + self._estimate_pointwise_seconds(layer, pointwise, is_backward)

    def _estimate_norm_seconds(self, layer: Layer, memory_bytes: float, is_backward: bool) -> float:
        """`memory_bytes` of one pass."""
        if not layer.buffers:
            memory_bytes *= self._get_itemsize(layer) / find_itemsize(self.dtype)
            if is_backward:
                memory_bytes *= 1.5
            return self._move(memory_bytes, "norm", is_backward)
        pointwise = memory_bytes * layer.pointwise / layer.traffic
        moved = memory_bytes - pointwise
        if is_backward:
            # A forward pass of a batch norm reads its input twice (mean and variance first) and writes once; a
            # backward pass reads input and gradient twice and writes once: 5 for 3.
            moved *= 5 / 3
        seconds = self._move(moved, "batch norm", is_backward)
        return seconds + self._estimate_pointwise_seconds(layer, pointwise / find_itemsize(self.dtype), is_backward)


def _compute_share(layer: Layer, flops: float, is_backward: bool) -> float:
    """Samples of the layer that a pass of so many `flops` computes, less what other GPUs compute of it."""
    if not layer.flops:
        return 0.0
    return flops / (layer.flops * _PRODUCTS[is_backward])


@cache
def _read_rates() -> dict[tuple[str, str, str, str], dict[str, OperationRate]]:
    """Rates by (operation, dtype, memory format, direction), each of a GPU."""
    rates: dict[tuple[str, str, str, str], dict[str, OperationRate]] = {}
    text = (files(__package__) / "eager_operations.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        key = (row["operation"], row["dtype"], row["memory_format"], row["direction"])
        rate = OperationRate(float(row["share"]), float(row["half"] or 0), float(row["seconds"] or 0))
        rates.setdefault(key, {})[row["gpu"]] = rate
    return rates


def has_measured_operations(gpu: str) -> bool:
    """Whether the operations of a GPU were measured, so that `get_eager_speed` knows it."""
    return gpu in _MEASURED_CHIP


def get_eager_speed(
    gpu: str,
    dtype: str = "float32",
    *,
    memory_format: MemoryFormat = "channels_first",
    optimizer_kernels: OptimizerKernels = "foreach",
    host_launch: Duration | None = None,
) -> EagerSpeed:
    """Get the speed of a GPU that runs a model in eager PyTorch, alone.

    Args:
        gpu: Name of a GPU whose operations were measured: H100, H200 or H800.
        dtype: Type that is computed in: float32, float16 or bfloat16.
        memory_format: How images lie in memory.
        optimizer_kernels: How the optimizer runs.
        host_launch: In which the host launches an operation of a forward pass (text or s); backward passes and the
            optimizer take in proportion. None: as the host of the measured H100.

    Returns:
        The speed, for `training_step(compute=...)`.

    Raises:
        CollsimError: The operations of the GPU were not measured, or a word is unknown.

    Examples:
        >>> import collsim as cs
        >>> speed = cs.train.get_eager_speed("H100", "bfloat16", memory_format="channels_last")
        >>> machine = cs.machine("dgx-h100")
        >>> step = cs.training_step("resnet50", machine, parallel=cs.ddp(), batch=64, ranks=1, compute=speed)
    """
    require_word("memory_format", memory_format, MEMORY_FORMATS)
    require_word("optimizer_kernels", optimizer_kernels, OPTIMIZER_KERNELS)
    speed = get_gpu_speed(gpu, dtype)
    if gpu not in _MEASURED_CHIP:
        message = "no operations of {gpu} were measured; of these they were: {known}"
        raise CollsimError(message, gpu=gpu, known=", ".join(_MEASURED_CHIP))
    width = "bfloat16"  # float16 is as fast
    if dtype == "float32":
        width = dtype
    rates = {
        (operation, direction): chips[_MEASURED_CHIP[gpu]]
        for (operation, kind, layout, direction), chips in _read_rates().items()
        if kind in ("", width) and layout in ("", memory_format) and _MEASURED_CHIP[gpu] in chips
    }
    fast = EagerSpeed(**vars(speed), memory_format=memory_format, optimizer_kernels=optimizer_kernels, rates=rates)
    if host_launch is None:
        return fast
    factor = parse_time(host_launch, "host_launch") / fast.forward_launch
    launches = ("forward_launch", "backward_launch", "optimizer_launch")
    return replace(fast, **{name: getattr(fast, name) * factor for name in launches})
