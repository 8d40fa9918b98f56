"""Memory of each GPU over a step, by kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..dtypes import Floats
from ..errors import CollsimError, Sentence
from ..errors.dependencies import pandas as pd
from .workload.step_graph import TrainingStep

#: What GPUs hold, by its kind, in words.
MEMORY_KINDS = {
    kind.key: kind
    for kind in (
        Sentence("parameters"),
        Sentence("buffers"),
        Sentence("optimizer"),
        Sentence("gradients"),
        Sentence("whole gradients"),
        Sentence("buckets"),
        Sentence("compressed"),
        Sentence("gathered"),
        Sentence("activations"),
        Sentence("inputs and outputs"),
        Sentence("replica"),
        Sentence("replica's gradients"),
        Sentence("shard"),
        Sentence("workspaces"),
    )
}


@dataclass(frozen=True, eq=False, repr=False)
class Memory:
    """What GPUs hold while a step runs: what stays (weights, optimizer, buckets), and what comes and goes (activations,
    gradients). Eager PyTorch on an H100 has gradients of activations, samples and cuBLAS' workspaces, too. The
    allocator's rounding, workspaces of convolutions and the context of CUDA (about 0.5 GB) are not in it.

    Attributes:
        step: whose.
        begin: (tasks,) s at which each task begins.
        end: (tasks,) s at which each task ends.

    Examples:
        >>> import collsim as cs
        >>> step = cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), batch=256)
        >>> step.memory.list_kinds()
        ['parameters', 'buffers', 'optimizer', 'buckets', 'activations', 'gradients']
    """

    step: TrainingStep
    begin: Floats
    end: Floats

    def list_kinds(self, lane: int = 0) -> list[str]:
        """What a lane's GPUs hold, by name.

        Args:
            lane: Number of the lane: ranks that do the same, drawn as one row.
        """
        return list(dict.fromkeys([*self.step.resident_bytes[lane], *(kind for kind, *_ in self._alive[lane])]))

    @cached_property
    def _alive(self) -> list[list[tuple[str, float, int, int]]]:
        """Of each lane what comes and goes: kind, bytes, first and last task."""
        out: list[list[tuple[str, float, int, int]]] = [[] for _ in self.step.lanes]
        for lane, *rest in self.step.allocations:
            out[lane].append(tuple(rest))  # type: ignore[arg-type]
        return out

    def trace_bytes(self, lane: int = 0) -> tuple[Floats, Floats]:
        """Follow the memory of a lane over the step. A task's memory is there when it begins; what lives until its end
        is gone when the next begins.

        Args:
            lane: Number of the lane.

        Returns:
            (moments,) s, and (moments, kinds) bytes from each of them on, kinds as `list_kinds` has them.
        """
        kinds, resident = self.list_kinds(lane), self.step.resident_bytes[lane]
        # Sorted by moment, then by number of the task. What task k frees has k + 0.5: at the same moment it goes
        # behind what task k itself takes and before what task k + 1 takes. What is there all the time comes first.
        changes: list[tuple[float, float, str, float]] = [
            (0.0, -1.0, kind, float(size)) for kind, size in resident.items()
        ]
        for kind, size, first, last in self._alive[lane]:
            changes += [(self.begin[first], first, kind, size), (self.end[last], last + 0.5, kind, -size)]
        changes.sort(key=lambda change: change[:2])
        steps, column = np.zeros((len(changes), len(kinds))), {kind: i for i, kind in enumerate(kinds)}
        steps[np.arange(len(changes)), [column[kind] for _, _, kind, _ in changes]] = [size for *_, size in changes]
        return np.array([moment for moment, *_ in changes]), np.maximum(np.cumsum(steps, axis=0), 0.0)

    @cached_property
    def _peaks(self) -> list[dict[str, int]]:
        out = []
        for lane in range(len(self.step.lanes)):
            _, sizes = self.trace_bytes(lane)
            top = []
            if len(sizes):
                top = sizes[int(np.argmax(sizes.sum(axis=1)))]
            out.append({kind: round(size) for kind, size in zip(self.list_kinds(lane), top, strict=True)})
        return out

    def peak(self, rank: int | None = None) -> dict[str, int]:
        """List what a GPU holds in its fullest moment.

        Args:
            rank: The GPU's rank; None for the fullest GPU.

        Returns:
            Bytes by kind.

        Raises:
            CollsimError: The rank takes no part in the step.
        """
        if rank is None:
            totals = [sum(peak.values()) for peak in self._peaks]
            return dict(self._peaks[totals.index(max(totals))])
        for lane, ranks in enumerate(self.step.lanes):
            if rank in ranks:
                return dict(self._peaks[lane])
        message = "rank {rank!r} takes no part in this step; its ranks are {lanes}"
        raise CollsimError(message, rank=rank, lanes=sorted(sum(self.step.lanes, ())))

    def bound(self) -> float:
        """Bytes that no GPU exceeds: all that it ever holds, as if nothing were freed."""
        most = [float(sum(resident.values())) for resident in self.step.resident_bytes]
        for lane, _, nbytes, *_ in self.step.allocations:
            most[lane] += max(0.0, nbytes)
        return max(most)

    def max(self) -> int:
        """Bytes that the fullest GPU holds in its fullest moment."""
        return sum(self.peak().values())

    def to_frame(self) -> pd.DataFrame:
        """A row per moment and lane: lane, gpus (how many), time (s), bytes of each kind, total."""
        parts = []
        for lane, ranks in enumerate(self.step.lanes):
            moments, sizes = self.trace_bytes(lane)
            frame = pd.DataFrame(sizes, columns=self.list_kinds(lane))
            frame.insert(0, "time", moments)
            frame.insert(0, "gpus", len(ranks))
            frame.insert(0, "lane", lane)
            parts.append(frame)
        frame_of_all = pd.concat(parts, ignore_index=True).fillna(0.0)
        frame_of_all["total"] = frame_of_all.drop(columns=["lane", "gpus", "time"]).sum(axis=1)
        return frame_of_all

    def __repr__(self) -> str:
        return f"<Memory {', '.join(f'{k} {v / 1e9:.3g} GB' for k, v in self.peak().items() if v)}>"
