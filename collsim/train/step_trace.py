"""A StepTrace: when every task of a step ran, and what follows from it. Read-only; drawing lives in viz."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import Floats, Longs
from ..errors.arguments import check_call
from ..errors.attributes import NamesNearAttributes
from ..errors.dependencies import pandas as pd
from ..simulate.trace import views
from ..topology import Topology
from ..topology.parts.rank_selection import describe_ranks
from ..units import format_bytes, format_time
from .compute.compute_costs import ComputeCosts, parse_gpu
from .compute.eager_speed import EagerSpeed, get_eager_speed
from .compute.gpu_speeds import HOPPER
from .memory import Memory
from .parallel.model_parallel import ExpertParallel
from .timing.isolated_timing import time_alone
from .timing.path_shares import share_network_time
from .timing.step_interval import SCALED, StepInterval, compute_step_interval
from .timing.time_spans import intersect_spans, measure_spans, merge_spans, subtract_spans
from .workload.expert_load import ExpertLoad
from .workload.step_graph import Spans, TrainingStep, list_busy_spans

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from .step_request import StepRequest

#: Share of a step's time below which a time is a rounding error.
_ROUNDED = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class StepTrace(NamesNearAttributes):
    """When every task of a step ran.

    Attributes:
        step: what ran.
        topology: where it ran.
        begin: (tasks,) s at which each task begins.
        end: (tasks,) s at which each task ends.
        costs: seconds of computing with nothing beside it, and the GPU.
        interference: share of its speed that a GPU lost while it communicated.
        request: the arguments of `training_step`.
        previous: the StepTrace that `what_if` started from.
        notes: what was assumed.
        link_bytes: (links,) bytes over each directed link, where links were simulated; None where each collective was
            timed alone.

    Examples:
        >>> import collsim as cs
        >>> trace = cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), batch=256)
        >>> trace.exposed < 0.1 * trace.time  # most of the allreduces run beside the backward pass
        True
    """

    step: TrainingStep
    topology: Topology
    begin: Floats
    end: Floats
    costs: ComputeCosts
    interference: float
    request: StepRequest
    previous: StepTrace | None = None
    notes: tuple[str, ...] = ()
    link_bytes: Longs | None = field(default=None)

    # ---- the figures ------------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Seconds of the step, from the first forward (or broadcast) to the end of the optimizer."""
        return float(self.end.max(initial=0.0))

    @cached_property
    def _lanes(self) -> list[tuple[int, Spans, Spans]]:
        """For each lane: how many GPUs, when they compute, when they communicate."""
        compute, network = list_busy_spans(self.step, self.begin, self.end)
        return [
            (len(ranks), merge_spans(c), merge_spans(n))
            for ranks, c, n in zip(self.step.lanes, compute, network, strict=True)
        ]

    def _average(self, values: list[float]) -> float:
        return sum(n * v for (n, *_), v in zip(self._lanes, values, strict=True)) / self.step.ranks

    @cached_property
    def communication(self) -> float:
        """Seconds in which a GPU takes part in a collective, on average over GPUs."""
        return self._average([measure_spans(network) for _, _, network in self._lanes])

    @cached_property
    def computing(self) -> float:
        """Seconds that a GPU computes, on average over GPUs, if nothing slows it down."""
        seconds = [0.0] * len(self.step.lanes)
        for task, spent in zip(self.step.tasks, self.costs.seconds.tolist(), strict=True):
            for lane in task.lanes if task.is_compute else ():
                seconds[lane] += spent
        return self._average(seconds)

    @cached_property
    def _overlapped_time(self) -> float:
        return self._average([measure_spans(intersect_spans(compute, network)) for _, compute, network in self._lanes])

    @cached_property
    def interval(self) -> StepInterval:
        """Where four in five measured times of such a step lie: from published steps of its kind and from the intervals
        of its collectives, where NCCL's model times them."""
        from .step_request import get_collective_model

        ends = get_collective_model(self.request).list_interval_ratios(self.step)
        fast, expected, slow = map(self.time_scaled_collectives, (ends[0], np.ones(len(self.end)), ends[1]))
        doubts = {"network": (fast / expected, slow / expected), "scaled": (1.0, 1.0)}
        compiled, waiting, speed = 0.0, 0.0, self.costs.speed
        if isinstance(speed, EagerSpeed) and self.costs.label == speed.label:
            if speed.compile != "none":
                compiled = self.what_if(compute=replace(speed, compile="none")).time
            if speed.gpu not in HOPPER:
                low, high = (self._time_scaled_tasks(ratio, 1.0) / expected for ratio in SCALED)
                doubts["scaled"] = low, high
        if "zero(3" in self.step.label and "coalesce=False" not in self.step.label:
            waiting = self.what_if(overlap=False, coalesce=False).time
        return compute_step_interval(
            self.step, self.time, **doubts, eager=compiled, waiting=waiting, kernels=self.eager_time
        )

    @cached_property
    def eager_time(self) -> float:
        """Seconds of the step in eager PyTorch, as its script runs it, where every GPU holds the whole model and nobody
        said which kernels run it; 0 in others."""
        speed, gpu = self.costs.speed, parse_gpu(self.request.compute)
        if speed is None or isinstance(speed, EagerSpeed) or gpu is None or gpu.kernels:
            return 0.0
        if not self.request.parallel.holds_model:
            return 0.0
        eager = get_eager_speed(speed.gpu, speed.dtype, memory_format=speed.memory_format)
        return self.what_if(compute=eager, memory=2**60).time

    @check_call
    def time_scaled_collectives(self, ratios: Floats) -> float:
        """Time the step with collectives that take longer or shorter.

        Args:
            ratios: (tasks,) how many times as long each task takes; what computes keeps its time.

        Returns:
            Seconds of the step.

        Examples:
            >>> import collsim as cs
            >>> trace = cs.training_step("resnet50", "dgx-a100", parallel=cs.ddp(), batch=256)
            >>> trace.time_scaled_collectives(100.0 * np.ones(len(trace.end))) > 2 * trace.time
            True
        """
        return self._time_scaled_tasks(1.0, ratios)

    def _time_scaled_tasks(self, computing: float, collectives: Floats | float) -> float:
        """Seconds of the step where computing, and each collective, takes so many times as long."""
        seconds = computing * self.costs.seconds
        numbers = list(self.step.collectives)
        seconds[numbers] = (collectives * (self.end - self.begin))[numbers]
        return float(time_alone(self.step, seconds, self.interference)[1].max(initial=0.0))

    @cached_property
    def free_network_time(self) -> float:
        """Seconds of the same step on a network that costs nothing: collectives take no time and slow nothing down."""
        _, end = time_alone(self.step, self.costs.seconds, 0.0)
        return float(end.max(initial=0.0))

    @property
    def exposed(self) -> float:
        """Seconds that the network costs: the time of the step less its time on a network that costs nothing. Its parts
        are what GPUs wait for and `interference_time` (`split_exposed`); computing + exposed + bubble = time."""
        return self._drop_rounding(self.time - self.free_network_time, _ROUNDED)

    def _drop_rounding(self, seconds: float, share: float) -> float:
        """Seconds, or 0 where they are less than this share of the step's time."""
        if seconds > share * self.time:
            return seconds
        return 0.0

    @cached_property
    def waits(self) -> Floats:
        """(tasks,) s by which each collective makes the step longer, if computing beside it is not slowed."""
        seconds = self.costs.seconds.copy()
        for number in self.step.collectives:
            seconds[number] = self.end[number] - self.begin[number]
        return share_network_time(self.step, seconds)

    @property
    def interference_time(self) -> float:
        """Seconds of `exposed` that are no waiting: the time of the step less its time if every collective took as long
        and computing beside it was not slowed. Of a measured step: what it took beyond its collectives."""
        return self._drop_rounding(self.exposed - float(self.waits.sum()), 1e-9)

    @property
    def expert_load(self) -> ExpertLoad | None:
        """What each GPU has of the experts, and the share of tokens that is dropped; None where no experts are shared.

        Examples:
            >>> import collsim as cs
            >>> split = cs.expert(8, imbalance="hot", capacity_factor=1) * cs.zero(1)
            >>> step = cs.training_step("qwen3-30b-a3b", "dgx-h100", parallel=split, micro_batch=1, dtype="bfloat16")
            >>> f"{step.expert_load.dropped:.4f}"  # 4 of 131 tokens are the hot expert's, which takes one of 128
            '0.0227'
        """
        part = next((part for part in self.request.parallel.parts if isinstance(part, ExpertParallel)), None)
        return part.find_load(self.step.model) if part else None

    def split_exposed(self) -> pd.DataFrame:
        """What the network costs, by collective and group.

        Returns:
            A row for each strategy, kind, size and group of collectives, the most seconds first, and one for
            interference: strategy, kind, nbytes, ranks (of one of the groups that run it at the same time), groups (how
            many do), count (times in the step), each (s that one takes), exposed (s; the rows add up to `exposed`).

        Examples:
            >>> import collsim as cs
            >>> step = cs.training_step("resnet50", "dgx-a100", parallel=cs.ddp(), micro_batch=64)
            >>> bool(abs(step.split_exposed().exposed.sum() - step.exposed) < 1e-9 * step.time)
            True
        """
        from .network_waits import list_exposed_parts

        return pd.DataFrame(list_exposed_parts(self))

    @property
    def overlapped(self) -> float:
        """Part of the communication that runs beside computing, 0 to 1 (as HTA counts:
        facebookresearch/HolisticTraceAnalysis, hta/analyzers/communication_analysis.py); 0 where nothing is sent."""
        if self.communication:
            return self._overlapped_time / self.communication
        return 0.0

    @cached_property
    def exposed_spans(self) -> list[Spans]:
        """For each lane the times (begin, end in s) in which its GPUs communicate and do not compute."""
        return [subtract_spans(network, compute) for _, compute, network in self._lanes]

    @property
    def bubble(self) -> float:
        """Seconds in which a GPU would be idle on a network that costs nothing, on average over GPUs: it waits for
        other stages of a pipeline, or for a slower GPU."""
        return self._drop_rounding(self.time - self.computing - self.exposed, _ROUNDED)

    @cached_property
    def memory(self) -> Memory:
        """What each GPU holds over the step, by kind: `memory.max()` is the fullest GPU's bytes."""
        return Memory(self.step, self.begin, self.end)

    @property
    def peak_flops(self) -> float:
        """FLOP/s of one GPU that mfu and hfu are shares of: of the fastest unit that the step's layers use (TF32 for
        convolutions in float32), dense; NaN where it is not known."""
        fast = self.costs.speed
        if fast is None:
            return math.nan
        if any(layer.kind == "convolution" for layer in self.step.model.layers):
            return fast.convolution_peak or fast.peak
        return fast.peak

    @property
    def mfu(self) -> float:
        """Model FLOPs utilisation: three forward passes of every sample, attention in full and nothing recomputed, over
        what all GPUs could do in the time (Chowdhery et al. 2022, arXiv 2204.02311, appendix B); NaN where the GPU is
        not known."""
        if self.time:
            return self.step.flops / (self.time * self.peak_flops * self.step.ranks)
        return math.nan

    @property
    def hfu(self) -> float:
        """Hardware FLOPs utilisation: as mfu with what is computed a second time (recomputation)."""
        if self.step.flops:
            return self.mfu * (1 + self.step.recomputed_flops / self.step.flops)
        return self.mfu

    @property
    def samples_per_second(self) -> float:
        """Samples of all GPUs per second."""
        if self.time:
            return self.step.samples / self.time
        return math.inf

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all GPUs per second; NaN for models whose samples have none."""
        if self.step.model.tokens:
            return self.samples_per_second * self.step.model.tokens
        return math.nan

    @property
    def staleness(self) -> int:
        """Updates by other workers between a worker's reading of the weights and its own update; 0 where all wait for
        all."""
        return self.step.staleness

    @cached_property
    def sent_bytes(self) -> dict[int, int]:
        """Bytes that each rank sends in the step, by the schedules of its collectives."""
        from .link_traffic import count_rank_bytes

        return count_rank_bytes(self.step, self.topology, self.request)

    def count_crossing_bytes(self) -> pd.DataFrame:
        """Bytes that a GPU of each lane sends in the step, a row for each lane, strategy and kind of link:
        lane, strategy, link, nbytes, bandwidth (of such a link, B/s), time (s of its collectives)."""
        from .link_traffic import count_crossing_bytes

        return count_crossing_bytes(self)

    # ---- why --------------------------------------------------------------------------------------------------------

    @cached_property
    def critical_path(self) -> tuple[int, ...]:
        """Numbers of the tasks that decide the time, first to last: each begins when the one before it ends."""
        if not len(self.end):
            return ()
        chain = [int(np.argmax(self.end))]
        while before := self.step.predecessors[chain[-1]]:
            latest = max(before, key=lambda b: (self.end[b], b))
            if self.end[latest] < self.begin[chain[-1]] - 1e-9 * self.time:
                break
            chain.append(latest)
        return tuple(reversed(chain))

    def explain(self, language: str = "en") -> str:
        """Why the step takes as long as it does, in a few sentences; `language` is en or zh.

        Args:
            language: `en` or `zh`.
        """
        from .step_explanation import explain_step

        return explain_step(self, language)

    @check_call
    def what_if(self, **changes: object) -> StepTrace:
        """The same step with something changed; its `explain()` says what that does, and `was` is this one.

        Args:
            changes: network=2 (all links so many times as fast); first_step=True; overlap, bucket, hook, accumulate and
                all other options of its way of splitting (accumulate keeps the microbatch, so the batch grows); and
                whatever `training_step` takes: machine=, parallel=, batch=, dtype=, network="shared", interference= ...

        Raises:
            CollsimError: For what cannot be changed.
        """
        from .step_request import change_step

        return change_step(self, changes)

    # ---- tables and files -------------------------------------------------------------------------------------------

    @cached_property
    def _tasks(self) -> pd.DataFrame:
        frame = self.step.to_frame()
        frame.insert(0, "task", range(len(frame)))
        frame["ranks"] = [self.step.get_ranks(task) for task in self.step.tasks]
        frame["begin"], frame["end"], frame["time"] = self.begin, self.end, self.end - self.begin
        frame["critical"] = np.isin(frame["task"], self.critical_path)
        return frame

    @property
    def tasks(self) -> pd.DataFrame:
        """A row per task: task, name, kind, lanes, stream, after, layer, micro, bucket, flops, moved, ops, nbytes,
        algorithm, ranks, begin, end, time (s), critical."""
        return self._tasks.copy()

    def row(self) -> dict[str, Any]:
        """The figures as one flat record in SI units."""
        return {
            "model": self.step.model.name,
            "topology": self.topology.name,
            "parallel": self.step.label,
            "ranks": self.step.ranks,
            "batch": self.step.samples,
            "micro_batch": self.step.micro_batch,
            "dtype": self.step.dtype,
            "optimizer": self.request.optimizer,
            "recompute": self.request.recompute,
            "network": self.request.network,
            "time": self.time,
            "computing": self.computing,
            "communication": self.communication,
            "exposed": self.exposed,
            "interference_time": self.interference_time,
            "overlapped": self.overlapped,
            "bubble": self.bubble,
            "memory": self.memory.max(),
            "mfu": self.mfu,
            "hfu": self.hfu,
            "samples_per_second": self.samples_per_second,
            "tokens_per_second": self.tokens_per_second,
        }

    @check_call
    def plot(self, ax: object = None, language: str = "en") -> Any:  # matplotlib is known to `viz` alone
        """The timeline: two lanes for each kind of GPU, a colour for each bucket; a matplotlib Axes.

        Args:
            ax: Axes to draw into; None for a figure of its own.
            language: `en` or `zh`.
        """
        return views["step_plot"](self, ax, language)

    @check_call
    def animate(self, language: str = "en", **options: object) -> Any:
        """Show the timeline to be played, for a notebook cell; the player opens inside its collectives.

        Args:
            language: `en` or `zh`.
            **options: theme (`light` or `dark`), t (s at which it stands) and height (pixels).

        Returns:
            What the notebook displays.
        """
        return views["step_animate"](self, language, **options)

    def _repr_html_(self) -> str | None:
        if "step_html" not in views:
            return None
        text: str | None = views["step_html"](self)
        return text

    def _repr_png_(self) -> bytes | None:
        still: bytes | None = views["step_animate"](self)._repr_png_() if "step_animate" in views else None
        return still

    def script(self) -> str:
        """The PyTorch script that runs and times this step. Raises CollsimError for ways of splitting that PyTorch has
        no module for."""
        from .step_script import write_script

        return write_script(self)

    @check_call
    def launch_lines(self, init: str = "env://") -> str:
        """The lines that start the script: torchrun on every node (`env://`), or one for each process (`tcp://`).

        Args:
            init: `env://` or `tcp://`: how the processes find each other.
        """
        from .step_script import write_launch_lines

        return write_launch_lines(self, init)

    @check_call
    def save(self, path: str | PathLike[str]) -> Path:
        """Write the step to a file.

        Args:
            path: `x.html` (the timeline to be played, offline), `x.trace.json` (Perfetto, chrome://tracing), `x.et`
                (Chakra, a file per GPU), `x.json`, `x.csv` (a row per task), `x.py` (the PyTorch script) or a picture.

        Returns:
            The path.

        Raises:
            CollsimError: The suffix is another, or the step cannot be written so.
        """
        from .step_export import save_step

        return save_step(self, path)

    def __repr__(self) -> str:
        return (
            f"<StepTrace {self.step.model.name}, {self.step.label} on {self.topology.name}: {format_time(self.time)}>"
        )

    def __str__(self) -> str:
        peak_bytes, again = self.memory.peak(), self.request.recompute
        says = self.costs.label + (f", {again} recomputation" if again != "none" else "")
        ranks = self.request.ranks
        used = f"ranks    {describe_ranks(self.topology, np.array(ranks))}"
        lines = [
            f"{self.step.model.name}, {self.step.label} on {self.topology.name}",
            *[used] * (len(ranks) < self.topology.ranks),
            f"batch    {self.step.samples:,}, {self.step.micro_batch} on a GPU at a time; computing: {says}",
            f"time     {format_time(self.time)}, {_format_rate(self.samples_per_second)} samples/s",
            f"exposed  {format_time(self.exposed)}: {format_time(self.exposed - self.interference_time)} of waiting, "
            f"{format_time(self.interference_time)} of interference",
            f"network  {format_time(self.communication)}, {100 * self.overlapped:.3g} % of it beside computing",
            f"bubble   {format_time(self.bubble)}",
            f"memory   {format_bytes(sum(peak_bytes.values()))} on the fullest GPU",
            f"mfu      {100 * self.mfu:.3g} % of {self.peak_flops / 1e12:g} TFLOP/s"
            if not math.isnan(self.mfu)
            else "mfu      not known",
        ]
        return "\n".join(lines)


def _format_rate(per_second: float) -> str:
    """Three digits, or all before the point."""
    if per_second >= 100:
        return f"{per_second:,.0f}"
    return f"{per_second:.3g}"
