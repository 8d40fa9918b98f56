"""What can be asked about a run. Every number here is read from the run, or from running it again; none is typed.

Each function takes the run and a random generator and gives a question, or None where it makes no sense for this run.
Wrong choices are the ideas that people do have (steps of a ring: n, or 2n-1; a parameter server that sends as much as a
worker; ...).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...collective import get_collective
from ...locale import Text
from ...simulate import Trace
from ...topology import Topology
from ...units import format_bandwidth, format_bytes, format_time
from ...verify import Terms, list_contributions
from .question import Alternative, Question

Random = np.random.Generator


@dataclass(frozen=True, eq=False)
class QuestionRun:
    """A trace and what several questions need of it."""

    trace: Trace

    @property
    def n(self) -> int:
        return self.trace.schedule.ranks

    @cached_property
    def used(self) -> np.ndarray:  # type: ignore[type-arg]
        """Links that carry something, the busiest first."""
        busy = self.trace.link_busy
        links = np.flatnonzero(self.trace.link_bytes)
        return links[np.argsort(-busy[links], kind="stable")]

    def kind(self, link: int) -> str:
        """The kind of a link's cable.

        Args:
            link: Number in the topology.
        """
        links = self.trace.topology.links
        return str(links.cables[links.cable[link]].kind)


def _pair_texts(en: str, zh: str) -> Text:
    return en, zh


def _build_choice(
    topic: str,
    ask: Text,
    explanation: Text,
    right: Alternative,
    wrong: list[Alternative],
    random: Random,
    most: int = 4,
) -> Question | None:
    """A choice question in random order; None if no wrong choice differs from the right one."""
    seen, distinct = {right.text[0]}, []
    for alternative in wrong:
        if alternative.text[0] not in seen:
            seen.add(alternative.text[0])
            distinct.append(alternative)
    if not distinct:
        return None
    choices = [right, *distinct[: most - 1]]
    order = random.permutation(len(choices))
    return Question(
        "choice",
        topic,
        ask,
        explanation,
        answer=int(np.flatnonzero(order == 0)[0]),
        choices=tuple(choices[k] for k in order),
    )


def _format_steps(count: int) -> Text:
    return ("1 step" if count == 1 else f"{count} steps"), f"{count} 步"


# ---- the schedule


def _ask_steps(run: QuestionRun, random: Random) -> Question | None:
    """How many steps; against n, 2n-1, n-1 and log2 n."""
    s, n = run.trace.schedule, run.n
    per_step = len(s) / s.steps
    ideas: list[tuple[int, Text]] = [
        (
            n,
            (
                "One step per rank: but n hops would bring a chunk back to where it began.",
                "每个 rank 一步：但走 n 跳就回到起点了。",
            ),
        ),
        (
            2 * n - 1,
            (
                "2n-1 counts NCCL's primitive calls (and a comment in Open MPI says it); messages are fewer.",
                "2n-1 数的是 NCCL 的原语调用次数（Open MPI 的注释也这样写）；消息没有那么多。",
            ),
        ),
        (n - 1, ("n-1 is one half of a ring; and a tree needs fewer still.", "n-1 只是 ring 的一半；而树需要的更少。")),
        (
            2 * (n - 1),
            ("2(n-1) is a ring's allreduce; this is not one.", "2(n-1) 是 ring allreduce 的步数；这里不是。"),
        ),
        (
            max(1, (n - 1).bit_length()),
            ("log2(n) steps are possible, but not with this pattern.", "log2(n) 步是可能的，但不是这种模式。"),
        ),
        (2, ("In and out again would be two steps.", "一进一出才是两步。")),
    ]
    explanation = (
        f"The schedule has {_format_steps(s.steps)[0]} with {len(s):,} transfers, {per_step:.3g} per step on average.",
        f"这个调度共 {s.steps} 步、{len(s):,} 次传输，平均每步 {per_step:.3g} 次。",
    )
    right = Alternative(
        _format_steps(s.steps), ("Print the schedule: a column per step.", "打印调度表即可看到：每步一列。")
    )
    wrong = [Alternative(_format_steps(count), idea) for count, idea in ideas if count != s.steps]
    wrong = [wrong[k] for k in random.permutation(len(wrong))]
    ask = _pair_texts("How many steps does the schedule take?", "这个调度一共需要多少步？")
    return _build_choice("steps", ask, explanation, right, wrong, random)


def _ask_sent_bytes(run: QuestionRun, random: Random) -> Question | None:
    """Bytes that one rank sends."""
    t = run.trace
    rank = int(random.integers(run.n))
    value = int(t.sent_bytes[rank])
    if not value:
        return None
    share = value / t.nbytes
    mine = t.schedule.by_rank(rank)
    count = int((mine["src"] == rank).sum()) - int(((mine["src"] == rank) & (mine["dst"] == rank)).sum())
    ask = _pair_texts(f"How many bytes does rank {rank} send in all?", f"rank {rank} 总共发送多少字节？")
    explanation = (
        f"Rank {rank} sends {count} chunks, together {format_bytes(value)}, {share:.4g} of its "
        f"{format_bytes(t.nbytes)} buffer.",
        f"rank {rank} 发送 {count} 个 chunk，共 {format_bytes(value)}，是其 {format_bytes(t.nbytes)} 缓冲区的 "
        f"{share:.4g} 倍。",
    )
    return Question("number", "sent", ask, explanation, value, "bytes")


def _ask_total_sent_bytes(run: QuestionRun, random: Random) -> Question | None:
    """Bytes that all endpoints send together; against one rank's share, and one half."""
    t = run.trace
    total, busiest = int(t.sent_bytes.sum()), int(t.sent_bytes.max())
    if not total:
        return None
    ask = _pair_texts("How many bytes do all endpoints together send?", "所有端点总共发送多少字节？")
    explanation = (
        f"The busiest endpoint sends {format_bytes(busiest)}; over all {t.schedule.endpoints} endpoints it adds up to "
        f"{format_bytes(total)}, {total / t.nbytes:.4g} buffers.",
        f"最忙的端点发送 {format_bytes(busiest)}；全部 {t.schedule.endpoints} 个端点加起来是 {format_bytes(total)}，"
        f"相当于 {total / t.nbytes:.4g} 份缓冲区。",
    )
    right = Alternative(
        _format_size(total), ("Each transfer counts once, where it is sent.", "每次传输在发送端计一次。")
    )
    wrong = [
        Alternative(
            _format_size(busiest),
            ("That is what one endpoint sends, the busiest.", "这是单个端点（最忙的那个）发送的量。"),
        ),
        Alternative(
            _format_size(2 * total),
            (
                "Every byte is sent once and received once; do not count both.",
                "每个字节发送一次、接收一次；不要重复计算。",
            ),
        ),
        Alternative(
            _format_size(total // 2),
            (
                "That is one of two halves (reduce-scatter or allgather).",
                "这只是两半之一（reduce-scatter 或 allgather）。",
            ),
        ),
        Alternative(
            _format_size(t.nbytes * run.n),
            ("n buffers would be one whole buffer from each rank.", "n 份意味着每个 rank 各发一整份。"),
        ),
    ]
    return _build_choice("total", ask, explanation, right, wrong, random)


def _format_size(nbytes: float) -> Text:
    return format_bytes(nbytes), format_bytes(nbytes)


def _ask_hot_endpoint(run: QuestionRun, random: Random) -> Question | None:
    """Who sends most: somebody, or all the same."""
    t = run.trace
    most = int(t.sent_bytes.max(initial=0))
    top = np.flatnonzero(t.sent_bytes == most)
    if not most or 1 < len(top) < len(t.sent_bytes):
        return None
    names = [t.schedule.who(int(e)) for e in range(t.schedule.endpoints)]
    mean = t.sent_bytes.mean()
    ask = _pair_texts("Which endpoint sends the most bytes?", "哪个端点发送的字节最多？")
    explanation = (
        f"The busiest sends {format_bytes(most)}, the mean over all endpoints is {format_bytes(mean)}.",
        f"最忙的端点发送 {format_bytes(most)}，所有端点的平均值是 {format_bytes(mean)}。",
    )
    same = ("all send the same", "都一样多")
    if len(top) == 1:
        who = names[int(top[0])]
        right = Alternative((who, who), ("What everybody needs goes through it.", "大家需要的数据都要经过它。"))
        wrong = [
            Alternative(
                same,
                (
                    "That would be a ring, or a server spread over all ranks.",
                    "那是 ring，或者分摊到所有 rank 的服务器。",
                ),
            )
        ]
    else:
        right = Alternative(same, ("Every endpoint does the same work.", "每个端点的工作量相同。"))
        wrong = [
            Alternative(
                (names[0], names[0]),
                ("Rank 0 is special only in a server or a rooted tree.", "只有参数服务器或有根的树里 rank 0 才特殊。"),
            )
        ]
    others = [e for e in random.permutation(len(names)) if e not in top or len(top) > 1]
    wrong += [
        Alternative(
            (names[e], names[e]), ("It sends no more than the others of its kind.", "它发送的并不比同类端点多。")
        )
        for e in others[:2]
    ]
    return _build_choice("hot", ask, explanation, right, wrong, random)


# ---- data


def _ask_contributions(run: QuestionRun, random: Random) -> Question | None:
    """How many ranks' contributions a slot holds after so many steps."""
    s = run.trace.schedule
    if not get_collective(s.collective).reduces or s.steps < 2 or len(s) > 50_000:
        return None
    rank, chunk = int(random.integers(s.ranks)), int(random.integers(s.chunks))
    after = int(random.integers(1, s.steps))
    counts = [len(terms) for step, terms in list_contributions(s, rank, chunk) if step < after]
    ask = _pair_texts(
        f"After the first {_format_steps(after)[0]}, how many ranks' contributions are in chunk {chunk} of rank "
        f"{rank}?",
        f"前 {after} 步之后，rank {rank} 的 chunk {chunk} 里包含多少个 rank 的贡献？",
    )
    writes = len(counts) - 1
    explanation = (
        f"It began with 1, its own, and was written {writes} times in these steps; now it holds {counts[-1]} of "
        f"{s.ranks}.",
        f"开始时只有自己的 1 份，这些步里被写入 {writes} 次；现在包含 {s.ranks} 份中的 {counts[-1]} 份。",
    )
    return Question("number", "contributions", ask, explanation, counts[-1], "count")


def _ask_who_has_chunk(run: QuestionRun, random: Random) -> Question | None:
    """Which rank holds a finished chunk after so many steps."""
    s = run.trace.schedule
    kind = get_collective(s.collective)
    if s.steps < 2 or len(s) > 20_000 or s.ranks > 32 or kind.has_separate_result:
        return None
    after, chunk = int(random.integers(max(1, s.steps // 2), s.steps)), int(random.integers(s.chunks))
    goal = s.ranks if kind.reduces else 1
    have = [r for r in range(s.ranks) if len(_list_terms(run, r, chunk, after)) == goal]
    lack = [r for r in range(s.ranks) if r not in have]
    if not have or not lack:
        return None
    right_rank = int(random.choice(have))
    others = [int(r) for r in random.permutation(lack)[:3]]
    ask = _pair_texts(
        f"Which of these ranks holds chunk {chunk} complete after the first {_format_steps(after)[0]}?",
        f"前 {after} 步之后，下列哪个 rank 已持有完整的 chunk {chunk}？",
    )
    names = ", ".join(map(str, have))
    explanation = (
        f"Then rank{'s' * (len(have) > 1)} {names} of {s.ranks} hold it complete.",
        f"此时 {s.ranks} 个 rank 中，{names} 已持有完整的它。",
    )
    right = Alternative(
        (f"rank {right_rank}", f"rank {right_rank}"),
        ("It has arrived there, with every contribution.", "它已到达那里，且包含全部贡献。"),
    )
    wrong = [Alternative((f"rank {r}", f"rank {r}"), _explain_lack(run, r, chunk, after, goal)) for r in others]
    return _build_choice("who", ask, explanation, right, wrong, random)


def _list_terms(run: QuestionRun, rank: int, chunk: int, after: int) -> Terms:
    return [terms for step, terms in list_contributions(run.trace.schedule, rank, chunk) if step < after][-1]


def _explain_lack(run: QuestionRun, rank: int, chunk: int, after: int, goal: int) -> Text:
    count = len(_list_terms(run, rank, chunk, after))
    return f"It holds {count} of {goal} contributions then.", f"此时它只有 {goal} 份贡献中的 {count} 份。"


# ---- links


def _ask_link_bytes(run: QuestionRun, random: Random) -> Question | None:
    """Bytes over one directed link."""
    t = run.trace
    link = int(random.choice(run.used[: max(4, len(run.used) // 2)]))
    value, name = int(t.link_bytes[link]), t.topology.link_name(link)
    crossing = value / t.nbytes
    ask = _pair_texts(
        f"How many bytes cross the link {name}, in this direction?", f"链路 {name} 在这个方向上传输多少字节？"
    )
    explanation = (
        f"{format_bytes(value)} cross it, {crossing:.4g} buffers; the other direction of a cable is a link of its own.",
        f"共 {format_bytes(value)}，相当于 {crossing:.4g} 份缓冲区；线缆的另一个方向是另一条链路。",
    )
    return Question("number", "link", ask, explanation, value, "bytes")


def _ask_busiest_link(run: QuestionRun, random: Random) -> Question | None:
    """Which link is busy for the largest part of the run."""
    t = run.trace
    busy = t.link_busy
    top = busy.max(initial=0.0)
    best = [int(k) for k in run.used if busy[k] > 0.999 * top]
    rest = [int(k) for k in run.used if busy[k] < 0.97 * top]
    idle = [int(k) for k in random.permutation(np.flatnonzero(t.link_bytes == 0))[:1]]
    if not best or not (rest or idle):
        return None
    kinds: dict[str, int] = {}
    for k in random.permutation(rest):
        kinds.setdefault(run.kind(int(k)) + t.topology.link_name(int(k)).split("/")[-1][:3], int(k))
    picked = [*list(kinds.values())[:3], *idle][:3]
    links = [int(random.choice(best)), *picked]
    order = random.permutation(len(links))
    names = [t.topology.link_name(k) for k in links]
    choices = [Alternative((name, name), _explain_share(run, k)) for name, k in zip(names, links, strict=True)]
    ask = _pair_texts(
        "Which of these links is the bottleneck: busy for the largest part of the run?",
        "下列哪条链路是瓶颈，即占用时间比例最大？",
    )
    explanation = (
        f"{names[0]} carries {format_bytes(t.link_bytes[links[0]])} at "
        f"{format_bandwidth(t.topology.links.bandwidth[links[0]])}, {100 * busy[links[0]] / t.duration:.3g} % of the "
        "run.",
        f"{names[0]} 以 {format_bandwidth(t.topology.links.bandwidth[links[0]])} 传输 "
        f"{format_bytes(t.link_bytes[links[0]])}，占全程的 {100 * busy[links[0]] / t.duration:.3g} %。",
    )
    position = int(np.flatnonzero(order == 0)[0])
    return Question(
        "link",
        "bottleneck",
        ask,
        explanation,
        position,
        choices=tuple(choices[k] for k in order),
        links=tuple(links[int(k)] for k in order),
    )


def _explain_share(run: QuestionRun, link: int) -> Text:
    carried, share = run.trace.link_bytes[link], f"{100 * run.trace.link_busy[link] / run.trace.duration:.3g} %"
    if not carried:
        return "Nothing crosses it.", "没有数据经过它。"
    size, rate = format_bytes(carried), format_bandwidth(run.trace.topology.links.bandwidth[link])
    return f"It carries {size} at {rate}: busy {share} of the run.", f"它以 {rate} 传输 {size}：占全程的 {share}。"


def _ask_hops(run: QuestionRun, random: Random) -> Question | None:
    """How many links a transfer crosses."""
    t = run.trace
    row = t.schedule.transfers[int(random.integers(len(t.schedule)))]
    src, dst = int(row["src"]), int(row["dst"])
    route = [] if src == dst else t.topology.routes(t.placement[[src]], t.placement[[dst]])[0].tolist()
    if not route:
        return None
    a, b = t.schedule.who(src), t.schedule.who(dst)
    ask = _pair_texts(
        f"How many links does a chunk cross on its way from {a} to {b}?", f"一个 chunk 从 {a} 到 {b} 要经过多少条链路？"
    )
    return Question("number", "hops", ask, _explain_hops(t.topology, route), len(route), "count")


def _explain_hops(topology: Topology, route: Sequence[int]) -> Text:
    """The way, link by link, and its latency."""
    names, links, hops = topology.devices.name, topology.links, len(route)
    way = " → ".join([str(names[links.src[k]]) for k in route] + [str(names[links.dst[route[-1]]])])
    alpha = format_time(float(links.alpha[route].sum()))
    en = f"The way is {way}: {hops} links, and their alphas add up to {alpha}."
    return en, f"路径是 {way}：共 {hops} 条链路，alpha 之和为 {alpha}。"


# ---- time


def _ask_doubled_bandwidth(run: QuestionRun, random: Random) -> Question | None:
    """What twice the bandwidth of one kind of link saves; against half, and nothing."""
    neck = run.trace.bottleneck
    if neck is None:
        return None
    kind = str(random.choice(sorted(neck.saves)))
    saved = neck.saves[kind]
    links = ("cable", "线缆") if kind == "cable" else (f"{kind} link", f" {kind} 链路")
    ask = _pair_texts(
        f"Every {links[0]} gets twice the bandwidth. How much shorter is the run?",
        f"所有{links[1]}的带宽加倍。运行时间缩短多少？",
    )
    before, after = format_time(run.trace.duration), format_time(run.trace.duration * (1 - saved))
    changes = saved >= 0.0005
    explanation = (
        (
            f"Run again, it takes {after} instead of {before}: {_format_percent(saved)} less. "
            if changes
            else f"Run again, it still takes {before}. "
        )
        + f"With endless bandwidth everywhere {_format_percent(neck.latency)} of the time would remain, the latencies.",
        (
            f"重新运行需 {after}，原来是 {before}：缩短 {_format_percent(saved)}。"
            if changes
            else f"重新运行仍需 {before}。"
        )
        + f"即使所有带宽无限大，仍会剩下 {_format_percent(neck.latency)} 的时间，即延迟。",
    )
    right = Alternative(_format_saving(saved), ("That is what running it again says.", "重新运行的结果正是如此。"))
    ideas: list[tuple[float, Text]] = [
        (
            0.5,
            (
                "Half the time would need every transfer to be all bandwidth, over this kind of link alone.",
                "缩短一半要求每次传输的时间全部花在这种链路的带宽上。",
            ),
        ),
        (
            0.0,
            (
                "It would change nothing only if the link were never what a step waits for.",
                "只有当各步从不等待这种链路时，才会毫无变化。",
            ),
        ),
        (0.25, ("A quarter is a guess between half and nothing.", "四分之一只是折中的猜测。")),
    ]
    ideas += [
        (other, (f"That is what doubling {name} saves.", f"这是把 {name} 加倍的效果。"))
        for name, other in neck.saves.items()
        if name != kind
    ]
    wrong = [Alternative(_format_saving(value), idea) for value, idea in ideas if abs(value - saved) > 0.04]
    return _build_choice("doubling", ask, explanation, right, wrong, random)


def _format_percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _format_saving(share: float) -> Text:
    return ("not at all", "完全没有缩短") if share < 0.0005 else (_format_percent(share), _format_percent(share))


def _ask_time(run: QuestionRun, random: Random) -> Question | None:
    """How long the run takes."""
    from ...analysis import critical_path

    t = run.trace
    if len(t.schedule) > 50_000:
        return None
    path = critical_path(t)
    parts = [float(v.sum()) for v in (path.alpha, path.beta, path.waiting)]
    alpha, beta, waiting = (format_time(part if part > 1e-9 * t.duration else 0.0) for part in parts)
    slowest = run.trace.topology.links
    link = int(run.used[0])
    ask = _pair_texts(
        f"The busiest link has {format_bandwidth(slowest.bandwidth[link])} and alpha "
        f"{format_time(slowest.alpha[link])}. How long does the run take?",
        f"最忙的链路带宽 {format_bandwidth(slowest.bandwidth[link])}、alpha {format_time(slowest.alpha[link])}。"
        "运行需要多长时间？",
    )
    explanation = (
        f"{format_time(t.duration)}: the {len(path.transfers)} transfers that follow from one another spend {alpha} on "
        f"latency, {beta} on their bytes and {waiting} on sharing and waiting.",
        f"{format_time(t.duration)}：前后相继的 {len(path.transfers)} 次传输中，延迟占 {alpha}，传字节占 {beta}，"
        f"共享与等待占 {waiting}。",
    )
    return Question("number", "time", ask, explanation, t.duration, "time", tolerance=0.05)


def _ask_busbw(run: QuestionRun, random: Random) -> Question | None:
    """busbw from algbw."""
    t = run.trace
    if not t.busbw:
        return None
    factor = get_collective(t.schedule.collective).busbw(run.n)
    ask = _pair_texts(
        f"The run's algbw is {format_bandwidth(t.algbw)} with {run.n} ranks. What does nccl-tests print as busbw?",
        f"共 {run.n} 个 rank，algbw 为 {format_bandwidth(t.algbw)}。nccl-tests 打印的 busbw 是多少？",
    )
    explanation = (
        f"busbw = algbw × {factor:.4g}, the factor of {t.schedule.collective} for {run.n} ranks: "
        f"{format_bandwidth(t.busbw)}. It is a fixed factor, not measured traffic.",
        f"busbw = algbw × {factor:.4g}，即 {t.schedule.collective} 在 {run.n} 个 rank 时的系数："
        f"{format_bandwidth(t.busbw)}。它是固定系数，不是实测流量。",
    )
    return Question("number", "busbw", ask, explanation, t.busbw, "rate", tolerance=0.03)


def _ask_latency(run: QuestionRun, random: Random) -> Question | None:
    """The time of an almost empty buffer."""
    t = run.trace
    neck = t.bottleneck
    if neck is None or neck.latency <= 0:
        return None
    left = neck.latency * t.duration
    ask = _pair_texts("How long would the run take with almost no bytes?", "如果几乎没有数据要传，需要多长时间？")
    explanation = (
        f"Only the latencies remain: {_format_steps(t.schedule.steps)[0]} and the alphas of their routes make "
        f"{format_time(left)}.",
        f"只剩延迟：{t.schedule.steps} 步各条路径的 alpha 合计 {format_time(left)}。",
    )
    return Question("number", "latency", ask, explanation, left, "time", tolerance=0.05)


def _ask_doubled_bytes(run: QuestionRun, random: Random) -> Question | None:
    """By what factor the time grows when the buffer doubles."""
    from ...simulate import simulate

    t = run.trace
    if t.rerun is not None or not t.nbytes:
        return None
    other = simulate(t.schedule, t.topology, 2 * t.nbytes, t.dtype, t.engine)
    factor = other.duration / t.duration
    ask = _pair_texts(
        "By what factor does the time grow if the buffer is twice as large?", "如果缓冲区加倍，时间变为原来的多少倍？"
    )
    explanation = (
        f"{format_time(other.duration)} instead of {format_time(t.duration)}, {factor:.3g} times: the bytes double, "
        "the latencies do not.",
        f"{format_time(t.duration)} 变为 {format_time(other.duration)}，即 {factor:.3g} 倍：字节数加倍，延迟不变。",
    )
    return Question("number", "factor", ask, explanation, factor, "factor", tolerance=0.03)


ASKERS: tuple[Callable[[QuestionRun, Random], Question | None], ...] = (
    _ask_busiest_link,
    _ask_steps,
    _ask_link_bytes,
    _ask_doubled_bandwidth,
    _ask_sent_bytes,
    _ask_contributions,
    _ask_who_has_chunk,
    _ask_time,
    _ask_total_sent_bytes,
    _ask_busbw,
    _ask_hot_endpoint,
    _ask_doubled_bytes,
    _ask_latency,
    _ask_hops,
)
