"""Layers of convolutional networks, with torch's own order of tensors. Counted from the shapes alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from .model import Layer, Model

#: Operations' worth of the host's time in which cuDNN chooses the kernel of a convolution, on each call (two in a
#: backward pass): what ResNet-101 and -152 with few images took beside their operations (docs/accuracy/gpu_steps.csv,
#: rows of use fit).
_KERNEL_CHOICE = 2


@dataclass
class ConvolutionBuilder:
    """A network under construction: the shape of the activations so far, and the layers.

    Kept for the backward pass are each convolution's output (its BatchNorm reads it again) and each ReLU's (the next
    convolution reads it again; ReLU works in place).

    Attributes:
        channels: Channels of the activations.
        side: Height and width of the activations.
        layers: Layers so far.
    """

    channels: int = 3
    side: int = 224
    layers: list[Layer] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Elements of the activations, per sample."""
        return self.channels * self.side * self.side

    def add_convolution(
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
        """Add a convolution with as much padding as keeps the side at stride 1.

        Args:
            name: Name of the layer.
            channels: Channels of its output.
            kernel: Height and width of its kernel.
            stride: Stride in both directions.
            groups: Groups of channels.
            bias: Whether it has a bias vector.
            relu: Whether a ReLU follows.
        """
        inputs, group_width = self.size, self.channels // groups
        weights = channels * group_width * kernel * kernel
        # Rounded up, as "same" padding gives it.
        self.channels, self.side = channels, -(-self.side // stride)
        passes = 3 if relu else 1  # ReLU reads and writes the output once more
        layer = Layer(
            name,
            (weights, channels) if bias else (weights,),
            flops=2.0 * weights * self.side**2,
            traffic=inputs + self.size * passes,
            activations=self.size,
            outputs=self.size,
            kind="convolution",
            ops=1 + relu,
            python_ops=_KERNEL_CHOICE,
            width=group_width if groups > 1 else 0,
            kernel=kernel,
            pointwise=self.size * (passes - 1),
        )
        self.layers.append(layer)

    def add_norm(
        self, name: str, *, relu: bool = True, add: bool = False, capped: bool = False, is_read_again: bool = False
    ) -> None:
        """Add a BatchNorm, which reads twice and writes once, and what follows it.

        Args:
            name: Name of the layer.
            relu: Whether a ReLU follows, in place.
            add: Whether the residual is added.
            capped: Whether the ReLU ends at 6: its gradient needs what it read, of which torch makes a copy
                (tools/autograd/derivatives.yaml, hardtanh_; observed with torch 2.13).
            is_read_again: Whether a convolution reads the output although no ReLU follows.
        """
        follow = 3 * add + 2 * relu + 2 * capped
        layer = Layer(
            name,
            (self.channels, self.channels),
            traffic=self.size * (3 + follow),
            activations=self.size * (relu + capped + is_read_again),
            outputs=self.size,
            kind="norm",
            ops=1 + add + relu + capped,
            pointwise=self.size * follow,
            buffers=(self.channels, self.channels),
        )
        self.layers.append(layer)

    def add_max_pool(self, name: str, kernel: int, stride: int) -> None:
        """Add max pooling; it keeps its output and the positions of the maxima (int64).

        Args:
            name: Name of the layer.
            kernel: Height and width of the elements of which it takes the maximum.
            stride: Stride in both directions.
        """
        inputs = self.size
        self.side = -(-self.side // stride)
        layer = Layer(
            name,
            flops=float(kernel * kernel * self.size),
            traffic=inputs + self.size,
            activations=self.size,
            outputs=self.size,
            mask_bytes=8 * self.size,
            kind="elementwise",
        )
        self.layers.append(layer)

    def add_average_pool(self, name: str) -> None:
        """Add average pooling `name` to one element a channel."""
        inputs, self.side = self.size, 1
        traffic = inputs + self.size
        self.layers.append(Layer(name, flops=float(inputs), traffic=traffic, outputs=self.size, kind="elementwise"))

    def add_linear(self, name: str, columns: int, *, relu: bool = False) -> None:
        """Add a fully connected layer.

        Args:
            name: Name of the layer.
            columns: Outputs per sample.
            relu: Whether ReLU and dropout follow.
        """
        inputs = self.size
        self.channels, self.side = columns, 1
        layer = Layer(
            name,
            (inputs * columns, columns),
            flops=2.0 * inputs * columns,
            traffic=inputs + columns * (1 + 4 * relu),
            activations=2 * columns * relu,
            outputs=columns,
            mask_bytes=columns * relu,
            ops=1 + 2 * relu,
        )
        self.layers.append(layer)

    def build_model(self, name: str, source: str) -> Model:
        """Build the finished model, for images of 3 x 224 x 224 float32.

        Args:
            name: Name of the model.
            source: Where its shapes come from.

        Returns:
            The model.
        """
        return Model(name, tuple(self.layers), 0, 3 * 224 * 224 * 4, source)
