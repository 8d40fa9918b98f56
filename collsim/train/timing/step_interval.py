"""Where the measured time of a step lies: read from published steps of the same kind.

`step_intervals.csv` holds, by kind of step, the ratios of measured over predicted time between which four in five
published steps lie whose source was left out (docs/accuracy/step_spreads.py makes it).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from ...errors import Sentence
from ...package_data import read_csv
from ...units import format_time

if TYPE_CHECKING:
    from ..workload.step_graph import TrainingStep

StepKind = Literal["moe", "cnn", "pipeline", "fsdp", "dense"]
#: What a kind is called in a sentence.
_LABELS: Final[Mapping[StepKind, Sentence]] = {
    "moe": Sentence("mixtures of experts"),
    "cnn": Sentence("convolutional networks"),
    "pipeline": Sentence("pipelines"),
    "fsdp": Sentence("models whose states are sharded"),
    "dense": Sentence("dense models without a pipeline"),
}
#: Ends of the network's doubt whose ratio is above this are said.
_NOTED: Final = 1.02
#: Least and most time that published steps of training took with torch.compile, over eager PyTorch: PyTorch's
#: documentation has 30 % to twice as fast (docs/source/compile/index.rst, pytorch #93794), MMAction2's table of 2023
#: has up to 1.22 times as long (docs/en/notes/pytorch2.0.md).
COMPILED: Final = (0.5, 1.22)
#: Least and most measured over predicted time in eager PyTorch on GPUs with the shares of an H100: ResNet-50 on A100
#: and V100 (NVIDIA/DeepLearningExamples, ConvNets/resnet50v1.5) and GPT-2 on A100 (rasbt/LLMs-from-scratch,
#: ch05/10_llm-training-speed, steps 6 to 9); docs/training.md has each.
SCALED: Final = (0.77, 1.2)
#: Strategies that shard a model's states, as a step's label has them.
_SHARDED: Final = ("fsdp(", "zero(")


@dataclass(frozen=True)
class StepRatios:
    """Ratios of measured over predicted time, and what they were read from.

    Attributes:
        low: four in five published steps of a source that was left out took longer than this ratio and less than
            `high`.
        high: as `low`.
        rows: published steps of the kind.
        sources: who published them.
    """

    low: float
    high: float
    rows: int
    sources: int


@dataclass(frozen=True)
class StepInterval:
    """Where four in five measured times of a step lie.

    Attributes:
        low: seconds.
        high: seconds.
        kind: of the step.
        reason: where it comes from.

    Examples:
        >>> import collsim as cs
        >>> trace = cs.training_step("gpt2", "dgx-a100", parallel=cs.ddp(), micro_batch=8)
        >>> trace.interval.low < trace.interval.high, trace.interval.kind
        (True, 'dense')
    """

    low: float
    high: float
    kind: StepKind
    reason: Sentence

    @property
    def sentence(self) -> Sentence:
        """The interval and where it comes from."""
        template = "A measurement should lie between {low} and {high}: {reason}."
        return Sentence(template, low=format_time(self.low), high=format_time(self.high), reason=self.reason)


def classify_step(step: TrainingStep) -> StepKind:
    """Find the kind of a step: what its model is made of, then how it is split.

    Args:
        step: the graph of a step.

    Returns:
        The first that holds of `moe`, `cnn`, `pipeline` and `fsdp` (states sharded), else `dense`.
    """
    layers = step.model.layers
    if any(layer.kind == "moe" for layer in layers):
        return "moe"
    # A vision transformer cuts its patches by a convolution, and is none of these networks.
    if sum(layer.flops for layer in layers if layer.kind == "convolution") > step.model.flops / 2:
        return "cnn"
    if step.is_pipelined:
        return "pipeline"
    if any(name in step.label for name in _SHARDED):
        return "fsdp"
    return "dense"


def compute_step_interval(
    step: TrainingStep,
    seconds: float,
    network: tuple[float, float] = (1.0, 1.0),
    scaled: tuple[float, float] = (1.0, 1.0),
    eager: float = 0.0,
    waiting: float = 0.0,
    kernels: float = 0.0,
) -> StepInterval:
    """Compute where the measured time of a step lies.

    Args:
        step: the graph of a step.
        seconds: its predicted time.
        network: its time with all collectives at the lower and at the upper ends of their intervals, over its predicted
            time. Published steps mostly had networks faster than their computing, so that a slow network is a doubt
            of its own.
        scaled: its time with all computing at the ends of `SCALED`, over its predicted time, where the operations of
            its GPU were not measured.
        eager: seconds of the same step in eager PyTorch, where it is compiled; 0 where it is not.
        waiting: seconds of the same step where computing waits for a gather of each tensor, in stage 3 of ZeRO; 0 in
            others.
        kernels: seconds of the same step in eager PyTorch, where every GPU holds the whole model and nobody said which
            kernels run it; 0 in others. The published steps are mostly of fused kernels in 16 bits and of GPUs that
            clock lower in long runs.

    Returns:
        The interval.
    """
    kind = classify_step(step)
    ratios = load_step_ratios()[kind]
    # The interval of published steps and the doubt of the network are two doubts, joined as independent ones.
    low, high = (_join_doubts(*bounds) for bounds in zip((ratios.low, ratios.high), network, strict=True))
    reason = Sentence(
        "four in five steps of {kind} from sources that were left out took {low} to {high} of the predicted time "
        "({rows} published steps of {sources} {sources:source|sources}, and those of other kinds)",
        rows=ratios.rows,
        kind=_LABELS[kind],
        sources=ratios.sources,
        low=f"{ratios.low:.2f}",
        high=f"{ratios.high:.2f}",
    )
    # A doubt of the network too small to be seen in two digits is not told.
    if max(network) > _NOTED * min(network):
        template = (
            "{reason}; with its collectives at the ends of their intervals it takes {fast} to {slow} of that time"
        )
        reason = Sentence(template, reason=reason, fast=f"{network[0]:.2f}", slow=f"{network[1]:.2f}")
    if waiting > _NOTED * seconds:
        # DeepSpeed did until 2021 (pull request 1188), and does where modules are small (its issue 5047).
        high = _join_doubts(high, waiting / seconds)
        template = "{reason}; where it waits for each tensor, as DeepSpeed may, it takes {slow} of that time"
        reason = Sentence(template, reason=reason, slow=f"{waiting / seconds:.2f}")
    if max(scaled) > _NOTED * min(scaled):
        low, high = _join_doubts(low, min(scaled)), _join_doubts(high, max(scaled))
        template = "{reason}; with this GPU's speed scaled from an H100's it takes {fast} to {slow} of that time"
        reason = Sentence(template, reason=reason, fast=f"{scaled[0]:.2f}", slow=f"{scaled[1]:.2f}")
    if kernels and not 1 / _NOTED < kernels / seconds < _NOTED:
        low, high = _join_doubts(low, min(1.0, kernels / seconds)), _join_doubts(high, max(1.0, kernels / seconds))
        template = "{reason}; in eager PyTorch (compute='eager') it takes {ratio} of that time"
        reason = Sentence(template, reason=reason, ratio=f"{kernels / seconds:.2f}")
    if eager:
        fast, slow = (share * eager / seconds for share in COMPILED)
        low, high = _join_doubts(low, min(1.0, fast)), _join_doubts(high, max(1.0, slow))
        template = "{reason}; torch.compile was not measured: published steps took {fast} to {slow} of the eager time"
        reason = Sentence(template, reason=reason, fast=f"{COMPILED[0]:.2f}", slow=f"{COMPILED[1]:.2f}")
    return StepInterval(seconds * low, seconds * high, kind, reason)


def _join_doubts(ratio: float, network: float) -> float:
    """The end of an interval for two independent doubts, of which each alone would put it at a ratio: logarithms add as
    squares."""
    width = math.log(ratio)
    return math.exp(width + math.copysign(math.hypot(width, math.log(network)) - abs(width), network - 1))


@cache
def load_step_ratios() -> Mapping[str, StepRatios]:
    """Read the ratios of each kind of step."""
    return {
        row["kind"]: StepRatios(float(row["low"]), float(row["high"]), int(row["rows"]), int(row["sources"]))
        for row in read_csv(__file__, "step_intervals.csv")
    }
