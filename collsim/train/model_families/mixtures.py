"""Mixtures of experts: Mixtral, Qwen3 and GPT-OSS."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...package_data import read_toml
from ..workload.model import Layer, Model
from ..workload.transformer import transformer

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
_TABLE = read_toml(__file__, "mixtures.toml")


def _build_mixture(name: str, seq: int | None = None, flash: bool = True) -> Model:
    """A model of the table; norms of queries and keys, attention sinks and the memory of biases are left out."""
    model = transformer(**_TABLE[name], seq=seq or 4096, name=name, flash=flash)
    if name.startswith("gpt-oss"):
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
