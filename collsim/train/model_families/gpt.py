"""GPT-2 and GPT-3."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...package_data import read_toml
from ..workload.model import Model
from ..workload.transformer import transformer

_TABLE = read_toml(__file__, "gpt.toml")


def _build_gpt(
    name: str, seq: int | None = None, flash: bool | None = None, padded: bool | None = None, dropout: bool = True
) -> Model:
    row = _TABLE[name]
    # Hugging Face's GPT-2 differs from Megatron's in kernels and in padding of the vocabulary, not in shape.
    is_huggingface = name.startswith("gpt2")
    if flash is None:
        flash = is_huggingface  # its default is torch's scaled_dot_product_attention
    if padded is None:
        padded = not is_huggingface
    kernels = {"flash": flash, "padded": padded, "dropout": dropout, "fused": not is_huggingface}
    build = partial(transformer, **row | kernels, name=name, huggingface=is_huggingface)
    model = build(seq=seq or row["seq"])
    if seq not in (None, row["seq"]):  # shorter samples do not shorten the table of positions
        embedding = replace(model.layers[0], tensors=build().layers[0].tensors)
        model = replace(model, layers=(embedding, *model.layers[1:]))
    return model


MODELS = {name: partial(_build_gpt, name) for name in _TABLE}
