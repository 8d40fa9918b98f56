"""How long a step takes and what it holds, by formula: what a search goes by before it runs the best.

A pipeline's microbatches come as fast as its slowest stage lets them, or as fast as the first stage gets back those
that are under way: 1F1B keeps p − r of them on rank r. Interleaving divides the first and last pass by its stages.
Computing, collectives and memory are those of the step itself; tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..dtypes import Bools, Floats, Longs
from .compute.gpu_speeds import GpuSpeed
from .parallel.combined_split import Split
from .parallel.replica_sync import ReplicaSync, UnitEstimate
from .parallel.sharded_units import CollectiveCall, ModelUnit, find_backward_peak
from .parallel.split_builder import ComputedWork, PassTasks, SplitBuilder, build_pass
from .parallel.strategy import OPTIMIZERS, Workload
from .pipelines.pass_orders import build_rank_order
from .pipelines.passes import FORWARD
from .workload.collective_model import CollectiveModel
from .workload.step_graph import CollectiveOptions, StepTask


@dataclass(frozen=True)
class StepEstimate:
    """Seconds of a step, its parts, and bytes on the fullest GPU.

    Attributes:
        computing: s that the slowest stage computes.
        layer_collectives: s of its collectives inside layers (tensor, context, expert).
        bubble: s that the pipeline waits.
        data_collectives: s of gradients and weights that nothing hides.
        memory_bytes: bytes on the fullest GPU.
        activation_bytes: bytes of activations among them.
    """

    computing: float
    layer_collectives: float
    bubble: float
    data_collectives: float
    memory_bytes: float
    activation_bytes: float

    @property
    def time(self) -> float:
        """Seconds of the step."""
        return self.computing + self.layer_collectives + self.bubble + self.data_collectives


class StepEstimator:
    """Estimates of one model's steps on one topology. Blocks that are alike are worked out once, and collectives of a
    kind, size and shape of group."""

    def __init__(self, network: CollectiveModel, fast: GpuSpeed):
        """Begin with nothing estimated.

        Args:
            network: Times of collectives on the topology.
            fast: The GPU.
        """
        self.network, self.fast = network, fast
        self.units: dict[Hashable, UnitEstimate] = {}
        self.collectives: dict[Hashable, float] = {}
        self.unit_kinds: dict[Hashable, int] = {}
        self.unit_keys: dict[int, int] = {}

    def estimate(self, split: Split, workload: Workload) -> StepEstimate:
        """Estimate a step.

        Args:
            split: The strategy.
            workload: Model, GPUs, samples and types of the step.

        Returns:
            Seconds of its parts, and bytes on the fullest GPU.

        Raises:
            CollsimError: The model or the GPUs cannot be split so.
        """
        builder = SplitBuilder(split, workload)
        m, p, v = workload.accumulate, split.pipeline.size, split.pipeline.interleave
        stages: list[list[_Stage]] = [[] for _ in range(p)]
        estimates: dict[Hashable, UnitEstimate] = {}
        for stage, lane in zip(builder.stages, builder.stage_ranks, strict=True):
            stages[lane].append([(unit, self.estimate_unit(builder, unit, estimates)) for unit in stage])
        lanes = [[pair for stage in pairs for pair in stage] for pairs in stages]
        works = [sum(u.forward + u.backward for _, u in pairs) for pairs in lanes]
        slow = max(range(p), key=works.__getitem__)
        hop = self.time_hop(builder)
        if v == 1:
            around, loop = works[-1], 0.0
            for r in range(p - 1, -1, -1):  # what rank r waits for until the microbatches under way are back
                loop += works[r]
                around = max(around, (loop + 2 * (p - 1 - r) * hop) / (p - r))
            total = loop + 2 * (p - 1) * hop + (m - 1) * around
        else:
            total = m * works[slow] + (p - 1) * (works[slow] / v + 2 * hop)
        inside = m * sum(u.inside for _, u in lanes[slow])
        data = builder.replica_sync.estimate_exposed_time(
            lanes[slow], slow, self.time_collective, self.fast.interference
        )
        update = self.time_update(builder, slow)
        # Stages between the ends hold less than the first.
        ends = [self.estimate_memory(builder, stages[lane], lane) for lane in {0, p - 1}]
        activations, memory = max(ends, key=lambda pair: pair[1])
        return StepEstimate(
            m * works[slow] - inside + update, inside, total - m * works[slow], data, memory, activations
        )

    def estimate_unit(
        self, builder: SplitBuilder, unit: ModelUnit, known: dict[Hashable, UnitEstimate]
    ) -> UnitEstimate:
        """Estimate a unit on the first lane: all lanes are placed alike.

        Args:
            builder: The split's stages and groups.
            unit: The unit.
            known: Estimates of other units of the same split, by what they are; the unit's is added.

        Returns:
            Seconds and bytes of a microbatch.
        """
        # Equal units at equal places take as long: a model of 96 blocks is estimated block by kind.
        what = id(unit.partition), self.get_unit_key(unit), unit.tied_elements
        if what in known:
            return known[what]
        key = (
            unit.partition,
            *what[1:],
            builder.placement.grid.pp,
            builder.placement.grid.dp,
            has_partner := builder.workload.accumulate > 1,
        )
        if key not in self.units:
            passes = [build_pass((unit,), kind, has_partner=has_partner) for kind in ("F", "B")]
            (there, a), (back, b) = (self.estimate_pass(builder, tasks) for tasks in passes)
            self.units[key] = UnitEstimate(
                there,
                back,
                a + b,
                unit.resident_bytes,
                unit.recomputed_bytes,
                unit.dense_parameters,
                unit.expert_parameters,
            )
        known[what] = self.units[key]
        return known[what]

    def get_unit_key(self, unit: ModelUnit) -> int:
        """Get a key that units have in common whose layers differ in their names only.

        Args:
            unit: The unit.

        Returns:
            The key.
        """
        first = unit.layers[0]  # the model holds it, so no other layer gets its identity
        if id(first) not in self.unit_keys:
            fields = tuple(
                tuple(value for field, value in vars(layer).items() if field != "name") for layer in unit.layers
            )
            self.unit_keys[id(first)] = self.unit_kinds.setdefault(fields, len(self.unit_kinds))
        return self.unit_keys[id(first)]

    def estimate_pass(self, builder: SplitBuilder, what: PassTasks) -> tuple[float, float]:
        """Estimate a pass through a unit.

        Args:
            builder: The split's stages and groups.
            what: The tasks of the pass.

        Returns:
            Seconds of the pass, and of its collectives that nothing hides.
        """
        layers = builder.workload.model.layers

        def estimate_compute(part: ComputedWork) -> float:
            return self.fast.estimate_box_seconds(part.layer_work, layers)

        def time_sends(messages: Iterable[CollectiveCall]) -> float:
            return sum(
                m.repeats
                * self.time_collective(
                    m.kind, m.nbytes, builder.placement.stream_groups[m.groups or m.stream][0], m.options
                )
                for m in messages
            )

        overlapped, hiding = estimate_compute(what.overlapped_work), estimate_compute(what.hiding_work)
        computed = estimate_compute(what.plain_work) + estimate_compute(what.final_work) + overlapped + hiding
        # What the ring sends beside attention is hidden; only the excess over computing counts. So it is with tokens on
        # their way to experts.
        hidden_by = hiding if what.hiding_work.layer_work else computed
        inside = time_sends(what.collectives) + max(0.0, time_sends(what.ring_hops) - overlapped)
        inside += max(0.0, time_sends(what.hidden_calls) - hidden_by)
        return computed + inside, inside

    def time_collective(
        self, kind: str, nbytes: int, groups: tuple[tuple[int, ...], ...], options: CollectiveOptions = ()
    ) -> float:
        """Time a collective of groups that run it at the same time.

        Args:
            kind: Kind of collective.
            nbytes: Its size in bytes, as nccl-tests counts it.
            groups: Ranks of each group.
            options: Options of its algorithm.

        Returns:
            The time in s.
        """
        key = kind, nbytes, groups[0], len(groups) > 1, options
        if key not in self.collectives:
            task = StepTask("", kind, (0,), nbytes=nbytes, groups=groups, options=options)
            self.collectives[key] = self.network.time_groups(groups, task)
        return self.collectives[key]

    def time_hop(self, builder: SplitBuilder) -> float:
        """Time what a pass of a pipeline takes from one stage to the next.

        Args:
            builder: The split's stages and groups.

        Returns:
            The time in s; 0 without a pipeline.
        """
        if len(builder.lanes) == 1:
            return 0.0
        unit = next(stage[-1] for stage in builder.stages if stage)
        size = round(unit.input_bytes / builder.part_count)
        gather = 0.0
        if builder.part_count > 1:
            gather = self.time_collective(
                "allgather", size * builder.part_count, builder.placement.stream_groups["tensor"][1]
            )
        return self.time_collective("send", size, builder.placement.pair_lanes(0, 1)[:1]) + gather

    def time_update(self, builder: SplitBuilder, lane: int) -> float:
        """Estimate what the optimizer's step takes.

        Args:
            builder: The split's stages and groups.
            lane: Number of the lane.

        Returns:
            The time in s.
        """
        optimizer = builder.workload.optimizer
        moved = OPTIMIZERS[optimizer][1] + (2 if builder.replica_sync.item_bytes < 4 else 0)
        nbytes = float(moved * builder.replica_sync.count_updated_parameters(lane))
        return max(self.fast.estimate_optimizer_times(nbytes, optimizer, builder.workload.model))

    def estimate_memory(self, builder: SplitBuilder, stages: list[_Stage], lane: int) -> tuple[float, float]:
        """Estimate the memory of a GPU of a lane.

        Args:
            builder: The split's stages and groups.
            stages: Units of each stage of the lane, with their estimates.
            lane: Number of the lane.

        Returns:
            Bytes of activations, and of all.
        """
        data, pairs = builder.replica_sync, [pair for stage in stages for pair in stage]
        rest = float(sum(data.count_resident_bytes(lane).values()))
        if builder.split.has_torch_buckets(builder.workload):
            rest += builder.workload.model.nbytes
        m, pipe = builder.workload.accumulate, builder.split.pipeline
        if (m == 1 or pipe.size == 1) and (
            data.is_built_by_unit("B", 0) or builder.split.has_torch_buckets(builder.workload)
        ):
            # Two microbatches show the peak: from the second on nothing new is kept.
            gathered = data.estimate_gathered_bytes(pairs, min(m, 2))
            activations, moving = _find_peak(
                [[pair] for pair in pairs], data, *_list_unit_passes(len(pairs), min(m, 2)), gathered
            )
        else:
            steady = min(m, 3 * pipe.size)  # by then a rank has been as full as it gets
            activations, moving = _find_peak(
                stages, data, *_list_passes(pipe.schedule, pipe.size, lane, steady, pipe.interleave)
            )
        return activations, rest + moving


_Stage = list[tuple[ModelUnit, UnitEstimate]]
#: Of the passes of a rank in order: which of its stages, forward or not, the first backward pass of the stage or not.
_Passes = tuple[Longs, Bools, Bools]


@lru_cache(maxsize=4096)
def _list_passes(schedule: str, ranks: int, rank: int, micros: int, interleave: int) -> _Passes:
    entries = build_rank_order(schedule, ranks, rank, micros, interleave)
    actions = [action for entry in entries for action in entry]
    number = {stage: i for i, stage in enumerate(sorted({action.stage for action in actions}))}
    stage = np.array([number[action.stage] for action in actions])
    forward = np.array([action.kind == FORWARD for action in actions])
    first = np.zeros(len(actions), bool)
    for stage_number in range(len(number)):
        first[np.flatnonzero((stage == stage_number) & ~forward)[0]] = True
    return stage, forward, first


@lru_cache(maxsize=256)
def _list_unit_passes(units: int, micros: int) -> _Passes:
    """Unit by unit, as if each were a stage."""
    unit = np.concatenate([np.arange(units), np.arange(units)[::-1]])
    back = np.arange(2 * units) >= units
    first = np.arange(2 * units * micros) < 2 * units
    return np.tile(unit, micros), np.tile(~back, micros), np.tile(back, micros) & first


def _find_peak(
    stages: list[_Stage], data: ReplicaSync, stage: Longs, forward: Bools, first: Bools, beside: float | Floats = 0.0
) -> tuple[float, float]:
    """Most bytes of activations and gradients together, and what is `beside`, and of them activations. Activations come
    with the forward pass of a stage and go behind its backward pass, in which some are there again; gradients come with
    the first."""
    units = [[unit for unit, _ in pairs] for pairs in stages]
    gradients = [[data.count_kept_gradient_bytes(unit) for unit in listed] for listed in units]
    stays, added = np.array([[sum(u.resident for _, u in pairs) for pairs in stages], [sum(g) for g in gradients]])
    # Of a backward pass, in its fullest moment: (activations, gradients it has added), where gradients of an earlier
    # microbatch are there (0) and where they are not (1).
    peaks = np.array(
        [
            [find_backward_peak(listed, [times * nbytes for nbytes in sizes]) for times in (0, 1)]
            for listed, sizes in zip(units, gradients, strict=True)
        ]
    )
    inside = peaks[stage, first.astype(int)]
    kept_activations = np.cumsum(np.where(forward, stays[stage], -stays[stage]))
    kept_gradients = np.cumsum(added[stage] * first)
    activations = kept_activations + np.where(forward, 0.0, inside[:, 0])
    every = activations + kept_gradients + np.where(forward, 0.0, inside[:, 1] - added[stage] * first) + beside
    fullest = int(every.argmax())
    return float(activations[fullest]), float(every[fullest])
