"""Transformers as tables of layers, and the memory of their activations.

A sample is a sequence of `seq` tokens. Forward FLOPs of a block: 2 for each weight and token, and 4·seq²·h for
attention, causal or not (Narayanan et al. 2021, arXiv 2104.04473, appendix: with 4/3 of three passes this is their
96·B·s·L·h²(1 + s/6h + V/16Lh)). Activations: Korthikanti et al. 2022 (arXiv 2205.05198), table 2.

Symbols in formulas: h hidden size, s tokens of a sample, a attention heads, v words of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypedDict, get_args

from ...errors import CollsimError, require_flags, require_word
from ...errors.arguments import check_arguments
from ...units import parse_count
from .model import MAX_LAYERS, TOO_MANY_LAYERS, Layer, Model

#: Reads and writes of a score in a forward pass of eager attention in float32: written, scaled, masked, softmax, read.
_EAGER_SCORE_ACCESSES = 9
#: huggingface's NewGELUActivation: reads and writes of an element by its eight kernels in a forward pass, and elements
#: more that they keep for the backward pass (the tanh, and both factors of the last product).
_NEW_GELU_ACCESSES, _NEW_GELU_KEPT = 18, 3
#: Of huggingface's LlamaRMSNorm, a kernel each for power, mean, inverse root and two products in float32, and casts of
#: 16 bits: accesses of an element in float32 in a forward and in a backward pass, and operations.
_HUGGINGFACE_NORM_ACCESSES, _HUGGINGFACE_NORM_BACKWARD, _HUGGINGFACE_NORM_OPS = 11, 26.4, 8
#: Accesses of an element of queries and keys that rotary positions of huggingface take (two products, a copy of the
#: rotated half and a sum, strided, at about half of the memory's rate), their operations, and those of Python beside
#: them; the latter of the attention of its GPT-2; and of what precedes the first block: masks, positions, caches (2 to
#: 4 ms before the GPU is busy). Profiled with `benchmarks/gpu_steps.py`.
_ROTARY_ACCESSES, _ROTARY_OPS, _ROTARY_PYTHON = 24, 12, 18
_ATTENTION_PYTHON, _START_PYTHON = 20, 100
#: What is computed again in the backward pass, least first.
Recompute: TypeAlias = Literal["none", "selective", "alternate", "full"]
RECOMPUTE: tuple[Recompute, ...] = get_args(Recompute)


@dataclass(frozen=True)
class TransformerShape:
    """The sizes of a transformer, checked.

    Attributes:
        h: Hidden size.
        layers: Number of blocks.
        heads: Attention heads.
        seq: Tokens of a sample.
        vocab: Words of the vocabulary.
        ffn: Width of the MLP.
        kv_heads: Heads of keys and values.
        gated: Whether the MLP has a third matrix (SwiGLU).
        bias: Whether matrices have bias vectors; norms then have two tensors (LayerNorm), else one (RMSNorm).
        flash: Whether attention stores no scores.
        experts: Experts in place of the MLP, each as wide; 0 for none.
        top_k: Experts that each token goes to.
        head_dim: Width of a head; 0: h / heads.
        window: Tokens that the attention of every second block sees; 0: all.
        padded: Whether the head has as many more columns as products are fast with (see `Layer.width`).
        dropout: Whether there is dropout, whose masks are kept, where attention stores scores.
        fused: Whether kernels are fused as in Megatron-LM, which keep less for the backward pass: the loss in place of
            the logits, SwiGLU in one kernel.
        huggingface: Whether norms, activation function and positions are those of huggingface transformers, a kernel
            for each operation.
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
    top_k: int = 0
    head_dim: int = 0
    window: int = 0
    padded: bool = True
    dropout: bool = True
    fused: bool = True
    huggingface: bool = False

    @property
    def heads_width(self) -> int:
        """Elements of all heads of a token."""
        return self.heads * (self.head_dim or self.h // self.heads)

    @property
    def kv_width(self) -> int:
        """Elements of a token's keys, and of its values."""
        return self.heads_width // self.heads * self.kv_heads

    @property
    def dropout_width(self) -> int:
        """Bytes of a token's dropout mask behind attention and MLP, one for each element; none with flash attention."""
        if self.flash or not self.dropout:
            return 0
        return self.h

    def route_layer(self, layer: Layer) -> Layer:
        """A matrix `layer` of the MLP as one of each expert: each token goes through `top_k` of them."""
        # Weights exist for every expert, work for the chosen ones: tensors grow with `experts`, all else with
        # `top_k`.
        if not self.experts:
            return layer
        return replace(
            layer,
            tensors=tuple(size * self.experts for size in layer.tensors),
            kind="moe",
            experts=self.experts,
            top_k=self.top_k,
            flops=layer.flops * self.top_k,
            traffic=layer.traffic * self.top_k,
            pointwise=layer.pointwise * self.top_k,
            activations=layer.activations * self.top_k,
            wide_activations=layer.wide_activations * self.top_k,
            mask_bytes=layer.mask_bytes * self.top_k,
        )

    def build_linear(
        self,
        name: str,
        rows: int,
        columns: int,
        *,
        activations: int,
        partition: str,
        extra_traffic: int = 0,
        pointwise: int | None = None,
        mask_bytes: int = 0,
        ops: int = 2,
    ) -> Layer:
        """Build the layer of a matrix that every token is multiplied with.

        Args:
            name: Name of the layer.
            rows: Elements of a token that it reads.
            columns: Elements of a token that it gives.
            activations: Elements of a token that are kept for the backward pass.
            partition: How tensor parallelism partitions it, see `Layer`.
            extra_traffic: Elements of a token that the operations behind the product read and write.
            pointwise: The same when each operation is a kernel of its own; `extra_traffic` by default.
            mask_bytes: Bytes of a token's dropout mask.
            ops: Operations that it launches.

        Returns:
            The layer.
        """
        tensors: tuple[int, ...] = (rows * columns,)
        if pointwise is None:
            pointwise = extra_traffic
        if self.bias:
            tensors += (columns,)
        return Layer(
            name,
            tensors,
            flops=2.0 * self.seq * rows * columns,
            traffic=self.seq * (rows + columns + extra_traffic),
            pointwise=self.seq * pointwise,
            activations=self.seq * activations,
            outputs=self.seq * columns,
            mask_bytes=self.seq * mask_bytes,
            ops=ops,
            partition=partition,
        )

    def build_norm(self, name: str) -> Layer:
        """Build the layer of a LayerNorm or an RMSNorm.

        Args:
            name: Name of the layer.

        Returns:
            The layer.
        """
        size = self.seq * self.h
        tensors = (self.h,) * (1 + self.bias)
        layer = Layer(name, tensors, traffic=2 * size, activations=size, outputs=size, kind="norm", ops=2)
        if not self.fused:  # its input is the residual, which autocast keeps in float32
            layer = replace(layer, activations=0.0, wide_activations=size)
        if self.huggingface and self.gated:
            return replace(
                layer,
                pointwise=_HUGGINGFACE_NORM_ACCESSES * size,
                backward_pointwise=_HUGGINGFACE_NORM_BACKWARD * size,
                ops=_HUGGINGFACE_NORM_OPS,
                # a copy of its input in float32, and what is normalised for the product with its weights
                mask_bytes=4.0 * size,
            )
        return layer

    def build_attention(self, name: str, causal: bool = True, window: int = 0) -> Layer:
        """Build the layer of scores, softmax, dropout and the weighted sum.

        Args:
            name: Name of the layer.
            causal: Whether a token sees only those before it.
            window: Tokens that a token sees; 0: all.

        Returns:
            The layer. With `flash` nothing of size seq² is written or kept but a row's sum, and where it is causal one
            kernel does all of it.
        """
        scores, size = self.heads * self.seq**2, self.seq * self.heads_width
        inputs = self.seq * (self.heads_width + 2 * self.kv_width)
        # a causal window of so many tokens has as many scores as a triangle twice as wide
        seen = self.seq
        if window:
            seen = min(self.seq, 2 * window)
        layer = Layer(
            name,
            flops=4.0 * seen * size,
            outputs=size,
            kind="attention",
            partition="heads",
            kv_size=2 * self.seq * self.kv_width,
            heads=self.heads,
        )
        if not self.flash:
            traffic = inputs + size + 6 * scores
            activations, mask_bytes = inputs + 2 * scores, scores
            wide = 0
            if not self.dropout:
                activations, mask_bytes, wide = inputs, 0, scores
            if self.huggingface and self.gated:  # softmax in float32 whatever the type, and a copy of it
                mask_bytes += 4 * scores
            layer = replace(layer, wide_activations=wide)
            layer = replace(layer, traffic=traffic, activations=activations, mask_bytes=mask_bytes, ops=8)
            return replace(layer, pointwise=_EAGER_SCORE_ACCESSES * scores)
        layer = replace(layer, traffic=inputs + size, activations=inputs + self.seq * self.heads, ops=4)
        if causal:
            layer = replace(layer, kind="flash", width=seen)
        return layer


class _ShapeOptions(TypedDict, total=False):
    experts: int
    top_k: int
    head_dim: int
    window: int


@check_arguments
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
    top_k: int = 0,
    head_dim: int | None = None,
    window: int | None = None,
    padded: bool = True,
    dropout: bool = True,
    fused: bool = True,
    huggingface: bool = False,
    name: str | None = None,
    source: str = "",
) -> Model:
    """Build a decoder of equal blocks: GPT-2's by default; Llama's are gated, without bias and positions, not tied.

    Args:
        h: Hidden size.
        layers: Number of blocks.
        heads: Attention heads.
        seq: Tokens of a sample.
        vocab: Words of the vocabulary.
        ffn: Width of the MLP, 4h by default; of each expert, where there are experts.
        kv_heads: Heads of keys and values, all by default.
        gated: Whether the MLP is gated (SwiGLU).
        bias: Whether matrices have bias vectors.
        tied: Whether the head uses the embedding's matrix.
        positions: Whether positions have a learned table.
        flash: Whether attention never stores its seq² scores.
        experts: Experts in place of the MLP; 0 for none.
        top_k: Experts that each token goes to.
        head_dim: Width of a head, h / heads by default.
        window: Tokens that every second block sees before each token, from the first block on; all by default.
        padded: Whether the head's matrix is padded to a fast number of columns (Megatron-LM: a multiple of 128 a GPU);
            False: a column for each word (huggingface transformers), rounded down on each of t GPUs.
        dropout: Whether there is dropout where attention stores scores; its masks are kept for the backward pass.
        fused: Whether kernels are fused as in Megatron-LM: the loss in place of the logits, SwiGLU in one kernel. False
            is eager PyTorch, which keeps what each operation needs for the backward pass.
        huggingface: Whether norms, activation function and positions are those of huggingface transformers, a kernel
            for each operation, which keep more: GPT-2's NewGELUActivation; Llama's RMSNorm and rotary positions, where
            the MLP is gated.
        name: Name of the model.
        source: Where the sizes come from.

    Returns:
        The model.

    Raises:
        CollsimError: `heads` do not divide `h`, `kv_heads` do not divide `heads`, or a size is below 1.

    Examples:
        >>> import collsim as cs
        >>> cs.train.transformer(768, 12, 12, name="my-gpt2")
        <Model my-gpt2: 87 layers, 124,439,808 parameters>
    """
    shape = _parse_shape(
        {"h": h, "layers": layers, "heads": heads, "seq": seq, "vocab": vocab},
        {"ffn": ffn, "kv_heads": kv_heads},
        {"experts": experts or None, "top_k": top_k if experts else None, "head_dim": head_dim, "window": window},
        {
            "gated": gated,
            "bias": bias,
            "flash": flash,
            "padded": padded,
            "dropout": dropout,
            "fused": fused,
            "huggingface": huggingface,
        },
    )
    name = name or f"transformer(h={h}, layers={layers}, heads={heads})"
    layer_count = shape.layers * len(build_block(shape, "h.0"))
    # A model of a million blocks is a slip of the keyboard, and would fill the memory before anything is said.
    if layer_count > MAX_LAYERS:
        raise CollsimError(TOO_MANY_LAYERS, name=name, layers=layer_count, most=MAX_LAYERS)
    table = [build_embedding(shape, positions)]
    for number in range(shape.layers):
        # Every second block sees a window: gpt-oss's pattern, beginning with the first block.
        table += build_block(shape, f"h.{number}", window=0 if number % 2 else shape.window)
    table += [shape.build_norm("norm"), build_head(shape, tied)]
    return Model(name, tuple(table), shape.seq, 8 * shape.seq, source)


def _parse_shape(
    sizes: dict[str, int], widths: dict[str, int | None], options: dict[str, int | None], flags: dict[str, bool]
) -> TransformerShape:
    """The shape of the arguments of `transformer`, checked: those that are required, that follow from others, that may
    be left out, and that are true or false."""
    counts = {name: parse_count(value, name) for name, value in sizes.items()}
    kv_heads = counts["heads"]
    if widths["kv_heads"] is not None:
        kv_heads = parse_count(widths["kv_heads"], "kv_heads")
    named: _ShapeOptions = {}
    for name, value in options.items():
        if value is not None:
            named[name] = parse_count(value, name)  # type: ignore[literal-required]
    if (counts["h"] % counts["heads"] and "head_dim" not in named) or counts["heads"] % kv_heads:
        message = "h={h} must be a multiple of heads={heads}, and heads of kv_heads={kv}"
        raise CollsimError(message, h=counts["h"], heads=counts["heads"], kv=kv_heads)
    require_flags(**flags)
    ffn = 4 * counts["h"]
    if widths["ffn"] is not None:
        ffn = parse_count(widths["ffn"], "ffn")
    return TransformerShape(
        **counts,  # type: ignore[arg-type]  # mypy takes a dict of numbers for one of flags, too
        ffn=ffn,
        kv_heads=kv_heads,
        **flags,
        **named,
    )


def build_embedding(shape: TransformerShape, positions: bool = False) -> Layer:
    """Build the layer of the embedding of words.

    Args:
        shape: Sizes of the transformer.
        positions: Whether positions have a table too.

    Returns:
        The layer.
    """
    size = shape.seq * shape.h
    tables: tuple[int, ...] = (shape.vocab * shape.h,)
    # A table of positions has a row a token of the sample.
    if positions:
        tables += (size,)
    return Layer(
        "embedding",
        tables,
        traffic=(2 + positions) * size,
        outputs=size,
        mask_bytes=shape.seq * shape.dropout_width,
        kind="embedding",
        ops=1 + positions,
        python_ops=_START_PYTHON * shape.huggingface,
        partition="vocab",
    )


def _build_qkv(shape: TransformerShape, name: str) -> Layer:
    """Build the matrix of queries, keys and values, with what rotates queries and keys in kernels of their own."""
    columns = shape.heads_width + 2 * shape.kv_width
    layer = shape.build_linear(name, shape.h, columns, activations=shape.h, partition="column")
    if shape.huggingface and shape.gated:
        rotary = shape.seq * _ROTARY_ACCESSES * (shape.heads_width + shape.kv_width)
        return replace(layer, pointwise=rotary, ops=layer.ops + _ROTARY_OPS, python_ops=_ROTARY_PYTHON)
    return replace(layer, python_ops=_ATTENTION_PYTHON * shape.huggingface)


def build_block(shape: TransformerShape, name: str, window: int = 0) -> list[Layer]:
    """Build the layers of one block.

    Without flash and with as many keys as heads it keeps, per token, 16h elements and 2h + a·seq mask bytes, and
    2a·seq elements of scores: 34h + 5a·seq bytes at two bytes an element (Korthikanti et al. 2022, equation 1).

    Args:
        shape: Sizes of the transformer.
        name: Name of the block, which the names of its layers begin with.
        window: Tokens that attention sees; 0: all.

    Returns:
        The layers, in the order of the forward pass.
    """
    h, heads_width = shape.h, shape.heads_width
    return [
        shape.build_norm(f"{name}.norm1"),
        _build_qkv(shape, f"{name}.attention.qkv"),
        shape.build_attention(f"{name}.attention", window=window),
        shape.build_linear(
            f"{name}.attention.out",
            heads_width,
            h,
            activations=heads_width,
            partition="row",
            extra_traffic=3 * h,
            mask_bytes=shape.dropout_width,
            ops=4,
        ),
        shape.build_norm(f"{name}.norm2"),
        *build_routed_mlp(shape, name),
    ]


def build_mlp(shape: TransformerShape, name: str) -> list[Layer]:
    """Build the two matrices of an MLP; a gated one has three, as the product behind the activation reads a second one.

    Args:
        shape: Sizes of the transformer.
        name: Name of the MLP, which the names of its layers begin with.

    Returns:
        The layers, in the order of the forward pass.
    """
    h, ffn = shape.h, shape.ffn
    wide = 0
    if shape.gated:
        layers = [
            shape.build_linear(f"{name}.gate", h, ffn, activations=h, partition="column"),
            # SiLU reads and writes, its product with the other half reads twice and writes
            shape.build_linear(f"{name}.up", h, ffn, activations=0, partition="column", pointwise=5 * ffn),
        ]
        activations = 3 * ffn
        if not shape.fused:
            activations += ffn  # SiLU's output
    else:
        pointwise, ops = 2 * ffn, 4
        activations = 2 * ffn  # what the activation reads, and what it writes: the next matrix's input
        if shape.huggingface:
            pointwise, ops = _NEW_GELU_ACCESSES * ffn, 11
            wide = _NEW_GELU_KEPT * ffn
        up = shape.build_linear(
            f"{name}.up",
            h,
            ffn,
            activations=h,
            partition="column",
            extra_traffic=2 * ffn,
            pointwise=pointwise,
            ops=ops,
        )
        layers = [up]
    down = shape.build_linear(
        f"{name}.down",
        ffn,
        h,
        activations=activations,
        partition="row",
        extra_traffic=3 * h,
        mask_bytes=shape.dropout_width,
        ops=4,
    )
    return [*layers, replace(down, wide_activations=shape.seq * wide)]


def build_routed_mlp(shape: TransformerShape, name: str) -> list[Layer]:
    """Build the MLP of a block; a mixture of experts has a router before it, a small matrix that says which experts a
    token goes to.

    Args:
        shape: Sizes of the transformer.
        name: Name of the block, which the names of its layers begin with.

    Returns:
        The layers, in the order of the forward pass.
    """
    # The router is an ordinary small product; experts are the MLP's layers, routed.
    layers = [shape.route_layer(layer) for layer in build_mlp(shape, f"{name}.mlp")]
    if not shape.experts:
        return layers
    scores = shape.seq * shape.experts
    router = Layer(
        f"{name}.router",
        (shape.h * shape.experts,),
        flops=2.0 * shape.seq * shape.h * shape.experts,
        traffic=shape.seq * (shape.h + shape.experts),
        activations=scores,
        outputs=scores,
        ops=4,
    )
    return [router, *layers]


def build_head(shape: TransformerShape, tied: bool = False) -> Layer:
    """Build the head, from a token's vector to words, with the loss; logits are kept in float32."""
    copies = 3 - 2 * shape.fused  # logits, their log_softmax and their gradient
    return Layer(
        "head",
        () if tied else (shape.vocab * shape.h,),
        flops=2.0 * shape.seq * shape.h * shape.vocab,
        traffic=shape.seq * (shape.h + 4 * shape.vocab),
        activations=shape.seq * shape.h,
        outputs=shape.seq,
        mask_bytes=4 * copies * shape.seq * shape.vocab,
        ops=6,
        width=0 if shape.padded else shape.vocab,
        partition="vocab",
    )


def build_latent_attention(shape: TransformerShape, name: str, query_dim: int, value_dim: int) -> Layer:
    """Build causal attention in one kernel whose queries and keys are wider than its values.

    Args:
        shape: Sizes of the transformer.
        name: Name of the layer.
        query_dim: Width of a head's queries and keys.
        value_dim: Width of a head's values.

    Returns:
        The layer.
    """
    per_head = shape.seq * shape.heads
    return Layer(
        name,
        flops=2.0 * shape.seq * shape.seq * shape.heads * (query_dim + value_dim),
        traffic=2 * per_head * (query_dim + value_dim),
        activations=per_head * (2 * query_dim + value_dim + 1),
        outputs=per_head * value_dim,
        kind="flash",
        ops=4,
        width=shape.seq,
        partition="heads",
        kv_size=per_head * (query_dim + value_dim),
        heads=shape.heads,
    )


# ---- activations by formula -----------------------------------------------------------------------------------------


@check_arguments
def count_activation_bytes(
    h: int,
    heads: int,
    seq: int,
    micro_batch: int = 1,
    *,
    tensor: int = 1,
    sequence: bool = False,
    recompute: str = "none",
) -> float:
    """Count the bytes of activations that one block keeps in 16 bits (Korthikanti et al. 2022, table 2).

    Args:
        h: Hidden size.
        heads: Attention heads.
        seq: Tokens of a sample.
        micro_batch: Samples of a microbatch.
        tensor: GPUs that share the block (tensor parallelism).
        sequence: Whether they share norms and dropout too (sequence parallelism).
        recompute: none; selective (attention's scores are computed again); full (only the block's input is kept);
            alternate (full for every second block: the mean of both).

    Returns:
        Bytes.

    Raises:
        CollsimError: A number is below 1, or `recompute` is unknown.

    Examples:
        >>> from collsim.train import count_activation_bytes
        >>> count_activation_bytes(1024, 16, 512) == 512 * 1024 * (34 + 5 * 16 * 512 / 1024)
        True
    """
    require_word("recompute", recompute, RECOMPUTE)
    h, heads, seq, tensor = (
        parse_count(value, name) for name, value in {"h": h, "heads": heads, "seq": seq, "tensor": tensor}.items()
    )
    size = float(seq) * parse_count(micro_batch, "micro_batch") * h
    if recompute == "full":
        return 2 * size
    if recompute == "alternate":
        all_bytes, recomputed = (
            count_activation_bytes(h, heads, seq, micro_batch, tensor=tensor, sequence=sequence, recompute=choice)
            for choice in ("none", "full")
        )
        return (all_bytes + recomputed) / 2
    scores = 0.0
    if recompute == "none":
        scores = 5 * heads * seq / h
    if sequence:
        return size * (34 + scores) / tensor
    return size * (10 + (24 + scores) / tensor)


@check_arguments
def count_first_stage_bytes(
    h: int,
    layers: int,
    heads: int,
    seq: int,
    micro_batch: int = 1,
    *,
    pipeline: int = 1,
    interleave: int = 1,
    tensor: int = 1,
    sequence: bool = False,
    recompute: str = "none",
) -> float:
    """Count the bytes of activations that the first stage of a pipeline keeps in 16 bits.

    It holds p microbatches of L/p blocks, as much as L blocks; with interleaved stages 1 + (p - 1)/(p·v) times that
    (Korthikanti et al. 2022, section 4.2.3).

    Args:
        h: Hidden size.
        layers: Blocks of the model.
        heads: Attention heads.
        seq: Tokens of a sample.
        micro_batch: Samples of a microbatch.
        pipeline: Stages p.
        interleave: Stages v of a GPU.
        tensor: GPUs that share a block.
        sequence: Whether they share norms and dropout too.
        recompute: As in `count_activation_bytes`.

    Returns:
        Bytes.

    Raises:
        CollsimError: A number is below 1, or `recompute` is unknown.

    Examples:
        >>> from collsim.train import count_first_stage_bytes
        >>> count_first_stage_bytes(1024, 24, 16, 512, pipeline=4) / 2**20
        888.0
    """
    p, v = parse_count(pipeline, "pipeline"), parse_count(interleave, "interleave")
    interleaving = 1.0
    if v > 1:
        interleaving = 1 + (p - 1) / (p * v)
    block = count_activation_bytes(h, heads, seq, micro_batch, tensor=tensor, sequence=sequence, recompute=recompute)
    return parse_count(layers, "layers") * block * interleaving
