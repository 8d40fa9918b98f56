"""Why a step takes as long as it does, in sentences: English and Chinese side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..errors import CollsimError, require_language
from ..locale import LANGUAGES, Text, build_text, join_texts, repeat_text
from ..nccl.machine.idle_cards import find_idle_cards
from ..nccl.machine.topology_facts import build_graph_search, read_facts
from ..units import format_bytes, format_percent, format_time
from .memory import MEMORY_KINDS
from .network_waits import NetworkWait, list_network_waits
from .step_request import is_known_to_nccl, is_timed_by_nccl
from .step_trace import StepTrace


def _text(key: str, **values: object) -> Text:
    """A text of this module in every language."""
    return build_text("train", f"step_explanation.{key}", **values)


def explain_step(trace: StepTrace, language: str = "en") -> str:
    """Sentences: what changed, what of the time the network takes and why, how much overlaps, memory, utilisation."""
    column = LANGUAGES.index(require_language(language))
    return join_texts("sentences", write_sentences(trace).values())[column]


def write_sentences(trace: StepTrace) -> dict[str, Text]:
    """The same by what they are about, in every language: change, network, cards, overlap, experts, staleness,
    idle, memory, use.

    Args:
        trace: With its counterfactuals; they are run where they are needed.
    """
    sentences = {
        "change": _describe_change(trace),
        "network": _describe_exposed(trace),
        "cards": _describe_idle_cards(trace),
        "overlap": _describe_overlap(trace),
        "experts": describe_experts(trace),
        "staleness": _describe_staleness(trace),
        "idle": _describe_idle(trace),
        "memory": _describe_memory(trace),
        "use": _describe_mfu(trace),
    }
    return {about: pair for about, pair in sentences.items() if pair is not None}


def explain_change(trace: StepTrace) -> Text:
    """Explain a change in a line: the part of the time that changed most, and what GPUs wait for now.

    Args:
        trace: A step that `what_if` made.

    Returns:
        The line in English and in Chinese.
    """
    was = trace.previous
    moved = None
    if was is not None:
        moved = _find_most_changed_part(was, trace)
    if was is None or moved is None:
        return _text("no_part_step_changes")
    # The part that changed most is what a reader looks for first.
    name, before, now = moved
    key = "now_per_old_batch"
    # With other numbers of samples two times are no comparison; they are brought to one number.
    if was.step.samples == trace.step.samples:
        key = "now"
    line = _text(key, part=_text(f"part.{name}"), before=format_time(before), now=format_time(now))
    if name == "exposed" and trace.exposed:
        return _text("now_with_waits", line=line, waits=describe_waits(trace))
    return _text("sentence", line=line)


def describe_change(trace: StepTrace, language: str = "en") -> str:
    """Describe a change in one sentence: old and new time of a step, by how much, and which part of it changed.

    Args:
        trace: A step that `what_if` made.
        language: `en` or `zh`.

    Returns:
        The sentence; empty for a step that no `what_if` made.

    Raises:
        CollsimError: The language is unknown.
    """
    column = LANGUAGES.index(require_language(language))
    pair = _describe_change(trace)
    if pair:
        return pair[column]
    return ""


# ---- what changed --------------------------------------------------------------------------------------------------


def _describe_change(trace: StepTrace) -> Text | None:
    """Old and new, by how much per sample, and which part of the time it is."""
    was = trace.previous
    if was is None:
        return None
    old, new = format_time(was.time), format_time(trace.time)
    n, m = was.step.samples, trace.step.samples
    key = "becomes_per_sample"
    if n == m:
        key = "becomes"
    sentence = _text(
        key,
        old=old,
        new=new,
        old_samples=f"{n:,}",
        samples=f"{m:,}",
        change=_format_relative_change((trace.time / m) / (was.time / n) - 1),
        part=_describe_most_changed_part(was, trace),
    )
    notes = [_note_measured_before(was, trace), _note_links_alone(was, trace)]
    return join_texts("sentences", [sentence, *(note for note in notes if note is not None)])


def _note_links_alone(was: StepTrace, trace: StepTrace) -> Text | None:
    """That the links time two steps of which NCCL's model knows only one."""
    unknown = [
        side.topology.name if is_known_to_nccl(side.request) else side.request.algorithm or side.request.parallel.label
        for side in (was, trace)
        if not is_timed_by_nccl(side)
    ]
    if len(unknown) != 1 or {side.request.collectives for side in (was, trace)} != {"links"}:
        return None
    return _text("links_alone", unknown=unknown[0])


def _note_measured_before(was: StepTrace, trace: StepTrace) -> Text | None:
    """Of a change of what is computed, where a microbatch was measured without it."""
    old, new = was.request, trace.request
    changed = any(getattr(old, name) != getattr(new, name) for name in ("model", "micro_batch", "dtype", "recompute"))
    if not (changed and trace.costs.has_measured_passes and repr(old.compute) == repr(new.compute)):
        return None
    return _text("computing_takes_was_measured")


def _format_relative_change(by: float) -> Text:
    if abs(by) < 5e-4:
        return _text("no_change")
    percent = format_percent(abs(by))
    if by > 0:
        return _text("more", much=percent)
    return _text("less", much=percent)


def _find_most_changed_part(was: StepTrace, trace: StepTrace) -> tuple[str, float, float] | None:
    """The part of the time that changed most, and how long it was and is, per sample; None where nothing did."""
    scale = was.step.samples / trace.step.samples
    parts = {name: (getattr(was, name), scale * getattr(trace, name)) for name in ("computing", "exposed", "bubble")}
    name, (a, b) = max(parts.items(), key=lambda item: abs(item[1][1] - item[1][0]))
    if abs(b - a) < 1e-9 * was.time:
        return None
    return (name, a, b)


def _describe_most_changed_part(was: StepTrace, trace: StepTrace) -> Text:
    """The part of the time that changed most, per sample."""
    moved = _find_most_changed_part(was, trace)
    if moved is None:
        return repeat_text("")
    name, before, now = moved
    key = "most_before_now_for_samples"
    if was.step.samples == trace.step.samples:
        key = "most_before_now"
    return _text(
        key,
        part=_text(f"changed_part.{name}"),
        before=format_time(before),
        now=format_time(now),
        samples=f"{was.step.samples:,}",
    )


# ---- the network ---------------------------------------------------------------------------------------------------


def _describe_exposed(trace: StepTrace) -> Text:
    head, reason = explain_exposed(trace)
    if reason is None:
        return _text("sentence", line=head)
    return _text("with_reason", head=head, reason=reason)


def explain_exposed(trace: StepTrace) -> tuple[Text, Text | None]:
    """What of a step's time the network costs, and why: two parts of a sentence, in every language; None for no reason.

    Args:
        trace: A step of training.
    """
    total = format_time(trace.time)
    if not trace.communication:
        return _text("nothing_sent", whole=total), None
    waiting = trace.exposed - trace.interference_time
    # Below a twentieth of a percent the sentence about interference would be about rounding.
    is_slowed = trace.interference_time > 5e-4 * trace.time
    if trace.exposed <= 1e-9 * trace.time or (waiting <= 1e-9 * trace.time and not is_slowed):
        return _text("no_gpu_waits_network", whole=total), None
    facts = {"whole": total, "costs": format_time(trace.exposed), "share": format_percent(trace.exposed / trace.time)}
    if not is_slowed:
        return _text("gpu_waits_network", **facts), describe_waits(trace)
    head, slowed = _text("network_costs", **facts), format_time(trace.interference_time)
    slower = _text("computing_while_gpus_communicate", slowed=slowed, interference=f"{trace.interference:g}")
    if waiting <= 1e-9 * trace.time:
        return head, _text("network_costs_no_gpu", slower=slower)
    waits = describe_waits(trace)
    return head, _text("network_costs_gpus_wait", waiting=format_time(waiting), slower=slower, waits=waits)


def describe_waits(trace: StepTrace) -> Text:
    """Describe for which collectives GPUs wait.

    Args:
        trace: A step whose GPUs wait for the network.

    Returns:
        The part of a sentence, in English and in Chinese.
    """
    parallel = trace.request.parallel
    if parallel.is_one_process:
        return _describe_data_parallel(trace)
    waits = list_network_waits(trace)
    task = waits[0].tasks[-1]
    buckets = [i for i, t in enumerate(trace.step.tasks) if t.bucket >= 0 and not t.is_compute]
    # A wait for something else than a bucket is described by its kind.
    if not parallel.holds_model or trace.step.tasks[task].bucket < 0 or not buckets:
        return _describe_waits_of_kind(trace, waits)
    many, last = len(buckets), buckets[-1]
    if not parallel.overlap:
        return _text("overlap_off_all_allreduces", many=many)
    size = format_bytes(trace.step.tasks[last].nbytes)
    if many == 1 and trace.request.step == 1:
        return _text("first_step_all_gradients", size=size)
    return _describe_last_bucket(trace, last, many, size)


def _describe_waits_of_kind(trace: StepTrace, waits: Sequence[NetworkWait]) -> Text:
    """What GPUs wait for most, by the way of splitting that it is of, and the collective that comes most of it."""
    strategies = dict.fromkeys(w.strategy for w in waits)
    strategy = max(strategies, key=lambda name: math.fsum(w.seconds for w in waits if w.strategy == name))
    seconds = math.fsum(w.seconds for w in waits if w.strategy == strategy)
    most = next(w for w in waits if w.strategy == strategy)
    task = trace.step.tasks[most.tasks[-1]]
    size, seconds_each = format_bytes(task.nbytes), format_time(most.seconds_each)
    part = _text("of_that_for", seconds=format_time(seconds))
    # All of it, up to what the shown digits can tell.
    if seconds > (1 - 5e-4) * (trace.exposed - trace.interference_time):
        part = _text("all_of_that_for")
    if task.name == "buffers":
        return _text("broadcast_buffers_which_forward", part=part, size=size)
    return _text(
        "above_all_each",
        part=part,
        strategy=_text(f"strategy.{strategy}"),
        task_kind=task.kind,
        size=size,
        each=seconds_each,
    )


def _describe_last_bucket(trace: StepTrace, last: int, many: int, size: str) -> Text:
    ready = max(trace.end[i] for i in trace.step.tasks[last].dependencies)
    duration, late = format_time(trace.end[last] - trace.begin[last]), trace.begin[last] - ready
    if late <= 1e-9 * trace.time:
        return _text("last_buckets_takes_its", many=many, size=size, took=duration)
    return _text("buckets_queue_because_network", many=many, size=size, took=duration, late=format_time(late))


def _describe_data_parallel(trace: StepTrace) -> Text:
    duration = {"broadcast": 0.0, "reduce": 0.0, "scatter": 0.0, "gather": 0.0}
    for task, begin, end in zip(trace.step.tasks, trace.begin, trace.end, strict=True):
        if task.kind in duration:
            duration[task.kind] += end - begin
    out, back = format_time(duration["broadcast"]), format_time(duration["reduce"])
    rest = format_time(duration["scatter"] + duration["gather"])
    return _text("gpu_0_broadcasts_parameters", out=out, rest=rest, back=back)


def _describe_idle_cards(trace: StepTrace) -> Text | None:
    """That cards which GPUs wait for are fewer than a node has, because PCIe has no room for more of NCCL's rings."""
    request = trace.request
    group_sizes = {len(trace.step.get_ranks(trace.step.tasks[i])) for i in trace.step.collectives}
    is_nccl = request.collectives == "nccl" and not request.algorithm
    if not is_nccl or trace.exposed < 1e-3 * trace.time or len(request.ranks) not in group_sizes:
        return None
    try:
        facts = read_facts(trace.topology, len(request.ranks))
    except CollsimError:  # NCCL does not run there
        return None
    idle_cards = find_idle_cards(facts, build_graph_search(facts))
    if idle_cards is None or not idle_cards.pcie:
        return None
    return _text("sentence", line=idle_cards)


def _describe_overlap(trace: StepTrace) -> Text | None:
    if not trace.communication:
        return None
    share, total = format_percent(trace.overlapped), format_time(trace.communication)
    return _text("communication_runs_beside_computing", share=share, whole=total)


def describe_experts(trace: StepTrace) -> Text | None:
    """Describe what uneven routing and a capacity of experts do to a step.

    Args:
        trace: The step.

    Returns:
        Sentences; None where tokens are routed evenly and none is dropped.
    """
    load = trace.expert_load
    if load is None:
        return None
    sentences = []
    if load.busiest > 1 + 1e-9 and len(set(load.gpu_loads)) > 1:
        busiest = f"{load.busiest:.3g}"
        sentences.append(_text("busiest_gpu_of_experts", busiest=busiest))
    if load.dropped > 1e-9:
        sentences.append(_text("tokens_dropped", share=format_percent(load.dropped)))
    if load.is_padded:
        sentences.append(_text("buffers_padded", factor=f"{load.busiest:.3g}"))
    return join_texts("sentences", sentences) if sentences else None


# ---- the rest ------------------------------------------------------------------------------------------------------


def _describe_staleness(trace: StepTrace) -> Text | None:
    n = trace.staleness
    if not n:
        return None
    return _text("nobody_waits_others_time", updates=n)


def _describe_idle(trace: StepTrace) -> Text | None:
    if trace.bubble < 1e-3 * trace.time:
        return None
    idle, share = format_time(trace.bubble), format_percent(trace.bubble / trace.time)
    return _text("gpus_idle_on_average", idle=idle, share=share)


def _describe_memory(trace: StepTrace) -> Text:
    peak_bytes = trace.memory.peak()
    kind, size = max(peak_bytes.items(), key=lambda item: item[1])
    total, most = format_bytes(sum(peak_bytes.values())), format_bytes(size)
    return _text("fullest_gpu_holds", total=total, most=most, kind=MEMORY_KINDS[kind])


def _describe_mfu(trace: StepTrace) -> Text | None:
    if math.isnan(trace.mfu):
        return None
    used, peak = format_percent(trace.mfu), f"{trace.step.ranks} × {trace.peak_flops / 1e12:g} TFLOP/s"
    return _text("mfu_flops_three_forward", used=used, peak=peak)
