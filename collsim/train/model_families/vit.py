"""Vision transformers (Dosovitskiy et al. 2021), as torchvision.models.vision_transformer registers them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...units import parse_count
from ..workload.convolution import ConvolutionBuilder
from ..workload.model import Layer, Model
from ..workload.transformer import TransformerShape, build_mlp

_SOURCE = "torchvision/models/vision_transformer.py; Dosovitskiy et al. 2021 (arXiv 2010.11929), table 1"
#: Of each model: side of a patch, hidden size, blocks, heads.
_TABLE = {
    "vit_b_16": (16, 768, 12, 12),
    "vit_b_32": (32, 768, 12, 12),
    "vit_l_16": (16, 1024, 24, 16),
    "vit_l_32": (32, 1024, 24, 16),
    "vit_h_14": (14, 1280, 32, 16),
}
_IMAGE_SIDE, _CLASSES = 224, 1000
#: Accesses of an element in kernels beside the product of queries, keys and values: a copy of the transposed input (2),
#: the bias, which is added by itself to what is not contiguous (6), and a copy of the product in three parts (6);
#: torch.nn.functional.multi_head_attention_forward. In a backward pass the gradient of each part is padded to all
#: three (9) and copied into it (6), these are added (18), and copied twice (6 and 2). Listed by torch's profiler.
_QKV_ACCESSES, _QKV_BACKWARD = 14, 41
#: The same of the product behind the attention, a residual and the copy of a gradient; and of each norm, whose input is
#: transposed in memory: a copy, in both passes.
_OUTPUT_ACCESSES, _OUTPUT_BACKWARD, _NORM_COPY = 3, 7, 2


def _build_vit(name: str) -> Model:
    """Build a model of the family. Its attention is torch.nn.MultiheadAttention, which stores no scores."""
    patch, h, layers, heads = _TABLE[name]
    tokens = parse_count((_IMAGE_SIDE // patch) ** 2 + 1, "seq")  # one for each patch, and one for the class
    shape = TransformerShape(
        h, layers, heads, tokens, _CLASSES, 4 * h, heads, gated=False, bias=True, flash=True, dropout=False, fused=False
    )
    size = tokens * h
    net = ConvolutionBuilder()
    net.add_convolution("conv_proj", h, patch, patch, bias=True)
    # its weights' gradient reads the image again, and nothing reads its output
    patches = replace(net.layers[0], activations=0.0)
    positions = Layer("encoder.pos_embedding", (size,), traffic=5 * size, outputs=size, kind="embedding", ops=3)
    blocks = [layer for number in range(layers) for layer in _build_block(shape, f"encoder.layers.{number}")]
    head = Layer(
        "heads.head", (h * _CLASSES, _CLASSES), flops=2.0 * h * _CLASSES, traffic=h + _CLASSES, outputs=_CLASSES
    )
    table = (Layer("class_token", (h,)), patches, positions, *blocks, shape.build_norm("encoder.ln"), head)
    return Model(name, table, 0, 3 * _IMAGE_SIDE**2 * 4, _SOURCE)


def _build_block(shape: TransformerShape, name: str) -> list[Layer]:
    """A block of the encoder: norms come first, all tokens see each other."""
    h, size = shape.h, shape.seq * shape.h
    qkv = shape.build_linear(
        f"{name}.self_attention.qkv",
        h,
        3 * h,
        activations=h,
        partition="column",
        extra_traffic=(_QKV_ACCESSES + _NORM_COPY) * h,
        ops=6,
    )
    output = shape.build_linear(
        f"{name}.self_attention.out_proj",
        h,
        h,
        activations=h,
        partition="row",
        extra_traffic=(_OUTPUT_ACCESSES + _NORM_COPY) * h,
        ops=4,
    )
    return [
        shape.build_norm(f"{name}.ln_1"),
        replace(qkv, backward_pointwise=(_QKV_BACKWARD + _NORM_COPY) * size),
        shape.build_attention(f"{name}.self_attention", causal=False),
        replace(output, backward_pointwise=(_OUTPUT_BACKWARD + _NORM_COPY) * size),
        shape.build_norm(f"{name}.ln_2"),
        *build_mlp(shape, f"{name}.mlp"),
    ]


MODELS = {name: partial(_build_vit, name) for name in _TABLE}
