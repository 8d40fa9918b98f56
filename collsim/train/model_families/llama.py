"""Llama 3, Llama 2 and Mistral, which has the same layers."""

from __future__ import annotations

from functools import partial

from ..workload.model import Model
from ..workload.transformer import transformer

_LLAMA3 = "Llama team 2024 (arXiv 2407.21783), table 3; huggingface transformers modeling_llama.py"
_LLAMA2 = "Touvron et al. 2023 (arXiv 2307.09288), appendix A; huggingface transformers modeling_llama.py"
_MISTRAL = "Jiang et al. 2023 (arXiv 2310.06825), table 1; huggingface transformers modeling_mistral.py"
#: Of each model: hidden size, blocks, heads, heads of keys and values, width of the MLP, words, tokens of a sample,
#: source.
_TABLE = {
    "llama2-7b": (4096, 32, 32, 32, 11008, 32000, 4096, _LLAMA2),
    "llama2-13b": (5120, 40, 40, 40, 13824, 32000, 4096, _LLAMA2),
    "llama2-70b": (8192, 80, 64, 8, 28672, 32000, 4096, _LLAMA2),
    "mistral-7b": (4096, 32, 32, 8, 14336, 32000, 4096, _MISTRAL),
    "llama3-8b": (4096, 32, 32, 8, 14336, 128256, 8192, _LLAMA3),
    "llama3-70b": (8192, 80, 64, 8, 28672, 128256, 8192, _LLAMA3),
    "llama3-405b": (16384, 126, 128, 8, 53248, 128256, 8192, _LLAMA3),
}


def _build_llama(name: str, seq: int | None = None, flash: bool = True, huggingface: bool = False) -> Model:
    h, layers, heads, kv_heads, ffn, vocab, longest, source = _TABLE[name]
    return transformer(
        h,
        layers,
        heads,
        seq=seq or longest,
        vocab=vocab,
        ffn=ffn,
        kv_heads=kv_heads,
        gated=True,
        bias=False,
        tied=False,
        positions=False,
        flash=flash,
        fused=not huggingface,
        huggingface=huggingface,
        dropout=not huggingface,
        name=name,
        source=source,
    )


MODELS = {name: partial(_build_llama, name) for name in _TABLE}
