"""DeepSeek-V3: latent attention, three dense blocks, then mixtures of experts with one that all tokens go through."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...units import parse_count
from ..workload.model import Layer, Model
from ..workload.transformer import (
    TransformerShape,
    build_embedding,
    build_head,
    build_latent_attention,
    build_mlp,
    build_routed_mlp,
)

_SOURCE = "DeepSeek-AI 2024 (arXiv 2412.19437), section 4.2; huggingface deepseek-ai/DeepSeek-V3 modeling_deepseek.py"
#: Of each model: hidden size, blocks, how many of them are dense, heads, experts, words.
_TABLE = {"deepseek-v3": (7168, 61, 3, 128, 256, 129280), "kimi-k2": (7168, 61, 1, 64, 384, 163840)}
_KIMI = "Kimi team 2025 (arXiv 2507.20534), table 2; huggingface moonshotai/Kimi-K2-Instruct config.json"
_SOURCES = {"deepseek-v3": _SOURCE, "kimi-k2": _KIMI}
#: Width of a dense block's MLP and of an expert's, and experts that a token goes to.
_DENSE_FFN, _EXPERT_FFN, _TOP_K = 18432, 2048, 8
#: Width of the latent vector that queries are computed from, and of that of keys and values.
_QUERY_RANK, _KV_RANK = 1536, 512
#: Width of a head's queries and keys, of the part of them that encodes positions (RoPE), and of its values.
_QUERY_DIM, _ROPE_DIM, _VALUE_DIM = 192, 64, 128


def _build_deepseek(name: str, seq: int | None = None, second: bool = False) -> Model:
    """Build a model of the family.

    Args:
        name: Name of the model.
        seq: Tokens of a sample, 4096 by default.
        second: Whether the block that predicts a second token is there too: from what the first head reads and the next
            token's vector (section 2.2). It shares the embedding and the head, which it runs again.

    Returns:
        The model.
    """
    h, layers, dense_layers, heads, experts, vocab = _TABLE[name]
    tokens = parse_count(seq or 4096, "seq")
    dense = TransformerShape(
        h, layers, heads, tokens, vocab, _DENSE_FFN, heads, gated=True, bias=False, flash=True, head_dim=_VALUE_DIM
    )
    mixture = replace(dense, ffn=_EXPERT_FFN, experts=experts, top_k=_TOP_K)
    table = [build_embedding(dense)]
    for number in range(layers):
        table += _build_block(dense if number < dense_layers else mixture, f"h.{number}")
    if second:
        table += _build_second_prediction(mixture, f"h.{layers}")
    table += [dense.build_norm("norm"), build_head(dense)]
    return Model(name, tuple(table), tokens, 8 * tokens, _SOURCES[name])


def _build_second_prediction(shape: TransformerShape, name: str) -> list[Layer]:
    """The block that predicts a second token."""
    h = shape.h
    head = replace(build_head(shape, tied=True), name=f"{name}.head", partition="")
    norms = [shape.build_norm(f"{name}.norm.{part}") for part in ("vectors", "words", "head")]
    join = shape.build_linear(f"{name}.join", 2 * h, h, activations=2 * h, partition="")
    return [*norms, join, *_build_block(shape, name), head]


def _build_block(shape: TransformerShape, name: str) -> list[Layer]:
    layers = [
        shape.build_norm(f"{name}.norm1"),
        *_build_attention(shape, f"{name}.attention"),
        shape.build_norm(f"{name}.norm2"),
    ]
    if shape.experts:
        shared_expert = replace(shape, experts=0, top_k=0)
        layers += build_mlp(shared_expert, f"{name}.shared")
    return layers + build_routed_mlp(shape, name)


def _build_attention(shape: TransformerShape, name: str) -> list[Layer]:
    """Latent attention: queries, and keys with values, each by a narrow matrix, a norm and a wide one. Tensor parallel
    GPUs all compute the narrow ones."""
    h, heads_width = shape.h, shape.heads * _VALUE_DIM
    kv_width = shape.heads * (_QUERY_DIM - _ROPE_DIM + _VALUE_DIM)
    norm = shape.build_norm
    return [
        # Narrow matrices (down) are computed by every GPU of a tensor-parallel group: only the wide ones are split by
        # heads.
        shape.build_linear(f"{name}.queries.down", h, _QUERY_RANK, activations=h, partition=""),
        replace(norm(f"{name}.queries.norm"), tensors=(_QUERY_RANK,), traffic=2 * shape.seq * _QUERY_RANK),
        shape.build_linear(
            f"{name}.queries.up", _QUERY_RANK, shape.heads * _QUERY_DIM, activations=_QUERY_RANK, partition="column"
        ),
        shape.build_linear(f"{name}.keys.down", h, _KV_RANK + _ROPE_DIM, activations=0, partition=""),
        replace(norm(f"{name}.keys.norm"), tensors=(_KV_RANK,), traffic=2 * shape.seq * _KV_RANK),
        shape.build_linear(f"{name}.keys.up", _KV_RANK, kv_width, activations=_KV_RANK, partition="column"),
        build_latent_attention(shape, name, _QUERY_DIM, _VALUE_DIM),
        shape.build_linear(
            f"{name}.out", heads_width, h, activations=heads_width, partition="row", extra_traffic=3 * h, ops=4
        ),
    ]


MODELS = {name: partial(_build_deepseek, name) for name in _TABLE}
