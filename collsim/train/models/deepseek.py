"""DeepSeek-V3: latent attention, three dense blocks, then mixtures of experts with one that all tokens go through."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...units import parse_count
from ..workload.model import Layer, Model
from ..workload.transformer import Shape, causal, mlp, output, routed, words

_SOURCE = "DeepSeek-AI 2024 (arXiv 2412.19437), section 4.2; huggingface deepseek-ai/DeepSeek-V3 modeling_deepseek.py"
#: name: width, blocks, of these dense ones, heads, experts, words
_TABLE = {
    "deepseek-v3": (7168, 61, 3, 128, 256, 129280),
    "kimi-k2": (7168, 61, 1, 64, 384, 163840),
}
_KIMI = "Kimi team 2025 (arXiv 2507.20534), table 2; huggingface moonshotai/Kimi-K2-Instruct config.json"
_SOURCES = {"deepseek-v3": _SOURCE, "kimi-k2": _KIMI}
#: Width of a dense block's MLP and of an expert's, experts that a token goes to; width of what queries and keys are
#: computed from, and of a head's queries and keys, of these of the part that knows the position, and of its values.
_DENSE, _EXPERT, _TOP = 18432, 2048, 8
_QUERIES, _KEYS, _QK, _ROPE, _VALUES = 1536, 512, 192, 64, 128


def _deepseek(name: str, seq: int | None = None, second: bool = False) -> Model:
    """With `second` also the block that predicts a second token, from what the first head reads and the next token's
    vector (section 2.2); it shares the embedding and the head, which it runs again."""
    h, layers, dense, heads, experts, vocab = _TABLE[name]
    tokens = parse_count(seq or 4096, "seq")
    plain = Shape(h, layers, heads, tokens, vocab, _DENSE, heads, True, False, True, head=_VALUES)
    mixed = replace(plain, ffn=_EXPERT, experts=experts, top=_TOP)
    body = [layer for i in range(layers) for layer in _block(plain if i < dense else mixed, f"h.{i}")]
    if second:
        body += _second(mixed, f"h.{layers}")
    whole = (words(plain), *body, plain.norm("norm"), output(plain))
    return Model(name, whole, tokens, 8 * tokens, _SOURCES[name])


def _second(shape: Shape, at: str) -> list[Layer]:
    h = shape.h
    head = replace(output(shape, tied=True), name=f"{at}.head", cut="")
    joined = [shape.norm(f"{at}.norm.{what}") for what in ("vectors", "words", "head")]
    return [*joined, shape.linear(f"{at}.join", 2 * h, h, kept=2 * h, cut=""), *_block(shape, at), head]


def _block(shape: Shape, at: str) -> list[Layer]:
    shared = replace(shape, experts=0, top=0)
    return [
        shape.norm(f"{at}.norm1"),
        *_attention(shape, f"{at}.attention"),
        shape.norm(f"{at}.norm2"),
        *(mlp(shared, f"{at}.shared") if shape.experts else []),
        *routed(shape, at),
    ]


def _attention(shape: Shape, at: str) -> list[Layer]:
    """Latent attention: queries, and keys with values, each by a narrow matrix, a norm and a wide one. Every GPU that
    shares a layer computes what is narrow."""
    h, out = shape.h, shape.heads * _VALUES
    return [
        shape.linear(f"{at}.queries.down", h, _QUERIES, kept=h, cut=""),
        replace(shape.norm(f"{at}.queries.norm"), tensors=(_QUERIES,), moved=2 * shape.seq * _QUERIES),
        shape.linear(f"{at}.queries.up", _QUERIES, shape.heads * _QK, kept=_QUERIES, cut="column"),
        shape.linear(f"{at}.keys.down", h, _KEYS + _ROPE, kept=0, cut=""),
        replace(shape.norm(f"{at}.keys.norm"), tensors=(_KEYS,), moved=2 * shape.seq * _KEYS),
        shape.linear(f"{at}.keys.up", _KEYS, shape.heads * (_QK - _ROPE + _VALUES), kept=_KEYS, cut="column"),
        causal(shape, at, _QK, _VALUES),
        shape.linear(f"{at}.out", out, h, kept=out, cut="row", extra=3 * h, ops=4),
    ]


MODELS = {name: partial(_deepseek, name) for name in _TABLE}
