"""What can be asked about a step that is split: sharded weights, stages of a pipeline, products of ways. Every number
is read from the step, or from the step with something changed; wrong choices are what the common mistakes come to.
"""

from __future__ import annotations

from ...locale import Text, build_text, repeat_text
from ...train import FSDP, Pipeline, Split
from ...train.parallel.combined_split import as_split
from ...units import format_bytes, format_percent, format_time
from .kinds import Random, _build_choice
from .question import Alternative, Question
from .step_questions import QuestionStep, _build_wrong_answers, _format_size, _format_time

_SLOWER = 1.5


def _text(key: str, **values: object) -> Text:
    """A text of this module in every language."""
    return build_text("quiz", f"splits.{key}", **values)


#: Ways of splitting, as people say them.
_STRATEGIES: dict[str, Text] = {
    "tensor": _text("layers_shares_tensor_parallelism"),
    "pipeline": _text("next_stages_pipeline"),
    "data": _text("weights_gradients_data_parallelism"),
    "context": _text("keys_values_context_parallelism"),
    "expert": _text("tokens_experts_expert_parallelism"),
}


def _find_split(run: QuestionStep) -> Split | None:
    parallel = run.trace.request.parallel
    if parallel.holds_model:
        return None
    return as_split(parallel)


def _find_fsdp(run: QuestionStep) -> FSDP | None:
    """FSDP that gives weights back, with nothing else split."""
    split = _find_split(run)
    if split is None or len(split.parts) > 1 or not isinstance(split.parts[0], FSDP):
        return None
    return split.parts[0] if split.parts[0].reshard_after_forward else None


def _find_pipeline(run: QuestionStep) -> Pipeline | None:
    split = _find_split(run)
    return split.pipeline if split is not None and split.pipeline.size > 1 else None


def _ask_sharded_bytes(run: QuestionStep, random: Random) -> Question | None:
    """What a GPU sends where weights are gathered twice."""
    if _find_fsdp(run) is None or (with_weights := run.changed(reshard_after_forward=False)) is None:
        return None
    t = run.trace
    sent, once = max(t.sent_bytes.values()), max(with_weights.sent_bytes.values())
    ask = _text("fsdp_gathers_weights_block")
    explanation = _text("blocks_gathered_twice_each", once=format_bytes(once))
    right = Alternative(_format_size(sent), _text("two_gathers_reduction", extra=format_bytes(sent - once)))
    wrong = _build_wrong_answers(
        (_format_size(once), _text("reshard_after_forward_false")),
        (_format_size(t.step.model.parameters * 2), _text("one_copy_weights_16")),
        (_format_size(sent / t.step.ranks), _text("part_one_shard")),
    )
    return _build_choice("sharded", ask, explanation, right, wrong, random)


def _ask_prefetch(run: QuestionStep, random: Random) -> Question | None:
    """What the step takes where a block is gathered only when it is needed."""
    data = _find_fsdp(run)
    if data is None or not data.prefetch or (off := run.changed(prefetch=False)) is None:
        return None
    t = run.trace
    ask = _text("prefetch_step_takes_how", time=format_time(t.time))
    explanation = _text(
        "gathers_have_no_computing", waits=format_time(off.exposed), waits_with_prefetch=format_time(t.exposed)
    )
    right = Alternative(_format_time(off.time), _text("gathers_waited_reductions_not"))
    wrong = _build_wrong_answers(
        (_format_time(t.time), _text("bytes_same_moments_not")),
        (_format_time(t.computing + t.communication), _text("gradients_still_reduced_beside")),
        (_format_time(t.computing), _text("computing_alone")),
    )
    return _build_choice("prefetch", ask, explanation, right, wrong, random)


def _ask_microbatches(run: QuestionStep, random: Random) -> Question | None:
    """The share of the bubble with twice as many microbatches."""
    if _find_pipeline(run) is None or (more := run.changed(batch=2 * run.trace.request.batch)) is None:
        return None
    t = run.trace
    few, many = t.bubble / t.time, more.bubble / more.time
    ask = _text("step_idle_time_pipeline", few=f"{100 * few:.3g}")
    explanation = _text(
        "ends_pipeline_waited_once",
        idle=format_time(t.bubble),
        idle_with_more=format_time(more.bubble),
        more_time=format_time(more.time),
        time=format_time(t.time),
    )
    right = Alternative(repeat_text(format_percent(many)), _text("both_ends_waited_once"))
    wrong = _build_wrong_answers(
        (repeat_text(format_percent(few)), _text("there_more_compute_between")),
        (repeat_text(format_percent(few / 2)), _text("as_if_idle_time")),
        (repeat_text(format_percent(min(1.0, 2 * few))), _text("microbatches_fill_pipeline_they")),
    )
    return _build_choice("bubble", ask, explanation, right, wrong, random)


def _ask_held_activations(run: QuestionStep, random: Random) -> Question | None:
    """Microbatches whose activations the first stage keeps."""
    if (pipe := _find_pipeline(run)) is None:
        return None
    micros = run.trace.request.accumulate
    most = pipe.time_passes(micros).peak_activations
    ask = _text("stages_microbatches_schedule_how", pipe_size=pipe.size, micros=micros, schedule=pipe.schedule)
    explanation = _text("microbatch_held_from_its", held=", ".join(f"{x:g}" for x in most))

    def format_count(count: float) -> Text:
        return repeat_text(f"{count:g}")

    right = Alternative(format_count(float(most[0])), _text("its_way_there_back"))
    wrong = _build_wrong_answers(
        (format_count(micros), _text("would_be_all_them")),
        (format_count(float(most[-1])), _text("last_gpu_holds")),
        (format_count(micros / pipe.size), _text("stages_share_layers_not")),
    )
    return _build_choice("held", ask, explanation, right, wrong, random)


def _ask_most_sent(run: QuestionStep, random: Random) -> Question | None:
    """For which way of splitting a GPU of the first stage sends most."""
    if _find_split(run) is None:
        return None
    rows = run.trace.count_crossing_bytes()
    sent = rows[rows["lane"] == 0].groupby("strategy")["nbytes"].sum().sort_values(ascending=False)
    if len(sent) < 2 or any(name not in _STRATEGIES for name in sent.index):
        return None
    ask = _text("does_gpu_first_stage", step_label=run.trace.step.label)
    first = format_bytes(float(sent.iloc[0]))
    explanation = _text("so_fastest_links", first=first, sum=format_bytes(float(sent.sum())))
    right = Alternative(_STRATEGIES[sent.index[0]], _text("step", first=first))
    wrong = _build_wrong_answers(
        *(
            (_STRATEGIES[str(name)], _text("only", nbytes=format_bytes(float(nbytes))))
            for name, nbytes in sent.iloc[1:].items()
        )
    )
    return _build_choice("crossings", ask, explanation, right, wrong, random)


def _ask_straggler(run: QuestionStep, random: Random) -> Question | None:
    """What the whole step takes where one GPU computes slower."""
    t = run.trace
    # One GPU has nobody who could wait for it.
    if _find_split(run) is None:
        return None
    rank, n = t.step.lanes[0][0], t.step.ranks
    if (late := run.changed(slow={rank: _SLOWER})) is None:
        return None
    ask = _text(
        "step_takes_on_gpus", time=format_time(t.time), n=f"{n:,}", rank=rank, slower=f"{100 * (_SLOWER - 1):g}"
    )
    explanation = _text("all_wait_every_microbatch", late_time=format_time(late.time - t.time))
    right = Alternative(_format_time(late.time), _text("slowest_sets_pace", times=f"{late.time / t.time:.3g}"))
    wrong = _build_wrong_answers(
        (_format_time(t.time * (1 + (_SLOWER - 1) / n)), _text("as_if_others_took")),
        (_format_time(_SLOWER * t.time), _text("as_if_step_were")),
        (_format_time(t.time), _text("as_if_nobody_needed")),
    )
    return _build_choice("straggler", ask, explanation, right, wrong, random)


SPLIT_ASKERS = (
    _ask_sharded_bytes,
    _ask_prefetch,
    _ask_microbatches,
    _ask_held_activations,
    _ask_most_sent,
    _ask_straggler,
)
