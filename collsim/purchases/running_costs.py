"""What a step of training, an epoch and a whole run cost: time, GPU-hours, money and energy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..locale import translate
from ..topology import Topology
from ..topology.parts.gpus import find_model
from ..train import StepTrace
from ..units import format_energy, format_plain, format_time
from .part_changes import MachineParts

_DAY, _HOUR, _KWH = 86400.0, 3600.0, 3.6e6


@dataclass(frozen=True)
class RunningCost:
    """What one stretch of training costs.

    Attributes:
        stretch: `step`, `epoch` or `run`.
        steps: how many steps it has.
        seconds: how long it takes.
        gpu_hours: hours of all GPUs together.
        money: price of the GPU-hours and of the energy, in the user's currency; None where no price is given.
        kwh: energy of the GPUs at their full power; None where that is not known.

    Examples:
        >>> import collsim as cs
        >>> cs.purchases.RunningCost("run", 1e6, 86400.0, 192.0, 480.0, None).days
        1.0
    """

    stretch: str
    steps: float
    seconds: float
    gpu_hours: float
    money: float | None
    kwh: float | None

    @property
    def days(self) -> float:
        """How long it takes, in days."""
        return self.seconds / _DAY

    def text(self, language: str = "en") -> str:
        """What it costs, in a sentence.

        Args:
            language: `en` or `zh`.
        """
        time, hours = self._format_time(language), format_plain(self.gpu_hours)
        parts = [translate(language, "purchases", f"cost.{self.stretch}", time=time, hours=hours)]
        if self.money is not None:
            parts.append(translate(language, "purchases", "cost.money", money=format_plain(self.money, 4)))
        if self.kwh is not None:
            parts.append(translate(language, "purchases", "cost.energy", energy=format_energy(self.kwh)))
        return translate(language, "words", "sentences").join(parts)

    def list_cells(self, language: str = "en") -> dict[str, str]:
        """What it costs as a row that people read, a cell by its heading; no cell for what is not known.

        Args:
            language: `en` or `zh`.
        """
        cells = {
            "stretch": translate(language, "purchases", f"stretch.{self.stretch}"),
            "time": self._format_time(language),
            "gpu_hours": format_plain(self.gpu_hours),
        }
        if self.money is not None:
            cells["money"] = format_plain(self.money, 4)
        if self.kwh is not None:
            cells["energy"] = format_energy(self.kwh)
        return {translate(language, "purchases", f"column.{name}"): text for name, text in cells.items()}

    def _format_time(self, language: str) -> str:
        if self.seconds > _DAY:
            return translate(language, "purchases", "cost.days", days=f"{self.days:.3g}")
        return format_time(self.seconds)


@check_arguments
def find_gpu_watts(topology: Topology) -> float | None:
    """The most power of a GPU of this machine, by its data sheet: of the module where it sits on a board, else of the
    card.

    Args:
        topology: of a machine.

    Returns:
        W; None where the table does not know it.

    Examples:
        >>> import collsim as cs
        >>> from collsim.purchases import find_gpu_watts
        >>> find_gpu_watts(cs.machine("dgx-a100")), find_gpu_watts(cs.machine("pcie-8gpu"))
        (400.0, 300.0)
    """
    parts = MachineParts(topology)
    model = find_model(parts.machine.gpu)
    if model is None:
        return None
    if parts.is_board:
        return model.module_watts
    return model.card_watts


@check_arguments
def estimate_costs(
    step: StepTrace,
    *,
    gpu_hour: float | None = None,
    watts: float | None = None,
    kwh: float | None = None,
    epoch: float | None = None,
    tokens: float | None = None,
) -> tuple[RunningCost, ...]:
    """Estimate what a step costs, and an epoch and a run of as many such steps as they need.

    Args:
        step: of `training_step`.
        gpu_hour: price of an hour of one GPU, in any currency.
        watts: power of one GPU; the most that its data sheet says unless given. Hosts, switches and cooling are not in
            it.
        kwh: price of a kilowatt-hour, where energy is paid beside the GPU-hours.
        epoch: samples of an epoch.
        tokens: tokens of the run; only of models whose samples have tokens.

    Returns:
        The step, and the epoch and the run where they are asked for.

    Raises:
        CollsimError: A number is not above 0; tokens of a model without any.

    Examples:
        >>> import collsim as cs
        >>> from collsim.purchases import estimate_costs
        >>> step = cs.training_step("resnet50", "dgx-a100", parallel=cs.ddp(), micro_batch=128, dtype="bfloat16")
        >>> [cost.stretch for cost in estimate_costs(step, gpu_hour=2.5, epoch=1_281_167)]
        ['step', 'epoch']
    """
    named = {"gpu_hour": gpu_hour, "watts": watts, "kwh": kwh, "epoch": epoch, "tokens": tokens}
    for name, value in named.items():
        # A bool is a Real in Python, and a NaN fails both comparisons.
        is_number = isinstance(value, Real) and not isinstance(value, bool) and 0 < value < math.inf
        if value is not None and not is_number:
            raise CollsimError("{name}={value!r} must be a number above 0", name=name, value=value)
    # Power of the GPU alone: the rest of the machine is not known well enough to be put into a sum.
    if watts is None:
        watts = find_gpu_watts(step.topology)
    counts = {"step": 1.0}
    if epoch is not None:
        counts["epoch"] = epoch / step.step.samples
    if tokens is not None:
        if not step.step.model.tokens:
            message = "{name} has samples without tokens, so tokens={tokens:g} means nothing; give epoch= in samples"
            raise CollsimError(message, name=step.step.model.name, tokens=tokens)
        counts["run"] = tokens / (step.step.samples * step.step.model.tokens)
    return tuple(_price_steps(step, name, count, gpu_hour, watts, kwh) for name, count in counts.items())


def _price_steps(
    step: StepTrace, stretch: str, steps: float, gpu_hour: float | None, watts: float | None, kwh: float | None
) -> RunningCost:
    seconds = steps * step.time
    hours = seconds * step.step.ranks / _HOUR
    energy = None
    if watts is not None:
        energy = seconds * step.step.ranks * watts / _KWH
    prices = []
    if gpu_hour is not None:
        prices.append(hours * gpu_hour)
    if kwh is not None and energy is not None:
        prices.append(energy * kwh)
    money = sum(prices) or None
    return RunningCost(stretch, steps, seconds, hours, money, energy)


@check_arguments
def tabulate_costs(costs: tuple[RunningCost, ...]) -> pd.DataFrame:
    """The costs as a table: stretch, steps, seconds, days, gpu_hours, money, kwh.

    Args:
        costs: of `estimate_costs`.

    Returns:
        A row for each stretch.

    Examples:
        >>> import collsim as cs
        >>> from collsim.purchases import estimate_costs, tabulate_costs
        >>> step = cs.training_step("resnet50", "dgx-a100", parallel=cs.ddp(), micro_batch=128, dtype="bfloat16")
        >>> tabulate_costs(estimate_costs(step, watts=400)).columns[:3].tolist()
        ['stretch', 'steps', 'seconds']
    """
    return pd.DataFrame([{**vars(cost), "days": cost.days} for cost in costs])
