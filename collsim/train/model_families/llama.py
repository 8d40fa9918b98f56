"""Llama 3, Llama 2 and Mistral, which has the same layers."""

from __future__ import annotations

from functools import partial

from ...package_data import read_toml
from ..workload.model import Model
from ..workload.transformer import transformer

_TABLE = read_toml(__file__, "llama.toml")


def _build_llama(name: str, seq: int | None = None, flash: bool = True, huggingface: bool = False) -> Model:
    row = _TABLE[name] | {"flash": flash, "fused": not huggingface, "dropout": not huggingface}
    return transformer(**{**row, "seq": seq or row["seq"]}, name=name, huggingface=huggingface)


MODELS = {name: partial(_build_llama, name) for name in _TABLE}
