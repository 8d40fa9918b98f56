"""VGG (Simonyan & Zisserman 2015), as torchvision.models.vgg registers it."""

from __future__ import annotations

from functools import partial

from ..workload.convolution import ConvolutionBuilder
from ..workload.model import Model

_SOURCE = "torchvision/models/vgg.py; Simonyan & Zisserman 2015 (arXiv 1409.1556), table 1"
#: By depth: channels and convolutions of each stage.
_STAGES = {
    11: ((64, 1), (128, 1), (256, 2), (512, 2), (512, 2)),
    13: ((64, 2), (128, 2), (256, 2), (512, 2), (512, 2)),
    16: ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)),
    19: ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4)),
}


def _build_vgg(depth: int) -> Model:
    net, number = ConvolutionBuilder(), 0
    for channels, convolutions in _STAGES[depth]:
        for _ in range(convolutions):
            net.add_convolution(f"features.{number}", channels, 3, bias=True, relu=True)
            number += 2  # torch numbers the ReLU behind it too
        net.add_max_pool(f"features.{number}", 2, 2)
        number += 1
    net.add_linear("classifier.0", 4096, relu=True)
    net.add_linear("classifier.3", 4096, relu=True)
    net.add_linear("classifier.6", 1000)
    return net.build_model(f"vgg{depth}", _SOURCE)


MODELS = {f"vgg{depth}": partial(_build_vgg, depth) for depth in _STAGES}
