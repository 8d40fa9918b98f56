"""What can be asked about a step that is split: sharded weights, stages of a pipeline, products of ways. Every number
is read from the step, or from the step with something changed; wrong choices are what the common mistakes come to.
"""

from __future__ import annotations

from ...locale import Text
from ...train import FSDP, Pipeline, Split
from ...train.parallel.split import as_split
from ...units import format_bytes, format_time
from .kinds import Random, _build_choice
from .question import Alternative, Question
from .steps import QuestionStep, _build_wrong, _format_size, _format_time

_SLOWER = 1.5
#: Ways of splitting, as people say them.
_STRATEGIES: dict[str, Text] = {
    "tensor": ("the layers it shares (tensor parallelism)", "它共享的层（张量并行）"),
    "pipeline": ("the next stages (pipeline)", "相邻的阶段（流水线）"),
    "data": ("weights and gradients (data parallelism)", "权重和梯度（数据并行）"),
    "context": ("keys and values (context parallelism)", "键和值（上下文并行）"),
    "expert": ("tokens for experts (expert parallelism)", "给专家的词元（专家并行）"),
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


def _format_percent(share: float) -> Text:
    return f"{100 * share:.3g} %", f"{100 * share:.3g} %"


def _ask_sharded_bytes(run: QuestionStep, random: Random) -> Question | None:
    """What a GPU sends where weights are gathered twice."""
    if _find_fsdp(run) is None or (with_weights := run.changed(reshard_after_forward=False)) is None:
        return None
    t = run.trace
    sent, once = max(t.sent_bytes.values()), max(with_weights.sent_bytes.values())
    ask = (
        "FSDP gathers the weights of a block for the forward pass, and again for the backward pass. How many bytes "
        "does a GPU send in a step?",
        "FSDP 在前向时收集一个块的权重，反向时再收集一次。每块 GPU 在一步中发送多少字节？",
    )
    explanation = (
        f"Blocks are gathered twice for each microbatch, and gradients are reduce-scattered; with weights that stay it "
        f"would be {format_bytes(once)}.",
        f"每个微批要收集各块两次，梯度做 reduce-scatter；权重若一直保留，则是 {format_bytes(once)}。",
    )
    right = Alternative(_format_size(sent), ("Two gathers and a reduction.", "两次收集，一次归约。"))
    wrong = _build_wrong(
        (
            _format_size(once),
            "That is with reshard_after_forward=False: one gather.",
            "那是 reshard_after_forward=False：只收集一次。",
        ),
        (
            _format_size(t.step.model.parameters * 2),
            "That is one copy of the weights in 16 bits.",
            "那是一份 16 位的权重。",
        ),
        (_format_size(sent / t.step.ranks), "That is the part of one shard.", "那是一个分片的部分。"),
    )
    return _build_choice("sharded", ask, explanation, right, wrong, random)


def _ask_prefetch(run: QuestionStep, random: Random) -> Question | None:
    """What the step takes where a block is gathered only when it is needed."""
    data = _find_fsdp(run)
    if data is None or not data.prefetch or (off := run.changed(prefetch=False)) is None:
        return None
    t = run.trace
    ask = (
        f"With prefetch the step takes {format_time(t.time)}. How long does it take if a block is gathered only when "
        f"it is needed?",
        f"有预取时一步需要 {format_time(t.time)}。如果需要时才收集一个块，需要多久？",
    )
    explanation = (
        f"Gathers have no computing beside them: GPUs wait {format_time(off.exposed)} instead of "
        f"{format_time(t.exposed)}.",
        f"收集时没有计算与之同时进行：GPU 等待 {format_time(off.exposed)}，而不是 {format_time(t.exposed)}。",
    )
    right = Alternative(
        _format_time(off.time), ("Gathers are waited for; reductions are not.", "收集要等，归约不用等。")
    )
    wrong = _build_wrong(
        (_format_time(t.time), "The bytes are the same, the moments are not.", "字节一样，时机不一样。"),
        (
            _format_time(t.computing + t.communication),
            "Gradients are still reduced beside the backward pass.",
            "梯度归约仍与反向传播同时进行。",
        ),
        (_format_time(t.computing), "That is computing alone.", "那只是计算。"),
    )
    return _build_choice("prefetch", ask, explanation, right, wrong, random)


def _ask_microbatches(run: QuestionStep, random: Random) -> Question | None:
    """The share of the bubble with twice as many microbatches."""
    if _find_pipeline(run) is None or (more := run.changed(batch=2 * run.trace.request.batch)) is None:
        return None
    t = run.trace
    few, many = t.bubble / t.time, more.bubble / more.time
    ask = (
        f"{100 * few:.3g} % of the step are idle time of the pipeline. How much is it with twice the batch, that is "
        f"twice as many microbatches?",
        f"一步的 {100 * few:.3g} % 是流水线的空闲。批量加倍，也就是微批个数加倍时是多少？",
    )
    explanation = (
        "The ends of the pipeline are waited for once, however many microbatches there are; only waiting for slower "
        f"stages grows with them: {format_time(t.bubble)} idle, then {format_time(more.bubble)}, in a step of "
        f"{format_time(more.time)} instead of {format_time(t.time)}.",
        "无论有多少微批，流水线两端都只等一次；随之增加的只有对较慢阶段的等待："
        f"空闲先是 {format_time(t.bubble)}，后是 {format_time(more.bubble)}，而一步从 {format_time(t.time)} 变为 "
        f"{format_time(more.time)}。",
    )
    right = Alternative(
        _format_percent(many), ("Both ends are waited for once, in a longer step.", "两端只等一次，而一步更长。")
    )
    wrong = _build_wrong(
        (_format_percent(few), "There is more to compute between both ends.", "两端之间要计算的更多了。"),
        (
            _format_percent(few / 2),
            "As if idle time stayed and the step became twice as long.",
            "好像空闲不变而一步的时间翻倍。",
        ),
        (
            _format_percent(min(1.0, 2 * few)),
            "Microbatches fill the pipeline, they do not empty it.",
            "微批是填满流水线的。",
        ),
    )
    return _build_choice("bubble", ask, explanation, right, wrong, random)


def _ask_held_activations(run: QuestionStep, random: Random) -> Question | None:
    """Microbatches whose activations the first stage keeps."""
    if (pipe := _find_pipeline(run)) is None:
        return None
    micros = run.trace.request.accumulate
    most = pipe.time_passes(micros).peak_activations
    ask = (
        f"{pipe.size} stages, {micros} microbatches, schedule {pipe.schedule}: of how many microbatches does GPU 0 "
        f"hold activations at most?",
        f"{pipe.size} 个阶段、{micros} 个微批，调度为 {pipe.schedule}：GPU 0 最多持有几个微批的激活值？",
    )
    explanation = (
        "A microbatch is held from its forward pass until its backward pass has come back; GPU by GPU: "
        f"{', '.join(f'{x:g}' for x in most)}.",
        f"从微批的前向开始，一直持有到它的反向回来为止；各 GPU 依次为 {', '.join(f'{x:g}' for x in most)}。",
    )

    def format_count(count: float) -> Text:
        return f"{count:g}", f"{count:g}"

    right = Alternative(format_count(float(most[0])), ("Its way there and back is the longest.", "它的往返路程最长。"))
    wrong = _build_wrong(
        (format_count(micros), "That would be all of them, as in GPipe.", "那就是全部，和 GPipe 一样。"),
        (format_count(float(most[-1])), "That is what the last GPU holds.", "那是最后一块 GPU 持有的。"),
        (format_count(micros / pipe.size), "Stages share layers, not microbatches.", "阶段分的是层，不是微批。"),
    )
    return _build_choice("held", ask, explanation, right, wrong, random)


def _ask_most_sent(run: QuestionStep, random: Random) -> Question | None:
    """For which way of splitting a GPU of the first stage sends most."""
    if _find_split(run) is None:
        return None
    rows = run.trace.count_crossing_bytes()
    sent = rows[rows["lane"] == 0].groupby("way")["nbytes"].sum().sort_values(ascending=False)
    if len(sent) < 2 or any(way not in _STRATEGIES for way in sent.index):
        return None
    ask = (
        f"{run.trace.step.label}: for what does a GPU of the first stage send most bytes in a step?",
        f"{run.trace.step.label}：第一个阶段的 GPU 在一步中发送的字节大多是给什么的？",
    )
    first = format_bytes(float(sent.iloc[0]))
    explanation = (
        f"{first} of {format_bytes(float(sent.sum()))}: so that is what the fastest links are for.",
        f"{format_bytes(float(sent.sum()))} 中的 {first}：所以最快的链路应留给它。",
    )
    right = Alternative(_STRATEGIES[sent.index[0]], (f"{first} in a step.", f"一步 {first}。"))
    wrong = _build_wrong(
        *(
            (_STRATEGIES[str(way)], f"Only {format_bytes(float(nbytes))}.", f"只有 {format_bytes(float(nbytes))}。")
            for way, nbytes in sent.iloc[1:].items()
        )
    )
    return _build_choice("crossings", ask, explanation, right, wrong, random)


def _ask_straggler(run: QuestionStep, random: Random) -> Question | None:
    """What the whole step takes where one GPU computes slower."""
    t = run.trace
    if _find_split(run) is None:
        return None
    rank, n = t.step.lanes[0][0], t.step.ranks
    if (late := run.changed(slow={rank: _SLOWER})) is None:
        return None
    ask = (
        f"The step takes {format_time(t.time)} on {n:,} GPUs. GPU {rank} computes {100 * (_SLOWER - 1):g} % longer "
        f"than the others. How long does the whole step take?",
        f"{n:,} 块 GPU 上的一步需要 {format_time(t.time)}。GPU {rank} 的计算比其他的多用 {100 * (_SLOWER - 1):g} %。"
        "整个一步需要多久？",
    )
    explanation = (
        f"All wait for it, in every microbatch: {format_time(late.time - t.time)} more.",
        f"每个微批都要等它：多用 {format_time(late.time - t.time)}。",
    )
    right = Alternative(_format_time(late.time), ("The slowest sets the pace.", "最慢的决定节奏。"))
    wrong = _build_wrong(
        (
            _format_time(t.time * (1 + (_SLOWER - 1) / n)),
            "As if the others took over its work.",
            "好像其他 GPU 会替它干活。",
        ),
        (
            _format_time(_SLOWER * t.time),
            "As if the step were its computing and nothing else.",
            "好像一步只有它的计算。",
        ),
        (_format_time(t.time), "As if nobody needed its results.", "好像没有人需要它的结果。"),
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
