"""Mixtures of experts: Qwen3 and GPT-OSS."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..workload.model import Model
from ..workload.transformer import transformer

_QWEN3 = "Qwen team 2025 (arXiv 2505.09388), table 2; huggingface Qwen/Qwen3-30B-A3B and Qwen3-235B-A22B config.json"
_OSS = "OpenAI 2025 (arXiv 2508.10925), section 2; huggingface openai/gpt-oss-20b and gpt-oss-120b config.json"
#: What both families share; norms of queries and keys, and the sinks of GPT-OSS, are left out.
_LIKE: dict[str, Any] = {"gated": True, "bias": False, "tied": False, "positions": False}
#: name: width, blocks, heads, and the rest as `transformer` takes it
_TABLE: dict[str, tuple[int, int, int, dict[str, Any]]] = {
    "qwen3-30b-a3b": (
        2048,
        48,
        32,
        {"head": 128, "kv_heads": 4, "ffn": 768, "experts": 128, "top": 8, "vocab": 151936, "source": _QWEN3},
    ),
    "qwen3-235b-a22b": (
        4096,
        94,
        64,
        {"head": 128, "kv_heads": 4, "ffn": 1536, "experts": 128, "top": 8, "vocab": 151936, "source": _QWEN3},
    ),
    "gpt-oss-20b": (
        2880,
        24,
        64,
        {"head": 64, "kv_heads": 8, "ffn": 2880, "experts": 32, "top": 4, "vocab": 201088, "window": 128}
        | {"source": _OSS},
    ),
    "gpt-oss-120b": (
        2880,
        36,
        64,
        {"head": 64, "kv_heads": 8, "ffn": 2880, "experts": 128, "top": 4, "vocab": 201088, "window": 128}
        | {"source": _OSS},
    ),
}


def _mixture(name: str, seq: int | None = None, flash: bool = True) -> Model:
    h, layers, heads, sizes = _TABLE[name]
    return transformer(h, layers, heads, seq=seq or 4096, flash=flash, name=name, **_LIKE, **sizes)


MODELS = {name: partial(_mixture, name) for name in _TABLE}
