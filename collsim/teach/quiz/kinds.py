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

from ...analysis.device_names import name_device, name_link
from ...analysis.endpoint_names import name_endpoint
from ...collective import get_collective
from ...locale import Text, build_text, join_texts, repeat_text
from ...simulate import Trace
from ...units import format_bandwidth, format_bytes, format_percent, format_time
from ...verify import Terms, list_contributions
from .question import Alternative, Question

Random = np.random.Generator


def _text(key: str, **values: object) -> Text:
    """A text of this module in every language."""
    return build_text("quiz", f"kinds.{key}", **values)


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


def _build_choice(
    topic: str,
    ask: Text,
    explanation: Text,
    right: Alternative,
    wrong: list[Alternative],
    random: Random,
) -> Question | None:
    """A question with at most four choices in random order; None if no wrong choice differs from the right one."""
    seen, distinct = {right.text[0]}, []
    for alternative in wrong:
        if alternative.text[0] not in seen:
            seen.add(alternative.text[0])
            distinct.append(alternative)
    if not distinct:
        return None
    choices = [right, *distinct[:3]]
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
    return _text("steps", count=count)


# ---- the schedule


def _ask_steps(run: QuestionRun, random: Random) -> Question | None:
    """How many steps; against n, 2n-1, n-1 and log2 n."""
    s, n = run.trace.schedule, run.n
    per_step = len(s) / s.steps
    ideas: list[tuple[int, Text]] = [
        (n, _text("one_step_per_rank")),
        (2 * n - 1, _text("2n_1_counts_nccl")),
        (n - 1, _text("n_1_one_half")),
        (2 * (n - 1), _text("2_n_1_ring")),
        (max(1, (n - 1).bit_length()), _text("log2_n_steps_possible")),
        (2, _text("out_again_would_be")),
    ]
    explanation = _text(
        "schedule_has_transfers_per", steps=s.steps, transfers=f"{len(s):,}", per_step=f"{per_step:.3g}"
    )
    right = Alternative(_format_steps(s.steps), _text("print_schedule_column_per"))
    wrong = [Alternative(_format_steps(count), idea) for count, idea in ideas if count != s.steps]
    wrong = [wrong[k] for k in random.permutation(len(wrong))]
    ask = _text("how_many_steps_does")
    return _build_choice("steps", ask, explanation, right, wrong, random)


def _ask_sent_bytes(run: QuestionRun, random: Random) -> Question | None:
    """Bytes that one rank sends."""
    t = run.trace
    rank = int(random.integers(run.n))
    value = int(t.sent_bytes[rank])
    if not value:
        return None
    share = value / t.nbytes
    sent = t.schedule.by_rank(rank)
    count = int((sent["src"] == rank).sum()) - int(((sent["src"] == rank) & (sent["dst"] == rank)).sum())
    ask = _text("how_many_bytes_does", rank=rank)
    explanation = _text(
        "rank_sends_chunks_together",
        rank=rank,
        count=count,
        size=format_bytes(value),
        share=f"{share:.4g}",
        nbytes=format_bytes(t.nbytes),
    )
    return Question("number", "sent", ask, explanation, value, "bytes")


def _ask_total_sent_bytes(run: QuestionRun, random: Random) -> Question | None:
    """Bytes that all endpoints send together; against one rank's share, and one half."""
    t = run.trace
    total, busiest = int(t.sent_bytes.sum()), int(t.sent_bytes.max())
    if not total:
        return None
    ask = _text("how_many_bytes_do")
    explanation = _text(
        "busiest_endpoint_sends_over",
        busiest=format_bytes(busiest),
        endpoints=t.schedule.endpoints,
        total=format_bytes(total),
        buffers=f"{total / t.nbytes:.4g}",
    )
    right = Alternative(_format_size(total), _text("each_transfer_counts_once", transfers=len(t.schedule)))
    wrong = [
        Alternative(_format_size(busiest), _text("one_endpoint_sends_busiest")),
        Alternative(_format_size(2 * total), _text("every_byte_sent_once")),
        Alternative(_format_size(total // 2), _text("one_two_halves_reduce")),
        Alternative(_format_size(t.nbytes * run.n), _text("n_buffers_would_be")),
    ]
    return _build_choice("total", ask, explanation, right, wrong, random)


def _format_size(nbytes: float) -> Text:
    return repeat_text(format_bytes(nbytes))


def _ask_hot_endpoint(run: QuestionRun, random: Random) -> Question | None:
    """Who sends most: somebody, or all the same."""
    t = run.trace
    most = int(t.sent_bytes.max(initial=0))
    top = np.flatnonzero(t.sent_bytes == most)
    if not most or 1 < len(top) < len(t.sent_bytes):
        return None
    names = [name_endpoint(t.schedule, e) for e in range(t.schedule.endpoints)]
    mean = t.sent_bytes.mean()
    ask = _text("which_endpoint_sends_most")
    explanation = _text("busiest_sends_mean_over", most=format_bytes(most), mean=format_bytes(mean))
    same = _text("all_send_same")
    if len(top) == 1:
        who = names[int(top[0])]
        right = Alternative(who, _text("everybody_needs_goes_through", ratio=f"{most / mean:.3g}"))
        wrong = [Alternative(same, _text("would_be_ring_or"))]
    else:
        right = Alternative(same, _text("every_endpoint_does_same", most=format_bytes(most)))
        wrong = [Alternative(names[0], _text("rank_0_special_only"))]
    others = [e for e in random.permutation(len(names)) if e not in top or len(top) > 1]
    for e in others[:2]:
        reason = _text("sends_no_more_than", sent=format_bytes(int(t.sent_bytes[e])))
        wrong.append(Alternative(names[e], reason))
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
    ask = _text("after_first_how_many", steps=after, chunk=chunk, rank=rank)
    writes = len(counts) - 1
    explanation = _text("began_1_its_own", writes=writes, counts=counts[-1], ranks=s.ranks)
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
    ask = _text("which_these_ranks_holds", chunk=chunk, steps=after)
    names = ", ".join(map(str, have))
    explanation = _text("then_rank_hold_complete", have=len(have), names=names, ranks=s.ranks)
    right = Alternative(repeat_text(f"rank {right_rank}"), _count_terms(run, right_rank, chunk, after, goal))
    wrong = [Alternative(repeat_text(f"rank {r}"), _count_terms(run, r, chunk, after, goal)) for r in others]
    return _build_choice("who", ask, explanation, right, wrong, random)


def _list_terms(run: QuestionRun, rank: int, chunk: int, after: int) -> Terms:
    return [terms for step, terms in list_contributions(run.trace.schedule, rank, chunk) if step < after][-1]


def _count_terms(run: QuestionRun, rank: int, chunk: int, after: int, goal: int) -> Text:
    count = len(_list_terms(run, rank, chunk, after))
    return _text("holds_contributions_then", count=count, goal=goal)


# ---- links


def _ask_link_bytes(run: QuestionRun, random: Random) -> Question | None:
    """Bytes over one directed link."""
    t = run.trace
    link = int(random.choice(run.used[: max(4, len(run.used) // 2)]))
    value, name = int(t.link_bytes[link]), name_link(t, link)
    crossing = value / t.nbytes
    ask = _text("how_many_bytes_cross", name=name)
    explanation = _text("cross_buffers_other_direction", size=format_bytes(value), buffers=f"{crossing:.4g}")
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
    names = [name_link(t, k) for k in links]
    choices = [Alternative(name, _explain_share(run, k)) for name, k in zip(names, links, strict=True)]
    ask = _text("which_these_links_bottleneck")
    explanation = _text(
        "carries_at_run",
        names=names[0],
        link_bytes=format_bytes(t.link_bytes[links[0]]),
        bandwidth=format_bandwidth(t.topology.links.bandwidth[links[0]]),
        busy=f"{100 * busy[links[0]] / t.duration:.3g}",
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
        return _text("nothing_crosses")
    size, rate = format_bytes(carried), format_bandwidth(run.trace.topology.links.bandwidth[link])
    return _text("carries_at_busy_run", size=size, rate=rate, share=share)


def _ask_hops(run: QuestionRun, random: Random) -> Question | None:
    """How many links a transfer crosses."""
    t = run.trace
    row = t.schedule.transfers[int(random.integers(len(t.schedule)))]
    src, dst = int(row["src"]), int(row["dst"])
    route = [] if src == dst else t.topology.routes(t.placement[[src]], t.placement[[dst]])[0].tolist()
    if not route:
        return None
    a, b = name_endpoint(t.schedule, src), name_endpoint(t.schedule, dst)
    ask = _text("how_many_links_does", a=a, b=b)
    return Question("number", "hops", ask, _explain_hops(t, route), len(route), "count")


def _explain_hops(trace: Trace, route: Sequence[int]) -> Text:
    """The way, link by link, and its latency."""
    links = trace.topology.links
    devices = [*(int(links.src[k]) for k in route), int(links.dst[route[-1]])]
    names = [name_device(trace, device) for device in devices]
    path = tuple(" → ".join(name[k] for name in names) for k in range(len(names[0])))
    alpha = format_time(float(links.alpha[route].sum()))
    return _text("way_of_links", way=path, hops=len(route), alpha=alpha)


# ---- time


def _ask_doubled_bandwidth(run: QuestionRun, random: Random) -> Question | None:
    """What twice the bandwidth of one kind of link saves; against half, and nothing."""
    neck = run.trace.bottleneck
    if neck is None:
        return None
    kind = str(random.choice(sorted(neck.savings)))
    saved = neck.savings[kind]
    links = _text("cable") if kind == "cable" else _text("link", kind=kind)
    ask = _text("every_gets_twice_bandwidth", links=links)
    before, after = format_time(run.trace.duration), format_time(run.trace.duration * (1 - saved))
    if saved >= 0.0005:
        result = _text("runs_shorter", before=before, after=after, saved=format_percent(saved))
    else:
        result = _text("runs_as_long", before=before)
    latency = _text("latencies_would_remain", share=format_percent(neck.latency))
    explanation = join_texts("sentences", [result, latency])
    right = Alternative(_format_saving(saved), _text("running_again_says"))
    ideas: list[tuple[float, Text]] = [
        (0.5, _text("half_time_would_need")),
        (0.0, _text("would_change_nothing_only")),
        (0.25, _text("quarter_needs_half")),
    ]
    ideas += [(other, _text("doubling_saves", name=name)) for name, other in neck.savings.items() if name != kind]
    wrong = [Alternative(_format_saving(value), idea) for value, idea in ideas if abs(value - saved) > 0.04]
    return _build_choice("doubling", ask, explanation, right, wrong, random)


def _format_saving(share: float) -> Text:
    return _text("not_at_all") if share < 0.0005 else repeat_text(format_percent(share))


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
    ask = _text(
        "busiest_link_has_alpha",
        bandwidth=format_bandwidth(slowest.bandwidth[link]),
        alpha=format_time(slowest.alpha[link]),
    )
    explanation = _text(
        "transfers_follow_from_one",
        duration=format_time(t.duration),
        transfers=len(path.transfers),
        alpha=alpha,
        beta=beta,
        waiting=waiting,
    )
    return Question("number", "time", ask, explanation, t.duration, "time", tolerance=0.05)


def _ask_busbw(run: QuestionRun, random: Random) -> Question | None:
    """busbw from algbw."""
    t = run.trace
    if not t.busbw:
        return None
    factor = get_collective(t.schedule.collective).busbw(run.n)
    ask = _text("run_s_algbw_ranks", algbw=format_bandwidth(t.algbw), n=run.n)
    explanation = _text(
        "busbw_algbw_factor_ranks",
        factor=f"{factor:.4g}",
        collective=t.schedule.collective,
        n=run.n,
        busbw=format_bandwidth(t.busbw),
    )
    return Question("number", "busbw", ask, explanation, t.busbw, "rate", tolerance=0.03)


def _ask_latency(run: QuestionRun, random: Random) -> Question | None:
    """The time of an almost empty buffer."""
    t = run.trace
    neck = t.bottleneck
    if neck is None or neck.latency <= 0:
        return None
    left = neck.latency * t.duration
    ask = _text("how_long_would_run")
    explanation = _text("only_latencies_remain_alphas", steps=t.schedule.steps, left=format_time(left))
    return Question("number", "latency", ask, explanation, left, "time", tolerance=0.05)


def _ask_doubled_bytes(run: QuestionRun, random: Random) -> Question | None:
    """By what factor the time grows when the buffer doubles."""
    from ...simulate import simulate

    t = run.trace
    if t.rerun is not None or not t.nbytes:
        return None
    other = simulate(t.schedule, t.topology, 2 * t.nbytes, t.dtype, t.engine)
    factor = other.duration / t.duration
    ask = _text("factor_does_time_grow")
    explanation = _text(
        "instead_times_bytes_double",
        doubled=format_time(other.duration),
        before=format_time(t.duration),
        factor=f"{factor:.3g}",
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
