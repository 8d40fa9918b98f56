"""The sizes of a decoder, read back from its table of layers: for those who build the same model elsewhere."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import CollsimError
from .model import Layer, Model
from .transformer import transformer


class Decoder(NamedTuple):
    """What `transformer` was told.

    Attributes:
        h, blocks, heads, kv_heads, head, ffn, vocab, seq: width, blocks, heads, those of keys and values, width of a
            head and of the MLP, words, tokens of a sample.
        gated, bias, tied, flash: as `transformer` takes them. positions: rows of the table of positions; 0 for none.
    """

    h: int
    blocks: int
    heads: int
    kv_heads: int
    head: int
    ffn: int
    vocab: int
    seq: int
    gated: bool
    bias: bool
    tied: bool
    flash: bool
    positions: int

    def model(self, *, padded: bool = True) -> Model:
        """The decoder that `transformer` makes of these sizes, with a row of the table of positions for each token."""
        return transformer(
            self.h,
            self.blocks,
            self.heads,
            seq=self.seq,
            vocab=self.vocab,
            ffn=self.ffn,
            kv_heads=self.kv_heads,
            gated=self.gated,
            bias=self.bias,
            tied=self.tied,
            positions=bool(self.positions),
            flash=self.flash,
            head=self.head,
            padded=padded,
        )


def decoder(model: Model) -> Decoder | None:
    """The sizes of a model that `transformer` made; None for any other, mixtures of experts and windows among them."""
    named = {layer.name: layer for layer in model.layers}
    parts = ("embedding", "h.0.norm1", "h.0.attention.qkv", "h.0.attention", "h.0.attention.out", "h.0.mlp.up", "head")
    if not model.tokens or any(name not in named for name in parts):
        return None
    try:
        found = _sizes(model, *(named[name] for name in parts))
        return found if _made(found, model) else None
    except (CollsimError, ArithmeticError, IndexError):  # figures that no such model has
        return None


def _sizes(
    model: Model, words: Layer, norm: Layer, qkv: Layer, core: Layer, out: Layer, up: Layer, head: Layer
) -> Decoder:
    s, h = model.tokens, norm.tensors[0]
    width, all_heads = qkv.tensors[0] // h, out.tensors[0] // h
    flash = core.masks == 0
    heads = round((core.kept / s - width) / (1 if flash else 2 * s))
    each = all_heads // heads
    return Decoder(
        h,
        sum(layer.name.endswith(".attention.qkv") for layer in model.layers),
        heads,
        (width - all_heads) // (2 * each),
        each,
        up.tensors[0] // h,
        words.tensors[0] // h,
        s,
        any(layer.name == "h.0.mlp.gate" for layer in model.layers),
        len(norm.tensors) > 1,
        not head.tensors,
        flash,
        words.tensors[1] // h if len(words.tensors) > 1 else 0,
    )


def _made(found: Decoder, model: Model) -> bool:
    """Does `transformer` make the same layers of these sizes? A table of positions may be longer than a sample."""
    return found.model(padded=not model.layers[-1].width).layers[1:] == model.layers[1:]
