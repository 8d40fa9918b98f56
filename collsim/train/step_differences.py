"""Two steps of training side by side: their figures, and the part of the time that moved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..locale import translate
from .step_explanation import describe_change
from .step_request import time_by_one_model
from .step_trace import StepTrace

#: Seconds that add up to the time of a step.
PARTS = ("computing", "exposed", "bubble")


@dataclass(frozen=True, eq=False, repr=False)
class StepComparison:
    """Step `b` against step `a`, the base; they may differ in anything.

    Attributes:
        a, b: the steps.

    Examples:
        >>> import collsim as cs
        >>> step = cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), batch=256)
        >>> cs.train.compare_steps(step, step.what_if(bucket="1MiB")).parts.index.tolist()
        ['computing', 'exposed', 'bubble']
    """

    a: StepTrace
    b: StepTrace

    @property
    def speedup(self) -> float:
        """Seconds of a sample in a / those in b: above 1, b trains faster."""
        return (self.a.time / self.a.step.samples) / (self.b.time / self.b.step.samples)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Two columns, a row per figure of `StepTrace.row`."""
        return pd.DataFrame({"a": self.a.row(), "b": self.b.row()}, dtype=object)

    @cached_property
    def parts(self) -> pd.DataFrame:
        """What makes up the time, s: a row for computing, exposed and bubble; columns a, b and the difference b - a."""
        table = pd.DataFrame(
            {name: [getattr(step, part) for part in PARTS] for name, step in (("a", self.a), ("b", self.b))},
            index=list(PARTS),
        )
        return table.assign(difference=table.b - table.a)

    def explain(self, language: str = "en") -> str:
        """Explain which step is faster, by how much, and which part of the time that is.

        Args:
            language: `en` or `zh`.

        Returns:
            The sentence.
        """
        change = describe_change(replace(self.b, previous=self.a), language)
        steps = {"new": _describe_step(self.b), "old": _describe_step(self.a)}
        return translate(language, "train", "step_differences.compared", change=change, **steps)

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        return f"<StepComparison {self}>"


def _describe_step(trace: StepTrace) -> str:
    return f"{trace.step.model.name}, {trace.step.label} on {trace.topology.name}"


@check_arguments
def compare_steps(a: object, b: object) -> StepComparison:
    """Compare two steps of training, both timed by one model (`time_by_one_model`).

    Args:
        a: The base.
        b: The step that is compared with it.

    Returns:
        Their figures, and the part of the time that moved.

    Raises:
        CollsimError: One of them is no StepTrace.

    Examples:
        >>> import collsim as cs
        >>> step = cs.training_step("resnet50", "dgx-a100", parallel=cs.ddp(), batch=256)
        >>> round(cs.train.compare_steps(step, step.what_if(bucket="1MiB")).speedup, 2)
        0.99
    """
    if not isinstance(a, StepTrace) or not isinstance(b, StepTrace):
        wrong = next(step for step in (a, b) if not isinstance(step, StepTrace))
        raise CollsimError("compare_steps wants two StepTraces, got {value!r}", value=wrong)
    return StepComparison(*time_by_one_model(a, b))
