"""VGG (Simonyan & Zisserman 2015), as torchvision.models.vgg registers it."""

from __future__ import annotations

from ..workload.convolution import Image
from ..workload.model import Model

_SOURCE = "torchvision/models/vgg.py, configuration D; Simonyan & Zisserman 2015 (arXiv 1409.1556), table 1"
_STAGES = {16: ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)), 19: ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))}


def _vgg(depth: int) -> Model:
    net, number = Image(), 0
    for channels, many in _STAGES[depth]:
        for _ in range(many):
            net.convolution(f"features.{number}", channels, 3, bias=True, relu=True)
            number += 2
        net.pool(f"features.{number}", 2, 2)
        number += 1
    net.linear("classifier.0", 4096, relu=True)
    net.linear("classifier.3", 4096, relu=True)
    net.linear("classifier.6", 1000)
    return net.model(f"vgg{depth}", _SOURCE)


MODELS = {"vgg16": lambda: _vgg(16), "vgg19": lambda: _vgg(19)}
