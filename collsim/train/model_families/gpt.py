"""GPT-2 and GPT-3."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ..workload.model import Model
from ..workload.transformer import transformer

_GPT2 = "Radford et al. 2019, table 2; huggingface transformers modeling_gpt2.py (the head is tied)"
_GPT3 = "Brown et al. 2020 (arXiv 2005.14165), table 2.1; GPT-2's blocks"
#: Of each model: hidden size, blocks, heads, tokens of a sample, source.
_TABLE = {
    "gpt2": (768, 12, 12, 1024, _GPT2),
    "gpt2-medium": (1024, 24, 16, 1024, _GPT2),
    "gpt2-large": (1280, 36, 20, 1024, _GPT2),
    "gpt2-xl": (1600, 48, 25, 1024, _GPT2),
    "gpt3-13b": (5120, 40, 40, 2048, _GPT3),
    "gpt3-175b": (12288, 96, 96, 2048, _GPT3),
}


def _build_gpt(name: str, seq: int | None = None, flash: bool = False) -> Model:
    h, layers, heads, longest, source = _TABLE[name]
    whole = transformer(h, layers, heads, seq=longest, flash=flash, name=name, source=source)
    if seq in (None, longest):
        return whole
    shorter = transformer(h, layers, heads, seq=seq, flash=flash, name=name, source=source)
    # shorter samples do not shorten the table of positions
    embedding = replace(shorter.layers[0], tensors=whole.layers[0].tensors)
    return replace(shorter, layers=(embedding, *shorter.layers[1:]))


MODELS = {name: partial(_build_gpt, name) for name in _TABLE}
