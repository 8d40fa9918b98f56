"""Transformers as tables of layers, and what their activations take.

A sample is a sequence of `seq` tokens. Forward FLOPs of a block: 2 for each weight and token, and 4·seq²·h for
attention, whether it is causal or not (Narayanan et al. 2021, arXiv 2104.04473, appendix: with 4/3 of three passes this
is their 96·B·s·L·h²(1 + s/6h + V/16Lh)). Activations kept: Korthikanti et al. 2022 (arXiv 2205.05198), table 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...errors import CollsimError, require_word
from ...units import parse_count
from .model import MOST_LAYERS, TOO_MANY, Layer, Model

RECOMPUTE = ("none", "selective", "alternate", "full")


@dataclass(frozen=True)
class Shape:
    """The numbers of a transformer, checked.

    Attributes:
        h, layers, heads, seq, vocab: width, blocks, heads, tokens of a sample, words.
        ffn: width of the MLP. kv_heads: heads of keys and values. gated: a third matrix in the MLP (SwiGLU).
        bias: vectors beside matrices; norms then have two tensors (LayerNorm), else one (RMSNorm). flash: attention
            scores are not stored.
        experts: in place of the MLP, each as wide; 0 for none. top: experts that each token goes to.
        head: width of a head; 0: h / heads. window: tokens that every second block's attention sees; 0: all.
        padded: the head has as many more columns as products want (`Layer.width`).
    """

    h: int
    layers: int
    heads: int
    seq: int
    vocab: int
    ffn: int
    kv_heads: int
    gated: bool
    bias: bool
    flash: bool
    experts: int = 0
    top: int = 0
    head: int = 0
    window: int = 0
    padded: bool = True

    @property
    def heads_width(self) -> int:
        """Elements of all heads of a token."""
        return self.heads * (self.head or self.h // self.heads)

    @property
    def keys_width(self) -> int:
        """Elements of a token's keys, and of its values."""
        return self.heads_width // self.heads * self.kv_heads

    def expert(self, layer: Layer) -> Layer:
        """A matrix of the MLP as one of each expert: each token goes through `top` of them."""
        if not self.experts:
            return layer
        tensors = tuple(n * self.experts for n in layer.tensors)
        more = {what: getattr(layer, what) * self.top for what in ("flops", "moved", "kept", "masks")}
        return replace(layer, tensors=tensors, kind="moe", experts=self.experts, top=self.top, **more)

    def linear(
        self, name: str, rows: int, out: int, *, kept: int, cut: str, extra: int = 0, masks: int = 0, ops: int = 2
    ) -> Layer:
        """A matrix of rows x out for every token; `extra` elements per token that what follows it reads and writes."""
        s = self.seq
        tensors = (rows * out, out) if self.bias else (rows * out,)
        return Layer(
            name,
            tensors,
            2.0 * s * rows * out,
            s * (rows + out + extra),
            s * kept,
            s * out,
            s * masks,
            "gemm",
            ops,
            cut=cut,
        )

    def norm(self, name: str) -> Layer:
        """LayerNorm or RMSNorm."""
        size = self.seq * self.h
        return Layer(name, (self.h,) * (1 + self.bias), 0.0, 2 * size, size, size, 0, "norm", 2)

    def attention(self, name: str, causal: bool = True, window: int = 0) -> Layer:
        """Scores, softmax, dropout and the weighted sum; with `flash` nothing of size seq² is written or kept (only a
        row's sum), and where it is causal one kernel does it. A causal window of so many tokens has as many scores as
        a triangle twice as wide."""
        s, scores = self.seq, self.heads * self.seq**2
        width = self.heads_width + 2 * self.keys_width
        size = s * self.heads_width
        moved = s * width + size + (0 if self.flash else 6 * scores)
        kept = s * width + (s * self.heads if self.flash else 2 * scores)
        masks, ops = (0, 4) if self.flash else (scores, 8)
        seen = min(s, 2 * window) if window else s
        keys, flops = 2 * s * self.keys_width, 4.0 * seen * size
        kind, width = ("flash", seen) if self.flash and causal else ("attention", 0)
        rest: Any = {"width": width, "cut": "heads", "keys": keys, "heads": self.heads}
        return Layer(name, (), flops, moved, kept, size, masks, kind, ops, **rest)


def transformer(
    h: int,
    layers: int,
    heads: int,
    *,
    seq: int = 1024,
    vocab: int = 50257,
    ffn: int | None = None,
    kv_heads: int | None = None,
    gated: bool = False,
    bias: bool = True,
    tied: bool = True,
    positions: bool = True,
    flash: bool = False,
    experts: int = 0,
    top: int = 0,
    head: int | None = None,
    window: int | None = None,
    padded: bool = True,
    name: str | None = None,
    source: str = "",
) -> Model:
    """A decoder of so many equal blocks, norm first, as GPT-2 (the defaults) or Llama (gated, no bias, no positions,
    not tied).

    Args:
        h: width. layers: blocks. heads: attention heads. seq: tokens of a sample. vocab: words.
        ffn: width of the MLP, 4h unless given. kv_heads: heads of keys and values, all unless given. gated: SwiGLU.
        bias: vectors beside matrices. tied: the head uses the embedding's matrix. positions: a learned table of
            positions.
        flash: attention never stores seq² scores.
        experts: a mixture of so many in place of the MLP, each `ffn` wide; top: of these each token goes to so many.
        head: width of a head, h / heads unless given. window: every second block, the first one too, sees only so many
            tokens before each.
        padded: the head's matrix has columns up to a multiple that products want (Megatron-LM: of 128 on each GPU);
            False: as many as there are words (huggingface transformers), on each of t GPUs a t-th, rounded down.

    Raises CollsimError where heads do not divide h or kv_heads do not divide heads, and for figures below 1.
    """
    more = {"experts": experts or None, "top": top if experts else None, "head": head, "window": window}
    shape = _shape(h, layers, heads, seq, vocab, ffn, kv_heads, more, gated, bias, flash, padded)
    said = name or f"transformer(h={h}, layers={layers}, heads={heads})"
    if (many := shape.layers * len(block(shape, "h.0"))) > MOST_LAYERS:  # before they are made
        raise CollsimError(TOO_MANY, name=said, layers=many, most=MOST_LAYERS)
    body = [layer for i in range(shape.layers) for layer in block(shape, f"h.{i}", 0 if i % 2 else shape.window)]
    whole = (words(shape, positions), *body, shape.norm("norm"), output(shape, tied))
    return Model(said, whole, shape.seq, 8 * shape.seq, source)


def words(shape: Shape, positions: bool = False) -> Layer:
    """The embedding of words, and of positions where they have a table."""
    size, h = shape.seq * shape.h, shape.h
    tables = (shape.vocab * h, shape.seq * h) if positions else (shape.vocab * h,)
    moved, masks = (2 + positions) * size, size * (not shape.flash)
    return Layer("embedding", tables, 0.0, moved, 0, size, masks, "embedding", 1 + positions, cut="words")


def _shape(
    h: Any, layers: Any, heads: Any, seq: Any, vocab: Any, ffn: Any, kv_heads: Any, more: dict[str, Any], *flags: bool
) -> Shape:
    named = {"h": h, "layers": layers, "heads": heads, "seq": seq, "vocab": vocab}
    n = {key: parse_count(value, key) for key, value in named.items()}
    kv = n["heads"] if kv_heads is None else parse_count(kv_heads, "kv_heads")
    rest = {key: parse_count(value, key) for key, value in more.items() if value is not None}
    if (n["h"] % n["heads"] and "head" not in rest) or n["heads"] % kv:
        why = "h={h} must be a multiple of heads={heads}, and heads of kv_heads={kv}"
        raise CollsimError(why, h=h, heads=heads, kv=kv)
    gated, biased, flashed, padded = flags
    for flag, value in {"gated": gated, "bias": biased, "flash": flashed, "padded": padded}.items():
        if not isinstance(value, bool):
            raise CollsimError("{name}={value!r} must be True or False", name=flag, value=value)
    return Shape(
        n["h"],
        n["layers"],
        n["heads"],
        n["seq"],
        n["vocab"],
        4 * n["h"] if ffn is None else parse_count(ffn, "ffn"),
        kv,
        gated,
        biased,
        flashed,
        padded=padded,
        **rest,
    )


def block(shape: Shape, at: str, window: int = 0) -> list[Layer]:
    """One block. Kept per token in all, without flash and with as many keys as heads: 16h elements and 2h + a·seq mask
    bytes, and 2a·seq elements of scores: 34h + 5a·seq bytes at two bytes an element (Korthikanti et al. 2022, equation
    1)."""
    h, drop = shape.h, 0 if shape.flash else shape.h  # dropout's masks, a byte an element
    width, heads = shape.heads_width + 2 * shape.keys_width, shape.heads_width
    return [
        shape.norm(f"{at}.norm1"),
        shape.linear(f"{at}.attention.qkv", h, width, kept=h, cut="column"),
        shape.attention(f"{at}.attention", window=window),
        shape.linear(f"{at}.attention.out", heads, h, kept=heads, cut="row", extra=3 * h, masks=drop, ops=4),
        shape.norm(f"{at}.norm2"),
        *routed(shape, at),
    ]


def mlp(shape: Shape, at: str) -> list[Layer]:
    """Two matrices, three where they are gated: the product behind the activation reads another."""
    h, ffn, drop = shape.h, shape.ffn, 0 if shape.flash else shape.h
    up = [shape.linear(f"{at}.up", h, ffn, kept=h, cut="column", extra=2 * ffn, ops=4)]
    held = 2 * ffn  # what the activation reads, and what it writes: the next matrix's input
    if shape.gated:
        up = [
            shape.linear(f"{at}.gate", h, ffn, kept=h, cut="column"),
            shape.linear(f"{at}.up", h, ffn, kept=0, cut="column"),
        ]
        held = 3 * ffn
    return [*up, shape.linear(f"{at}.down", ffn, h, kept=held, cut="row", extra=3 * h, masks=drop, ops=4)]


def routed(shape: Shape, at: str) -> list[Layer]:
    """The MLP of a block, behind its router where it is a mixture of experts: one small matrix says which a token goes
    to."""
    layers = list(map(shape.expert, mlp(shape, f"{at}.mlp")))
    if not shape.experts:
        return layers
    s, e = shape.seq, shape.experts
    first = Layer(f"{at}.router", (shape.h * e,), 2.0 * s * shape.h * e, s * (shape.h + e), s * e, s * e, 0, "gemm", 4)
    return [first, *layers]


def output(shape: Shape, tied: bool = False) -> Layer:
    """From the last token's vectors to words, with the loss: logits are kept in float32."""
    s, h, v = shape.seq, shape.h, shape.vocab
    tensors = () if tied else (v * h,)
    moved, width = s * (h + 4 * v), 0 if shape.padded else v
    return Layer("head", tensors, 2.0 * s * h * v, moved, s * h, s, 4 * s * v, "gemm", 6, width=width, cut="words")


def causal(shape: Shape, name: str, queries: int, values: int) -> Layer:
    """Causal attention in one kernel whose heads' queries and keys are wider than its values."""
    s, a = shape.seq, shape.heads
    flops, moved = 2.0 * s * s * a * (queries + values), 2 * s * a * (queries + values)
    kept, keys, handed = s * a * (2 * queries + values + 1), s * a * (queries + values), s * a * values
    return Layer(name, (), flops, moved, kept, handed, 0, "flash", 4, width=s, cut="heads", keys=keys, heads=a)


# ---- activations by formula -----------------------------------------------------------------------------------------


def layer_activations(
    h: int,
    heads: int,
    seq: int,
    micro_batch: int = 1,
    *,
    tensor: int = 1,
    sequence: bool = False,
    recompute: str = "none",
) -> float:
    """Bytes of activations that one block keeps, in 16 bits (Korthikanti et al. 2022, table 2).

    Args:
        tensor: how many GPUs share the block (tensor parallelism). sequence: they share norms and dropout too.
        recompute: none; selective (attention's scores again); full (only the block's input is kept); alternate (that of
            every second block: the mean of two).
    """
    require_word("recompute", recompute, RECOMPUTE)
    h, heads, seq, tensor = (
        parse_count(value, what) for what, value in {"h": h, "heads": heads, "seq": seq, "tensor": tensor}.items()
    )
    size = float(seq) * parse_count(micro_batch, "micro_batch") * h
    if recompute == "full":
        return 2 * size
    if recompute == "alternate":
        one, other = (
            layer_activations(h, heads, seq, micro_batch, tensor=tensor, sequence=sequence, recompute=kept)
            for kept in ("none", "full")
        )
        return (one + other) / 2
    scores = 0.0 if recompute == "selective" else 5 * heads * seq / h
    if sequence:
        return size * (34 + scores) / tensor
    return size * (10 + (24 + scores) / tensor)


def first_stage_activations(
    h: int,
    layers: int,
    heads: int,
    seq: int,
    micro_batch: int = 1,
    *,
    pipeline: int = 1,
    interleave: int = 1,
    **options: Any,
) -> float:
    """Bytes that the first stage of a pipeline keeps: p microbatches of L/p blocks, as much as L blocks; interleaved
    stages hold 1 + (p − 1)/(p·m) times that (Korthikanti et al. 2022, section 4.2.3). Options as
    `layer_activations`."""
    p, v = parse_count(pipeline, "pipeline"), parse_count(interleave, "interleave")
    more = 1 + (p - 1) / (p * v) if v > 1 else 1.0
    return parse_count(layers, "layers") * layer_activations(h, heads, seq, micro_batch, **options) * more
