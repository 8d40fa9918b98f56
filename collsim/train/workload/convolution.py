"""Layers of convolutional networks, with torch's own order of tensors. Counted from the shapes alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from .model import Layer, Model


@dataclass
class Image:
    """A network under construction: the shape of what flows, and the layers so far.

    What is kept for the backward pass: each convolution's output (its BatchNorm reads it again) and each ReLU's (the
        next convolution
    reads it again; ReLU works in place).
    """

    channels: int = 3
    side: int = 224
    layers: list[Layer] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Elements of what flows, per sample."""
        return self.channels * self.side * self.side

    def convolution(
        self,
        name: str,
        channels: int,
        kernel: int,
        stride: int = 1,
        groups: int = 1,
        *,
        bias: bool = False,
        relu: bool = False,
    ) -> None:
        """A convolution with as much padding as keeps the side at stride 1."""
        before, width = self.size, self.channels // groups
        weights = channels * width * kernel * kernel
        self.channels, self.side = channels, -(-self.side // stride)
        moved = before + self.size * (3 if relu else 1)
        tensors = (weights, channels) if bias else (weights,)
        flops = 2.0 * weights * self.side**2
        self._add(name, tensors, flops, moved, self.size, "convolution", 1 + relu, width if groups > 1 else 0)

    def norm(self, name: str, *, relu: bool = True, add: bool = False) -> None:
        """BatchNorm (reads twice, writes once), with what follows it: the residual's addition, ReLU in place."""
        moved = self.size * (3 + 3 * add + 2 * relu)
        buffers = (self.channels, self.channels)
        kept = self.size if relu else 0
        self._add(name, (self.channels, self.channels), 0.0, moved, kept, "norm", 1 + add + relu, 0, buffers)

    def pool(self, name: str, kernel: int, stride: int) -> None:
        """Max pooling; keeps its output and where the largest were (int64, twice four bytes)."""
        before = self.size
        self.side = -(-self.side // stride)
        self._add(
            name,
            (),
            float(kernel * kernel * self.size),
            before + self.size,
            self.size,
            "elementwise",
            1,
            0,
            (),
            8 * self.size,
        )

    def average(self, name: str, side: int = 1) -> None:
        """Average pooling to a side."""
        before, self.side = self.size, side
        self._add(name, (), float(before), before + self.size, 0, "elementwise")

    def linear(self, name: str, out: int, *, relu: bool = False) -> None:
        """A fully connected layer of everything that flows; ReLU and dropout behind it where asked."""
        before = self.size
        self.channels, self.side = out, 1
        kept, masks = (2 * out, out) if relu else (0, 0)
        self._add(
            name,
            (before * out, out),
            2.0 * before * out,
            before + out * (1 + 4 * relu),
            kept,
            "gemm",
            1 + 2 * relu,
            0,
            (),
            masks,
        )

    def _add(
        self,
        name: str,
        tensors: tuple[int, ...],
        flops: float,
        moved: float,
        kept: float,
        kind: str,
        ops: int = 1,
        width: int = 0,
        buffers: tuple[int, ...] = (),
        masks: float = 0.0,
    ) -> None:
        self.layers.append(Layer(name, tensors, flops, moved, kept, self.size, masks, kind, ops, buffers, width))

    def model(self, name: str, source: str) -> Model:
        """The finished table, for images of 3 x 224 x 224 float32."""
        return Model(name, tuple(self.layers), 0, 3 * 224 * 224 * 4, source)
