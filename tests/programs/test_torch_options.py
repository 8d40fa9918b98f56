"""Options of layers, losses, optimizers and data: each is in torch's place and changes what it changes in torch, or
ends the run."""

import ast
import inspect
import operator
from pathlib import Path

import numpy as np
import pytest
from drive_generators import drive

from collsim.rank_engine import data_parallel
from collsim.rank_engine.engine import Engine, RunMode
from collsim.rank_engine.stand_ins import neural
from collsim.rank_engine.torch_dialect import build_torch_modules

MODULES = build_torch_modules(Engine(1, RunMode(), frozenset()), 0, {})
STAND_IN = MODULES["torch"]
F, NN, OPTIM = (MODULES[f"torch.{name}"] for name in ("nn.functional", "nn", "optim"))
DATA, SCHEDULES, CLIPS = (MODULES[f"torch.{name}"] for name in ("utils.data", "optim.lr_scheduler", "nn.utils"))
RANDOM = np.random.default_rng(3)
MATRIX, OTHER = RANDOM.normal(size=(2, 4, 3)).astype(np.float32)
IMAGES, KERNELS, GROUPED = (
    RANDOM.normal(size=shape).astype(np.float32) for shape in ((2, 4, 7, 6), (6, 4, 3, 2), (6, 2, 2, 3))
)
STACK = RANDOM.normal(size=(2, 3, 5)).astype(np.float32)


def fill(module):
    """A layer with parameters that are the same here and in torch."""
    for number, parameter in enumerate(module.parameters()):
        values = np.sin(np.arange(parameter.numel()) + number).reshape(parameter.shape)
        parameter.data = type(parameter.data)(values.tolist())
    return module


# ---- signatures

#: Options that change no numbers here: how torch computes, where, and what only other options use.
WITHOUT_EFFECT = {
    "device", "device_ids", "output_device", "dim", "foreach", "fused", "capturable", "non_blocking", "memory_format",
    "norm_type", "_stacklevel", "num_workers", "pin_memory", "timeout", "multiprocessing_context", "prefetch_factor",
    "persistent_workers", "pin_memory_device", "in_order", "check_reduction", "gradient_as_bucket_view",
    "batched_grad_copy",
}  # fmt: skip
PATHS = [*sorted(Path(neural.__file__).parent.glob("*.py")), Path(data_parallel.__file__)]


FUNCTIONS = [
    pytest.param(node, id=f"{path.stem} {node.lineno} {node.name}")
    for path in PATHS
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.FunctionDef) and not isinstance(node.body[-1], ast.Raise)  # a word that a program defines
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_option_is_ignored(function):
    """Each is read, refused, or one of those without effect; and there is nothing that takes any option."""
    read = {node.id for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    refused = {
        node.value
        for decorator in function.decorator_list
        for node in ast.walk(decorator)
        if isinstance(node, ast.Constant)
    }
    if any(isinstance(node, ast.Name) and node.id == "_refuse_old_reductions" for node in function.decorator_list):
        refused |= {"size_average", "reduce"}
    arguments = function.args
    names = {argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)} - {"self", "cls"}
    names |= {argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument is not None}
    assert names - read - refused - WITHOUT_EFFECT == set()
    assert arguments.kwarg is None or arguments.kwarg.arg != "_"


def read_signature(function):
    """The signature of a function of torch, also of one that is written in C, whose documentation has it."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        text = function.__doc__.strip().partition("->")[0]
        space = {}
        exec(f"def {text.strip()}: pass", space)
        signature = inspect.signature(space[function.__name__])
    return [(value.name, value.kind, value.default) for value in signature.parameters.values()]


#: Words whose signatures are elsewhere, or have no options.
OTHERS = {
    "sigmoid", "tanh",  # methods of tensors
    "Module", "Sigmoid", "Tanh",  # torch takes all arguments there, and refuses them afterwards
    "Parameter", "Dataset", "Optimizer",
}  # fmt: skip
WORDS = [
    (module.__name__, name)
    for module in (F, NN, OPTIM, DATA, SCHEDULES, CLIPS, MODULES["torch.nn.parallel"])
    for name, value in vars(module).items()
    if callable(value) and not name.startswith("_") and name not in OTHERS
]


@pytest.mark.parametrize(("module", "name"), WORDS)
def test_signatures_are_those_of_torch(module, name):
    torch = pytest.importorskip("torch")
    if name == "max_pool2d":  # chooses one of two functions
        name, ours = "max_pool2d_with_indices", F.max_pool2d
    else:
        ours = getattr(MODULES[module], name)
    expected = read_signature(operator.attrgetter(f"{module}.{name}".removeprefix("torch."))(torch))
    if name == "random_split":  # its default is an object
        expected[-1] = (*expected[-1][:2], None)
    assert read_signature(ours) == expected


@pytest.mark.parametrize("name", ["named_modules", "named_parameters", "named_buffers", "parameters", "buffers"])
def test_methods_have_the_first_parameters_of_torch(name):
    torch = pytest.importorskip("torch")
    ours, theirs = read_signature(getattr(NN.Module, name)), read_signature(getattr(torch.nn.Module, name))
    assert ours == theirs[: len(ours)]


# ---- numbers

CLASSES, PLANES = [2, 0, -100, 1], [[0, 2, 1, 1, -100], [2, 2, 0, -100, 1]]
SHARES, FACTORS, TRUTH = np.abs(MATRIX) / np.abs(MATRIX).sum(1, keepdims=True), [0.5, 2.0, 1.5], MATRIX > 0
#: Functions of torch or of what stands for it, and of tensors that they are differentiated by.
VALUES = {
    "dilated": (lambda t, i, k: F_(t).conv2d(i, k, None, (2, 1), (1, 2), dilation=2), IMAGES, KERNELS),
    "in groups": (lambda t, i, k: F_(t).conv2d(i, k, groups=2), IMAGES, GROUPED),
    "the same size": (lambda t, i, k: F_(t).conv2d(i, k, padding="same", dilation=(1, 2)), IMAGES, KERNELS),
    "no border": (lambda t, i, k: F_(t).conv2d(i, k, padding="valid"), IMAGES, KERNELS),
    "largest of dilated windows": (lambda t, i: F_(t).max_pool2d(i, 2, 1, (1, 0), 2), IMAGES),
    "means without the border": (lambda t, i: F_(t).avg_pool2d(i, (3, 2), 2, 1, count_include_pad=False), IMAGES),
    "means with the border": (lambda t, i: F_(t).avg_pool2d(i, (3, 2), 2, 1), IMAGES),
    "gelu by tanh": (lambda t, a: F_(t).gelu(a, approximate="tanh"), MATRIX),
    "softmax of two dimensions": (lambda t, a: F_(t).softmax(a), MATRIX),
    "softmax of three dimensions": (lambda t, a: F_(t).log_softmax(a), STACK),
    "softmax of one dimension": (lambda t, a: F_(t).softmax(a[0]), MATRIX),
    "softmax of another type": (lambda t, a: F_(t).softmax(a, 1, dtype=t.float64), MATRIX),
    "a slope": (lambda t, a: F_(t).leaky_relu(a, 0.3), MATRIX),
    "classes left out": (lambda t, a: F_(t).cross_entropy(a, t.tensor(CLASSES)), MATRIX),
    "another class left out": (lambda t, a: F_(t).cross_entropy(a, t.tensor([2, 0, 2, 1]), ignore_index=2), MATRIX),
    "weights of classes": (lambda t, a: F_(t).cross_entropy(a, t.tensor(CLASSES), t.tensor(FACTORS)), MATRIX),
    "weighted losses": (
        lambda t, a: F_(t).nll_loss(a, t.tensor(CLASSES), t.tensor(FACTORS), reduction="none"), MATRIX,
    ),
    "smooth labels": (
        lambda t, a: F_(t).cross_entropy(a, t.tensor(CLASSES), t.tensor(FACTORS), label_smoothing=0.2), MATRIX,
    ),
    "smooth probabilities": (
        lambda t, a, b: F_(t).cross_entropy(a, b, t.tensor(FACTORS), label_smoothing=0.2), MATRIX, SHARES,
    ),
    "classes of positions": (lambda t, a: F_(t).cross_entropy(a, t.tensor(PLANES), t.tensor(FACTORS)), STACK),
    "losses of positions": (
        lambda t, a: F_(t).cross_entropy(a, t.tensor(PLANES), label_smoothing=0.1, reduction="none"), STACK,
    ),
    "one sample": (lambda t, a: F_(t).cross_entropy(a[0], t.tensor(1)) + F_(t).cross_entropy(a[1], a[2] ** 2), MATRIX),
    "a hidden class": (
        lambda t, a: F_(t).cross_entropy(a + t.tensor([-np.inf, 0.0, 0.0]), t.tensor([1, 2, -100, 1])), MATRIX,
    ),
    "two classes": (
        lambda t, a, b: F_(t).binary_cross_entropy(a, b, t.tensor(FACTORS)), np.abs(SHARES), SHARES[::-1].copy(),
    ),
    "certain classes": (
        lambda t, a: F_(t).binary_cross_entropy(a, t.tensor([1.0, 0.0, 1.0])), np.array([0, 0, 1], np.float32),
    ),
    "weights of what is true": (
        lambda t, a, b: F_(t).binary_cross_entropy_with_logits(
            a, b, t.tensor(FACTORS), pos_weight=t.tensor(FACTORS)
        ), MATRIX, SHARES,
    ),
    "logits of zero": (
        lambda t, a: F_(t).binary_cross_entropy_with_logits(a, t.tensor([1.0, 0.0])), np.zeros(2, np.float32),
    ),
    "in place": (lambda t, a: F_(t).relu(a * 2 - 1, inplace=True) * F_(t).leaky_relu(a * 3, 0.2, True), MATRIX),
    "all dropped": (lambda t, a: F_(t).dropout(a, 1.0), MATRIX),
}  # fmt: skip


def F_(torch):
    return torch.nn.functional


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.filterwarnings("ignore:Implicit dimension")
def test_options_change_what_they_change_in_torch(name):
    torch = pytest.importorskip("torch")
    function, *arrays = VALUES[name]
    results = []
    for library in (STAND_IN, torch):
        tensors = [library.tensor(array.tolist(), requires_grad=True) for array in arrays]
        result = function(library, *tensors)
        weights = library.cos(library.arange(float(result.numel()))).reshape(result.shape)
        drive((result * weights).sum().backward())
        results.append([result.detach().numpy(), *(tensor.grad.numpy() for tensor in tensors)])
    for ours, theirs in zip(*results, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)


LAYERS = {
    "convolution": (lambda nn: nn.Conv2d(4, 6, (3, 2), 1, "same", 1, 2, False), IMAGES),
    "pools": (lambda nn: nn.Sequential(nn.MaxPool2d(2, 1, 1, 2), nn.AvgPool2d(2, 2, 1, False, False)), IMAGES),
    "mean of all batches": (lambda nn: nn.BatchNorm2d(4, momentum=None), IMAGES),
    "rows": (lambda nn: nn.BatchNorm1d(3, 0.1, 0.3), STACK),
    "no parameters": (lambda nn: nn.LayerNorm(3, elementwise_affine=False), MATRIX),
    "no bias": (lambda nn: nn.LayerNorm((3, 5), 0.1, True, False), STACK),
    "flat": (lambda nn: nn.Sequential(nn.Flatten(0, 1), nn.Linear(5, 2)), STACK),
    "the same layer twice": (lambda nn: nn.Sequential(*[nn.Linear(3, 3)] * 2, nn.ReLU(True), nn.LeakyReLU(0.2)), MATRIX),
    "activations": (lambda nn: nn.Sequential(nn.Linear(3, 3), nn.GELU("tanh"), nn.Softmax(), nn.LogSoftmax(0)), MATRIX),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.filterwarnings("ignore:Implicit dimension", "ignore:Using padding='same'")
def test_layers_have_the_numbers_and_the_state_of_torch(name):
    torch = pytest.importorskip("torch")
    make, array = LAYERS[name]
    results = []
    for library in (STAND_IN, torch):
        layer = fill(make(library.nn))
        drive(layer(library.tensor(array.tolist())))
        inputs = library.tensor(array.tolist(), requires_grad=True)
        drive((drive(layer(inputs * 2)) ** 2).sum().backward())
        layer.eval()
        gradients = {name: parameter.grad for name, parameter in layer.named_parameters()}
        output = drive(layer(library.tensor(array.tolist())))
        results.append({**layer.state_dict(), **{f"gradient of {name}": grad for name, grad in gradients.items()}})
        results[-1].update(output=output.detach(), inputs=inputs.grad)
    assert list(results[0]) == list(results[1])
    for word, theirs in results[1].items():
        np.testing.assert_allclose(results[0][word].numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5, err_msg=word)


#: Optimizers, of parameters.
OPTIMIZERS = {
    "upwards": lambda optim, p: optim.SGD(p, 0.1, 0.9, 0.2, 0.1, maximize=True, foreach=False),
    "behind the change": lambda optim, p: optim.SGD(p, 0.1, 0.9, 0, 0.1, True),
    "amsgrad": lambda optim, p: optim.Adam(p, 0.1, (0.5, 0.6), 1e-3, 0.1, True, fused=False),
    "decay by itself": lambda optim, p: optim.Adam(p, 0.1, weight_decay=0.1, decoupled_weight_decay=True, maximize=True),
    "adamw": lambda optim, p: optim.AdamW(p, 0.1, (0.5, 0.6), 1e-3, 0.1, True, maximize=True),
    "a group": lambda optim, p: optim.Adam([{"params": list(p), "amsgrad": True, "maximize": True}], betas=(0.5, 0.6)),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_step_as_those_of_torch(name):
    torch = pytest.importorskip("torch")
    results = []
    for library in (STAND_IN, torch):
        parameter = library.nn.Parameter(library.tensor(MATRIX.tolist()))
        optimizer = OPTIMIZERS[name](library.optim, [parameter])
        for step in range(5):
            optimizer.zero_grad(set_to_none=step % 2 == 0)
            drive(((parameter * (step - 1)).sin() ** 2).sum().backward())
            drive(optimizer.step())
        results.append(parameter.detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("owner", ["module", "optimizer"])
def test_gradients_that_are_not_none_become_zeros(owner):
    layer = NN.Linear(2, 1)
    cleared = {"module": layer, "optimizer": OPTIM.SGD(layer.parameters())}[owner]
    drive(drive(layer(STAND_IN.ones(3, 2))).sum().backward())
    before = layer.weight.grad
    cleared.zero_grad(set_to_none=False)
    assert layer.weight.grad is before
    assert before.tolist() == [[0.0, 0.0]]
    cleared.zero_grad()
    assert layer.weight.grad is None


@pytest.mark.parametrize("order", [1.0, 2.0, 3, "inf"])
def test_gradients_are_clipped_to_a_length_of_any_order(order):
    torch = pytest.importorskip("torch")
    results = []
    for library in (STAND_IN, torch):
        parameters = [library.nn.Parameter(library.tensor(array.tolist())) for array in (MATRIX, OTHER)]
        drive(sum((parameter**2).sum() for parameter in parameters).backward())
        norm = library.nn.utils.clip_grad_norm_(parameters, 1.5, order)
        results.append([norm.numpy(), *(parameter.grad.numpy() for parameter in parameters)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize(
    "lengths", [[0.5, 0.3, 0.2], [1 / 3, 1 / 3, 1 / 3], [0.9, 0.1], [3, 4], [7], [5, 1], [0.5, 0.4]]
)
@pytest.mark.filterwarnings("ignore:Length of split")
def test_parts_are_as_long_as_those_of_torch(lengths):
    torch = pytest.importorskip("torch")
    outcomes = []
    for library, split in ((STAND_IN, DATA.random_split), (torch, torch.utils.data.random_split)):
        try:
            parts = split(library.arange(7), lengths)
            outcomes.append([len(part) for part in parts])
            assert sorted(int(sample) for part in parts for sample in part) == list(range(7))
        except ValueError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


def test_a_tensor_without_a_gradient_is_changed_in_place():
    tensor = STAND_IN.tensor([-1.0, 2.0])
    assert F.relu(tensor, inplace=True) is tensor
    assert tensor.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("use", [lambda x: x + 1, lambda x: x.sum(), lambda x: x[0], lambda x: 2 - x.detach()])
def test_what_was_changed_in_place_is_not_used_again(use):
    x = STAND_IN.tensor([-1.0, 2.0], requires_grad=True) * 1
    before = use(x)
    result = F.relu(x, inplace=True)
    with pytest.raises(RuntimeError, match="not simulated"):
        use(x)
    if before.requires_grad:  # torch adds the gradient of the old elements
        with pytest.raises(RuntimeError, match="not simulated"):
            drive((result.sum() + before.sum()).backward())


#: What torch refuses, too.
ERRORS = {
    "an unknown class": lambda t: F_(t).cross_entropy(t.zeros(2, 3), t.tensor([0, 3])),
    "a negative class": lambda t: F_(t).nll_loss(t.zeros(2, 3), t.tensor([0, -1])),
    "another number of classes": lambda t: F_(t).cross_entropy(t.zeros(2, 3), t.tensor([0, 1]), t.ones(4)),
    "another number of samples": lambda t: F_(t).cross_entropy(t.zeros(2, 3), t.tensor([0, 1, 1])),
    "fractions of a class": lambda t: F_(t).cross_entropy(t.zeros(2, 3), t.tensor([0.0, 1.0])),
    "an unknown reduction": lambda t: F_(t).mse_loss(t.zeros(2), t.zeros(2), reduction="max"),
    "too smooth": lambda t: F_(t).cross_entropy(t.zeros(2, 3), t.tensor([0, 1]), label_smoothing=1.5),
    "probabilities left out": lambda t: F_(t).cross_entropy(t.zeros(2, 3), t.ones(2, 3), ignore_index=1),
    "a column beside a row": lambda t: F_(t).binary_cross_entropy_with_logits(t.zeros(3, 1), t.zeros(3)),
    "no probability": lambda t: F_(t).binary_cross_entropy(t.tensor([1.5]), t.tensor([1.0])),
    "an unknown row": lambda t: F_(t).embedding(t.tensor([-1]), t.ones(2, 2)),
    "another shape": lambda t: F_(t).layer_norm(t.ones(2, 3), (2,)),
    "an unknown approximation": lambda t: F_(t).gelu(t.ones(2), approximate="sigmoid"),
    "steps of a border": lambda t: F_(t).conv2d(t.ones(1, 1, 4, 4), t.ones(1, 1, 2, 2), stride=2, padding="same"),
    "an unknown border": lambda t: F_(t).conv2d(t.ones(1, 1, 4, 4), t.ones(1, 1, 2, 2), padding="full"),
    "a wide border": lambda t: F_(t).max_pool2d(t.ones(1, 1, 4, 4), 2, padding=2),
    "a share of more than all": lambda t: F_(t).dropout(t.ones(2), 1.5),
    "one value of a channel": lambda t: drive(t.nn.BatchNorm1d(3)(t.ones(1, 3))),
    "images in rows": lambda t: drive(t.nn.BatchNorm2d(3)(t.ones(2, 3))),
    "groups that do not fit": lambda t: t.nn.Conv2d(3, 4, 2, groups=2),
    "an unknown option": lambda t: t.nn.ReLU(slope=0.1),
    "a change of a parameter": lambda t: F_(t).relu(t.nn.Parameter(t.ones(2)), True),
    "nesterov without momentum": lambda t: t.optim.SGD([t.nn.Parameter(t.ones(2))], nesterov=True),
    "a state of another shape": lambda t: t.nn.Linear(2, 2).load_state_dict(t.nn.Linear(1, 2).state_dict()),
    "no batch": lambda t: t.utils.data.DataLoader(t.ones(2), 0),
    "a length that is not finite": lambda t: clip_infinite(t),
}  # fmt: skip


def clip_infinite(torch):
    parameter = torch.nn.Parameter(torch.tensor([np.inf]))
    drive((parameter**2).sum().backward())
    torch.nn.utils.clip_grad_norm_(parameter, 1.0, error_if_nonfinite=True)


@pytest.mark.parametrize("name", ERRORS)
def test_what_torch_refuses_is_refused(name):
    torch = pytest.importorskip("torch")
    with pytest.raises((ValueError, RuntimeError, IndexError, TypeError)) as theirs:
        ERRORS[name](torch)
    with pytest.raises(theirs.type):
        ERRORS[name](STAND_IN)


REFUSED = {
    "return_indices": lambda: F.max_pool2d(STAND_IN.ones(1, 1, 4, 4), 2, return_indices=True),
    "ceil_mode": lambda: F.avg_pool2d(STAND_IN.ones(1, 1, 4, 4), 2, ceil_mode=True),
    "size_average": lambda: F.mse_loss(STAND_IN.ones(2), STAND_IN.ones(2), size_average=False),
    "weight": lambda: F.l1_loss(STAND_IN.ones(2), STAND_IN.ones(2), weight=STAND_IN.ones(2)),
    "reduce": lambda: drive(NN.CrossEntropyLoss(reduce=False)(STAND_IN.ones(1, 2), STAND_IN.tensor([0]))),
    "padding_mode": lambda: NN.Conv2d(1, 1, 2, padding_mode="reflect"),
    "dtype": lambda: NN.Linear(2, 2, dtype=STAND_IN.float64),
    "float64": lambda: NN.Linear(2, 2).to("cpu", STAND_IN.float64),
    "affine": lambda: NN.BatchNorm2d(3, 1e-5, 0.1, False),
    "padding_idx": lambda: NN.Embedding(3, 2, 0),
    "differentiable": lambda: OPTIM.AdamW([NN.Parameter(STAND_IN.ones(2))], differentiable=True),
    "last_epoch": lambda: SCHEDULES.StepLR(OPTIM.SGD([NN.Parameter(STAND_IN.ones(2))]), 2, last_epoch=3),
    "generator": lambda: DATA.random_split(STAND_IN.ones(2), [1, 1], object()),
    "batch_sampler": lambda: DATA.DataLoader(STAND_IN.ones(2), batch_sampler=[[0, 1]]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_simulated_is_refused_by_its_name(name):
    with pytest.raises(RuntimeError, match=f"{name}.*not simulated"):
        REFUSED[name]()


def test_defaults_and_float32_are_not_refused():
    layer = NN.Conv2d(1, 1, 2, padding_mode="zeros", device="cuda", dtype=STAND_IN.float32)
    assert layer.to("cuda:0", dtype=layer.weight.dtype) is layer
    assert F.mse_loss(STAND_IN.ones(2), STAND_IN.zeros(2), None, None, "sum").item() == 2.0


def test_a_buffer_that_is_not_persistent_is_no_part_of_the_state():
    module = NN.Sequential(NN.Linear(1, 1))
    module.register_buffer("mask", STAND_IN.ones(2), persistent=False)
    module.register_buffer("shift", STAND_IN.ones(2))
    assert [name for name, _ in module.named_buffers()] == ["mask", "shift"]
    assert list(module.state_dict()) == ["shift", "0.weight", "0.bias"]


def test_a_function_is_applied_in_the_order_of_torch():
    torch = pytest.importorskip("torch")
    orders = []
    for library in (STAND_IN, torch):
        layers = [library.nn.Linear(1, count) for count in (1, 2, 3)]
        visited = []
        drive(library.nn.Sequential(layers[0], library.nn.Sequential(*layers[1:])).apply(visited.append))
        orders.append([getattr(module, "out_features", type(module).__name__) for module in visited])
    assert orders[0] == orders[1]


#: Functions with bends, jumps and ends among the numbers below.
BENDS = {
    **{name: operator.methodcaller(name) for name in ("abs", "relu", "sqrt", "log", "reciprocal", "tanh")},
    "power of zero": lambda a: a**0,
    "power of one": lambda a: a**1,
    "root": lambda a: a**0.5,
    "powers of zero": lambda a: 0.0**a,
    "powers of each": lambda a: a.abs().view(-1, 1) ** a,
    "bounds": lambda a: a.clamp(-1, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", BENDS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_gradients_where_a_function_has_no_slope_are_those_of_torch(name):
    torch = pytest.importorskip("torch")
    gradients = []
    for library in (STAND_IN, torch):
        numbers = library.tensor([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0], requires_grad=True)
        drive(BENDS[name](numbers).sum().backward())
        gradients.append(numbers.grad.numpy())
    np.testing.assert_allclose(*gradients, rtol=1e-5)
