"""Pipelines: microbatches go through stages like chunks along a chain; what is idle at both ends, and what is held."""

from __future__ import annotations

from ...simulate import Trace
from ...topology import line
from ...train import PipelineTiming, pipeline
from ...train.pipelines import SCHEDULES
from ...viz.splits.still import PipelinePicture, build_pipeline_picture
from ..lesson import Lesson, RunFacts, Section, build_facts, choice, simulate_algorithm

_STAGES, _FEW, _MANY = 4, 8, 16


def _time_passes(schedule: str, microbatches: int = _FEW) -> PipelineTiming:
    """A backward pass takes as long as two forward passes; nothing to pay from GPU to GPU."""
    return pipeline(_STAGES, schedule).time_passes(microbatches, forward=1, backward=2)


def _draw_passes(schedule: str, microbatches: int = _FEW, until: float = 0.0) -> PipelinePicture:
    """The same as rows of boxes."""
    return build_pipeline_picture(pipeline(_STAGES, schedule), microbatches, until=until)


def _simulate_chain() -> Trace:
    """Chunks that go along a chain one behind the other."""
    return simulate_algorithm("broadcast_chain", line(_STAGES, bandwidth="25GB/s", alpha="1us"), chunks=_FEW)


def _format_percent(share: float) -> str:
    return f"{100 * share:.3g}"


def _build_bubble_facts() -> RunFacts:
    few, many = _time_passes("gpipe"), _time_passes("gpipe", _MANY)
    chain = _simulate_chain()
    return build_facts(
        chain,
        lanes=(_draw_passes("gpipe"),),
        lanes_after=(_draw_passes("gpipe", _MANY),),
        chain=chain,
        stages=_STAGES,
        few=_FEW,
        many=_MANY,
        time=f"{few.time:g}",
        idle=f"{few.idle[0]:g}",
        longer=f"{many.time:g}",
        bubble=_format_percent(few.bubble),
        half=_format_percent(few.bubble / 2),
        less=_format_percent(many.bubble),
        slots=_MANY + _STAGES - 1,
        empty=_STAGES - 1,
    )


def _build_order_facts() -> RunFacts:
    timings = {name: _time_passes(name) for name in SCHEDULES}
    rows = tuple(
        (name, f"{t.time:g}", f"{_format_percent(t.bubble)} %", f"{t.peak_activations.max():g}")
        for name, t in timings.items()
    )
    all_first, in_turn = timings["gpipe"], timings["1f1b"]
    return build_facts(
        _simulate_chain(),
        rows,
        lanes=(_draw_passes("gpipe"),),
        lanes_after=tuple(_draw_passes(name, until=all_first.time) for name in ("1f1b", "interleaved", "zero-bubble")),
        stages=_STAGES,
        few=_FEW,
        time=f"{all_first.time:g}",
        same=f"{in_turn.time:g}",
        bubble=_format_percent(all_first.bubble),
        thin=_format_percent(timings["interleaved"].bubble),
        held=f"{all_first.peak_activations[0]:g}",
        less=f"{in_turn.peak_activations[0]:g}",
        each=", ".join(f"{count:g}" for count in in_turn.peak_activations),
    )


_BUBBLES = Section(
    "bubbles",
    _build_bubble_facts,
    title=("Bubbles", "气泡"),
    before=(
        (
            "Layers are cut into {stages} stages, a GPU each; the batch into {few} microbatches that follow one "
            "another, as the chunks do on this chain: {chain.chunks} chunks, {chain.steps} steps, {chain.time}. "
            "Look at the first cable and the last: each has nothing to do for a while.",
            "模型的层切成 {stages} 个阶段，每个阶段一块 GPU；一批切成 {few} 个微批，一个接一个地走，就像图中链上的 "
            "chunk：{chain.chunks} 个 chunk，{chain.steps} 步，{chain.time}。看看第一根和最后一根线缆：各有一段时间无事"
            "可做。",
        ),
        (
            "In training they come back, too, and a backward pass takes two forward passes. GPipe runs all forward "
            "passes, then all backward passes: as long as {time} forward passes, during {idle} of which a GPU has "
            "nothing to do. That is its bubble, {bubble} %.",
            "训练中它们还要回来，反向的时间是前向的两倍。GPipe 先跑完全部前向，再跑全部反向：共 {time} 个前向的时间，"
            "其中 {idle} 个里 GPU 无事可做。这就是气泡，占 {bubble} %。",
        ),
    ),
    ask=(
        "{many} microbatches of the same size instead of {few}: how much of the step is bubble then?",
        "微批大小不变，从 {few} 个增加到 {many} 个：气泡占一步的多少？",
    ),
    choices=(
        choice(
            "{bubble} %",
            (
                "The GPUs wait as long as before, but they have more to do in between.",
                "GPU 等待的时间与之前一样长，但中间要做的更多了。",
            ),
        ),
        choice(
            "{half} %",
            (
                "So it would be if the step took twice as long; what is idle does not become more.",
                "只有一步的时间翻倍才会这样；空闲的部分并没有变多。",
            ),
        ),
        choice(
            "{less} %",
            (
                "As much is idle, in a step that has become longer.",
                "空闲一样多，而一步变长了。",
            ),
        ),
    ),
    right=2,
    explanation=(
        "(p − 1) / (m + p − 1) = {empty}/{slots}, for p stages and m microbatches: {longer} forward passes, and {idle} "
        "of them idle as before.",
        "p 个阶段、m 个微批时为 (p − 1) / (m + p − 1) = {empty}/{slots}：共 {longer} 个前向的时间，其中空闲仍是 {idle} "
        "个。",
    ),
    after=(
        (
            "A batch has only so many samples, and they are divided among data parallel replicas as well: at a "
            "thousand GPUs few are left for each, and the bubble grows.",
            "一批只有那么多样本，还要分给各个数据并行副本：到了上千块 GPU 时，每个副本剩下的微批很少，气泡就变大。",
        ),
    ),
)

_ORDERS = Section(
    "orders",
    _build_order_facts,
    title=("In which order", "按什么次序"),
    before=(
        (
            "GPipe keeps what the backward pass needs of all {few} microbatches: GPU 0 holds {held}. 1F1B begins with "
            "the backward passes as soon as the first microbatch has come through, then runs one forward and one "
            "backward pass in turn. On the way down the microbatches move as the chunks in the picture.",
            "GPipe 要为全部 {few} 个微批保存反向所需的激活值：GPU 0 持有 {held} 个。1F1B 在第一个微批到达末端后立即开始"
            "反向，此后一次前向、一次反向轮流进行。前向时，微批就像图中的 chunk 那样移动。",
        ),
    ),
    ask=(
        "{stages} stages, {few} microbatches, 1F1B instead of GPipe: what changes?",
        "{stages} 个阶段、{few} 个微批，用 1F1B 代替 GPipe：什么会变？",
    ),
    choices=(
        choice(
            ("the bubble becomes smaller", "气泡变小"),
            (
                "The last stage still waits for the first microbatch, the first stage for the last one to come back.",
                "最后的阶段仍要等第一个微批，最前的阶段仍要等最后一个回来。",
            ),
        ),
        choice(
            ("GPU 0 holds {less} microbatches", "GPU 0 只持有 {less} 个微批"),
            (
                "A microbatch is given back when its backward pass is done, and that is sooner.",
                "微批的反向一结束就可以释放，而这来得更早。",
            ),
        ),
        choice(
            ("both", "两者都变"),
            (
                "The order of passes changes, not how long the way there and back is.",
                "变的是次序，往返的路程并没有变短。",
            ),
        ),
    ),
    right=1,
    explanation=(
        "Both take {time} forward passes, and {bubble} % of it is bubble. Of 1F1B the GPUs hold {each}: min(m, p − "
        "rank).",
        "两者都需要 {time} 个前向的时间，其中 {bubble} % 是气泡。1F1B 中各 GPU 持有 {each} 个：min(m, p − rank)。",
    ),
    after=(
        (
            "Interleaving gives each GPU two thinner stages: the way in and out is half as long, {thin} % is left, for "
            "twice as many transfers. The zero-bubble schedules cut the backward pass into two: the next stage waits "
            "for one half only, and the other fills the gaps. The page Pipelines plays them on one clock.",
            "交错让每块 GPU 持有两个更薄的阶段：进出的路程减半，只剩 {thin} %，代价是传输次数加倍。零气泡的几种调度把反"
            "向切成两半：相邻的阶段只等其中一半，另一半用来填补空隙。“流水线”页让它们在同一时钟上比赛。",
        ),
    ),
    table=(
        (
            ("schedule", "调度"),
            ("forward passes", "前向个数"),
            ("bubble", "气泡"),
            ("most held", "最多持有"),
        ),
    ),
)

LESSON = Lesson(
    title=("Pipelines and bubbles", "流水线与气泡"),
    notebook="15-pipelines-and-bubbles",
    exercises=("small-bubble", "order-that-fits"),
    sections=(_BUBBLES, _ORDERS),
)
