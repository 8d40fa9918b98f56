"""BERT (Devlin et al. 2019), as huggingface's BertModel registers it: norm behind each half of a block, and a
pooler."""

from __future__ import annotations

from functools import partial

from ...units import parse_count
from ..workload.model import Layer, Model
from ..workload.transformer import Shape

_SOURCE = "Devlin et al. 2019 (arXiv 1810.04805), section 3; huggingface transformers modeling_bert.py (BertModel)"
#: name: width, blocks, heads
_TABLE = {"bert-base": (768, 12, 12), "bert-large": (1024, 24, 16)}
_WORDS, _POSITIONS, _TYPES = 30522, 512, 2


def _bert(name: str, seq: int = 512, flash: bool = False) -> Model:
    h, layers, heads = _TABLE[name]
    shape = Shape(h, layers, heads, parse_count(seq, "seq"), _WORDS, 4 * h, heads, False, True, flash)
    size = shape.seq * h
    tables = (_WORDS * h, _POSITIONS * h, _TYPES * h, h, h)
    first = Layer("embeddings", tables, 0.0, 6 * size, size, size, size, "embedding", 4)
    pooler = Layer("pooler", (h * h, h), 2.0 * h * h, 3 * h, 2 * h, h, 0, "gemm", 2)
    blocks = [layer for i in range(layers) for layer in _block(shape, f"encoder.layer.{i}")]
    return Model(name, (first, *blocks, pooler), shape.seq, 8 * shape.seq, _SOURCE)


def _block(shape: Shape, at: str) -> list[Layer]:
    """Query, key and value are three matrices here. Kept: 34h + 5a·seq bytes a token at two bytes an element, as any
    block."""
    h, f, drop = shape.h, shape.ffn, 0 if shape.flash else shape.h
    return [
        *(
            shape.linear(f"{at}.attention.{what}", h, h, kept=h if what == "query" else 0, cut="column")
            for what in ("query", "key", "value")
        ),
        shape.attention(f"{at}.attention", causal=False),
        shape.linear(f"{at}.attention.output", h, h, kept=h, cut="row", extra=3 * h, masks=drop, ops=4),
        shape.norm(f"{at}.attention.norm"),
        shape.linear(f"{at}.intermediate", h, f, kept=h, cut="column", extra=2 * f, ops=4),
        shape.linear(f"{at}.output", f, h, kept=2 * f, cut="row", extra=3 * h, masks=drop, ops=4),
        shape.norm(f"{at}.norm"),
    ]


MODELS = {name: partial(_bert, name) for name in _TABLE}
