"""What can be asked about a step of training. Every number is read from the step, or from the step with something
changed; wrong choices are what the common mistakes come to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import CollsimError
from ...locale import Text, build_text, join_texts, repeat_text
from ...train import DDP, StepTrace
from ...train.memory import MEMORY_KINDS
from ...units import format_bytes, format_time
from .kinds import Random, _build_choice
from .question import Alternative, Question

_ACCUMULATED = 4
_SMALL = 2**20  # bytes of a bucket that is asked about


def _text(key: str, **values: object) -> Text:
    """A text of this module in every language."""
    return build_text("quiz", f"steps.{key}", **values)


@dataclass(frozen=True, eq=False)
class QuestionStep:
    """A step of training, with what several questions need of it.

    Attributes:
        trace: The step.
    """

    trace: StepTrace

    @property
    def ddp(self) -> bool:
        """Is it DDP, with allreduces beside the backward pass, after the first step?"""
        parallel = self.trace.request.parallel
        return parallel.name == "ddp" and parallel.overlap and self.trace.request.step > 1

    @cached_property
    def buckets(self) -> list[int]:
        """Numbers of the tasks that are buckets, of the last microbatch."""
        tasks = self.trace.step.tasks
        last = max((task.microbatch for task in tasks if task.bucket >= 0), default=0)
        return [i for i in self.trace.step.collectives if tasks[i].bucket >= 0 and tasks[i].microbatch == last]

    def changed(self, **changes: object) -> StepTrace | None:
        """The step with something changed; None where that cannot be (memory, say)."""
        try:
            return self.trace.what_if(**changes)
        except CollsimError:
            return None


def _format_time(seconds: float) -> Text:
    return repeat_text(format_time(seconds))


def _format_size(nbytes: float) -> Text:
    return repeat_text(format_bytes(round(nbytes)))


def _format_count(many: int) -> Text:
    return _text("allreduce", many=many)


def _build_wrong_answers(*ideas: tuple[Text, Text]) -> list[Alternative]:
    return [Alternative(text, reason) for text, reason in ideas]


def _ask_buckets(run: QuestionStep, random: Random) -> Question | None:
    """How many allreduces with buckets of 1 MiB: tensors are not split."""
    parallel, model = run.trace.request.parallel, run.trace.step.model
    if not isinstance(parallel, DDP) or (small := run.changed(bucket=_SMALL)) is None:
        return None
    count = len(small.request.parallel.list_bucket_bytes(model))  # type: ignore[attr-defined]
    even = math.ceil(model.nbytes / _SMALL)
    size = format_bytes(model.nbytes)
    ask = _text("has_gradient_tensors_all", model_name=model.name, tensors=len(model.tensors), size=size)
    explanation = _text("bucket_closes_as_soon", count=count)
    right = Alternative(_format_count(count), _text("bucket_cap_mb_lower", mean=format_bytes(model.nbytes / count)))
    wrong = _build_wrong_answers(
        (_format_count(even), _text("would_split_tensors_at")),
        (_format_count(len(model.tensors)), _text("one_each_tensor_small")),
        (_format_count(1), _text("one_bucket_first_step")),
    )
    return _build_choice("buckets", ask, explanation, right, wrong, random)


def _ask_exposed_collective(run: QuestionStep, random: Random) -> Question | None:
    """Which bucket is exposed longest."""
    if not run.ddp or len(run.buckets) < 2:
        return None
    trace = run.trace
    waits = [float(trace.waits[i]) for i in run.buckets]
    most = int(np.argmax(waits))
    # Where no bucket waits, "which waits longest" has no answer.
    if waits[most] <= 0.001 * trace.time:
        return None
    sizes = [format_bytes(trace.step.tasks[i].nbytes) for i in run.buckets]
    names = [_text("bucket", number=k, size=size) for k, size in enumerate(sizes)]
    ask = _text("buckets_go_out_order")
    explanation = _text("gpus_wait_others_run", beside=format_time(waits[most]))
    right = Alternative(names[most], _text("nothing_left_compute_beside"))
    largest = max(range(len(names)), key=lambda k: trace.step.tasks[run.buckets[k]].nbytes)
    # The largest and the ends of the order are the guesses that people make.
    others = [k for k in dict.fromkeys((largest, 0, len(names) - 1, *range(len(names)))) if k != most]
    wrong = [Alternative(names[k], _text("gpus_wait_only", beside=format_time(waits[k]))) for k in others]
    return _build_choice("exposed", ask, explanation, right, wrong, random)


def _ask_exposed_time(run: QuestionStep, random: Random) -> Question | None:
    """How long GPUs wait for the network."""
    t = run.trace
    if not t.communication:
        return None
    last = t.communication / 2
    if run.buckets:
        last = t.end[run.buckets[-1]] - t.begin[run.buckets[-1]]
    ask = _text("all_collectives_step_take", communication=format_time(t.communication))
    explanation = _text("communication_runs_beside_computing", overlapped=f"{100 * t.overlapped:.3g}")
    without_network = format_time(t.time - t.exposed)
    right = Alternative(
        _format_time(t.exposed),
        _text("communication_without_computing_beside", time=format_time(t.time), without=without_network),
    )
    wrong = _build_wrong_answers(
        (_format_time(t.communication), _text("as_if_nothing_ran")),
        (_format_time(0.0), _text("as_if_all_were")),
        (_format_time(float(last)), _text("all_last_bucket")),
        (_format_time(t.communication / 2), _text("half_nobody_s_rule", overlapped=f"{100 * t.overlapped:.3g}")),
    )
    return _build_choice("waits", ask, explanation, right, wrong, random)


def _ask_first_step(run: QuestionStep, random: Random) -> Question | None:
    """What the first step takes."""
    if not run.ddp or (first := run.changed(first_step=True)) is None:
        return None
    t = run.trace
    ask = _text("steady_step_takes_how", time=format_time(t.time))
    explanation = _text("order_gradients_not_known")
    right = Alternative(
        _format_time(first.time),
        _text("nothing_overlaps", exposed=format_time(first.exposed), before=format_time(t.exposed)),
    )
    wrong = _build_wrong_answers(
        (_format_time(t.time), _text("as_if_buckets_were")),
        (_format_time(t.time + t.communication), _text("adds_all_communication_whole")),
        (_format_time(t.computing), _text("computing_alone")),
    )
    return _build_choice("first", ask, explanation, right, wrong, random)


def _ask_doubled_network(run: QuestionStep, random: Random) -> Question | None:
    """What links twice as fast buy."""
    if not run.trace.communication or (fast := run.changed(network=2)) is None:
        return None
    t = run.trace
    ask = _text("step_takes_all_links", time=format_time(t.time))
    explanation = _text("gpus_waited_network_now", before=format_time(t.exposed), now=format_time(fast.exposed))
    right = Alternative(_format_time(fast.time), _text("only_was_exposed_can", exposed=format_time(t.exposed)))
    wrong = _build_wrong_answers(
        (_format_time(t.time / 2), _text("computing_does_not_get")),
        (_format_time(t.time - t.communication / 2), _text("most_communication_was_hidden")),
        (_format_time(t.time - t.exposed), _text("would_be_network_takes")),
        (_format_time(t.time), _text("would_be_so_if")),
    )
    return _build_choice("network", ask, explanation, right, wrong, random)


def _ask_no_sync(run: QuestionStep, random: Random) -> Question | None:
    """What a GPU sends in a step of several microbatches, with no_sync."""
    if not run.ddp:
        return None
    quiet = run.changed(accumulate=_ACCUMULATED, no_sync=True)
    loud = run.changed(accumulate=_ACCUMULATED, no_sync=False)
    if quiet is None or loud is None:
        return None
    rank = run.trace.step.lanes[0][0]
    sent, all_ = quiet.sent_bytes[rank], loud.sent_bytes[rank]
    ask = _text("step_microbatches_no_sync", accumulated=_ACCUMULATED, rank=rank)
    explanation = _text("gradients_added_up_on", all=format_bytes(all_))
    right = Alternative(
        _format_size(sent), _text("one_allreduce_every_bucket", count=len(run.buckets), accumulated=_ACCUMULATED)
    )
    wrong = _build_wrong_answers(
        (_format_size(all_), _text("sends_without_no_sync")),
        (_format_size(sent / _ACCUMULATED), _text("sums_as_large_as")),
        (_format_size(run.trace.step.model.nbytes), _text("one_copy_gradients_ring")),
    )
    return _build_choice("no_sync", ask, explanation, right, wrong, random)


def _ask_hub(run: QuestionStep, random: Random) -> Question | None:
    """What GPU 0 sends in DataParallel, against a rank of DDP."""
    t = run.trace
    if not t.request.parallel.is_one_process or t.step.ranks < 3:
        return None
    root, other = t.step.lanes[0][0], t.step.lanes[1][0]
    sent, n = t.sent_bytes[root], t.step.ranks
    ask = _text("dataparallel_on_gpus_how", n=n, root=root)
    by_nccl = t.request.parallel.uses_nccl
    key = "broadcasts_with_copies"
    if by_nccl:
        key = "broadcasts_with_nccl"
    explanation = _text(key, model_nbytes=format_bytes(t.step.model.nbytes))
    right = Alternative(_format_size(sent), _text("parameters_out_its_share"))
    gradient_bytes = t.step.model.nbytes
    wrong = _build_wrong_answers(
        (_format_size(2 * (n - 1) / n * gradient_bytes), _text("rank_ddp_ring")),
        (_format_size((n - 1) * gradient_bytes), _text("counts_parameters_each_others")),
        (_format_size(gradient_bytes), _text("parameters_once_no_inputs")),
        (_format_size(t.sent_bytes[other]), _text("gpu_sends", other=other)),
    )
    return _build_choice("hub", ask, explanation, right, wrong, random)


def _ask_largest_memory(run: QuestionStep, random: Random) -> Question | None:
    """Which kind of memory is the largest on the fullest GPU."""
    sizes = {kind: size for kind, size in run.trace.memory.peak().items() if size}
    order = sorted(sizes, key=lambda kind: -sizes[kind])
    # A tie would make two answers right.
    if len(order) < 3 or sizes[order[0]] == sizes[order[1]]:
        return None

    ask = _text("fullest_gpu_holds_most", total=format_bytes(sum(sizes.values())))
    parts = [
        _text("kind_and_size", kind=MEMORY_KINDS[kind].texts, size=format_bytes(sizes[kind])) for kind in order[:3]
    ]
    explanation = _text("largest_kinds", kinds=join_texts("clauses", parts))
    grows = _text("grows_model")
    if order[0] == "activations":
        grows = _text("grows_samples_gpu")
    right = Alternative(MEMORY_KINDS[order[0]].texts, grows)
    wrong = [
        Alternative(MEMORY_KINDS[kind].texts, _text("only", sizes=format_bytes(sizes[kind]))) for kind in order[1:]
    ]
    return _build_choice("memory", ask, explanation, right, wrong, random)


def _ask_straggling_worker(run: QuestionStep, random: Random) -> Question | None:
    """Seconds of a step without overlap, as a number."""
    if not run.ddp or (plain := run.changed(overlap=False)) is None:
        return None
    t = run.trace
    ask = _text(
        "all_allreduces_step_take",
        communication=format_time(plain.communication),
        computing=format_time(plain.computing),
    )
    explanation = _text(
        "stay_exposed_overlap",
        computing=format_time(plain.computing),
        exposed=format_time(plain.exposed),
        plain_time=format_time(plain.time),
        time=format_time(t.time),
    )
    return Question("number", "overlap", ask, explanation, plain.time, "time", 0.05)


STEP_ASKERS: tuple[Callable[[QuestionStep, Random], Question | None], ...] = (
    _ask_exposed_time,
    _ask_buckets,
    _ask_straggling_worker,
    _ask_exposed_collective,
    _ask_hub,
    _ask_doubled_network,
    _ask_first_step,
    _ask_no_sync,
    _ask_largest_memory,
)
