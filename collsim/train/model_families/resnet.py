"""Residual networks (He et al. 2016; Xie et al. 2017 for ResNeXt), as torchvision.models.resnet registers them."""

from __future__ import annotations

from ..workload.convolution import ConvolutionBuilder
from ..workload.model import Model

_SOURCE = "torchvision/models/resnet.py; He et al. 2016 (arXiv 1512.03385), table 1; Xie et al. 2017 (arXiv 1611.05431)"


def _build_resnet(
    name: str, blocks: tuple[int, ...], *, bottleneck: bool = True, groups: int = 1, group_width: int = 64
) -> Model:
    """Build a model of the family.

    Args:
        name: Name of the model.
        blocks: Blocks of each stage.
        bottleneck: Whether a block has three convolutions (1 x 1, 3 x 3, 1 x 1), else two.
        groups: Groups of the 3 x 3 convolution.
        group_width: Channels of a group in the first stage.

    Returns:
        The model.
    """
    net = ConvolutionBuilder()
    net.add_convolution("conv1", 64, 7, 2)
    net.add_norm("bn1")
    net.add_max_pool("maxpool", 3, 2)
    for stage, count in enumerate(blocks):
        # Channels double with each stage, whose first block halves the image (but for the first stage).
        planes = 64 * 2**stage
        for block in range(count):
            prefix, is_first = f"layer{stage + 1}.{block}", block == 0
            stride = 1
            if is_first and stage:
                stride = 2
            if bottleneck:
                width = planes * group_width * groups // 64
                _add_bottleneck(net, prefix, width, 4 * planes, stride, groups, is_first)
            else:
                _add_basic_block(net, prefix, planes, stride, is_first and stage > 0)
    net.add_average_pool("avgpool")
    net.add_linear("fc", 1000)
    return net.build_model(name, _SOURCE)


def _add_bottleneck(
    net: ConvolutionBuilder, prefix: str, width: int, channels: int, stride: int, groups: int, has_downsample: bool
) -> None:
    """1 x 1, 3 x 3 with the stride, 1 x 1."""
    input_channels, input_side = net.channels, net.side
    net.add_convolution(f"{prefix}.conv1", width, 1)
    net.add_norm(f"{prefix}.bn1")
    net.add_convolution(f"{prefix}.conv2", width, 3, stride, groups)
    net.add_norm(f"{prefix}.bn2")
    net.add_convolution(f"{prefix}.conv3", channels, 1)
    net.add_norm(f"{prefix}.bn3", add=True)
    if has_downsample:
        _add_downsample(net, prefix, input_channels, input_side, channels, stride)


def _add_basic_block(net: ConvolutionBuilder, prefix: str, planes: int, stride: int, has_downsample: bool) -> None:
    """3 x 3 with the stride, 3 x 3."""
    input_channels, input_side = net.channels, net.side
    net.add_convolution(f"{prefix}.conv1", planes, 3, stride)
    net.add_norm(f"{prefix}.bn1")
    net.add_convolution(f"{prefix}.conv2", planes, 3)
    net.add_norm(f"{prefix}.bn2", add=True)
    if has_downsample:
        _add_downsample(net, prefix, input_channels, input_side, planes, stride)


def _add_downsample(
    net: ConvolutionBuilder, prefix: str, input_channels: int, input_side: int, channels: int, stride: int
) -> None:
    """The shortcut of a stage's first block, which brings the block's input to the new shape."""
    net.channels, net.side = input_channels, input_side
    net.add_convolution(f"{prefix}.downsample.0", channels, 1, stride)
    net.add_norm(f"{prefix}.downsample.1", relu=False)


MODELS = {
    "resnet18": lambda: _build_resnet("resnet18", (2, 2, 2, 2), bottleneck=False),
    "resnet34": lambda: _build_resnet("resnet34", (3, 4, 6, 3), bottleneck=False),
    "resnet50": lambda: _build_resnet("resnet50", (3, 4, 6, 3)),
    "resnet101": lambda: _build_resnet("resnet101", (3, 4, 23, 3)),
    "resnet152": lambda: _build_resnet("resnet152", (3, 8, 36, 3)),
    "resnext50_32x4d": lambda: _build_resnet("resnext50_32x4d", (3, 4, 6, 3), groups=32, group_width=4),
    "resnext101_32x8d": lambda: _build_resnet("resnext101_32x8d", (3, 4, 23, 3), groups=32, group_width=8),
}
