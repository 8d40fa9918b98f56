"""Measures steps of training on one GPU in eager PyTorch: forward, backward, optimizer and peak memory of each case.

    python benchmarks/gpu_steps.py steps.csv --kernels kernels.csv

Needs torch; torchvision and transformers for the models of theirs. A row is written as soon as its case has been
measured. Times are medians of six steps behind three that warm up: forward, backward and optimizer between CUDA events,
the whole step by the clock. `--kernels` then profiles one more step of each case: its kernels by name and pass.
`docs/accuracy/gpu_steps.csv` holds what this program measured on one H100 and one H200.
"""

from __future__ import annotations

import argparse
import csv
import gc
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from typing import Any

import torch
from torch import nn

WARM, MEASURED = 3, 6
WORDS_OF_BERT, WORDS_OF_GPT2 = 30522, 50257

#: Decoder blocks: h, heads, heads of keys and values, width of the MLP, whether it is gated, tokens, and pairs of GPUs
#: that share a block and samples.
BLOCKS = (
    (1536, 12, 12, 6144, False, 2048, ((1, 2), (2, 2))),
    (2560, 20, 20, 10240, False, 1024, ((1, 4), (4, 4))),
    (3072, 24, 8, 8192, True, 2048, ((1, 1), (2, 4))),
    (5120, 40, 40, 13824, True, 4096, ((1, 1), (4, 1), (8, 1))),
    (7168, 56, 8, 20480, True, 2048, ((2, 2), (8, 2))),
    (8192, 64, 64, 32768, False, 2048, ((2, 1), (8, 1))),
    (2048, 16, 16, 5632, True, 8192, ((1, 1),)),
    (12288, 96, 96, 49152, False, 2048, ((8, 1),)),
)
HELD_OUT_BLOCKS = (
    (1792, 14, 14, 7168, False, 1024, ((1, 8),)),
    (4096, 32, 32, 16384, False, 2048, ((1, 2), (8, 4))),
    (6144, 48, 8, 16384, True, 4096, ((1, 1), (4, 2))),
    (4096, 32, 8, 14336, True, 1024, ((1, 1),)),
    (10240, 80, 80, 40960, False, 2048, ((4, 1),)),
)
#: h, type, samples and tokens of blocks with weights in float32.
WIDE_BLOCKS = ((2048, "autocast-bf16", 2, 2048), (1024, "float32", 4, 1024))
#: Model, samples, type, memory format, optimizer and its kernels.
IMAGES = (
    ("resnet101", 32, "float32", "channels_first", "adam", "foreach"),
    ("resnet101", 64, "autocast-bf16", "channels_first", "momentum", "foreach"),
    ("resnet50", 128, "autocast-bf16", "channels_last", "momentum", "foreach"),
    ("resnet50", 128, "float32", "channels_last", "momentum", "foreach"),
    ("resnet50", 32, "autocast-bf16", "channels_first", "adam", "foreach"),
    ("resnet50", 256, "autocast-bf16", "channels_first", "adam", "foreach"),
    ("resnet34", 128, "float32", "channels_first", "sgd", "foreach"),
    ("resnet34", 128, "autocast-bf16", "channels_first", "momentum", "foreach"),
    ("resnet18", 256, "autocast-bf16", "channels_last", "adam", "fused"),
    ("resnet50", 128, "bfloat16", "channels_last", "momentum", "foreach"),
    ("vgg19", 32, "float32", "channels_first", "adam", "foreach"),
    ("vgg16", 64, "autocast-bf16", "channels_first", "momentum", "foreach"),
    ("vgg16", 64, "autocast-bf16", "channels_last", "adam", "fused"),
    ("resnext50_32x4d", 64, "float32", "channels_first", "adam", "foreach"),
    ("resnext50_32x4d", 64, "autocast-bf16", "channels_last", "momentum", "foreach"),
    ("mobilenet_v2", 128, "float32", "channels_first", "momentum", "foreach"),
    ("mobilenet_v2", 128, "autocast-bf16", "channels_last", "adam", "foreach"),
    ("resnet152", 16, "autocast-bf16", "channels_first", "adam", "foreach"),
    ("vit_b_16", 64, "float32", "channels_first", "adam", "foreach"),
    ("vit_b_16", 128, "autocast-bf16", "channels_first", "adam", "foreach"),
    ("vit_l_16", 32, "autocast-bf16", "channels_first", "adam", "foreach"),
    ("vit_b_16", 96, "bfloat16", "channels_first", "adam", "foreach"),
)
HELD_OUT_IMAGES = (
    ("resnet50", 64, "autocast-bf16", "channels_last", "momentum", "foreach"),
    ("resnet50", 96, "float32", "channels_first", "sgd", "foreach"),
    ("resnet101", 48, "autocast-bf16", "channels_last", "adam", "foreach"),
    ("resnet18", 128, "float32", "channels_first", "adam", "foreach"),
    ("resnet18", 64, "autocast-bf16", "channels_first", "momentum", "foreach"),
    ("resnet34", 64, "float32", "channels_last", "adam", "foreach"),
    ("resnet152", 64, "autocast-bf16", "channels_first", "adam", "foreach"),
    ("vgg16", 128, "float32", "channels_last", "momentum", "foreach"),
    ("vgg19", 64, "autocast-bf16", "channels_last", "adam", "foreach"),
    ("resnext101_32x8d", 32, "autocast-bf16", "channels_first", "adam", "foreach"),
    ("resnet50", 16, "float32", "channels_first", "adam", "foreach"),
    ("resnet50", 512, "bfloat16", "channels_last", "momentum", "fused"),
)
#: Model, samples, tokens, type, attention, kernels of AdamW.
GPT2 = (
    ("gpt2", 2, 1024, "float32", "sdpa", "foreach"),
    ("gpt2", 4, 1024, "float32", "eager", "foreach"),
    ("gpt2", 4, 1024, "autocast-bf16", "sdpa", "foreach"),
    ("gpt2", 16, 1024, "autocast-bf16", "sdpa", "fused"),
    ("gpt2", 8, 1024, "autocast-bf16", "eager", "foreach"),
    ("gpt2", 8, 1024, "bfloat16", "sdpa", "foreach"),
    ("gpt2", 16, 512, "autocast-bf16", "sdpa", "foreach"),
    ("gpt2", 1, 1024, "autocast-bf16", "sdpa", "foreach"),
    ("gpt2-medium", 2, 1024, "float32", "sdpa", "foreach"),
    ("gpt2-medium", 8, 1024, "autocast-bf16", "sdpa", "foreach"),
    ("gpt2-medium", 4, 1024, "autocast-bf16", "eager", "foreach"),
    ("gpt2-medium", 4, 1024, "bfloat16", "eager", "foreach"),
    ("gpt2-large", 2, 1024, "float32", "sdpa", "fused"),
    ("gpt2-large", 4, 1024, "autocast-bf16", "sdpa", "foreach"),
    ("gpt2-large", 2, 1024, "bfloat16", "sdpa", "foreach"),
    ("gpt2-xl", 2, 1024, "autocast-bf16", "sdpa", "foreach"),
    ("gpt2-xl", 4, 1024, "bfloat16", "sdpa", "fused"),
    ("gpt2-xl", 1, 1024, "autocast-bf16", "eager", "foreach"),
)
HELD_OUT_GPT2 = (
    ("gpt2", 32, 512, "autocast-bf16", "sdpa", "fused"),
    ("gpt2", 12, 1024, "float32", "sdpa", "foreach"),
    ("gpt2", 2, 1024, "autocast-bf16", "eager", "foreach"),
    ("gpt2", 16, 1024, "bfloat16", "eager", "foreach"),
    ("gpt2-medium", 1, 1024, "float32", "sdpa", "foreach"),
    ("gpt2-medium", 16, 512, "bfloat16", "sdpa", "foreach"),
    ("gpt2-large", 1, 1024, "autocast-bf16", "eager", "foreach"),
    ("gpt2-large", 8, 1024, "bfloat16", "sdpa", "fused"),
    ("gpt2-xl", 1, 1024, "float32", "sdpa", "foreach"),
    ("gpt2-xl", 2, 1024, "bfloat16", "eager", "foreach"),
)
#: The same.
BERT = (
    ("bert-base", 16, 512, "float32", "sdpa", "foreach"),
    ("bert-base", 16, 512, "autocast-bf16", "sdpa", "foreach"),
    ("bert-base", 64, 128, "autocast-bf16", "sdpa", "foreach"),
    ("bert-base", 32, 384, "autocast-bf16", "eager", "foreach"),
    ("bert-base", 16, 256, "float32", "eager", "foreach"),
    ("bert-base", 8, 128, "autocast-bf16", "sdpa", "foreach"),
    ("bert-base", 32, 512, "bfloat16", "sdpa", "fused"),
    ("bert-large", 8, 512, "float32", "sdpa", "foreach"),
    ("bert-large", 16, 512, "autocast-bf16", "sdpa", "foreach"),
    ("bert-large", 32, 128, "autocast-bf16", "sdpa", "fused"),
    ("bert-large", 8, 384, "bfloat16", "eager", "foreach"),
)
HELD_OUT_BERT = (
    ("bert-base", 128, 128, "bfloat16", "sdpa", "foreach"),
    ("bert-base", 4, 512, "autocast-bf16", "sdpa", "foreach"),
    ("bert-base", 24, 256, "autocast-bf16", "sdpa", "foreach"),
    ("bert-base", 64, 64, "float32", "sdpa", "foreach"),
    ("bert-base", 12, 384, "autocast-bf16", "eager", "foreach"),
    ("bert-large", 4, 384, "float32", "sdpa", "foreach"),
    ("bert-large", 24, 256, "autocast-bf16", "sdpa", "fused"),
    ("bert-large", 16, 512, "bfloat16", "sdpa", "foreach"),
)
#: The same, with whether activations are computed again.
LLAMA = (
    ("llama3.2-1b", 1, 2048, "bfloat16", "sdpa", "foreach", False),
    ("llama3.2-1b", 2, 2048, "autocast-bf16", "sdpa", "foreach", False),
    ("llama3.2-1b", 4, 2048, "bfloat16", "sdpa", "fused", True),
    ("tinyllama", 4, 1024, "bfloat16", "sdpa", "fused", False),
    ("tinyllama", 2, 2048, "autocast-bf16", "sdpa", "foreach", False),
    ("tinyllama", 2, 1024, "bfloat16", "eager", "foreach", False),
    ("llama2-7b, 4 of 32 layers", 2, 4096, "bfloat16", "sdpa", "foreach", False),
    ("llama3-8b, 4 of 32 layers", 1, 8192, "bfloat16", "sdpa", "foreach", False),
    ("llama-160m", 8, 1024, "autocast-bf16", "sdpa", "foreach", False),
    ("llama-160m", 4, 1024, "float32", "sdpa", "foreach", False),
)
HELD_OUT_LLAMA = (
    ("llama3.2-1b", 1, 4096, "autocast-bf16", "sdpa", "foreach", False),
    ("llama3.2-1b", 2, 1024, "float32", "sdpa", "foreach", False),
    ("tinyllama", 8, 512, "bfloat16", "sdpa", "foreach", False),
    ("tinyllama", 1, 2048, "bfloat16", "sdpa", "foreach", False),
    ("llama2-7b, 4 of 32 layers", 1, 2048, "autocast-bf16", "sdpa", "foreach", False),
    ("llama3-8b, 4 of 32 layers", 2, 4096, "bfloat16", "sdpa", "fused", True),
    ("llama-160m", 16, 512, "bfloat16", "sdpa", "foreach", False),
    ("llama-160m", 2, 2048, "float32", "sdpa", "foreach", False),
)


@dataclass(frozen=True)
class Case:
    """A step to measure; sizes that a family of models does not have are 0.

    Attributes:
        family: blocks, cnn, gpt2, bert, llama or vit.
        model: Name of the model.
        samples: Samples of the step.
        dtype: float32, autocast-bf16 (float32 weights) or bfloat16 (weights in it, too).
        optimizer: adam, momentum or sgd.
        kernels: foreach or fused kernels of the optimizer.
        attention: sdpa or eager.
        memory_format: channels_first or channels_last, of images.
        tp: GPUs that share a block; the share of one of them is run.
    """

    family: str
    model: str
    samples: int
    dtype: str
    optimizer: str = "adam"
    kernels: str = "foreach"
    attention: str = ""
    memory_format: str = ""
    layers: int = 0
    hidden: int = 0
    heads: int = 0
    kv_heads: int = 0
    ffn: int = 0
    seq: int = 0
    vocab: int = 0
    gated: bool = False
    recompute: bool = False
    tp: int = 1


class Block(nn.Module):
    """One GPU's share of a decoder block under tensor parallelism (Megatron-LM's cut), without its collectives."""

    def __init__(self, case: Case):
        super().__init__()
        h, t, bias = case.hidden, case.tp, not case.gated
        norm = nn.RMSNorm if case.gated else nn.LayerNorm
        self.gated, self.width = case.gated, h // case.heads
        self.heads, self.kv_heads = case.heads // t, max(1, case.kv_heads // t)
        self.norm1, self.norm2 = norm(h), norm(h)
        self.qkv = nn.Linear(h, (self.heads + 2 * self.kv_heads) * self.width, bias=bias)
        self.out = nn.Linear(self.heads * self.width, h, bias=bias)
        self.up = nn.Linear(h, case.ffn // t * (1 + case.gated), bias=bias)
        self.down = nn.Linear(case.ffn // t, h, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        samples, tokens, _ = x.shape
        sizes = [self.heads * self.width, self.kv_heads * self.width, self.kv_heads * self.width]
        q, k, v = (
            part.view(samples, tokens, -1, self.width).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).split(sizes, -1)
        )
        enable_gqa = self.kv_heads != self.heads
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=enable_gqa)
        x = x + self.out(attended.transpose(1, 2).reshape(samples, tokens, -1))
        inner = self.up(self.norm2(x))
        if self.gated:
            gate, inner = inner.chunk(2, -1)
            inner = nn.functional.silu(gate) * inner
        else:
            inner = nn.functional.gelu(inner, approximate="tanh")
        return x + self.down(inner)


def list_cases(held_out: bool = False) -> Iterator[Case]:
    """The cases that rates were read from, or those that were measured once the rates were settled; a family at a
    time."""
    yield from _list_blocks(HELD_OUT_BLOCKS if held_out else BLOCKS)
    sizes = ((2048, "float32", 1, 2048), (4096, "autocast-bf16", 2, 1024)) if held_out else WIDE_BLOCKS
    yield from _list_wide_blocks(sizes)
    yield from _list_images(HELD_OUT_IMAGES if held_out else IMAGES)
    yield from _list_gpt2(HELD_OUT_GPT2 if held_out else GPT2)
    yield from _list_bert(HELD_OUT_BERT if held_out else BERT)
    yield from _list_llama(HELD_OUT_LLAMA if held_out else LLAMA)


def _list_blocks(table: tuple[Any, ...]) -> Iterator[Case]:
    for h, heads, kv, ffn, gated, seq, runs in table:
        for tp, samples in runs:
            sizes = {"layers": 4, "hidden": h, "heads": heads, "kv_heads": kv, "ffn": ffn, "seq": seq, "tp": tp}
            yield Case("blocks", "blocks", samples, "bfloat16", "sgd", attention="sdpa", gated=gated, **sizes)


def _list_wide_blocks(table: tuple[Any, ...]) -> Iterator[Case]:
    for h, dtype, samples, seq in table:
        sizes = {"layers": 4, "hidden": h, "heads": h // 128, "kv_heads": h // 128, "ffn": 4 * h, "seq": seq}
        yield Case("blocks", "blocks", samples, dtype, "sgd", attention="sdpa", **sizes)


def _list_images(table: tuple[Any, ...]) -> Iterator[Case]:
    for model, samples, dtype, layout, optimizer, kernels in table:
        family = "vit" if model.startswith("vit") else "cnn"
        attention = "sdpa" if family == "vit" else ""
        yield Case(family, model, samples, dtype, optimizer, kernels, attention, memory_format=layout)


def _list_gpt2(table: tuple[Any, ...]) -> Iterator[Case]:
    sizes = {
        "gpt2": (768, 12, 12),
        "gpt2-medium": (1024, 24, 16),
        "gpt2-large": (1280, 36, 20),
        "gpt2-xl": (1600, 48, 25),
    }
    for model, samples, seq, dtype, attention, kernels in table:
        h, layers, heads = sizes[model]
        shape = {"hidden": h, "layers": layers, "heads": heads, "kv_heads": heads, "ffn": 4 * h, "vocab": WORDS_OF_GPT2}
        yield Case("gpt2", model, samples, dtype, "adam", kernels, attention, seq=seq, **shape)


def _list_bert(table: tuple[Any, ...]) -> Iterator[Case]:
    sizes = {"bert-base": (768, 12, 12), "bert-large": (1024, 24, 16)}
    for model, samples, seq, dtype, attention, kernels in table:
        h, layers, heads = sizes[model]
        shape = {"hidden": h, "layers": layers, "heads": heads, "kv_heads": heads, "ffn": 4 * h, "vocab": WORDS_OF_BERT}
        yield Case("bert", model, samples, dtype, "adam", kernels, attention, seq=seq, **shape)


def _list_llama(table: tuple[Any, ...]) -> Iterator[Case]:
    sizes = {
        "llama3.2-1b": (2048, 16, 32, 8, 8192, 128256),
        "tinyllama": (2048, 22, 32, 4, 5632, 32000),
        "llama2-7b, 4 of 32 layers": (4096, 4, 32, 32, 11008, 32000),
        "llama3-8b, 4 of 32 layers": (4096, 4, 32, 8, 14336, 128256),
        "llama-160m": (768, 12, 12, 12, 3072, 32000),
    }
    for model, samples, seq, dtype, attention, kernels, recompute in table:
        h, layers, heads, kv, ffn, vocab = sizes[model]
        shape = {"hidden": h, "layers": layers, "heads": heads, "kv_heads": kv, "ffn": ffn, "vocab": vocab}
        yield Case(
            "llama",
            model,
            samples,
            dtype,
            "adam",
            kernels,
            attention,
            seq=seq,
            gated=True,
            recompute=recompute,
            **shape,
        )


def build_module(case: Case) -> nn.Module:
    """Build the model of a case, on the default device."""
    if case.family == "blocks":
        return nn.Sequential(*[Block(case) for _ in range(case.layers)])
    if case.family in ("cnn", "vit"):
        import torchvision

        return getattr(torchvision.models, case.model)()
    import transformers

    if case.family == "gpt2":
        config = transformers.GPT2Config(
            n_embd=case.hidden,
            n_layer=case.layers,
            n_head=case.heads,
            n_positions=1024,
            use_cache=False,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
        kind = transformers.GPT2LMHeadModel
    elif case.family == "bert":
        config = transformers.BertConfig(
            hidden_size=case.hidden,
            num_hidden_layers=case.layers,
            num_attention_heads=case.heads,
            intermediate_size=case.ffn,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        kind = transformers.BertForMaskedLM
    else:
        config = transformers.LlamaConfig(
            hidden_size=case.hidden,
            intermediate_size=case.ffn,
            num_hidden_layers=case.layers,
            num_attention_heads=case.heads,
            num_key_value_heads=case.kv_heads,
            vocab_size=case.vocab,
            max_position_embeddings=8192,
            use_cache=False,
        )
        kind = transformers.LlamaForCausalLM
    config._attn_implementation = case.attention
    module = kind(config)
    if case.recompute:
        module.gradient_checkpointing_enable()
    return module


def build_batch(case: Case, device: str) -> Any:
    """Build the inputs of a case: hidden states, images with their classes, or words."""
    if case.family == "blocks":
        dtype = torch.float32 if case.dtype == "float32" else torch.bfloat16
        return torch.randn(case.samples, case.seq, case.hidden, device=device, dtype=dtype, requires_grad=True)
    if case.family in ("cnn", "vit"):
        images = torch.randn(case.samples, 3, 224, 224, device=device)
        if case.dtype == "bfloat16":
            images = images.bfloat16()
        if case.memory_format == "channels_last":
            images = images.to(memory_format=torch.channels_last)
        return images, torch.randint(0, 1000, (case.samples,), device=device)
    return torch.randint(0, min(case.vocab, 30000), (case.samples, case.seq), device=device)


def compute_loss(case: Case, module: nn.Module, batch: Any) -> torch.Tensor:
    """Run the forward pass and its loss."""
    if case.family == "blocks":
        return module(batch).float().sum()
    if case.family in ("cnn", "vit"):
        return nn.functional.cross_entropy(module(batch[0]), batch[1])
    return module(batch, labels=batch).loss


def build_optimizer(case: Case, module: nn.Module) -> torch.optim.Optimizer:
    """Build the optimizer of a case."""
    parameters, options = list(module.parameters()), {}
    if case.kernels == "fused":
        options["fused"] = True
    if case.optimizer == "adam":
        return torch.optim.AdamW(parameters, lr=1e-5, **options)
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9 * (case.optimizer == "momentum"), **options)


@dataclass
class Run:
    """A case on a device, ready to take steps."""

    case: Case
    device: str

    def __post_init__(self) -> None:
        torch.manual_seed(0)
        with torch.device(self.device):  # filling weights on the host would take longer than the steps
            self.module = build_module(self.case).train()
        if self.case.dtype == "bfloat16":
            self.module = self.module.to(torch.bfloat16)
        if self.case.memory_format == "channels_last":
            self.module = self.module.to(memory_format=torch.channels_last)
        self.optimizer = build_optimizer(self.case, self.module)
        self.batch = build_batch(self.case, self.device)

    def step(self, mark: Callable[[str], None]) -> None:
        """Take a step; `mark` is called with the name of each part when it has been issued."""
        mark("begin")
        with torch.autocast(self.device, torch.bfloat16, enabled=self.case.dtype == "autocast-bf16"):
            loss = compute_loss(self.case, self.module, self.batch)
        mark("forward")
        loss.backward()
        mark("backward")
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        mark("optimizer")


def measure_case(case: Case, device: str) -> dict[str, Any]:
    """Measure a case.

    Returns:
        Median ms of each part and of the whole step, the peak of allocated bytes, and the parameters.
    """
    run = Run(case, device)
    rows = []
    for number in range(WARM + MEASURED):
        if number == WARM and device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        events = {}

        def mark(part: str, events: dict[str, Any] = events) -> None:
            if device == "cuda":
                events[part] = torch.cuda.Event(enable_timing=True)
                events[part].record()
            else:
                events[part] = time.perf_counter()

        _synchronize(device)
        begin = time.perf_counter()
        run.step(mark)
        _synchronize(device)
        whole = (time.perf_counter() - begin) * 1e3
        parts = list(events.values())
        if device == "cuda":
            spans = [first.elapsed_time(last) for first, last in pairwise(parts)]
        else:
            spans = [(last - first) * 1e3 for first, last in pairwise(parts)]
        if number >= WARM:
            rows.append((*spans, whole))
    medians = [sorted(values)[len(values) // 2] for values in zip(*rows, strict=True)]
    names = ("forward_ms", "backward_ms", "optimizer_ms", "step_ms")
    result = {name: f"{value:.4f}" for name, value in zip(names, medians, strict=True)}
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else 0
    return {**result, "peak_bytes": peak, "params": sum(p.numel() for p in run.module.parameters())}


def profile_case(case: Case, device: str) -> list[tuple[str, str, int, float]]:
    """Profile one step.

    Returns:
        (pass, kernel, calls, ms in all) of each kernel.
    """
    from torch.profiler import ProfilerActivity, profile

    run = Run(case, device)
    for _ in range(2):
        run.step(lambda part: None)
    _synchronize(device)
    out = []
    parts: list[tuple[str, Any]] = []

    def mark(part: str) -> None:  # a profile for each pass tells its kernels apart
        _synchronize(device)
        if parts:
            parts[-1][1].__exit__(None, None, None)
        if part != "optimizer":
            parts.append((part, profile(activities=[ProfilerActivity.CUDA])))
            parts[-1][1].__enter__()

    run.step(mark)
    for name, (_, profiler) in zip(("forward", "backward", "optimizer"), parts, strict=True):
        calls, spent = Counter(), Counter()
        for event in profiler.events():
            if event.device_type.name == "CUDA":
                calls[event.name] += 1
                spent[event.name] += event.device_time / 1e3
        out += [(name, kernel, calls[kernel], spent[kernel]) for kernel in calls]
    return out


def _synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _free(device: str) -> None:
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def shrink(case: Case) -> Case:
    """The same case with sizes that a CPU runs in a second, to try the program without a GPU."""
    if case.family in ("cnn", "vit"):
        return replace(case, samples=2)
    small = {"layers": 2, "hidden": 128, "heads": 4, "kv_heads": min(2, case.kv_heads) * 2, "ffn": 256, "seq": 64}
    return replace(case, **small, samples=2, vocab=case.vocab and 512, tp=min(case.tp, 2))


def main() -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--kernels", default="", help="also profile each case, into this CSV")
    parser.add_argument("--seconds", type=float, default=520, help="begin no case behind that")
    parser.add_argument("--held-out", action="store_true", help="the cases that no rate was read from")
    parser.add_argument("--cpu", action="store_true", help="small cases on the CPU, to try the program")
    options = parser.parse_args()
    begin, device = time.perf_counter(), "cuda"
    cases = list(list_cases(options.held_out))
    if options.cpu:
        cases, device = [shrink(case) for case in cases], "cpu"
    gpu = torch.cuda.get_device_name(0) if device == "cuda" else "CPU"
    names = ["gpu", "torch", *(field.name for field in fields(Case))]
    names += ["forward_ms", "backward_ms", "optimizer_ms", "step_ms", "peak_bytes", "params"]
    with open(options.out, "w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for case in cases:
            if time.perf_counter() - begin > options.seconds:
                break
            try:
                row = measure_case(case, device)
                writer.writerow({"gpu": gpu, "torch": torch.__version__, **asdict(case), **row})
                file.flush()
                print(f"{time.perf_counter() - begin:.0f}s", case.model, case.dtype, row["step_ms"], "ms", flush=True)
            except Exception as error:  # an absent package or too little memory costs its case only
                print("FAILED", case, repr(error)[:300], flush=True)
            _free(device)
    if not options.kernels:
        return
    with open(options.kernels, "w", newline="") as file:
        kernels = csv.writer(file)
        kernels.writerow(["case", "pass", "kernel", "calls", "ms"])
        for number, case in enumerate(cases):
            if time.perf_counter() - begin > options.seconds:
                break
            try:
                for part, kernel, calls, spent in profile_case(case, device):
                    kernels.writerow([number, part, kernel[:160], calls, f"{spent:.5f}"])
                file.flush()
            except Exception as error:
                print("NOT PROFILED", case, repr(error)[:300], flush=True)
            _free(device)
        print(f"profiled to case {number} of {len(cases)}, {time.perf_counter() - begin:.0f}s", flush=True)


if __name__ == "__main__":
    main()
