"""BERT (Devlin et al. 2019), as huggingface's BertModel registers it: a norm behind each half of a block, and a
pooler."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...units import parse_count
from ..workload.model import Layer, Model
from ..workload.transformer import TransformerShape, build_head

_SOURCE = "Devlin et al. 2019 (arXiv 1810.04805), section 3; huggingface transformers modeling_bert.py (BertModel)"
#: Hidden size, blocks and heads of each model.
_TABLE = {"bert-base": (768, 12, 12), "bert-large": (1024, 24, 16)}
# Of the published checkpoints: size of the vocabulary, longest sequence, kinds of segment.
_WORDS, _POSITIONS, _TYPES = 30522, 512, 2


def _build_bert(name: str, seq: int = 512, flash: bool = True, masked_lm: bool = False, dropout: bool = True) -> Model:
    h, layers, heads = _TABLE[name]
    shape = TransformerShape(
        h,
        layers,
        heads,
        parse_count(seq, "seq"),
        _WORDS,
        4 * h,
        heads,
        gated=False,
        bias=True,
        flash=flash,
        padded=False,
        dropout=dropout,
        fused=False,
    )
    size = shape.seq * h
    embeddings = Layer(
        "embeddings",
        # Words, positions and segments are three tables; the norm behind them has two tensors.
        (_WORDS * h, _POSITIONS * h, _TYPES * h, h, h),
        traffic=6 * size,
        activations=size,
        outputs=size,
        mask_bytes=size,
        kind="embedding",
        ops=4,
        python_ops=40,  # about 1 ms before the GPU is busy, profiled with `benchmarks/gpu_steps.py`
    )
    pooler = Layer("pooler", (h * h, h), flops=2.0 * h * h, traffic=3 * h, activations=2 * h, outputs=h, ops=2)
    blocks = [layer for number in range(layers) for layer in _build_block(shape, f"encoder.layer.{number}")]
    last: tuple[Layer, ...] = (pooler,)
    if masked_lm:
        last = _build_masked_lm_head(shape)
    return Model(name, (embeddings, *blocks, *last), shape.seq, 8 * shape.seq, _SOURCE)


def _build_masked_lm_head(shape: TransformerShape) -> tuple[Layer, ...]:
    """BertForMaskedLM's head in place of the pooler: a matrix with its activation, a norm, and the words, whose matrix
    is the embedding's and whose bias is its own."""
    transform = shape.build_linear(
        "head.transform", shape.h, shape.h, activations=shape.h, partition="", extra_traffic=2 * shape.h, ops=4
    )
    words = build_head(shape, tied=True)
    # its loss takes logits as they are: logits, log_softmax and gradient have 16 bits where weights have them
    logits = words.mask_bytes / 4
    return (
        transform,
        shape.build_norm("head.norm"),
        replace(words, tensors=(shape.vocab,), mask_bytes=0.0, wide_activations=logits),
    )


def _build_block(shape: TransformerShape, name: str) -> list[Layer]:
    """A block of the encoder. It keeps 34h + 5a·seq bytes a token at two bytes an element, as any block."""
    h, ffn = shape.h, shape.ffn
    output = {"partition": "row", "extra_traffic": 3 * h, "mask_bytes": shape.dropout_width, "ops": 4}
    return [
        # query, key and value are three matrices here; their common input is kept once
        shape.build_linear(f"{name}.attention.query", h, h, activations=h, partition="column"),
        shape.build_linear(f"{name}.attention.key", h, h, activations=0, partition="column"),
        shape.build_linear(f"{name}.attention.value", h, h, activations=0, partition="column"),
        shape.build_attention(f"{name}.attention", causal=False),
        shape.build_linear(f"{name}.attention.output", h, h, activations=h, **output),  # type: ignore[arg-type]
        shape.build_norm(f"{name}.attention.norm"),
        shape.build_linear(
            f"{name}.intermediate", h, ffn, activations=h, partition="column", extra_traffic=2 * ffn, ops=4
        ),
        shape.build_linear(f"{name}.output", ffn, h, activations=2 * ffn, **output),  # type: ignore[arg-type]
        shape.build_norm(f"{name}.norm"),
    ]


MODELS = {name: partial(_build_bert, name) for name in _TABLE}
