"""`torch.optim`: what changes parameters by their gradients (torch/optim/sgd.py and adam.py, torch 2.13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import GeneratorType, ModuleType

import numpy as np

from ..gradients import Blocking, Value
from ..tensors import KnownModule


class Optimizer:
    """What changes parameters; a kind of it says by how much."""

    def __init__(self, params: Iterable[Value], defaults: dict[str, Value]) -> None:
        """An optimizer of parameters.

        Args:
            params: Parameters, or groups of them with options of their own.
            defaults: Options of groups that have none.
        """
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        self.param_groups = [{**defaults, **group, "params": list(group["params"])} for group in groups]
        self._states: dict[int, dict[str, Value]] = {}

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def step(self, closure: Callable[[], Value] | None = None) -> Blocking:
        """Change each parameter that has a gradient.

        Args:
            closure: Computes the loss and the gradients first; None where they are there.
        """
        loss = None
        if closure is not None:
            loss = closure()
            if isinstance(loss, GeneratorType):
                loss = yield from loss
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    values, gradient = np.asarray(parameter), np.asarray(parameter.grad)
                    self._update(values, gradient, group, self._states.setdefault(id(parameter), {}))
        return loss

    def _update(
        self, values: np.ndarray, gradient: np.ndarray, group: dict[str, Value], state: dict[str, Value]
    ) -> None:
        raise NotImplementedError


class SGD(Optimizer):
    """Gradient descent, with momentum."""

    def __init__(
        self,
        params: Iterable[Value],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        **_: object,
    ) -> None:
        """As torch's."""
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "nesterov": nesterov})

    def _update(
        self, values: np.ndarray, gradient: np.ndarray, group: dict[str, Value], state: dict[str, Value]
    ) -> None:
        gradient = gradient + group["weight_decay"] * values
        if group["momentum"]:
            previous = state.get("momentum")
            state["momentum"] = gradient
            if previous is not None:
                state["momentum"] = group["momentum"] * previous + (1 - group["dampening"]) * gradient
            gradient = gradient + group["momentum"] * state["momentum"] if group["nesterov"] else state["momentum"]
        values -= group["lr"] * gradient


class Adam(Optimizer):
    """Adam: gradients by their mean and the root of their mean square."""

    decouples_decay = False

    def __init__(
        self,
        params: Iterable[Value],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | None = None,
        **_: object,
    ) -> None:
        """As torch's."""
        if weight_decay is None:
            weight_decay = 0.01 if self.decouples_decay else 0.0
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def _update(
        self, values: np.ndarray, gradient: np.ndarray, group: dict[str, Value], state: dict[str, Value]
    ) -> None:
        if self.decouples_decay:
            values *= 1 - group["lr"] * group["weight_decay"]
        else:
            gradient = gradient + group["weight_decay"] * values
        (first, second), step = group["betas"], state.get("step", 0) + 1
        mean = first * state.get("mean", 0) + (1 - first) * gradient
        square = second * state.get("square", 0) + (1 - second) * gradient * gradient
        state.update(step=step, mean=mean, square=square)
        root = np.sqrt(square / (1 - second**step)) + group["eps"]
        values -= (group["lr"] / (1 - first**step) * mean / root).astype(values.dtype)


class AdamW(Adam):
    """Adam whose weights decay by themselves."""

    decouples_decay = True


class StepLR:
    """`torch.optim.lr_scheduler.StepLR`: a smaller rate after each so many steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        """A schedule of an optimizer.

        Args:
            optimizer: Whose rate it changes.
            step_size: Steps between two changes.
            gamma: Factor of each change.
        """
        self.optimizer, self.step_size, self.gamma, self.last_epoch = optimizer, step_size, gamma, 0

    def step(self) -> None:
        """Count a step."""
        self.last_epoch += 1
        if self.last_epoch % self.step_size == 0:
            for group in self.optimizer.param_groups:
                group["lr"] *= self.gamma

    def get_last_lr(self) -> list[float]:
        """The rates now."""
        return [group["lr"] for group in self.optimizer.param_groups]


def build_optimizer_modules() -> dict[str, ModuleType]:
    """The modules `torch.optim` and `torch.optim.lr_scheduler`.

    Returns:
        Modules by name.
    """
    optim, schedules = KnownModule("torch.optim"), KnownModule("torch.optim.lr_scheduler")
    vars(schedules).update(StepLR=StepLR)
    vars(optim).update(Optimizer=Optimizer, SGD=SGD, Adam=Adam, AdamW=AdamW, lr_scheduler=schedules)
    return {module.__name__: module for module in (optim, schedules)}
