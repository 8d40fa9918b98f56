"""The same GPUs with other wires: what a run would take if nothing but NVLink or PCIe were another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..locale import translate
from ..topology.parts.gpus import GPUS, find_model
from ..topology.parts.nvlinks import NVLINK_WORDS
from ..units import format_time
from .part_changes import MachineParts, PartChange
from .timed_runs import AnyRun, TimedRun, wrap_run


@dataclass(frozen=True)
class WireVariant:
    """A run on the same GPUs with other wires between them.

    Attributes:
        change: NVLink or PCIe that differs; None for the machine as it is.
        run: the run with it.
        time: s that it takes.
        factor: `time` over the time of the machine as it is.

    Examples:
        >>> import collsim as cs
        >>> box = cs.machine("pcie-8gpu", nodes=2, gpus=4, nic="roce-25", nics=1)
        >>> step = cs.training_step("resnet50", box, parallel=cs.ddp(), micro_batch=16, dtype="bfloat16")
        >>> cs.purchases.compare_wires(step)[0].factor
        1.0
    """

    change: PartChange | None
    run: AnyRun
    time: float
    factor: float

    def text(self, language: str = "en") -> str:
        """What it is, in words.

        Args:
            language: `en` or `zh`.
        """
        if self.change is None:
            return translate(language, "purchases", "wires.present")
        if self.change.value == "none":
            return translate(language, "purchases", "wires.none")
        return self.change.text(language)

    def list_cells(self, language: str = "en") -> dict[str, str]:
        """The variant as a row that people read, a cell by its heading.

        Args:
            language: `en` or `zh`.
        """
        values = (self.text(language), format_time(self.time), f"{self.factor:.3g} ×")
        names = ("wires", "time", "factor")
        return {
            translate(language, "purchases", f"column.{name}"): text for name, text in zip(names, values, strict=True)
        }


@check_arguments
def compare_wires(run: AnyRun) -> tuple[WireVariant, ...]:
    """Compare a run with the same on the same GPUs, joined by other NVLinks or another PCIe; computing stays as it is.

    Args:
        run: what `training_step`, `simulate` or `nccl.predict` returned, on a machine.

    Returns:
        The machine as it is, then the variants that it can have and that differ, the fastest first.

    Raises:
        CollsimError: For what is no run on a machine.

    Examples:
        >>> import collsim as cs
        >>> step = cs.training_step("gpt2-medium", cs.machine("pcie-8gpu"), parallel=cs.ddp(), micro_batch=4)
        >>> str(cs.purchases.compare_wires(step)[1].change)
        'nvlink=board'
    """
    timed = wrap_run(run)
    present = WireVariant(None, run, timed.time, 1.0)
    if not timed.time:  # a rank alone sends nothing, over whatever wires
        return (present,)
    variants = [
        WireVariant(change, changed.run, changed.time, changed.time / timed.time)
        for change, changed in _time_variants(timed)
    ]
    return present, *sorted(variants, key=lambda variant: variant.time)


def _time_variants(timed: TimedRun) -> Iterator[tuple[PartChange, TimedRun]]:
    for change in _list_wires(timed):
        try:
            changed = timed.apply((change,))
        except CollsimError:
            continue  # this GPU is not sold with such wires
        if changed.topology.links != timed.topology.links:
            yield change, changed


def _list_wires(timed: TimedRun) -> Iterator[PartChange]:
    yield from (PartChange("nvlink", word) for word in NVLINK_WORDS)
    model = find_model(MachineParts(timed.topology).machine.gpu)
    if model is not None:
        yield from (PartChange("pcie", generation) for generation in range(3, GPUS[model.name].pcie + 1))
