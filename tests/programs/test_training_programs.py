"""Programs that train: gradients as calculus has them, and what gloo of torch 2.13.0 gave on two ranks."""

import numpy as np
import pytest
from drive_generators import drive

from collsim.rank_engine.engine import Engine, RunMode
from collsim.rank_engine.execute import execute
from collsim.rank_engine.start import build_plan
from collsim.rank_engine.torch_dialect import build_torch_modules

MODULES = build_torch_modules(Engine(1, RunMode(), frozenset()), 0, {})
TORCH, F = MODULES["torch"], MODULES["torch.nn.functional"]
RANDOM = np.random.default_rng(0)
MATRIX, OTHER, WIDE, VECTOR = (RANDOM.normal(size=shape) for shape in ((3, 4), (3, 4), (4, 5), (4,)))
IMAGES, KERNELS, STACK = (RANDOM.normal(size=shape) for shape in ((2, 3, 6, 6), (4, 3, 3, 3), (2, 3, 4)))
CLASSES, TRUTH = TORCH.tensor([0, 2, 1]), TORCH.tensor(RANDOM.random(size=(3, 4)))

#: Functions of tensors, and where they are differentiated.
FUNCTIONS = {
    "arithmetic": (lambda a, b: a + b - 2 * a / b + (1 - a) * -b + a**3, MATRIX, OTHER),
    "powers": (lambda a: 2.0**a + (a * a + 1) ** 0.5 + 1 / (a * a + 1), MATRIX),
    "broadcast": (lambda a, v: a * v + v, MATRIX, VECTOR),
    "products": (lambda a, w, v: (a @ w).sum() + (v @ w).sum() + (a @ v).sum() + v @ v, MATRIX, WIDE, VECTOR),
    "product of stacks": (lambda s, w: s @ w, STACK, WIDE),
    "elementwise": (lambda a: a.exp() + a.tanh() + a.sigmoid() + a.relu() + a.abs() + a.sin() + a.cos(), MATRIX),
    "logarithms": (lambda a: (a * a + 1).log() + (a * a).log1p() + (a * a + 1).sqrt(), MATRIX),
    "bounds": (lambda a, b: a.clamp(-0.5, 0.5) + a.clamp(min=0) + TORCH.maximum(a, b) + TORCH.minimum(a, b), MATRIX, OTHER),
    "sums": (lambda a: a.sum(1) * a.mean(1) + a.sum(0, keepdim=True).mean() + a.var() * a.std(1) + a.norm(), MATRIX),
    "extremes": (lambda a: a.max() * a.min(1).values + a.max(dim=1)[0], MATRIX),
    "shapes": (lambda a: a.view(4, 3).t() * a.reshape(-1)[2] * a.flatten().unsqueeze(1).squeeze()[0] * a.T.T[0, 1], MATRIX),
    "orders": (lambda s: s.permute(2, 0, 1) ** 2 + s.transpose(1, 2).transpose(0, 1) ** 3, STACK),
    "parts": (lambda a: a[1] * a[0] + a[[0, 0, 2], 1:2].sum() ** 2 + a.chunk(2, 1)[1].sum() ** 2, MATRIX),
    "pieces": (lambda a: sum(part.sum() ** 2 for part in (*a.split(2), *a.unbind(1), *a)) + a[a > 0].sum() ** 2, MATRIX),
    "copies": (lambda v: v.expand(3, 4) ** 2 + v.repeat(3, 1) ** 3 + v.clone() * v, VECTOR),
    "joined": (lambda a, b: (TORCH.cat([a, 2 * b]) ** 2).sum() + TORCH.stack([a, b], 1) ** 2, MATRIX, OTHER),
    "softmax": (lambda a: F.softmax(a, dim=1) ** 2 + F.log_softmax(a, dim=0) * a.softmax(0), MATRIX),
    "losses": (lambda a, b: F.mse_loss(a, b) + F.l1_loss(a, b, reduction="sum") + F.cross_entropy(a, CLASSES), MATRIX, OTHER),
    "losses of two classes": (
        lambda a: F.binary_cross_entropy(a.sigmoid(), TRUTH) + F.binary_cross_entropy_with_logits(a, TRUTH), MATRIX,
    ),
    "activations": (lambda a: F.gelu(a) + F.leaky_relu(a) + F.layer_norm(a, (4,)) ** 2, MATRIX),
    "table": (lambda a: F.embedding(TORCH.tensor([0, 2, 2]), a) ** 2, MATRIX),
    "convolution": (lambda i, k: F.conv2d(i, k) ** 2, IMAGES, KERNELS),
    "convolution with a border": (lambda i, k: F.conv2d(i, k, stride=2, padding=1) ** 2, IMAGES, KERNELS),
    "pools": (lambda i: F.max_pool2d(i, 2) * F.avg_pool2d(i, 2) + F.max_pool2d(i, 3, 2, 1), IMAGES),
    "type": (lambda a: a.to(TORCH.float64) ** 2, MATRIX),
    "a sum that grows": (lambda a, b: (a * 2).__iadd__(b).__imul__(a), MATRIX, OTHER),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_the_slopes_of_the_function(name):
    function, *arrays = FUNCTIONS[name]

    def weigh(tensors):
        result = function(*tensors)
        return (result * np.cos(np.arange(int(result.size))).reshape(result.shape)).sum()

    tensors = [TORCH.tensor(array, requires_grad=True) for array in arrays]
    drive(weigh(tensors).backward())
    step = 1e-6
    for number, array in enumerate(arrays):
        slopes = np.zeros(array.size)
        for position in range(array.size):
            ends = []
            for sign in (1, -1):
                moved = [other.copy() for other in arrays]
                moved[number].reshape(-1)[position] += sign * step
                ends.append(float(weigh([TORCH.tensor(other) for other in moved])))
            slopes[position] = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(np.asarray(tensors[number].grad).reshape(-1), slopes, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("function", "values", "gradient"),
    [
        (lambda x: x.sigmoid().sum(), [-200, -100, 0, 200], [0, 0, 0.25, 0]),
        (lambda x: x.norm(), [0, 0], [0, 0]),
        (lambda x: x.reshape(2, 2).norm(dim=1).sum(), [3, 4, 0, 0], [0.6, 0.8, 0, 0]),
        (lambda x: x.max() * 2, [1, 3, 3, 2], [0, 1, 1, 0]),
        (lambda x: x.min(), [1, 1, 3, 1], [1 / 3, 1 / 3, 0, 1 / 3]),
        (lambda x: x.clamp(min=0).sum(), [-1, 0, 1], [0, 1, 1]),
        (lambda x: x.clamp(max=1).sum(), [0, 1, 2], [1, 1, 0]),
    ],
)
def test_where_a_function_has_no_slope_the_gradient_is_that_of_torch(function, values, gradient):
    """Of torch 2.13.0."""
    tensor = TORCH.tensor(values, dtype=TORCH.float32, requires_grad=True)
    with np.errstate(all="raise", under="ignore"):
        drive(function(tensor).backward())
    assert np.asarray(tensor.grad) == pytest.approx(gradient, abs=1e-7)


AVERAGED_BY_HAND = """
import torch, torch.nn as nn, torch.nn.functional as F, torch.optim as optim
import torch.distributed as dist
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size=3)
        self.drop = nn.Dropout(0.0)
        self.fc1 = nn.Linear(36, 8)
        self.fc2 = nn.Linear(8, 3)
    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = x.view(-1, 36)
        x = F.relu(self.fc1(self.drop(x)))
        x = F.dropout(x, training=False)
        return F.log_softmax(self.fc2(x), dim=1)
def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= size
def run(rank, size):
    model = Net()
    with torch.no_grad():
        for k, p in enumerate(model.parameters()):
            p.copy_(torch.sin(torch.arange(p.numel(), dtype=torch.float32) + k).view_as(p) / 4)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    losses = []
    for epoch in range(4):
        data = torch.cos(torch.arange(2 * 64, dtype=torch.float32) * (rank + 1)).view(2, 1, 8, 8)
        target = torch.tensor([rank % 3, 2])
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        losses.append(round(loss.item(), 4))
        loss.backward()
        average_gradients(model)
        optimizer.step()
    return losses + [round(sum(p.abs().sum().item() for p in model.parameters()), 3)]
"""
ACCUMULATED = """
import torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, DistributedSampler
def run(rank, size):
    model = nn.Sequential(nn.Linear(6, 5, bias=False), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 2))
    with torch.no_grad():
        for k, p in enumerate(model.parameters()):
            p.copy_(torch.sin(torch.arange(p.numel(), dtype=torch.float32) + k + rank).view_as(p))
    ddp = DDP(model)
    x = torch.cos(torch.arange(24 * 6, dtype=torch.float32)).view(24, 6)
    y = torch.sin(torch.arange(24 * 2, dtype=torch.float32)).view(24, 2)
    data = TensorDataset(x, y)
    sampler = DistributedSampler(data, num_replicas=size, rank=rank, shuffle=False)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    losses = []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        optimizer.zero_grad()
        batches = list(loader)
        for k, (a, b) in enumerate(batches):
            if k < len(batches) - 1:
                with ddp.no_sync():
                    loss = nn.functional.mse_loss(ddp(a), b); loss.backward()
            else:
                loss = nn.functional.mse_loss(ddp(a), b); loss.backward()
            losses.append(round(loss.item(), 3))
        norm = torch.nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
        optimizer.step(); scheduler.step()
        losses.append(round(float(norm), 3))
    ddp.eval()
    with torch.no_grad():
        out = ddp(x[:2])
    losses += [round(v, 3) for v in out.flatten().tolist()]
    return losses + [sorted(ddp.state_dict())[0], len(loader), round(scheduler.get_last_lr()[0], 5)]
"""
STAGES = """
import torch, torch.nn as nn, torch.distributed as dist
def run(rank, size):
    layer = nn.Linear(4, 4)
    with torch.no_grad():
        layer.weight.copy_(torch.eye(4) * (rank + 1)); layer.bias.zero_()
    x = torch.arange(8.0).view(2, 4)
    if rank == 0:
        out = torch.relu(layer(x))
        dist.send(out.detach(), 1)
        grad = torch.zeros_like(out)
        dist.recv(grad, 1)
        out.backward(grad)
    else:
        inp = torch.zeros(2, 4)
        dist.recv(inp, 0)
        inp.requires_grad_()
        loss = (layer(inp) ** 2).sum()
        loss.backward()
        dist.send(inp.grad, 0)
    return [layer.weight.grad.sum().item(), layer.bias.grad.tolist()]
"""
#: Programs, and what the ranks returned with torch.
TRAININGS = {
    "gradients averaged by hand": (
        AVERAGED_BY_HAND,
        [[1.0732, 1.0625, 1.036, 1.0106, 57.884], [1.0499, 1.031, 1.0099, 0.9904, 57.884]],
    ),
    "DDP with accumulated gradients, AdamW and statistics of batches": (
        ACCUMULATED,
        [
            [2.269, 2.01, 0.441, 6.098, 1.798, 1.543, 0.413, 4.775, 1.424, 1.168, 0.403, 3.682,
             0.482, -0.743, 0.326, -0.236, "module.0.weight", 3, 0.025],
            [2.245, 2.125, 1.406, 6.098, 1.733, 1.713, 1.029, 4.775, 1.344, 1.369, 0.788, 3.682,
             0.482, -0.743, 0.326, -0.236, "module.0.weight", 3, 0.025],
        ],
    ),
    "two stages of a pipeline": (STAGES, [[4160.0, [32.0, 48.0, 64.0, 80.0]], [2080.0, [16.0, 24.0, 32.0, 40.0]]]),
}  # fmt: skip


def execute_program(source, entry=None):
    return execute(build_plan(source, 2, entry, None, "96B", {}), RunMode())


@pytest.mark.parametrize("name", TRAININGS)
def test_a_training_has_the_losses_of_torch(name):
    source, expected = TRAININGS[name]
    execution = execute_program(source, "run")
    assert not execution.errors
    for result, values in zip(execution.results, expected, strict=True):
        numbers = [value for value in values if isinstance(value, int | float)]
        assert [value for value in result if isinstance(value, int | float)] == pytest.approx(numbers, abs=2e-3)
        assert [value for value in result if not isinstance(value, int | float)] == [
            value for value in values if not isinstance(value, int | float)
        ]


MODELS = """
import torch, torch.nn as nn
class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(10, 1), nn.Linear(10, 1)
    def forward(self, x):
        return self.a(x)
model = {model}
ddp = nn.parallel.DistributedDataParallel(model, {options})
for step in range(3):
    ddp.zero_grad()
    loss = nn.functional.mse_loss(ddp(torch.randn(4, 10)), torch.zeros(4, 1))
    loss.backward()
"""
_BUFFERS = "nn.Sequential(nn.Linear(10, 7), nn.BatchNorm1d(7), nn.Linear(7, 1))"
_LARGE = "nn.Sequential(nn.Linear(10, 1000), nn.Linear(1000, 8), nn.Linear(8, 40000), nn.Linear(40000, 1))"
#: Models, options, and the collectives that gloo's Flight Recorder had.
COLLECTIVES = {
    "two layers": (
        "nn.Sequential(nn.Linear(10, 7), nn.ReLU(), nn.Linear(7, 1))",
        "",
        ["all_gather 1 int64", "broadcast 12 int64", "broadcast 85 float32", "all_reduce 85 float32",
         "broadcast 5 int32", "broadcast 1 int32", "all_reduce 85 float32", "all_reduce 85 float32"],
    ),
    "buffers": (
        _BUFFERS,
        "gradient_as_bucket_view=True, batched_grad_copy=True",
        ["all_gather 1 int64", "broadcast 16 int64", "broadcast 113 float32", "broadcast 1 int64"]
        + ["broadcast 14 float32", "broadcast 1 int64", "all_reduce 99 float32", "broadcast 7 int32", "broadcast 1 int32"]
        + ["broadcast 14 float32", "broadcast 1 int64", "all_reduce 99 float32"] * 2,
    ),
    "buffers of each rank": (
        _BUFFERS,
        "broadcast_buffers=False",
        ["all_gather 1 int64", "broadcast 16 int64", "broadcast 99 float32"]
        + ["all_reduce 99 float32", "broadcast 7 int32", "broadcast 1 int32"] + ["all_reduce 99 float32"] * 2,
    ),
    "buffers at the start": (
        _BUFFERS,
        "broadcast_buffers=False, forward_sync_buffers=False",
        ["all_gather 1 int64", "broadcast 16 int64", "broadcast 113 float32", "broadcast 1 int64"]
        + ["all_reduce 99 float32", "broadcast 7 int32", "broadcast 1 int32"] + ["all_reduce 99 float32"] * 2,
    ),
    "several buckets": (
        _LARGE,
        "",
        ["all_gather 1 int64", "broadcast 24 int64", "broadcast 419009 float32", "all_reduce 419009 float32"]
        + ["broadcast 9 int32", "broadcast 2 int32"]
        + ["all_reduce 400001 float32", "all_reduce 19008 float32"] * 2,
    ),
    "one large bucket": (
        _LARGE,
        "bucket_cap_mb=25",
        ["all_gather 1 int64", "broadcast 24 int64", "broadcast 419009 float32", "all_reduce 419009 float32"]
        + ["broadcast 9 int32", "broadcast 1 int32"] + ["all_reduce 419009 float32"] * 2,
    ),
    "small buckets": (
        _LARGE,
        "bucket_cap_mb=0.02",
        ["all_gather 1 int64", "broadcast 24 int64", "broadcast 419009 float32", "all_reduce 419009 float32"]
        + ["broadcast 9 int32", "broadcast 5 int32"]
        + [f"all_reduce {count} float32" for count in (40001, 40000, 320000, 8008, 11000)] * 2,
    ),
    "buckets of parameters that may be unused": (
        _LARGE,
        "find_unused_parameters=True",
        ["all_gather 1 int64", "broadcast 24 int64", "broadcast 419009 float32"]
        + ["all_reduce 80001 float32", "all_reduce 339008 float32", "all_reduce 8 int32"] * 3,
    ),
    "unused parameters": (
        "Half()",
        "find_unused_parameters=True",
        ["all_gather 1 int64", "broadcast 12 int64", "broadcast 22 float32"]
        + ["all_reduce 22 float32", "all_reduce 4 int32"] * 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COLLECTIVES)
def test_ddp_calls_the_collectives_that_gloo_recorded(name):
    model, options, expected = COLLECTIVES[name]
    execution = execute_program(MODELS.format(model=model, options=options))
    assert not execution.errors
    for rank in range(2):
        calls = [event for event in execution.events if event.kind == "collective" and event.rank == rank]
        assert [
            f"{call.call} {call.nbytes // np.dtype(call.dtype).itemsize} {call.dtype}" for call in calls
        ] == expected
    assert {call.line for call in calls if call.call == "all_reduce"} == {14}  # of backward()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (MODELS.format(model="Half()", options=""), "Expected to have finished reduction"),
        (MODELS.format(model="Half()", options="static_graph=True"), "static_graph=True is not simulated"),
        ("import torch.nn as nn\nimport torch.distributed as dist\nnn.parallel.DistributedDataParallel(nn.Linear(3, 1 + dist.get_rank()))\n", "appears not to match sizes"),
        ("import torch\nw = torch.ones(3, requires_grad=True)\nw.add_(1)\n", "a leaf Variable"),
        ("import torch\nw = torch.ones(3, requires_grad=True)\n(w * 2).backward()\n", "scalar outputs"),
        ("import torch\nw = torch.ones(1, requires_grad=True)\ny = w * w\ny.backward()\ny.backward()\n", "a second time"),
        ("import torch\nw = torch.ones(3, requires_grad=True)\nw.cumsum(0)\n", "gradient of cumsum"),
        ("import torch\nw = torch.ones(3, requires_grad=True)\nw.numpy()\n", "detach"),
        ("import torch.nn as nn\nnn.Transformer()\n", "unknown word 'Transformer'"),
    ],
)  # fmt: skip
def test_a_training_that_torch_refuses_is_refused(source, words):
    execution = execute_program(source)
    assert words in execution.errors[0].text


def test_each_rank_records_by_itself_while_another_does_not():
    """A rank under `no_grad` waits; the other one computes gradients meanwhile."""
    source = """
import torch, torch.distributed as dist
def run(rank, size):
    w = torch.ones(1, requires_grad=True)
    if rank == 0:
        with torch.no_grad():
            dist.recv(torch.zeros(1), 1)
            return (w * 2).requires_grad
    y = w * 3
    dist.send(torch.zeros(1), 0)
    y.backward()
    return w.grad.item()
"""
    assert execute_program(source, "run").results == (False, 3.0)


def test_a_loader_takes_functions_of_the_program_and_gives_its_batches_one_by_one():
    source = """
import torch
from torch.utils.data import DataLoader
def add_up(samples, factor):
    return torch.stack(samples).sum() * factor
def run(rank, size):
    loader = DataLoader(torch.arange(6.0), 2, None, None, None, 2, lambda samples: add_up(samples, 2))
    batches = iter(loader)
    return [next(batches).item(), *[batch.item() for batch in batches], len(loader)]
"""
    assert execute_program(source, "run").results == ([2.0, 10.0, 18.0, 3], [2.0, 10.0, 18.0, 3])
