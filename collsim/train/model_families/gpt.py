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


def _build_gpt(
    name: str, seq: int | None = None, flash: bool | None = None, padded: bool | None = None, dropout: bool = True
) -> Model:
    h, layers, heads, longest, source = _TABLE[name]
    # Hugging Face's GPT-2 differs from Megatron's in kernels and in padding of the vocabulary, not in shape.
    is_huggingface = source is _GPT2
    if flash is None:
        flash = is_huggingface  # its default is torch's scaled_dot_product_attention
    if padded is None:
        padded = not is_huggingface
    options = {"flash": flash, "padded": padded, "dropout": dropout, "fused": not is_huggingface}
    options["huggingface"] = is_huggingface
    build = partial(transformer, h, layers, heads, name=name, source=source, **options)  # type: ignore[arg-type]
    model = build(seq=seq or longest)
    if seq not in (None, longest):  # shorter samples do not shorten the table of positions
        embedding = replace(model.layers[0], tensors=build(seq=longest).layers[0].tensors)
        model = replace(model, layers=(embedding, *model.layers[1:]))
    return model


MODELS = {name: partial(_build_gpt, name) for name in _TABLE}
