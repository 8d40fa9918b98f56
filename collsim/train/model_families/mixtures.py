"""Mixtures of experts: Mixtral, Qwen3 and GPT-OSS."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ..workload.model import Layer, Model
from ..workload.transformer import transformer

_QWEN3 = "Qwen team 2025 (arXiv 2505.09388), table 2; huggingface Qwen/Qwen3-30B-A3B and Qwen3-235B-A22B config.json"
_MIXTRAL = "Jiang et al. 2024 (arXiv 2401.04088), table 1; huggingface mistralai/Mixtral-8x7B-v0.1 config.json"
_OSS = "OpenAI 2025 (arXiv 2508.10925), section 2; huggingface openai/gpt-oss-20b and gpt-oss-120b config.json"
#: Reads and writes of an element by the kernels of GPT-OSS's experts in Megatron-LM, forward and backward. Both halves
#: of the first product are clamped, joined and then go through one kernel (fusions/fused_bias_geglu.py,
#: weighted_bias_quick_geglu_impl); the backward pass has that kernel's two, masks of the clamps, and joins again. The
#: second product's bias is multiplied by each token's probability in float32, added, joined and cast, and has two sums
#: as gradients (transformer/moe/experts.py, _apply_bias).
_CLAMPED, _BIASED = (11, 23), (14, 20)
#: The same of queries and keys (64 and 8 of 80 heads): rotary positions with YaRN's factor have no fused kernel
#: (models/common/embeddings/rope_utils.py), but a negative, two joins, two products and a sum. A backward pass counts
#: twice what a forward pass does, so this is a third of both.
_ROTARY, _ROTATED = (12 + 14) / 3, 72 / 80


class _Mixture(NamedTuple):
    """Sizes as `transformer` takes them."""

    h: int
    layers: int
    heads: int
    head_dim: int
    kv_heads: int
    ffn: int
    experts: int
    top_k: int
    vocab: int
    window: int | None
    source: str


_TABLE = {
    "mixtral-8x7b": _Mixture(4096, 32, 32, 128, 8, 14336, 8, 2, 32000, None, _MIXTRAL),
    "qwen3-30b-a3b": _Mixture(2048, 48, 32, 128, 4, 768, 128, 8, 151936, None, _QWEN3),
    "qwen3-235b-a22b": _Mixture(4096, 94, 64, 128, 4, 1536, 128, 8, 151936, None, _QWEN3),
    "gpt-oss-20b": _Mixture(2880, 24, 64, 64, 8, 2880, 32, 4, 201088, 128, _OSS),
    "gpt-oss-120b": _Mixture(2880, 36, 64, 64, 8, 2880, 128, 4, 201088, 128, _OSS),
}


def _build_mixture(name: str, seq: int | None = None, flash: bool = True) -> Model:
    """A model of the table; norms of queries and keys, attention sinks and the memory of biases are left out."""
    model = transformer(
        **_TABLE[name]._asdict(),
        seq=seq or 4096,
        gated=True,
        bias=False,
        tied=False,
        positions=False,
        flash=flash,
        name=name,
    )
    if _TABLE[name].source == _OSS:
        return replace(model, layers=tuple(map(_add_oss_kernels, model.layers)))
    return model


def _add_oss_kernels(layer: Layer) -> Layer:
    """A layer of GPT-OSS with what is beside its products: clamps, biases and rotary positions."""
    if layer.name.endswith(".qkv"):
        return replace(layer, traffic=layer.traffic + _ROTARY * _ROTATED * layer.outputs)
    kernels = {"up": _CLAMPED, "down": _BIASED}.get(layer.name.partition(".mlp.")[2])
    if kernels is None:
        return layer
    forward, backward = (accesses * layer.outputs * layer.top_k for accesses in kernels)
    return replace(layer, pointwise=forward, backward_pointwise=backward)


MODELS = {name: partial(_build_mixture, name) for name in _TABLE}
