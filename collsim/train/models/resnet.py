"""Residual networks (He et al. 2016; Xie et al. 2017 for ResNeXt), as torchvision.models.resnet registers them."""

from __future__ import annotations

from ..workload.convolution import Image
from ..workload.model import Model

_SOURCE = "torchvision/models/resnet.py; He et al. 2016 (arXiv 1512.03385), table 1; Xie et al. 2017 (arXiv 1611.05431)"


def _resnet(name: str, blocks: tuple[int, ...], *, bottleneck: bool = True, groups: int = 1, width: int = 64) -> Model:
    net = Image()
    net.convolution("conv1", 64, 7, 2)
    net.norm("bn1")
    net.pool("maxpool", 3, 2)
    for stage, many in enumerate(blocks):
        planes = 64 * 2**stage
        for block in range(many):
            at, stride = f"layer{stage + 1}.{block}", 2 if block == 0 and stage else 1
            if bottleneck:
                _bottleneck(net, at, planes * width * groups // 64, 4 * planes, stride, groups, block == 0)
            else:
                _basic(net, at, planes, stride, block == 0 and stage > 0)
    net.average("avgpool")
    net.linear("fc", 1000)
    return net.model(name, _SOURCE)


def _bottleneck(net: Image, at: str, width: int, out: int, stride: int, groups: int, first: bool) -> None:
    """1 x 1, 3 x 3 with the stride, 1 x 1; the first of a stage brings its input to the new shape."""
    channels, side = net.channels, net.side
    net.convolution(f"{at}.conv1", width, 1)
    net.norm(f"{at}.bn1")
    net.convolution(f"{at}.conv2", width, 3, stride, groups)
    net.norm(f"{at}.bn2")
    net.convolution(f"{at}.conv3", out, 1)
    net.norm(f"{at}.bn3", add=True)
    _shortcut(net, at, channels, side, out, stride, first)


def _basic(net: Image, at: str, planes: int, stride: int, first: bool) -> None:
    channels, side = net.channels, net.side
    net.convolution(f"{at}.conv1", planes, 3, stride)
    net.norm(f"{at}.bn1")
    net.convolution(f"{at}.conv2", planes, 3)
    net.norm(f"{at}.bn2", add=True)
    _shortcut(net, at, channels, side, planes, stride, first)


def _shortcut(net: Image, at: str, channels: int, side: int, out: int, stride: int, first: bool) -> None:
    if first:
        net.channels, net.side = channels, side
        net.convolution(f"{at}.downsample.0", out, 1, stride)
        net.norm(f"{at}.downsample.1", relu=False)


MODELS = {
    "resnet18": lambda: _resnet("resnet18", (2, 2, 2, 2), bottleneck=False),
    "resnet34": lambda: _resnet("resnet34", (3, 4, 6, 3), bottleneck=False),
    "resnet50": lambda: _resnet("resnet50", (3, 4, 6, 3)),
    "resnet101": lambda: _resnet("resnet101", (3, 4, 23, 3)),
    "resnet152": lambda: _resnet("resnet152", (3, 8, 36, 3)),
    "resnext50_32x4d": lambda: _resnet("resnext50_32x4d", (3, 4, 6, 3), groups=32, width=4),
    "resnext101_32x8d": lambda: _resnet("resnext101_32x8d", (3, 4, 23, 3), groups=32, width=8),
}
