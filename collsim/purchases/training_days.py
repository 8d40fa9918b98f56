"""Days that a run of a large transformer takes, by the formula of Narayanan et al. (2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..locale import translate
from ..train import StepTrace
from ..units import format_plain

_DAY = 86400.0
#: FLOPs for each parameter and token: forward, twice that backward; and forward again where activations are recomputed.
_FLOPS, _FLOPS_RECOMPUTED = 6, 8
_BILLION, _TERA = 1e9, 1e12


@dataclass(frozen=True)
class TrainingDays:
    """How long a run takes by the formula, and what was put into it.

    Attributes:
        parameters: of the model.
        tokens: that it is trained on.
        gpus: how many.
        flops_per_gpu: FLOP/s that each reaches.
        recompute: whether activations are computed again.
        days: the result.

    Examples:
        >>> import collsim as cs
        >>> print(cs.purchases.TrainingDays(175e9, 300e9, 1024, 140e12, True, 33.9))
        175 billion parameters on 300 billion tokens: 33.9 days on 1,024 GPUs of 140 TFLOP/s.
    """

    parameters: float
    tokens: float
    gpus: float
    flops_per_gpu: float
    recompute: bool
    days: float

    def text(self, language: str = "en") -> str:
        """The result in a sentence.

        Args:
            language: `en` or `zh`.
        """
        return translate(
            language,
            "purchases",
            "training_days",
            parameters=format_plain(self.parameters / _BILLION),
            tokens=format_plain(self.tokens / _BILLION),
            gpus=format_plain(self.gpus),
            tflops=format_plain(self.flops_per_gpu / _TERA),
            days=format_plain(self.days),
        )

    def __str__(self) -> str:
        return self.text()


@check_arguments
def estimate_training_days(
    parameters: float, tokens: float, gpus: float, flops_per_gpu: float, *, recompute: bool = True
) -> float:
    """Days that a run of a large transformer takes: 8 · tokens · parameters / (GPUs · FLOP/s of each), with activations
    computed again (Narayanan et al. 2021, arXiv 2104.04473, section 5.1, equation 4); 6 in place of 8 without.

    Args:
        parameters: of the model.
        tokens: that it is trained on.
        gpus: how many.
        flops_per_gpu: FLOP/s that each reaches.
        recompute: whether activations are computed again in the backward pass.

    Returns:
        Days.

    Raises:
        CollsimError: A number is not above 0.

    Examples:
        GPT-3 on 300 billion tokens, as published:

        >>> from collsim.purchases import estimate_training_days
        >>> round(estimate_training_days(175e9, 300e9, 1024, 140e12), 1)
        33.9
    """
    named = {"parameters": parameters, "tokens": tokens, "gpus": gpus, "flops_per_gpu": flops_per_gpu}
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < math.inf:
            raise CollsimError("{name}={value!r} must be a number above 0", name=name, value=value)
    flops = _FLOPS_RECOMPUTED if recompute else _FLOPS
    return flops * tokens * parameters / (gpus * flops_per_gpu) / _DAY


@check_arguments
def estimate_days_like_step(
    step: StepTrace,
    tokens: float,
    *,
    parameters: float | None = None,
    gpus: float | None = None,
    flops_per_gpu: float | None = None,
) -> TrainingDays:
    """Estimate a run by the formula, with what a step reaches where nothing else is given.

    Args:
        step: of `training_step`.
        tokens: of the run.
        parameters: of the model; the step's unless given.
        gpus: of the run; the step's unless given.
        flops_per_gpu: FLOP/s that each GPU reaches. Unless given those of the step, which computes activations again
            where it does; a given figure counts them as computed again, as published figures do.

    Returns:
        The days, and what was put into the formula.

    Raises:
        CollsimError: A number is not above 0.

    Examples:
        >>> import collsim as cs
        >>> from collsim.purchases import estimate_days_like_step
        >>> step = cs.training_step("gpt2", "dgx-a100", parallel=cs.ddp(), micro_batch=8, dtype="bfloat16")
        >>> run = estimate_days_like_step(step, 300e9, parameters=1008e9, gpus=3072, flops_per_gpu=163e12)
        >>> round(run.days, 1)  # 83.9 with the 450 billion tokens of the paper
        55.9
    """
    recompute = True
    if flops_per_gpu is None:
        recompute = step.step.recomputed_flops > 0
        flops_per_gpu = (step.step.flops + step.step.recomputed_flops) / (step.time * step.step.ranks)
    if parameters is None:
        parameters = float(step.step.model.parameters)
    if gpus is None:
        gpus = float(step.step.ranks)
    days = estimate_training_days(parameters, tokens, gpus, flops_per_gpu, recompute=recompute)
    return TrainingDays(parameters, tokens, gpus, flops_per_gpu, recompute, days)
