"""How fast a GPU runs a model's operations as eager PyTorch launches them, one kernel each.

Measured on single operations of one H100 (`eager_operations.csv`): a matrix product takes its FLOPs at a share of the
peak and a constant, what moves memory takes its bytes at a share of the memory's rate. Other GPUs have the same shares
of their data sheets' rates. The host launches operations ahead of the GPU, so that a pass takes the longer of the two
sums. These are short runs: long ones draw more power and clock lower, which the shares of `gpu_speeds` include.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...dtypes import find_itemsize
from ...errors import require_word
from ...errors.arguments import check_arguments
from ...package_data import read_csv
from ...units import Duration, parse_time
from .gpu_speeds import HOPPER, GpuSpeed, MemoryFormat, find_step_dtype, get_gpu_speed

if TYPE_CHECKING:
    from ..workload.model import Layer, Model
    from ..workload.step_graph import LayerWork

OptimizerKernels = Literal["foreach", "fused"]
CompileMode = Literal["none", "default", "reduce-overhead"]
MEMORY_FORMATS = ("channels_first", "channels_last")
OPTIMIZER_KERNELS = ("foreach", "fused")
COMPILE_MODES = ("none", "default", "reduce-overhead")
#: GPUs whose rates stand for those that have none of their own, by whether there are units for TF32: without them,
#: convolutions in float32 have the shares of V100. Operations were measured on Hopper.
_NEAREST = {True: ("H100",), False: ("V100", "H100")}
#: Times as many bytes as each weight, gradient and state read and written once: torch's foreach kernels read and write
#: the operands of each step of the formula (momentum 8 accesses of an element for 5, torch/optim/sgd.py; AdamW 22.5 for
#: 7: 50 to 600 tensors of 2.6 to 20 million elements and steps of GPT-2 on one H100, 30 ps an element).
_OPTIMIZER_TRAFFIC = {
    "foreach": {"none": 1.0, "sgd": 1.15, "momentum": 2.1, "adam": 22.5 / 7},
    "fused": {"none": 1.0, "sgd": 1.15, "momentum": 1.15, "adam": 1.15},
}
#: Times as long for a byte of weights in 16 bits: 61 steps of 2026 on one H100 and one H200 (docs/accuracy).
_NARROW_OPTIMIZER = {"foreach": 1.2, "fused": 1.35}
#: Operations beside a product in 16 bits whose weights are float32 (torch.autocast): casts of weight, bias and input.
_CASTS = 3
#: Bytes that move when an element is cast between float32 and 16 bits.
_CAST_BYTES = 6
#: Times as many accesses of such kernels, with the casts between them (GPT-2 and Llama under autocast, profiled).
_PROMOTED_CASTS = 1.3
#: Channels below which a convolution reads too few at once for matrix units: those of images.
_IMAGE_CHANNELS = 8
#: Accesses of an element of a product's output from which on what follows it is many kernels in float32 under
#: torch.autocast: huggingface's NewGELU has a power, its rotary positions have sines in float32. (SwiGLU has 5.)
_PROMOTED_ACCESSES = 6
_DIRECTIONS = {False: "forward", True: "backward"}
#: Products of a pass for one of the forward pass: a backward pass computes the gradients of input and of weights.
_PRODUCTS = {False: 1, True: 2}
#: s of the host for an operation of a forward and of a backward pass: steps with next to nothing to compute took 15 to
#: 41 us and 12 to 33 us on five hosts (docs/accuracy/gpu_steps.csv); the slowest and the fastest differ by 2.5.
_FORWARD_LAUNCH, _BACKWARD_LAUNCH = 20e-6, 14e-6
#: s of the host for a tensor of an optimizer's step: AdamW of 206 to 467 tensors, beside nothing that the GPU still had
#: to do, took 17 to 30 us with foreach kernels, 10 to 17 us fused; SGD 16 us on the slowest of the hosts.
_OPTIMIZER_LAUNCH = {"foreach": {"adam": 20e-6}, "fused": {"adam": 10e-6}}
_SGD_LAUNCH = 8e-6
#: Bytes of an access to a score of eager attention in a forward and a backward pass, with float32, with 16 bits, and
#: under torch.autocast, whose softmax in float32 needs casts to it and back: GPT-2 and BERT on one H200, profiled
#: beside the same with scaled_dot_product_attention (48 and 54, 30 and 30, 50 to 60 and 62 to 68 bytes a score).
_SCORE_BYTES = {"float32": (5.3, 4.0), "narrow": (3.3, 2.2), "autocast": (5.6, 4.6)}
#: Share of the rate of causal attention, all of whose scores are counted and half of which are computed, and of the
#: tokens with which half of it is reached: BERT and ViT with 128 to 512 tokens, profiled.
_NOT_CAUSAL, _NOT_CAUSAL_HALF = 0.65, 0.6
#: Accesses of a score in eager attention that is compiled, for the nine of eager PyTorch: products write and read it,
#: and one kernel of scale, mask and softmax reads and writes it.
_COMPILED_SCORES = 4 / 9
#: Width of a head up to which attention has the rates of narrow heads.
_NARROW_HEAD = 64


class OperationRate(NamedTuple):
    """The rate of one operation.

    Attributes:
        share: Share of the peak (FLOP/s), or of the memory's rate (B/s).
        half: Terms of a sum, or tokens, with which half of it is reached (of a batch norm: channels with which 0.7 of
            it is); 0 where it is reached at once.
        seconds: s of each kernel beside that.
    """

    share: float
    half: float
    seconds: float


@dataclass(frozen=True)
class EagerSpeed(GpuSpeed):
    """A GPU that runs a model in eager PyTorch, alone or as one of many.

    Attributes:
        memory_format: How images lie in memory: channels_first (torch's default) or channels_last.
        optimizer_kernels: foreach (torch's default) or fused.
        rates: Rate of each operation, by (operation, direction).
        forward_launch: s in which the host launches an operation of a forward pass.
        backward_launch: s in which it launches an operation of a backward pass.
        optimizer_launch: s for a tensor in which it launches a step of AdamW with foreach kernels; other optimizers
            in proportion.
        compile: Mode of torch.compile; none: eager PyTorch.

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
    optimizer_launch: float = _OPTIMIZER_LAUNCH["foreach"]["adam"]
    compile: CompileMode = "none"

    @property
    def label(self) -> str:
        """The GPU, the type that it computes in, and how PyTorch runs the model."""
        layout, runs = self.memory_format.replace("_", " "), "eager PyTorch"
        if self.compile != "none":
            runs = f"torch.compile, mode {self.compile}"
        return f"{self.gpu}, {self.dtype}, {runs} ({layout}, optimizer {self.optimizer_kernels})"

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
        if self.compile != "none":
            fused = fuse_layer(layer)
            memory_bytes *= fused.traffic / (layer.traffic or 1.0)
            ops *= fused.ops / (layer.ops or 1.0)
            layer = fused
        if self.compile == "reduce-overhead":
            launch = 0.0  # one CUDA graph a pass
        if not is_backward or layer.kind == "convolution":  # cuDNN chooses a kernel for each gradient
            ops += layer.python_ops * _PRODUCTS[is_backward]
        casts = 0.0
        if layer.tensors and self.casts_weights(layer):
            # 4 bytes are read and 2 written for each weight.
            casts = _CAST_BYTES * layer.parameters / self._pointwise_rate
            ops += _CASTS
        if (
            layer.kind == "gemm"
            and layer.partition in ("column", "vocab")
            and find_itemsize(self.dtype) < find_itemsize(layer.dtype)
            and self.compile == "none"  # a compiled norm writes 16 bits
        ):
            # its input comes from a norm, in float32; what a row-wise product reads is in 16 bits
            casts += (
                _CAST_BYTES * count_inputs(layer) * compute_samples(layer, flops, is_backward) / self._pointwise_rate
            )
        if layer.kind in ("gemm", "moe"):
            gpu = self._estimate_product_seconds(layer, flops, is_backward)
        elif layer.kind in ("flash", "attention"):
            gpu = self._estimate_attention_seconds(layer, flops, is_backward)
        elif layer.kind == "convolution":
            gpu = self._estimate_convolution_seconds(layer, flops, memory_bytes, is_backward)
        elif layer.kind == "norm":
            gpu = self._estimate_norm_seconds(layer, memory_bytes / _PRODUCTS[is_backward], is_backward)
        elif layer.kind == "elementwise" and layer.mask_bytes:  # max pooling keeps the positions of the maxima
            gpu = self._move(memory_bytes, "pool", is_backward)
        else:
            gpu = self._move(memory_bytes, "pointwise") + flops / (self.peak * self.rates["product", ""].share)
        return gpu + casts, ops * launch

    def estimate_works(self, works: Sequence[LayerWork], layers: Sequence[Layer]) -> tuple[float, float]:
        """Estimate what a box does of its layers, with what is lost at the collectives that it waits for.

        Args:
            works: What the box does of each layer.
            layers: Layers of the model.

        Returns:
            Seconds of the GPU, and seconds of the host that launches its operations.
        """
        passes = [
            self.estimate_pass_seconds(layers[w.layer], w.flops, w.memory_bytes, w.ops, w.is_backward) for w in works
        ]
        waits = sum(w.wait_count for w in works) * self.wait_time
        return sum(gpu for gpu, _ in passes) + waits, sum(host for _, host in passes) + waits

    def estimate_box_seconds(self, works: Sequence[LayerWork], layers: Sequence[Layer]) -> float:
        """Seconds of a box of layers by itself.

        Args:
            works: What the box does of each layer.
            layers: Layers of the model.
        """
        return max(self.estimate_works(works, layers))

    def estimate_optimizer_times(self, memory_bytes: float, optimizer: str, model: Model) -> tuple[float, float]:
        """Estimate what the optimizer's step takes.

        Args:
            memory_bytes: Bytes of weights, gradients and state, each read or written once.
            optimizer: adam, momentum, sgd or none.
            model: The model whose weights it updates.

        Returns:
            Seconds of the GPU, and seconds of the host that launches its operations.
        """
        memory_bytes *= _OPTIMIZER_TRAFFIC[self.optimizer_kernels][optimizer]
        # Narrow weights have a wide copy, which makes the optimizer of PyTorch run kernels of another kind.
        is_narrow = find_itemsize(model.tensors[0][1]) < find_itemsize("float32")
        if is_narrow and optimizer == "adam":
            memory_bytes *= _NARROW_OPTIMIZER[self.optimizer_kernels]
        launch = _OPTIMIZER_LAUNCH[self.optimizer_kernels].get(optimizer, _SGD_LAUNCH)
        launch *= self.optimizer_launch / _OPTIMIZER_LAUNCH["foreach"]["adam"]
        return self._move(memory_bytes, "pointwise"), len(model.tensors) * launch

    def casts_weights(self, layer: Layer) -> bool:
        """Whether torch.autocast casts the weights of a layer: float32 weights of a product in 16 bits.

        Args:
            layer: The layer.
        """
        is_product = layer.kind in ("gemm", "moe", "convolution")
        return is_product and find_itemsize(self.dtype) < find_itemsize(layer.dtype)

    def get_itemsize(self, layer: Layer) -> int:
        """Get the bytes of an element outside of products: torch.autocast keeps the residuals of a transformer, its
        norms and powers in float32, and activation functions of one kernel and batch norms in 16 bits.

        Args:
            layer: The layer.
        """
        is_fused_activation = layer.partition == "column" and layer.pointwise < _PROMOTED_ACCESSES * layer.outputs
        if is_fused_activation or not (layer.partition or layer.kind in ("embedding", "norm")) or layer.buffers:
            return find_itemsize(self.dtype)
        return max(find_itemsize(self.dtype), find_itemsize(layer.dtype))

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
            elements *= layer.backward_ratio
        if self.get_itemsize(layer) > find_itemsize(self.dtype) and layer.partition == "column":
            elements *= _PROMOTED_CASTS
        return self._move(elements * self.get_itemsize(layer), "pointwise")

    def _estimate_product_seconds(self, layer: Layer, flops: float, is_backward: bool) -> float:
        rate = self.rates["product", ""]
        passes = _PRODUCTS[is_backward]
        share = rate.share
        if self.dtype != "float32" and layer.width % 2:
            share = self.rates["odd product", ""].share
        elif self.dtype != "float32" and layer.width % 8:
            share = self.rates["unaligned product", ""].share
        seconds = flops / (self.peak * share) + rate.seconds * passes
        done = compute_samples(layer, flops, is_backward)
        if is_backward and len(layer.tensors) > 1:
            seconds += self._move(layer.outputs * done * find_itemsize(self.dtype), "bias gradient", is_backward)
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
        done = compute_samples(layer, flops, is_backward)
        # Attention with stored scores is two products and passes over a matrix of scores; a fused kernel is one
        # operation.
        if layer.pointwise:  # scores are stored
            product = self.rates["product", ""]
            moved = self._get_score_bytes(layer)[is_backward] * layer.pointwise * done
            if is_backward:
                moved *= layer.backward_ratio
            return flops / (self.peak * product.share) + 2 * passes * product.seconds + self._move(moved, "pointwise")
        # FLOPs of attention grow with the square of tokens, outputs with tokens: their quotient is the length.
        tokens = max(1.0, layer.flops / (4 * layer.outputs))
        operation = "attention"
        if layer.heads and layer.outputs <= _NARROW_HEAD * tokens * layer.heads:
            operation = "narrow attention"
        rate = self._get_rate(operation, is_backward)
        share, half = rate.share, rate.half
        if layer.kind == "attention":
            share, half = share * _NOT_CAUSAL, half * _NOT_CAUSAL_HALF
        seconds = flops / (self.peak * share) * (1 + half / tokens) + rate.seconds
        return seconds + self._estimate_pointwise_seconds(layer, 2 * layer.outputs * done, is_backward)

    def _get_score_bytes(self, layer: Layer) -> tuple[float, float]:
        if self.dtype == "float32":
            return _SCORE_BYTES["float32"]
        has_wide_softmax = layer.mask_bytes >= find_itemsize("float32") * layer.wide_activations > 0
        if has_wide_softmax or find_itemsize(layer.dtype) > find_itemsize(self.dtype):
            return _SCORE_BYTES["autocast"]
        return _SCORE_BYTES["narrow"]

    def _estimate_convolution_seconds(
        self, layer: Layer, flops: float, memory_bytes: float, is_backward: bool
    ) -> float:
        peak = self.convolution_peak or self.peak
        rate = self._get_rate("convolution", is_backward)
        terms = layer.flops / (2 * layer.outputs)
        share = rate.share / (1 + rate.half / terms)
        if layer.kernel == 1:
            share = rate.share
        elif terms < _IMAGE_CHANNELS * layer.kernel**2 and not layer.width:
            share = self._get_rate("image convolution", is_backward).share
        if layer.width:
            share *= math.sqrt(min(1.0, layer.width / 32))
        passes = _PRODUCTS[is_backward]
        done = compute_samples(layer, flops, is_backward)
        pointwise = layer.pointwise * done
        # The product's own reads and writes overlap with its FLOPs; pointwise work comes after it.
        moved = memory_bytes - pointwise * passes * find_itemsize(self.dtype)
        product = max(flops / (peak * share), moved / self._pointwise_rate)
        if layer.width == 1:  # a product for each channel by itself: no matrix units, and memory decides
            product = self._move(moved, "depthwise convolution", is_backward)
        seconds = product + rate.seconds + self._estimate_pointwise_seconds(layer, pointwise, is_backward)
        # A second tensor is a bias, which PyTorch adds, and reduces in the backward pass, in a kernel of its own.
        if len(layer.tensors) > 1:
            bias, accesses = ("bias gradient", 1) if is_backward else ("convolution bias", 2)
            seconds += self._move(accesses * layer.outputs * done * find_itemsize(self.dtype), bias, is_backward)
        return seconds

    def _estimate_norm_seconds(self, layer: Layer, memory_bytes: float, is_backward: bool) -> float:
        """`memory_bytes` of one pass."""
        if not layer.buffers and layer.pointwise:  # huggingface's RMSNorm: kernels in float32 whatever the type
            elements = memory_bytes / find_itemsize(self.dtype) * layer.pointwise / layer.traffic
            if is_backward:
                elements *= layer.backward_ratio
            return self._move(find_itemsize("float32") * elements, "pointwise")
        if not layer.buffers:
            memory_bytes *= self.get_itemsize(layer) / find_itemsize(self.dtype)
            if is_backward:
                memory_bytes *= 1.5
            return self._move(memory_bytes, "norm", is_backward)
        pointwise = memory_bytes * layer.pointwise / layer.traffic
        moved = memory_bytes - pointwise
        if is_backward:
            # A forward pass of a batch norm reads its input twice (mean and variance first) and writes once; a
            # backward pass reads input and gradient twice and writes once: 5 for 3.
            moved *= 5 / 3
        half, channels = self._get_rate("batch norm", is_backward).half, max(layer.tensors, default=1)
        # a block of threads for each channel: few channels leave multiprocessors idle
        seconds = self._move(moved * math.hypot(1.0, half / channels), "batch norm", is_backward)
        return seconds + self._estimate_pointwise_seconds(layer, pointwise / find_itemsize(self.dtype), is_backward)


@lru_cache(maxsize=4096)
def fuse_layer(layer: Layer) -> Layer:
    """Fuse the kernels of a layer as torch.compile does: Inductor writes what stands between two products as one kernel
    that reads their result and writes once, and generated code launches it without the checks of Python. Products,
    convolutions and attention that stores no scores stay kernels of libraries (mode max-autotune aside).

    Args:
        layer: The layer, as eager PyTorch runs it.

    Returns:
        The layer with fewer accesses and operations.

    Examples:
        >>> import collsim as cs
        >>> norm = cs.model("llama3-8b", huggingface=True).layers[1]
        >>> norm.ops, fuse_layer(norm).ops
        (8, 1)
    """
    pointwise, kernels = min(layer.pointwise, 2 * layer.outputs), 2
    if layer.kind in ("attention", "flash"):
        pointwise, kernels = layer.pointwise * _COMPILED_SCORES, 3
    elif layer.kind == "norm":
        pointwise, kernels = 0.0, 1
        if layer.buffers and layer.pointwise > 2 * layer.outputs:  # a residual is read, too
            pointwise = layer.outputs
    elif not layer.flops:
        kernels = 1
    saved = layer.pointwise - pointwise
    if layer.kind == "norm" and not layer.buffers:
        saved = 0.0  # its traffic is that of one kernel
    traffic = max(0.0, layer.traffic - saved)
    ops = min(layer.ops, kernels)
    return replace(layer, pointwise=pointwise, backward_pointwise=0.0, traffic=traffic, ops=ops, python_ops=0)


def compute_samples(layer: Layer, flops: float, is_backward: bool) -> float:
    """Compute how many samples of a layer a pass computes, less what other GPUs compute of it.

    Args:
        layer: The layer.
        flops: Floating point operations of the pass on this GPU.
        is_backward: Whether it is a backward pass.
    """
    if not layer.flops:
        return 0.0
    return flops / (layer.flops * _PRODUCTS[is_backward])


def count_inputs(layer: Layer) -> float:
    """Count the elements that the product of a layer reads per sample: rows of a matrix are its weights over its
    columns.

    Args:
        layer: The layer.
    """
    if layer.partition == "vocab":  # a head keeps its input, and the next layer receives a loss, not its logits
        return layer.activations
    if not layer.outputs:
        return 0.0
    weights = max(layer.tensors)
    tokens = layer.flops / (2 * weights)
    return tokens * tokens * weights / layer.outputs


@cache
def _read_rates() -> dict[tuple[str, str, str, str], dict[str, OperationRate]]:
    """Rates by (operation, dtype, memory format, direction), each of a GPU."""
    rates: dict[tuple[str, str, str, str], dict[str, OperationRate]] = {}
    for row in read_csv(__file__, "eager_operations.csv"):
        key = (row["operation"], row["dtype"], row["memory_format"], row["direction"])
        rate = OperationRate(float(row["share"]), float(row["half"] or 0), float(row["seconds"] or 0))
        rates.setdefault(key, {})[row["gpu"]] = rate
    return rates


@check_arguments
def get_eager_speed(
    gpu: str,
    dtype: str = "float32",
    *,
    memory_format: MemoryFormat = "channels_first",
    optimizer_kernels: OptimizerKernels = "foreach",
    host_launch: Duration | None = None,
    compile: CompileMode = "none",
) -> EagerSpeed:
    """Get the speed of a GPU that runs a model in eager PyTorch.

    Args:
        gpu: a name of `list_gpus()`. The operations of H100 were measured; other GPUs have its shares of their peak and
            memory rate, and their steps wider intervals.
        dtype: Type that is computed in: float32, float16 or bfloat16.
        memory_format: How images lie in memory.
        optimizer_kernels: How the optimizer runs.
        host_launch: In which the host launches an operation of a forward pass (text or s); backward passes and the
            optimizer take in proportion. None: as the host of the measured H100.
        compile: Mode of torch.compile: default fuses what stands between products, and reduce-overhead also launches a
            pass as one CUDA graph. Not measured: the interval of the step is that of published speedups. Memory is
            that of eager PyTorch.

    Returns:
        The speed, for `training_step(compute=...)`.

    Raises:
        CollsimError: A GPU or a word is unknown.

    Examples:
        >>> import collsim as cs
        >>> speed = cs.train.get_eager_speed("H100", "bfloat16", memory_format="channels_last")
        >>> machine = cs.machine("dgx-h100")
        >>> step = cs.training_step("resnet50", machine, parallel=cs.ddp(), batch=64, ranks=1, compute=speed)
    """
    require_word("memory_format", memory_format, MEMORY_FORMATS)
    require_word("optimizer_kernels", optimizer_kernels, OPTIMIZER_KERNELS)
    require_word("compile", compile, COMPILE_MODES)
    dtype = find_step_dtype(dtype)
    speed = get_gpu_speed(gpu, dtype)
    width = "bfloat16"  # float16 is as fast
    if dtype == "float32":
        width = dtype
    nearest = (gpu, *_NEAREST[dtype != "float32" or speed.convolution_peak is not None])
    rates = {
        (operation, direction): next(chips[name] for name in nearest if name in chips)
        for (operation, kind, layout, direction), chips in _read_rates().items()
        if kind in ("", width) and layout in ("", memory_format)
    }
    if gpu not in HOPPER and dtype != "float32":
        slow = OperationRate(rates["product", ""].share / speed.unaligned_factor, 0.0, 0.0)
        rates |= {("odd product", ""): slow, ("unaligned product", ""): slow}
    fast = EagerSpeed(
        **vars(speed),
        memory_format=memory_format,
        optimizer_kernels=optimizer_kernels,
        rates=rates,
        compile=compile,
    )
    if host_launch is None:
        return fast
    # Only the ratio of hosts is known, so all launches are scaled alike.
    factor = parse_time(host_launch, "host_launch") / fast.forward_launch
    launches = ("forward_launch", "backward_launch", "optimizer_launch")
    return replace(fast, **{name: getattr(fast, name) * factor for name in launches})
