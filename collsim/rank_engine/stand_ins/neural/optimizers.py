"""`torch.optim`: what changes parameters by their gradients (torch/optim/sgd.py and adam.py, torch 2.13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import GeneratorType, ModuleType

import numpy as np

from ..gradients import Blocking, Value, clear_gradients
from ..tensors import KnownModule
from .refused_options import refuse_changed


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
        """Drop the gradients.

        Args:
            set_to_none: Whether there are none afterwards; else they are zeros.
        """
        for group in self.param_groups:
            clear_gradients(group["params"], set_to_none)

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
                    if group["maximize"]:
                        gradient = -gradient
                    self._update(values, gradient, group, self._states.setdefault(id(parameter), {}))
        return loss

    def _update(
        self, values: np.ndarray, gradient: np.ndarray, group: dict[str, Value], state: dict[str, Value]
    ) -> None:
        raise NotImplementedError


class SGD(Optimizer):
    """Gradient descent, with momentum."""

    @refuse_changed("differentiable")
    def __init__(
        self,
        params: Iterable[Value],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        """As torch's.

        Args:
            params: Parameters, or groups of them with options of their own.
            lr: The rate.
            momentum: Share of the change before in the next one.
            dampening: Share of a gradient that its change lacks.
            weight_decay: Share of the parameters that is added to their gradients.
            nesterov: Whether the gradient is that behind the change.
            maximize: Whether the loss grows.
            foreach: Not used.
            differentiable: Refused.
            fused: Not used.
        """
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "nesterov": nesterov, "maximize": maximize})

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

    @refuse_changed("differentiable")
    def __init__(
        self,
        params: Iterable[Value],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        """As torch's.

        Args:
            params: Parameters, or groups of them with options of their own.
            lr: The rate.
            betas: Shares of the mean, and of the mean square, that stay in a step.
            eps: Added to the root.
            weight_decay: Share of the parameters that is added to their gradients.
            amsgrad: Whether the mean square is the greatest one so far.
            foreach: Not used.
            maximize: Whether the loss grows.
            capturable: Not used.
            differentiable: Refused.
            fused: Not used.
            decoupled_weight_decay: Whether weights decay by themselves, as with `AdamW`.
        """
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad}
        super().__init__(params, {**defaults, "maximize": maximize, "decoupled_weight_decay": decoupled_weight_decay})

    def _update(
        self, values: np.ndarray, gradient: np.ndarray, group: dict[str, Value], state: dict[str, Value]
    ) -> None:
        if group["decoupled_weight_decay"]:
            values *= 1 - group["lr"] * group["weight_decay"]
        else:
            gradient = gradient + group["weight_decay"] * values
        (first, second), step = group["betas"], state.get("step", 0) + 1
        mean = first * state.get("mean", 0) + (1 - first) * gradient
        square = second * state.get("square", 0) + (1 - second) * gradient * gradient
        greatest = np.maximum(state.get("greatest", 0), square) if group["amsgrad"] else square
        state.update(step=step, mean=mean, square=square, greatest=greatest)
        root = np.sqrt(greatest / (1 - second**step)) + group["eps"]
        values -= (group["lr"] / (1 - first**step) * mean / root).astype(values.dtype)


class AdamW(Adam):
    """Adam whose weights decay by themselves."""

    def __init__(
        self,
        params: Iterable[Value],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        """As torch's.

        Args:
            params: Parameters, or groups of them with options of their own.
            lr: The rate.
            betas: As of `Adam`.
            eps: Added to the root.
            weight_decay: Share of the parameters that is taken from them in a step, times the rate.
            amsgrad: As of `Adam`.
            maximize: Whether the loss grows.
            foreach: Not used.
            capturable: Not used.
            differentiable: Refused.
            fused: Not used.
        """
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            differentiable=differentiable,
            decoupled_weight_decay=True,
        )


class StepLR:
    """`torch.optim.lr_scheduler.StepLR`: a smaller rate after each so many steps."""

    @refuse_changed("last_epoch")
    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        """A schedule of an optimizer.

        Args:
            optimizer: Whose rate it changes.
            step_size: Steps between two changes.
            gamma: Factor of each change.
            last_epoch: Refused.
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
