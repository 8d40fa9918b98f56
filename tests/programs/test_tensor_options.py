"""Options of tensors and of the functions of torch that make them: each changes what it changes in torch."""

import numpy as np
import pytest

from collsim.rank_engine.engine import Engine, RunMode
from collsim.rank_engine.torch_dialect import build_torch_modules

STAND_IN = build_torch_modules(Engine(1, RunMode(), frozenset()), 0, {})["torch"]
NUMBERS = [[3.0, -1.0, 2.0], [0.5, 4.0, -2.5]]

#: Expressions of `torch`, a matrix `x` and whole numbers `k`: their type and their values in torch 2.13.
VALUES = {
    "torch.arange(0, 10, step=4)": ("int64", [0, 4, 8]),
    "torch.arange(end=3)": ("int64", [0, 1, 2]),
    "torch.arange(1, end=3, dtype=torch.float64)": ("float64", [1, 2]),
    "torch.zeros(size=(1, 2))": ("float32", [[0, 0]]),
    "torch.zeros(2, dtype=None, device='cpu', pin_memory=False)": ("float32", [0, 0]),
    "torch.full((2,), True)": ("bool", [True, True]),
    "torch.eye(2, m=3)": ("float32", [[1, 0, 0], [0, 1, 0]]),
    "torch.randint(0, 1, size=(2,))": ("int64", [0, 0]),
    "torch.randint(1, (2,), dtype=torch.float32)": ("float32", [0, 0]),
    "torch.randint(low=4, high=5, size=(1,))": ("int64", [4]),
    "torch.rand(2, dtype=torch.float64) * 0": ("float64", [0, 0]),
    "torch.randperm(1, dtype=torch.int32)": ("int32", [0]),
    "torch.ones_like(input=k, dtype=torch.float32)": ("float32", [1, 1, 1]),
    "torch.as_tensor(k).to(x.dtype)": ("float32", [5, 6, 7]),
    "k.to(x)": ("float32", [5, 6, 7]),
    "k.to('cpu', torch.float64)": ("float64", [5, 6, 7]),
    "k.type(torch.FloatTensor)": ("float32", [5, 6, 7]),
    "k.new_zeros(2, dtype=torch.float32)": ("float32", [0, 0]),
    "k.div(2, rounding_mode='floor')": ("int64", [2, 3, 3]),
    "torch.div(-k, 2, rounding_mode='trunc')": ("int64", [-2, -3, -3]),
    "k.sub(k, alpha=2)": ("int64", [-5, -6, -7]),
    "k.clone().div_(2, rounding_mode='floor')": ("int64", [2, 3, 3]),
    "x.var(1, False)": ("float32", [2.8888888, 7.0555553]),
    "x.var(unbiased=False)": ("float32", 5.0833335),
    "x.std(False)": ("float32", 2.2546248),
    "x.var(dim=1, correction=0, keepdim=True)": ("float32", [[2.8888888], [7.0555553]]),
    "x.norm(1)": ("float32", 13),
    "x.norm(p=float('inf'), dim=0)": ("float32", [3, 4, 2.5]),
    "x.norm(3, 1, True)": ("float32", [[3.3019273], [4.3043761]]),
    "x.topk(1, largest=False).values": ("float32", [[-1], [-2.5]]),
    "x.sort(dim=0, descending=True, stable=True).indices": ("int64", [[0, 1, 0], [1, 0, 1]]),
    "x.softmax(1, torch.float64).sum(1)": ("float64", [1, 1]),
    "x.squeeze(0)": ("float32", NUMBERS),
    "x[:1].squeeze(0)": ("float32", NUMBERS[0]),
    "x.narrow(-1, -2, 1)": ("float32", [[-1], [4]]),
    "(x > 1).nonzero()": ("int64", [[0, 0], [0, 2], [1, 1]]),
    "torch.flip(x, dims=(0,))[0]": ("float32", NUMBERS[1]),
    "torch.roll(k, shifts=1, dims=0)": ("int64", [7, 5, 6]),
    "torch.tril(x, diagonal=-1)": ("float32", [[0, 0, 0], [0.5, 0, 0]]),
    "x.split(split_size=2, dim=1)[1]": ("float32", [[2], [-2.5]]),
    "x.tensor_split((1,), dim=1)[0]": ("float32", [[3], [0.5]]),
    "x.sum(dim=1, dtype=torch.float64)": ("float64", [4, 2]),
}  # fmt: skip
#: What ends in an error in torch.
ERRORS = {
    "k.mean()": "floating point",
    "k.div_(2)": "can't be cast",
    "k.mul_(0.5)": "can't be cast",
    "x.narrow(1, 2, 2)": "exceeds dimension size",
    "x.mean(1, keepdims_=True)": "argument",
    "x.sum(1, stable=True)": "argument",
    "x.add(x, 2, 2)": "positional",
    "torch.tensor([1], torch.float32)": "positional",
    "torch.zeros(2, typo=1)": "argument",
    "torch.cat([k, k], device='cpu')": "argument",
}
#: What torch has and collsim refuses.
REFUSED = {
    "torch.zeros(3, out=x)": "zeros: out= is not simulated",
    "torch.rand(3, generator=x)": "rand: generator= is not simulated",
    "x.sum().backward(create_graph=True)": "create_graph= and inputs= are not simulated",
    "x.type('torch.DoubleTensor')": "use one such as torch.float32",
    "x.norm('nuc')": "p='nuc' is not simulated",
}


def evaluate(torch, expression):
    space = {"torch": torch, "x": torch.tensor(NUMBERS), "k": torch.tensor([5, 6, 7])}
    value = eval(expression, space)
    if hasattr(value, "send"):
        next(value)
    return value


@pytest.mark.parametrize("expression", VALUES)
def test_an_option_changes_what_it_changes_in_torch(expression):
    dtype, numbers = VALUES[expression]
    value = evaluate(STAND_IN, expression)
    assert (value.dtype.name, value.tolist()) == (dtype, pytest.approx(np.array(numbers), rel=1e-5))


@pytest.mark.parametrize("expression", ERRORS)
def test_what_ends_in_an_error_there_ends_in_one_here(expression):
    with pytest.raises((RuntimeError, TypeError), match=ERRORS[expression]):
        evaluate(STAND_IN, expression)


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_not_simulated_is_refused(expression):
    with pytest.raises((RuntimeError, TypeError), match=REFUSED[expression]):
        evaluate(STAND_IN, expression)


def test_the_values_are_those_of_torch():
    torch = pytest.importorskip("torch", reason="torch is an extra")
    for expression, (dtype, numbers) in VALUES.items():
        value = evaluate(torch, expression)
        assert str(value.dtype) == f"torch.{dtype}", expression
        np.testing.assert_allclose(value.numpy(), numbers, rtol=1e-5, err_msg=expression)
    for expression in ERRORS:
        with pytest.raises((RuntimeError, TypeError)):
            evaluate(torch, expression)


def test_copies_and_shared_memory_are_those_of_torch():
    for torch in (STAND_IN, pytest.importorskip("torch", reason="torch is an extra")):
        array = np.zeros(2)
        tensor = torch.as_tensor(array)
        array[0] = 1
        assert torch.as_tensor(tensor) is tensor
        assert tensor.to(torch.float64) is tensor
        copied = tensor.to("cpu", copy=True)
        tensor[1] = 1
        assert (tensor.tolist(), copied.tolist()) == ([1, 1], [1, 0])


def test_gradients_are_recorded_as_the_block_says():
    for torch in (STAND_IN, pytest.importorskip("torch", reason="torch is an extra")):
        x = torch.ones(1, requires_grad=True)
        with torch.inference_mode(False):
            assert (x * 2).requires_grad
        with torch.inference_mode():
            assert not (x * 2).requires_grad
