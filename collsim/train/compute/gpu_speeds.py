"""Speeds of GPUs: their data sheets, and five constants that say how much of it a training step gets.

A task takes flops / (peak · share) + bytes / (memory rate · memory share): arithmetic and memory traffic of one kernel
do overlap, those of the many kernels of a step mostly not (Calculon, calculon-ai/calculon, processor.py, adds them for
A100 too). It cannot be faster than the host launches its operations, one after another. Copies of gradients into
buckets are launched by torch's C++ code, tensor after tensor, with a constant of their own. Peaks are dense, without
structured sparsity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from ...dtypes import find_dtype_name, find_itemsize
from ...errors import CollsimError, describe_unknown, require_word
from ...errors.arguments import check_arguments
from ...topology.parts.gpus import load_gpu_speeds

if TYPE_CHECKING:
    from ..workload.model import Layer, Model
    from ..workload.step_graph import LayerWork

MemoryFormat = Literal["channels_first", "channels_last"]
DTYPES = ("float32", "float16", "bfloat16")
#: Calculon's systems/a100_80g.json books 15 % of the multiprocessors for communication over NVLink; NCCL's kernels are
#: the same elsewhere.
INTERFERENCE = 0.15
#: Chosen on published steps of GPT on A100 (vTrain, MICRO 2024, every eighth row of data/ground_truth_single.csv, and
#: ground_truth_multi.csv; Korthikanti et al. 2022, table 5; Narayanan et al. 2021, table 1; Megatron, fp16):
#: docs/training.md says how near they come. What the host needs for an operation is what a block takes in vTrain's rows
#: that has next to nothing to compute (hidden 1,024, one sample, no TP): 2.998 ms for 78 of them.
_SHARE, _MEMORY_SHARE, _HOST, _OP = 0.82, 0.73, 3.84e-5, 4e-6
#: s that a pass loses at each collective that it waits for, beside what that takes: hosts of its GPUs are not in step,
#: and streams wait for each other. Chosen on vTrain's rows on one node: from 117 us on the best split is found in nine
#: of ten of their groups, with any of the constants above that were tried; the times alone come nearest with 80 us.
_WAIT = 1.2e-4
#: FlashAttention-2, causal, heads of 128, forward and backward: share of a GPU's peak, each counting half of the scores
#: and a backward pass 2.5 forward ones (it computes the scores again). Dao 2023 (arXiv 2307.08691): at most 73 % and
#: 63 % on A100, not causal; Shah et al. 2024 (arXiv 2407.08608, figures 5 and 6) on H100: 335 causal of 370 not causal.
_FLASH = (0.66, 0.57)
#: On H100, whose own matrix instructions it does not use: 335 and 0.905 · 322 Tflop/s at 16,384 tokens (figures 5, 6).
_FLASH_H100 = (0.35, 0.31)
#: Sequences with which it reaches half of that, forward and backward (the same figures: 191 Tflop/s at 512 tokens, 298
#: at 2,048; 214 and 291).
_FLASH_HALF = (330, 300)
#: FlashAttention as Triton had it in July 2023, against these shares and with its own sequences: 84 Tflop/s at 1,024
#: tokens and 122 at 16,384, backward 49 and 81, on A100, causal, heads of 64 (triton-lang/triton #1917, "before").
_TRITON, _TRITON_HALF = (0.61, 0.47), (500, 740)
#: cuDNN on H100 (the same figures): causal forward 484 Tflop/s at 2,048 tokens and 539 at 16,384, backward 0.906 · 465
#: and 516; half of that at so many tokens.
_CUDNN, _CUDNN_HALF = (0.55, 0.485), (290, 340)
#: GPUs whose own matrix instructions it uses, and FlashAttention-2 does not.
HOPPER = "H100", "H200", "H800"
#: Elements of 16 bits in the 16 bytes that a row of a matrix should be a multiple of (NVIDIA, Matrix Multiplication
#: Background User's Guide, section 2.2).
_ALIGNED = 8
#: Times as long that products take whose rows are not, in eager PyTorch: such words triple the time of a head (Netflix
#: Technology Blog 2026-02-13, Scaling LLM Post-Training at Netflix). torch.compile pads some of them: 2.2 times remain
#: of GPT-2's on A100 (112,046 tokens/s with 50,257 words, 127,345 with 50,304: rasbt/LLMs-from-scratch,
#: ch05/10_llm-training-speed, steps 8 and 9).
_UNALIGNED = 3.0
#: Kernels of a product of one expert, forward and backward, with casts and orders of scales.
_EXPERT_LAUNCHES = {"16 bits": (1.0, 2.0), "fp8": (2.0, 3.0), "mxfp8": (4.0, 7.0)}
#: s more that the host needs in each pass for an expert whose tokens travel beside another microbatch. Megatron-LM then
#: runs a layer as four nodes, each an autograd graph with a stream and events (core/pipeline_parallel/utils.py,
#: ScheduleNode), and computes the gradients of each expert's weights later (delay_wgrad_compute; TransformerEngine,
#: pytorch/module/grouped_linear.py, backward_dw). Without it Qwen3 235B with 16 experts on each B200 took 16.0 s for
#: 17.2 s in bfloat16, and 16.9 s for 20.1 s in MXFP8 (Megatron-Bridge pull request 1760): 1.8e-4 and 2.0e-4.
_PARTNER = 1.9e-4
#: Fitted to what DDP adds on one GPU to ResNet-50 in PyTorch's own benchmark (benchmarks/distributed/ddp/README.md).
_KERNEL = 8e-6


@dataclass(frozen=True)
class GpuSpeed:
    """A GPU, for one type.

    Attributes:
        gpu: its name.
        dtype: in which it computes.
        peak: FLOP/s of matrix products.
        convolution_peak: FLOP/s of convolutions, where torch lets them use another unit.
        memory_rate: B/s of its memory.
        capacity: bytes of it.
        peak_share: share of the peak that kernels reach.
        memory_share: share of the memory's rate that kernels reach.
        launch_time: s in which the host launches one operation.
        copy_kernel_time: s that each kernel of a copy takes by itself.
        op_time: s that every other operation takes beside that.
        wait_time: s that a pass loses at each collective that it waits for, beside what that takes.
        join_time: s that a step on several GPUs loses where DDP waits for its buckets, beside what those take.
        attention_peak: FLOP/s of attention's products, where another unit does them than the rest (which may be in 8
            bits).
        flash_shares: shares of that which FlashAttention reaches, forward and backward.
        flash_half_tokens: tokens of a sequence with which it reaches half of them.
        unaligned_factor: times as long that products in 16 bits take whose columns are no multiple of 8.
        cast_traffic: bytes of memory more for a byte that a product in 8 bits moves: its operands are read in 16 bits,
            and written in 8.
        expert_launches: kernels that the host launches one after another for a product of one expert, forward and
            backward; (0, 0) where one kernel does those of all experts.
        partner_launch_time: s more that the host needs in a pass for each expert whose tokens travel beside a pass of
            another microbatch.
        bias_gradient_factor: times as long that the gradient of the input takes where experts have a bias.
        winograd_factor: times less arithmetic than was counted that convolutions in float32 do (Lavin & Gray 2016).
        interference: share of its speed that a GPU loses while it also communicates.
        source: of the data sheet's figures; the constants are explained in docs/training.md.

    Examples:
        >>> import collsim as cs
        >>> gpu = cs.train.get_gpu_speed("A100", "float32")
        >>> gpu.peak / 1e12  # TFLOP/s
        19.5
    """

    gpu: str
    dtype: str
    peak: float
    memory_rate: float
    capacity: float
    peak_share: float = _SHARE
    memory_share: float = _MEMORY_SHARE
    launch_time: float = _HOST
    copy_kernel_time: float = _KERNEL
    interference: float = INTERFERENCE
    convolution_peak: float | None = None
    winograd_factor: float = 1.0
    source: str = ""
    op_time: float = 0.0
    wait_time: float = _WAIT
    join_time: float = 0.0
    attention_peak: float | None = None
    flash_shares: tuple[float, float] = _FLASH
    flash_half_tokens: tuple[float, float] = _FLASH_HALF
    unaligned_factor: float = _UNALIGNED
    cast_traffic: float = 0.0
    expert_launches: tuple[float, float] = (0.0, 0.0)
    partner_launch_time: float = 0.0
    bias_gradient_factor: float = 1.0

    @property
    def label(self) -> str:
        """The GPU, the type that it computes in, and whose kernels."""
        return f"{self.gpu}, {self.dtype}, fused kernels"

    @property
    def memory_format(self) -> MemoryFormat:
        """How images lie in memory: the shares are of convolutions without transpositions, in 16 bits channels_last."""
        if find_itemsize(self.dtype) < find_itemsize("float32"):
            return "channels_last"
        return "channels_first"

    def estimate_seconds(
        self,
        flops: float,
        memory_bytes: float,
        ops: float,
        kind: str = "gemm",
        width: int = 0,
        is_backward: bool = False,
    ) -> float:
        """Estimate how long one task takes: its arithmetic and its memory traffic, and not less than the host needs to
        launch it.

        A grouped convolution whose groups are narrower than a warp's 32 lanes leaves the rest of them idle (a rule of
        thumb: nothing measured stands behind it).

        Args:
            flops: Floating point operations of the task.
            memory_bytes: Bytes of memory that it reads and writes.
            ops: Operations that the host launches for it.
            kind: Kind of layer, see `Layer`; `copy` for copies into buckets.
            width: `Layer.width` of the layer on this GPU; of a mixture the experts that are on it.
            is_backward: Whether it is part of a backward pass.

        Returns:
            The time in s.
        """
        if kind in ("gemm", "moe"):
            memory_bytes *= 1 + self.cast_traffic
        products = flops / self.get_flop_rate(kind, width, is_backward)
        if kind == "moe":
            # The host cannot run ahead: it waits for the number of tokens of each expert, and then launches.
            products = max(products, self._count_expert_seconds(ops, width, is_backward))
        gpu = products + memory_bytes / (self.memory_rate * self.memory_share)
        if kind == "copy":
            return gpu + ops * self.copy_kernel_time
        return max(gpu + ops * self.op_time, ops * self.launch_time)

    def _count_expert_seconds(self, ops: float, width: int, is_backward: bool) -> float:
        """s in which the host launches the products of experts: two products of an MLP have 8 operations forward and 16
        backward, of however many layers they are."""
        count = ops / (8 if is_backward else 4)
        return count * width * self.expert_launches[is_backward] * self.copy_kernel_time

    def estimate_box_seconds(self, works: Sequence[LayerWork], layers: Sequence[Layer]) -> float:
        """Seconds of a box of layers, one after another; beside another microbatch not less than its host needs.

        Args:
            works: What the box does of each layer.
            layers: Layers of the model.
        """
        spent = sum(self.estimate_layer_seconds(work, layers[work.layer]) for work in works)
        if not any(work.has_partner for work in works):
            return spent
        host = sum(work.ops for work in works) * self.launch_time
        for work in works:
            if layers[work.layer].kind == "moe":
                host += self._count_expert_seconds(work.ops, work.width, work.is_backward)
                host += work.has_partner * work.width * self.partner_launch_time
        return max(spent, host)

    def estimate_layer_seconds(self, work: LayerWork, layer: Layer) -> float:
        """Seconds of what a box does of a layer, with what is lost at the collectives that it waits for.

        Args:
            work: FLOPs, bytes and kernels of the box.
            layer: The layer that it belongs to.
        """
        spent = self.estimate_seconds(work.flops, work.memory_bytes, work.ops, layer.kind, work.width, work.is_backward)
        has_biases = layer.kind == "moe" and layer.backward_pointwise > 0
        if has_biases and work.is_backward and work.wait_count:
            # Half of a backward pass; tokens travel behind the product whose input's gradient is meant.
            spent *= 1 + (self.bias_gradient_factor - 1) / 2
        if has_biases and any(self.expert_launches):
            # Clamps and biases have kernels of their own, where products have. A backward pass has twice the FLOPs.
            samples = work.flops / layer.flops
            elements = samples * (layer.backward_pointwise / 2 if work.is_backward else layer.pointwise)
            spent += elements * find_itemsize(self.dtype) / (self.memory_rate * self.memory_share)
        return spent + work.wait_count * self.wait_time

    def estimate_optimizer_times(self, memory_bytes: float, optimizer: str, model: Model) -> tuple[float, float]:
        """Estimate what the optimizer's step takes, in one kernel.

        Args:
            memory_bytes: Bytes of weights, gradients and state, each read or written once.
            optimizer: adam, momentum, sgd or none.
            model: The model whose weights it updates.

        Returns:
            Seconds of the GPU, and seconds of the host that launches its operations.
        """
        return self.estimate_seconds(0.0, memory_bytes, 1, "optimizer"), 0.0

    def get_flop_rate(self, kind: str = "gemm", width: int = 0, is_backward: bool = False) -> float:
        """Get the rate at which a layer's arithmetic is done, counted as the layer counts it: all of the scores of
        attention, a backward pass twice.

        Args:
            kind: Kind of layer, see `Layer`.
            width: `Layer.width`: channels of a group, tokens of a sequence, or columns of a matrix.
            is_backward: Whether it is part of a backward pass.

        Returns:
            The rate in FLOP/s.
        """
        if kind == "flash":
            # The shares count half of the scores, a layer counts all of them: twice as fast. They count a backward
            # pass as 2.5 forward ones, a layer as 2: 0.8 of that.
            full = (self.attention_peak or self.peak) * self.flash_shares[is_backward] * (0.8 if is_backward else 1.0)
            return 2 * full / (1 + self.flash_half_tokens[is_backward] / width)
        if kind == "convolution":
            filled = 1.0
            if width:
                filled = min(1.0, width / 32)
            return (self.convolution_peak or self.peak) * self.winograd_factor * self.peak_share * filled
        slower = 1.0
        if kind == "gemm" and width % _ALIGNED and self.dtype != "float32":
            slower = self.unaligned_factor
        peak = self.peak
        if kind == "attention" and self.attention_peak:
            peak = self.attention_peak
        return peak * self.peak_share / slower

    def with_power_limit(self, watts: float, default_watts: float) -> GpuSpeed:
        """Return the same GPU with less power than its usual one.

        Power goes with the clock and the square of the voltage, which goes with the clock (dynamic power of CMOS): so
        the clock goes with the third root of power. Memory's does not.

        Args:
            watts: Power that it may use, in W.
            default_watts: Power of its data sheet, in W.

        Returns:
            The slower GPU.
        """
        slower = min(1.0, watts / default_watts) ** (1 / 3)
        return replace(
            self,
            peak_share=self.peak_share * slower,
            flash_shares=(self.flash_shares[0] * slower, self.flash_shares[1] * slower),
        )

    def with_triton(self) -> GpuSpeed:
        """The same GPU, where Triton's kernel of 2023 does flash attention."""
        forward, back = (share * part for share, part in zip(self.flash_shares, _TRITON, strict=True))
        return replace(self, flash_shares=(forward, back), flash_half_tokens=_TRITON_HALF)

    def with_separate_experts(self, precision: str = "16 bits") -> GpuSpeed:
        """Return the same GPU, where Transformer Engine's GroupedLinear launches the products of experts one by one.

        A product is one in the forward pass and two in the backward pass; in 8 bits what it reads is cast before, and
        in MXFP8 the scales of both operands are brought into another order (NVIDIA/TransformerEngine,
        pytorch/cpp_extensions/gemm.py, general_grouped_gemm, and pull request 1525; all of these are separate kernels
        before Megatron-Bridge 26.06: its issue 2885).

        Args:
            precision: Type of the products: `16 bits`, `fp8` or `mxfp8`.

        Returns:
            The slower GPU.

        Raises:
            CollsimError: For another word.
        """
        launches = _EXPERT_LAUNCHES[require_word("precision", precision, _EXPERT_LAUNCHES)]
        return replace(self, expert_launches=launches, partner_launch_time=_PARTNER)

    def with_graphs(self) -> GpuSpeed:
        """The same GPU, where CUDA graphs of a whole iteration leave nothing for the host to launch, and one kernel
        does the products of all experts: GPUs do not wait for the hosts of others, either."""
        return replace(self, launch_time=0.0, wait_time=0.0, expert_launches=(0.0, 0.0), partner_launch_time=0.0)

    def with_cudnn(self) -> GpuSpeed:
        """The same GPU, where cuDNN does flash attention; on other GPUs than Hopper no figures tell it apart."""
        if self.gpu in HOPPER:
            return replace(self, flash_shares=_CUDNN, flash_half_tokens=_CUDNN_HALF)
        return self


#: Of V100: fitted to ResNet-50 in PyTorch's own benchmark (benchmarks/distributed/ddp/README.md, 1 to 16 GPUs,
#: float32). Two benchmarks give what several GPUs lose. The one of PyTorch loses nearly as much on 2 as on 16 GPUs, so
#: most of that does not come from the bytes (join_time). Li et al., VLDB 2020 (arXiv 2006.15704, section 5.1), on 32
#: V100 with 100 Gbit/s: with overlap ResNet-50 is 38.0 % and BERT 35.2 % faster than without; overlap that gains
#: nothing (interference 1) would leave 0 %, free overlap 45 to 50 %.
_V100 = {
    "peak_share": 0.9,
    "memory_share": 0.8,
    "interference": 0.3,
    "join_time": 2.8e-3,
    "launch_time": 4e-5,
    "op_time": 0.0,
}
#: Of H100: chosen on every third published step of MPT on it (mosaicml/llm-foundry, scripts/train/benchmarking,
#: bfloat16); under load its clock is below the one that the data sheet's peak is given for.
_H100 = {"peak_share": 0.6, "flash_shares": _FLASH_H100}
_V100_WINOGRAD = 1.25
#: What is known of single GPUs beside their data sheets.
_OWN_CONSTANTS: Mapping[str, Mapping[str, Any]] = {
    "P100": {"unaligned_factor": 1.0},
    "V100": _V100,
    **dict.fromkeys(HOPPER, _H100),
}


@check_arguments
@cache
def list_gpus() -> MappingProxyType[str, str]:
    """GPUs of the catalogue, each with the source of its figures.

    Returns:
        Names and sources.

    Examples:
        >>> import collsim as cs
        >>> "A100" in cs.train.list_gpus()
        True
    """
    return MappingProxyType({name: row["source"] for name, row in load_gpu_speeds().items()})


def find_step_dtype(dtype: str) -> str:
    """Find the name of a type that a step may compute in.

    Args:
        dtype: As in `collsim.dtypes.find_dtype_name`: `"bfloat16"`, `"bf16"`.

    Returns:
        float32, float16 or bfloat16.

    Raises:
        CollsimError: It is unknown, or no step computes in it.
    """
    return require_word("dtype of a training step", find_dtype_name(dtype), DTYPES)


@check_arguments
def get_gpu_speed(gpu: str, dtype: str = "float32") -> GpuSpeed:
    """The speed of a GPU.

    Args:
        gpu: a name of `list_gpus()`.
        dtype: in which it computes: float32, float16 or bfloat16.

    Returns:
        Its peak, its memory, and the shares of them that kernels reach.

    Raises:
        CollsimError: For unknown GPUs (with the nearest) and types.

    Examples:
        >>> import collsim as cs
        >>> cs.train.get_gpu_speed("A100", "bfloat16").peak / 1e12  # TFLOP/s
        312.0
    """
    dtype = find_step_dtype(dtype)
    rows, is_narrow = load_gpu_speeds(), dtype != "float32"
    if gpu not in rows:
        raise CollsimError(describe_unknown("GPU", gpu, rows))
    row = rows[gpu]
    figures = {name: float(row[name]) for name in ("fp32", "tf32", "half", "memory", "capacity")}
    constants = {"op_time": _OP, **_OWN_CONSTANTS.get(gpu, {})}
    # TF32 is PyTorch's default for convolutions and not for products, so it is stored beside the peak of products.
    if figures["tf32"] and not is_narrow:
        constants["convolution_peak"] = figures["tf32"] * 1e12
    # cuDNN's Winograd kernels do fewer FLOPs than the layer counts, which shows on V100 in float32 alone.
    if gpu == "V100" and not is_narrow:
        constants["winograd_factor"] = _V100_WINOGRAD
    peak, memory_rate, capacity = figures["half" if is_narrow else "fp32"], figures["memory"], figures["capacity"]
    return GpuSpeed(gpu, dtype, peak * 1e12, memory_rate * 1e12, capacity * 1e9, source=row["source"], **constants)
