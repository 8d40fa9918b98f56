"""Mixtures of experts: Mixtral, Qwen3 and GPT-OSS."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from ..workload.model import Model
from ..workload.transformer import transformer

_QWEN3 = "Qwen team 2025 (arXiv 2505.09388), table 2; huggingface Qwen/Qwen3-30B-A3B and Qwen3-235B-A22B config.json"
_MIXTRAL = "Jiang et al. 2024 (arXiv 2401.04088), table 1; huggingface mistralai/Mixtral-8x7B-v0.1 config.json"
_OSS = "OpenAI 2025 (arXiv 2508.10925), section 2; huggingface openai/gpt-oss-20b and gpt-oss-120b config.json"


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
    """A model of the table; norms of queries and keys, and the attention sinks of GPT-OSS, are left out."""
    return transformer(
        **_TABLE[name]._asdict(),
        seq=seq or 4096,
        gated=True,
        bias=False,
        tied=False,
        positions=False,
        flash=flash,
        name=name,
    )


MODELS = {name: partial(_build_mixture, name) for name in _TABLE}
