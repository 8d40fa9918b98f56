"""The sizes of a decoder, read back from its table of layers: for scripts that build the same model elsewhere."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import CollsimError
from .model import Layer, Model
from .transformer import transformer


class DecoderShape(NamedTuple):
    """The sizes that `transformer` builds a decoder of.

    Attributes:
        h: Hidden size.
        blocks: Number of blocks.
        heads: Attention heads.
        kv_heads: Heads of keys and values.
        head_dim: Width of a head.
        ffn: Width of the MLP.
        vocab: Words of the vocabulary.
        seq: Tokens of a sample.
        gated: Whether the MLP is gated.
        bias: Whether matrices have bias vectors.
        tied: Whether the head uses the embedding's matrix.
        flash: Whether attention stores no scores.
        positions: Rows of the table of positions; 0 for none.
        dropout: Whether there is dropout where attention stores scores.
        fused: Whether kernels are fused as in Megatron-LM.
        huggingface: Whether norms, activation function and positions are huggingface's.
    """

    h: int
    blocks: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    seq: int
    gated: bool
    bias: bool
    tied: bool
    flash: bool
    positions: int
    dropout: bool
    fused: bool
    huggingface: bool

    def build_model(self, *, padded: bool = True) -> Model:
        """Build the decoder of these sizes, with a row of the table of positions for each token.

        Args:
            padded: Whether the head's matrix is padded to a fast number of columns, as in `transformer`.

        Returns:
            The model.
        """
        sizes = self._asdict()
        layers, positions = sizes.pop("blocks"), bool(sizes.pop("positions"))
        return transformer(layers=layers, positions=positions, padded=padded, **sizes)


def read_decoder_shape(model: Model) -> DecoderShape | None:
    """Read the sizes of a model that `transformer` built.

    Args:
        model: The model.

    Returns:
        Its sizes; None for any other model, such as mixtures of experts and attention windows.
    """
    layers = {layer.name: layer for layer in model.layers}
    names = ("embedding", "h.0.norm1", "h.0.attention.qkv", "h.0.attention", "h.0.attention.out", "h.0.mlp.up", "head")
    if not model.tokens or any(name not in layers for name in names):
        return None
    try:
        shape = _read_sizes(model, *(layers[name] for name in names))
        if _has_layers_of(shape, model):
            return shape
        return None
    except (CollsimError, ArithmeticError, IndexError):  # figures that no such model has
        return None


def _read_sizes(
    model: Model, embedding: Layer, norm: Layer, qkv: Layer, attention: Layer, out: Layer, up: Layer, head: Layer
) -> DecoderShape:
    """Solve the formulas of `transformer` for its sizes."""
    h = norm.tensors[0]
    qkv_width, heads_width = qkv.tensors[0] // h, out.tensors[0] // h
    heads, flash = attention.heads, attention.pointwise == 0
    gated, huggingface = "h.0.mlp.gate" in {layer.name for layer in model.layers}, embedding.python_ops > 0
    # Beside dropout's masks huggingface's Llama keeps scores in float32, 4 bytes.
    dropout = attention.mask_bytes > 4 * heads * model.tokens**2 * (huggingface and gated)
    # A fused loss keeps one mask instead of the logits; that shows whether the kernels were fused.
    fused = head.mask_bytes == 4 * head.outputs * (embedding.tensors[0] // h)
    head_dim = heads_width // heads
    positions = 0
    if len(embedding.tensors) > 1:
        positions = embedding.tensors[1] // h
    return DecoderShape(
        h=h,
        blocks=sum(layer.name.endswith(".attention.qkv") for layer in model.layers),
        heads=heads,
        kv_heads=(qkv_width - heads_width) // (2 * head_dim),
        head_dim=head_dim,
        ffn=up.tensors[0] // h,
        vocab=embedding.tensors[0] // h,
        seq=model.tokens,
        gated=gated,
        bias=len(norm.tensors) > 1,
        tied=not head.tensors,
        flash=flash,
        positions=positions,
        dropout=dropout or flash,
        fused=fused,
        huggingface=huggingface,
    )


def _has_layers_of(shape: DecoderShape, model: Model) -> bool:
    """Whether `transformer` builds the layers of `model` of these sizes."""
    rebuilt = shape.build_model(padded=not model.layers[-1].width).to(model.layers[-1].dtype)
    # all but the embedding: a table of positions may be longer than a sample
    return rebuilt.layers[1:] == model.layers[1:]
