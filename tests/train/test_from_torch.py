"""Models read from torch, where torch is installed."""

import pytest

import collsim as cs

torch = pytest.importorskip("torch", reason="torch is an extra")


def vgg16():
    """torchvision's layers of VGG-16, on the device that computes nothing."""
    nn = torch.nn
    layers, channels = [], 3
    for width, many in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(many):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
            channels = width
        layers.append(nn.MaxPool2d(2, 2))
    layers += [
        nn.Flatten(),
        nn.Linear(25088, 4096),
        nn.ReLU(True),
        nn.Linear(4096, 4096),
        nn.ReLU(True),
        nn.Linear(4096, 1000),
    ]
    return nn.Sequential(*layers)


def test_a_module_on_meta_becomes_the_model_of_the_catalogue():
    with torch.device("meta"):
        read = cs.train.Model.from_torch(vgg16(), torch.empty(2, 3, 224, 224), name="vgg16")
    known = cs.model("vgg16")
    assert read.tensors == known.tensors
    assert cs.ddp().list_bucket_bytes(read) == cs.ddp().list_bucket_bytes(known)
    # torch counts no FLOPs for pooling, which are 0.04 % of ours
    assert read.flops == pytest.approx(known.flops, rel=1e-3)
    assert read.input_bytes == known.input_bytes


def test_batch_norm_has_buffers_and_groups_have_a_width():
    nn = torch.nn
    with torch.device("meta"):
        net = nn.Sequential(nn.Conv2d(8, 8, 3, groups=2), nn.BatchNorm2d(8))
        read = cs.train.Model.from_torch(net, torch.empty(4, 8, 10, 10))
    conv, norm = read.layers
    assert (conv.width, conv.kind) == (4, "convolution")
    assert (norm.buffers, norm.kind) == ((8, 8), "norm")
    assert conv.flops == 2 * 8 * 8 * 8 * 4 * 9  # outputs of 8 x 8 x 8, four channels of 3 x 3 each
    assert read.buffer_bytes == 64


def test_a_shared_matrix_belongs_to_the_layer_that_runs_first():
    nn = torch.nn

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(50, 8)
            self.head = nn.Linear(8, 50, bias=False)
            self.head.weight = self.words.weight

        def forward(self, tokens):
            return self.head(self.words(tokens))

    read = cs.train.Model.from_torch(Tied(), torch.zeros(2, 5, dtype=torch.long))
    assert [layer.tensors for layer in read.layers] == [(400,), ()]
    assert read.tokens == 5
    assert read.layers[1].flops == 2 * 5 * 8 * 50


def test_what_cannot_be_read_gets_a_sentence():
    nn = torch.nn

    class Unused(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):
            return self.a(x)

    with pytest.raises(cs.CollsimError, match=r"b\.weight.*unused"):
        cs.train.Model.from_torch(Unused(), torch.zeros(1, 2))
    with pytest.raises(cs.CollsimError, match="does not run"):
        cs.train.Model.from_torch(nn.Linear(2, 2), torch.zeros(1, 3))
    with pytest.raises(cs.CollsimError, match=r"torch\.nn\.Module"):
        cs.train.Model.from_torch("resnet50", torch.zeros(1, 3))
    with pytest.raises(cs.CollsimError, match="at least one sample"):
        cs.train.Model.from_torch(nn.Linear(2, 2), torch.zeros(0, 2))
