"""MobileNetV2 (Sandler et al. 2018), as torchvision.models.mobilenetv2 registers it."""

from __future__ import annotations

from ..workload.convolution import ConvolutionBuilder
from ..workload.model import Model

_SOURCE = "torchvision/models/mobilenetv2.py; Sandler et al. 2018 (arXiv 1801.04381), table 2"
#: Of each stage: how much wider a block is inside, channels, blocks, stride of the first.
_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def _build_mobilenet() -> Model:
    net = ConvolutionBuilder()
    net.add_convolution("features.0.0", 32, 3, 2)
    net.add_norm("features.0.1", capped=True)
    number = 1
    for expansion, channels, blocks, first_stride in _STAGES:
        for block in range(blocks):
            stride = 1
            if block == 0:
                stride = first_stride
            _add_inverted_residual(net, f"features.{number}.conv", expansion, channels, stride)
            number += 1
    net.add_convolution(f"features.{number}.0", 1280, 1)
    net.add_norm(f"features.{number}.1", capped=True)
    net.add_average_pool("avgpool")
    net.add_linear("classifier.1", 1000)
    return net.build_model("mobilenet_v2", _SOURCE)


def _add_inverted_residual(net: ConvolutionBuilder, name: str, expansion: int, channels: int, stride: int) -> None:
    """1 x 1 to the inner width, 3 x 3 of each channel by itself with the stride, 1 x 1 back; the input is added where
    the output has its shape."""
    inputs, part = net.channels, 0
    width = expansion * inputs
    if expansion > 1:
        net.add_convolution(f"{name}.0.0", width, 1)
        net.add_norm(f"{name}.0.1", capped=True)
        part = 1
    net.add_convolution(f"{name}.{part}.0", width, 3, stride, groups=width)
    net.add_norm(f"{name}.{part}.1", capped=True)
    net.add_convolution(f"{name}.{part + 1}", channels, 1)
    net.add_norm(f"{name}.{part + 2}", relu=False, add=stride == 1 and inputs == channels, is_read_again=True)


MODELS = {"mobilenet_v2": _build_mobilenet}
