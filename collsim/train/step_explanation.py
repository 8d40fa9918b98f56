"""Why a step takes as long as it does, in sentences: English and Chinese side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..errors import CollsimError, require_word
from ..locale import LANGUAGES, Text
from ..nccl.machine.idle_cards import find_idle_cards
from ..nccl.machine.topology_facts import build_graph_search, read_facts
from ..units import format_bytes, format_time
from .memory import MEMORY_KINDS
from .network_waits import NetworkWait, list_network_waits
from .step_request import is_known_to_nccl
from .step_trace import StepTrace

#: Ways of splitting, in a sentence.
STRATEGY_NAMES = {
    "data": ("data parallelism", "数据并行"),
    "tensor": ("tensor parallelism", "张量并行"),
    "context": ("context parallelism", "上下文并行"),
    "expert": ("expert parallelism", "专家并行"),
    "pipeline": ("sends between stages", "阶段之间的发送"),
}
_PART_NAMES = {
    "computing": ("Computing", "计算"),
    "exposed": ("Waiting for the network", "等待网络"),
    "bubble": ("Idle time", "空闲"),
}


def explain_step(trace: StepTrace, language: str = "en") -> str:
    """Sentences: what changed, what of the time the network takes and why, how much overlaps, memory, utilisation."""
    column = LANGUAGES.index(require_word("language", language, LANGUAGES))
    return (" ", "")[column].join(pair[column] for pair in write_sentences(trace).values())


def write_sentences(trace: StepTrace) -> dict[str, Text]:
    """The same by what they are about, English and Chinese: change, network, cards, overlap, staleness, idle, memory,
    use.

    Args:
        trace: With its counterfactuals; they are run where they are needed.
    """
    sentences = {
        "change": _describe_change(trace),
        "network": _describe_exposed(trace),
        "cards": _describe_idle_cards(trace),
        "overlap": _describe_overlap(trace),
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
        return "No part of the step changes.", "这一步的各部分用时都不变。"
    name, before, now = moved
    if was.step.samples == trace.step.samples:
        per_batch = ("", "")
    else:
        per_batch = (" per old batch", "（按原批量计）")
    waits = None
    if name == "exposed" and trace.exposed:
        waits = describe_waits(trace)
    en = f"{_PART_NAMES[name][0]}{per_batch[0]}: {format_time(before)}, now {format_time(now)}"
    zh = f"{_PART_NAMES[name][1]}{per_batch[1]}：原 {format_time(before)}，现 {format_time(now)}"
    if waits is None:
        return f"{en}.", f"{zh}。"
    return f"{en}; {waits[0]}.", f"{zh}；{waits[1]}。"


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
    column = LANGUAGES.index(require_word("language", language, LANGUAGES))
    pair = _describe_change(trace)
    if pair:
        return pair[column]
    return ""


def _format_percent(share: float) -> str:
    return f"{100 * share:.3g} %"


# ---- what changed --------------------------------------------------------------------------------------------------


def _describe_change(trace: StepTrace) -> Text | None:
    """Old and new, by how much per sample, and which part of the time it is."""
    was = trace.previous
    if was is None:
        return None
    old, new = format_time(was.time), format_time(trace.time)
    en, zh = f"{old} becomes {new}", f"{old} 变为 {new}"
    n, m = was.step.samples, trace.step.samples
    if n != m:
        en += f", for {m:,} samples instead of {n:,}: per sample"
        zh += f"，样本数由 {n:,} 变为 {m:,}：每个样本"
    change = _format_relative_change((trace.time / m) / (was.time / n) - 1)
    part, before = _describe_most_changed_part(was, trace), _note_measured_before(was, trace)
    model = _note_links_alone(was, trace)
    return f"{en} {change[0]}{part[0]}.{before[0]}{model[0]}", f"{zh}{change[1]}{part[1]}。{before[1]}{model[1]}"


def _note_links_alone(was: StepTrace, trace: StepTrace) -> Text:
    """That the links time two steps of which NCCL's model knows only one."""
    requests = was.request, trace.request
    unknown = [request.algorithm or request.parallel.label for request in requests if not is_known_to_nccl(request)]
    if len(unknown) != 1 or {request.collectives for request in requests} != {"links"}:
        return "", ""
    return (
        f" The links alone time both, without launches and protocols: NCCL's model does not know {unknown[0]}.",
        f"两者都只按链路计时，不计启动和协议：NCCL 的模型不认识 {unknown[0]}。",
    )


def _note_measured_before(was: StepTrace, trace: StepTrace) -> Text:
    """Of a change of what is computed, where a microbatch was measured without it."""
    old, new = was.request, trace.request
    changed = any(getattr(old, name) != getattr(new, name) for name in ("model", "micro_batch", "dtype", "recompute"))
    if not (changed and trace.costs.has_measured_passes and repr(old.compute) == repr(new.compute)):
        return "", ""
    return (
        " Computing takes what was measured without this change: give compute= with it, too.",
        "计算时间仍是此改变之前的实测值：请同时用 compute= 给出改变之后的值。",
    )


def _format_relative_change(by: float) -> Text:
    if abs(by) < 5e-4:
        return "(no change)", "（不变）"
    much = _format_percent(abs(by))
    if by > 0:
        return f"({much} more)", f"（多 {much}）"
    return f"({much} less)", f"（少 {much}）"


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
        return "", ""
    name, a, b = moved
    names = {"computing": "计算", "exposed": "等待网络", "bubble": "等待"}
    part = {"computing": "computing", "exposed": "waiting for the network", "bubble": "idle time"}[name]
    same = was.step.samples == trace.step.samples
    if same:
        per = ("", "")
    else:
        per = (f" for {was.step.samples:,} samples", f"（每 {was.step.samples:,} 个样本）")
    return (
        f"; most of that is {part}: {format_time(a)} before, {format_time(b)} now{per[0]}",
        f"；主要是{names[name]}：之前 {format_time(a)}，现在 {format_time(b)}{per[1]}",
    )


# ---- the network ---------------------------------------------------------------------------------------------------


def _describe_exposed(trace: StepTrace) -> Text:
    whole = format_time(trace.time)
    if not trace.communication:
        return f"{whole}, and nothing is sent.", f"{whole}，没有任何通信。"
    if trace.exposed <= 1e-9 * trace.time:
        return f"{whole}, and no GPU waits for the network.", f"{whole}，没有 GPU 在等待网络。"
    costs, share = format_time(trace.exposed), _format_percent(trace.exposed / trace.time)
    waiting = trace.exposed - trace.interference_time
    is_slowed = trace.interference_time > 5e-4 * trace.time
    if waiting <= 1e-9 * trace.time and not is_slowed:
        return f"{whole}, and no GPU waits for the network.", f"{whole}，没有 GPU 在等待网络。"
    if not is_slowed:
        en, zh = describe_waits(trace)
        return (
            f"Of {whole} a GPU waits for the network for {costs} ({share}): {en}.",
            f"{whole} 中，GPU 等待网络 {costs}（{share}）：{zh}。",
        )
    slowed = format_time(trace.interference_time)
    slower = (
        f"computing while GPUs communicate takes {slowed} longer (interference {trace.interference:g})",
        f"通信期间的计算变长 {slowed}（干扰系数 {trace.interference:g}）",
    )
    if waiting <= 1e-9 * trace.time:
        return (
            f"Of {whole} the network costs {costs} ({share}): no GPU waits for it, but {slower[0]}.",
            f"{whole} 中，网络占用 {costs}（{share}）：没有 GPU 在等待网络，但{slower[1]}。",
        )
    en, zh = describe_waits(trace)
    return (
        f"Of {whole} the network costs {costs} ({share}): GPUs wait for {format_time(waiting)}, {slower[0]}; {en}.",
        f"{whole} 中，网络占用 {costs}（{share}）：GPU 等待 {format_time(waiting)}，{slower[1]}；{zh}。",
    )


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
    if not parallel.holds_model or trace.step.tasks[task].bucket < 0 or not buckets:
        return _describe_waits_of_kind(trace, waits)
    many, last = len(buckets), buckets[-1]
    if not parallel.overlap:
        return (
            f"overlap is off, and all allreduces ({many}) wait for the end of the backward pass",
            f"未开启重叠，{many} 个 allreduce 都要等反向传播结束",
        )
    size = format_bytes(trace.step.tasks[last].nbytes)
    if many == 1 and trace.request.step == 1:
        return (
            f"in the first step all gradients ({size}) are in one bucket, which starts when the backward pass ends",
            f"第一步中所有梯度（{size}）都在一个桶里，反向传播结束后才开始发送",
        )
    return _describe_last_bucket(trace, last, many, size)


def _describe_waits_of_kind(trace: StepTrace, waits: Sequence[NetworkWait]) -> Text:
    """What GPUs wait for most, by the way of splitting that it is of, and the collective that comes most of it."""
    ways = dict.fromkeys(w.strategy for w in waits)
    way = max(ways, key=lambda name: math.fsum(w.seconds for w in waits if w.strategy == name))
    seconds = math.fsum(w.seconds for w in waits if w.strategy == way)
    most = next(w for w in waits if w.strategy == way)
    task = trace.step.tasks[most.tasks[-1]]
    size, each = format_bytes(task.nbytes), format_time(most.seconds_each)
    en, zh = (f"{format_time(seconds)} of that for", f"占 {format_time(seconds)}")
    if seconds > (1 - 5e-4) * (trace.exposed - trace.interference_time):
        en, zh = "all of that for", "占全部"
    if task.name == "buffers":
        return (
            f"{en} the broadcast of buffers ({size}), for which the forward pass waits",
            f"其中前向传播之前的 buffers 广播（{size}）{zh}",
        )
    return (
        f"{en} {STRATEGY_NAMES[way][0]}, above all {task.kind} of {size} ({each} each)",
        f"其中{STRATEGY_NAMES[way][1]}{zh}，主要是 {size} 的 {task.kind}（每次 {each}）",
    )


def _describe_last_bucket(trace: StepTrace, last: int, many: int, size: str) -> Text:
    ready = max(trace.end[i] for i in trace.step.tasks[last].dependencies)
    took, late = format_time(trace.end[last] - trace.begin[last]), trace.begin[last] - ready
    if late <= 1e-9 * trace.time:
        return (
            f"the last of {many} buckets ({size}) takes {took}; its gradients are ready when the backward pass ends",
            f"{many} 个桶中的最后一个（{size}）需要 {took}，而它的梯度要到反向传播结束时才就绪",
        )
    return (
        f"buckets queue, because the network is slower than the backward pass: the last of {many} ({size}, {took}) "
        f"starts {format_time(late)} after its gradients are ready",
        f"网络比反向传播慢，桶在排队：{many} 个桶中的最后一个（{size}，{took}）在梯度就绪后 {format_time(late)} 才开始",
    )


def _describe_data_parallel(trace: StepTrace) -> Text:
    took = {"broadcast": 0.0, "reduce": 0.0, "scatter": 0.0, "gather": 0.0}
    for task, begin, end in zip(trace.step.tasks, trace.begin, trace.end, strict=True):
        if task.kind in took:
            took[task.kind] += end - begin
    out, back = format_time(took["broadcast"]), format_time(took["reduce"])
    rest = format_time(took["scatter"] + took["gather"])
    return (
        f"GPU 0 broadcasts the parameters ({out}), scatters inputs and gathers outputs ({rest}) and takes in all "
        f"gradients ({back}); none of that runs beside computing",
        f"GPU 0 广播参数（{out}），分发输入并收集输出（{rest}），再汇总所有梯度（{back}）；这些都不与计算同时进行",
    )


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
    return f"{idle_cards}.", f"{idle_cards.chinese}。"


def _describe_overlap(trace: StepTrace) -> Text | None:
    if not trace.communication:
        return None
    share, whole = _format_percent(trace.overlapped), format_time(trace.communication)
    en, zh = f"{share} of {whole} of communication runs beside computing", f"{whole} 的通信中有 {share} 与计算同时进行"
    return en + ".", zh + "。"


# ---- the rest ------------------------------------------------------------------------------------------------------


def _describe_staleness(trace: StepTrace) -> Text | None:
    n = trace.staleness
    if not n:
        return None
    return (
        f"Nobody waits for the others: by the time a gradient is added to the weights, {n} other "
        f"update{'s have' if n > 1 else ' has'} changed them since they were read.",
        f"各 worker 互不等待：梯度加到权重上时，权重自读取后已被其他更新改变了 {n} 次。",
    )


def _describe_idle(trace: StepTrace) -> Text | None:
    if trace.bubble < 1e-3 * trace.time:
        return None
    idle, share = format_time(trace.bubble), _format_percent(trace.bubble / trace.time)
    return (
        f"GPUs are idle for {idle} ({share}) on average, waiting for others.",
        f"GPU 平均空闲 {idle}（{share}），在等待其他 GPU 或服务器。",
    )


def _describe_memory(trace: StepTrace) -> Text:
    peak_bytes = trace.memory.peak()
    kind, size = max(peak_bytes.items(), key=lambda item: item[1])
    total, most = format_bytes(sum(peak_bytes.values())), format_bytes(size)
    return (
        f"The fullest GPU holds {total}, {most} of it {kind}.",
        f"占用最多的 GPU 需要 {total}，其中{MEMORY_KINDS[kind].text('zh')} {most}。",
    )


def _describe_mfu(trace: StepTrace) -> Text | None:
    if math.isnan(trace.mfu):
        return None
    used, peak = _format_percent(trace.mfu), f"{trace.step.ranks} × {trace.peak_flops / 1e12:g} TFLOP/s"
    return f"MFU {used}: the FLOPs of three forward passes, of {peak}.", f"MFU {used}：三倍前向 FLOPs 除以 {peak}。"
