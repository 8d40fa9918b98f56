"""A sentence or two per step, in English and Chinese, made from what the step does; and why the run takes as long as it
does.

Subject first, numbers with units, the nouns of the field. Where a step follows no pattern that fits a sentence, the
algorithm's own line (`says=`) takes the place of the first sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ...collective import get_collective
from ...locale import Text
from ...registry import find_schedule_algorithm
from ...verify import Counts
from . import words
from .moments import Moment, count_goal, iterate_moments
from .names import name_endpoint, name_helpers, name_link, name_ranks

if TYPE_CHECKING:
    from ...simulate import Trace

_MOST_LISTED = 4  # pairs that a sentence names one by one
Mask = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int32] | npt.NDArray[np.int64]


def narrate(trace: Trace) -> list[Text]:
    """For every step what happens, in English and Chinese; an empty list where there is nothing to do.

    Args:
        trace: The run.
    """
    sentences: list[Text] = []
    time_texts: dict[tuple[object, ...], Text] = {}
    parties_of: dict[bytes, Parties | None] = {}
    for moment in iterate_moments(trace):
        first = _describe_moves(trace, moment, parties_of)
        times = (
            moment.step.src.tobytes(),
            moment.step.dst.tobytes(),
            moment.limit.tobytes(),
            int(moment.nbytes.sum()),
            *(round(float(v) * 1e10) for v in (moment.seconds.min(), moment.seconds.max(), moment.load.max())),
        )
        if times not in time_texts:
            time_texts[times] = _describe_time(trace, moment)
        second = time_texts[times]
        sentences.append((_join_parts(first[0], second[0], " "), _join_parts(first[1], second[1], "")))
    return sentences


def _join_parts(a: str, b: str, between: str) -> str:
    return between.join(part for part in (a, b) if part)


# ---- what moves


class Senders(NamedTuple):
    """Who acts, as a subject: `Every rank`, `Rank 3`, `4 ranks`; `many` for the verb."""

    en: str
    zh: str
    many: bool


def _describe_moves(trace: Trace, moment: Moment, parties_of: dict[bytes, Parties | None]) -> Text:
    """The first sentence: who sends what to whom, and what the receiver has then; `met`: the parties of other steps."""
    step = moment.step
    reduces, away = step.reduce, step.src != step.dst
    if not away.any():
        return (
            "Every rank moves chunks inside its own memory; nothing crosses a link.",
            "每个 rank 只在自己的显存内移动 chunk，没有数据经过链路。",
        )
    parts = []
    for mask, adds in ((reduces & away, True), (~reduces & away, False)):
        if mask.any():
            parts.append(_write_clause(trace, moment, mask, adds, parties_of))
    if any(p is None for p in parts):
        return _describe_irregular(trace, moment)
    clauses = [p for p in parts if p is not None]
    if len(clauses) == 1:
        return clauses[0]
    return f"{clauses[0][0]} {_join_meanwhile(clauses[1][0])}", f"{clauses[0][1]}同时，{clauses[1][1]}"


def _join_meanwhile(sentence: str) -> str:
    if sentence.startswith("InfiniBand"):
        lower = sentence
    else:
        lower = sentence[:1].lower() + sentence[1:]
    return f"At the same time {lower}"


def _describe_irregular(trace: Trace, moment: Moment) -> Text:
    pairs = _number_pairs(trace, moment.step.src, moment.step.dst)
    moved = np.unique(pairs[moment.step.src != moment.step.dst])
    few = len(moved) <= _MOST_LISTED
    entry = find_schedule_algorithm(trace.schedule)
    if entry is not None and not (few and _has_idle_rank(trace, moment)):
        en, zh = entry.summary
    else:
        en, zh = ("", "")
    if few:
        listed = _list_transfers(trace, moment, [pairs == pair for pair in moved])
        return _join_parts(en, listed[0], " "), _join_parts(zh, listed[1], "")
    count, total = len(moment.step), words.format_size(int(moment.nbytes.sum()))
    if count > 1:
        many = "transfers carry"
    else:
        many = "transfer carries"
    return _join_parts(en, f"In this step {count:,} {many} {total} in all.", " "), _join_parts(
        zh, f"本步共 {count:,} 个传输，合计 {total}。", ""
    )


def _number_pairs(trace: Trace, src: Longs, dst: Longs) -> npt.NDArray[np.int64]:
    """A number for each pair of endpoints, ordered by sender."""
    return np.asarray(src.astype(np.int64) * trace.schedule.endpoints + dst, np.int64)


def _has_idle_rank(trace: Trace, moment: Moment) -> bool:
    """Whether a rank takes no part in the step, so that the algorithm's own line would say too much."""
    ranks = np.union1d(moment.step.src, moment.step.dst)
    return int((ranks < trace.schedule.ranks).sum()) < trace.schedule.ranks


def _list_transfers(trace: Trace, moment: Moment, rows: list[Mask]) -> Text:
    """`7 chunks of 8 MiB each go 0 → 1 and one 8 MiB chunk goes 0 → 9`: what few pairs carry that follow no pattern;
    `rows`: the transfers of each pair."""
    parts, parts_zh = [], []
    for mine in rows:
        count = np.array([int(mine.sum())])
        what, what_zh = _describe_chunks(moment.nbytes[mine], count)
        ends = [name_endpoint(trace.schedule, int(end[mine][0])) for end in (moment.step.src, moment.step.dst)]
        ends_text, ends_text_zh = (" → ".join(end[k].removeprefix("rank ") for end in ends) for k in (0, 1))
        parts.append(f"{what} {words.choose_form(count[0], 'goes', 'go')} {ends_text}")
        parts_zh.append(f"{ends_text_zh} 传输{what_zh}")
    return f"{words.capitalise(words.join_list(parts))}.", words.tidy_spaces(f"{'，'.join(parts_zh)}。")


class Parties(NamedTuple):
    """Who sends to whom in some transfers: transfers of each sender, and to how many others each sends."""

    who: Senders
    each: Longs
    fan: int
    rings: Receivers | None
    whom: Receivers


def _find_parties(trace: Trace, src: Longs, dst: Longs, channel: Longs) -> Parties | None:
    """Who sends to whom; None where they follow no pattern."""
    src, dst = src.astype(np.int64), dst.astype(np.int64)
    senders, each = np.unique(src, return_counts=True)
    who = _describe_senders(trace, senders, np.unique(dst))
    rings = _find_channel_rings(trace, src, dst, channel)
    if rings:
        fan = 1
    elif len(senders) == 1:
        fan = len(np.unique(dst))
    else:
        fan = _count_receivers(trace, src, dst)
    if who is None or (fan > 1 and not _is_even(trace, src, dst)):
        return None
    whom = _describe_receivers(trace, src, dst, rings)
    if whom is None:
        return None
    return Parties(who, each, fan, rings, whom)


def _write_clause(
    trace: Trace, moment: Moment, mask: Mask, adds: bool, parties_of: dict[bytes, Parties | None]
) -> Text | None:
    """One sentence on the reduces, or the copies, of a step; None where they follow no pattern."""
    moved = moment.step.src[mask], moment.step.dst[mask], moment.step.channel[mask]
    key = b"".join(column.tobytes() for column in moved)
    if key not in parties_of:  # most steps of a schedule have the same
        parties_of[key] = _find_parties(trace, *moved)
    parties = parties_of[key]
    if parties is None:
        return None
    who, each, fan, rings, whom = parties
    chunks = _describe_chunks(moment.nbytes[mask], each // fan)
    if rings is not None and each.min() == each.max() == trace.schedule.channels:
        chunks = _describe_chunks(moment.nbytes[mask], each, one_each=", one per channel,")
    if moment.sent_contributions[mask].min() >= count_goal(trace.schedule) > 1:
        object_text = _mark_finished(chunks)
    else:
        object_text = chunks
    verb_holds = "hold"
    if chunks[0].startswith("one"):
        verb_holds = "holds"
    holds = _describe_contributions(moment.sent_contributions[mask], count_goal(trace.schedule), verb_holds)
    if whom.exchange:
        verb, verb_zh = "exchange", "交换"
    else:
        verb, verb_zh = "send", "发送"
    if who.many:
        verb = f"each {verb}"
    else:
        verb = f"{verb}s"
    if adds:
        after = _describe_after_reduce(trace, moment, mask, whom)
    else:
        after = _describe_after_copy(trace, moment, mask, whom)
    en = f"{who.en} {verb} {object_text[0]}{holds[0]} {whom.en}{after[0]}."
    zh = f"{words.add_space(who.zh)}{words.add_space(whom.zh)}{verb_zh}{object_text[1]}{holds[1]}{after[1]}。"
    return en, words.tidy_spaces(zh)


def _mark_finished(chunks: Text) -> Text:
    """`one finished 16 MiB chunk`."""
    en, zh = chunks
    count, _, rest = en.partition(" ")
    return f"{count} finished {rest}", zh.replace("的 chunk", "的已完成 chunk")


def _count_receivers(trace: Trace, src: Longs, dst: Longs) -> int:
    """To how many others each sender sends, where it is the same for all; else 1."""
    pairs = np.unique(_number_pairs(trace, src, dst))
    each = np.unique(np.unique(pairs // trace.schedule.endpoints, return_counts=True)[1])
    if len(each) == 1:
        return int(each[0])
    return 1


def _is_even(trace: Trace, src: Longs, dst: Longs) -> bool:
    """Whether every sender sends each of its receivers as many chunks as the others."""
    pairs, count = np.unique(_number_pairs(trace, src, dst), return_counts=True)
    begins = np.flatnonzero(np.diff(pairs // trace.schedule.endpoints, prepend=-1))
    return bool((np.minimum.reduceat(count, begins) == np.maximum.reduceat(count, begins)).all())


def _describe_senders(trace: Trace, senders: Longs, receivers: Longs) -> Senders | None:
    n = trace.schedule.ranks
    if len(senders) == 1:
        en, zh = name_endpoint(trace.schedule, int(senders[0]))
        return Senders(words.capitalise(en), zh, False)
    ranks = senders[senders < n]
    if len(ranks) == n == len(senders):
        return Senders("Every rank", "每个 rank", False)
    if len(senders) == n - 1 == len(ranks) and len(receivers) == 1 and receivers[0] < n:
        return Senders("Each of the other ranks", "其余每个 rank", False)
    if len(ranks) == 0:
        en, zh = name_helpers(trace.schedule)
        if len(senders) == trace.schedule.endpoints - n:
            return Senders(f"Every {en}", f"每个{zh}", False)
        return None
    en, zh = name_ranks(trace.schedule, senders.tolist())
    return Senders(en, zh, True)


def _describe_chunks(nbytes: npt.NDArray[np.int64], each: Longs, one_each: str = " each") -> Text:
    """`one 16 MiB chunk`, `4 chunks of 2 MiB each`; sizes that differ are given as a range."""
    small, large = int(nbytes.min()), int(nbytes.max())
    few, many = int(each.min()), int(each.max())
    if large == 0:
        if many == 1:
            return ("an empty chunk", "一个空 chunk")
        return ("empty chunks", "空 chunk")
    if large - small <= large * 0.005:
        size = words.format_size(large)
    else:
        size = words.format_range(words.format_size(small), words.format_size(large))
    size_zh = size.replace(" to ", " 至 ")
    if many == 1:
        if " to " not in size:
            return (f"one {size} chunk", f"一个 {size_zh} 的 chunk")
        return (f"one chunk of {size}", f"一个 {size_zh} 的 chunk")
    if few == many:
        return f"{many} chunks of {size}{one_each}", f" {many} 个 {size_zh} 的 chunk"
    return f"{few} to {many} chunks of {size}{one_each}", f" {few} 至 {many} 个 {size_zh} 的 chunk"


class Receivers(NamedTuple):
    """Whom it goes to: `to the next rank`; `name` is how the next clause calls them where it cannot say `which`."""

    en: str
    zh: str
    name: Text
    exchange: bool = False
    plural: bool = False
    which: bool = True  # the words end with the receiver, so that `, which` can follow


def _describe_receivers(trace: Trace, src: Longs, dst: Longs, rings: Receivers | None = None) -> Receivers | None:
    """Whom some transfers go to, in words; None without a pattern. `rings`: the answer where channels are rings of
    their own."""
    n, schedule = trace.schedule.ranks, trace.schedule
    targets = np.unique(dst)
    if rings is not None:
        return rings
    pairs = np.unique(_number_pairs(trace, src, dst))
    a, b = np.divmod(pairs, schedule.endpoints)
    if len(targets) == 1:
        en, zh = name_endpoint(schedule, int(targets[0]))
        return Receivers(f"to {en}", f"向 {zh} ", (en, zh))
    if len(np.unique(a)) == 1:
        is_rank = int(a[0]) < n
        if len(targets) != n - is_rank:
            en, zh = name_ranks(schedule, targets.tolist())
            en, zh = f"to {en[:1].lower() + en[1:]}", f"向 {zh} "
        elif is_rank:
            en, zh = "to every other rank", "向其余每个 rank "
        else:
            en, zh = "to every rank", "向每个 rank "
        return Receivers(en, zh, ("each of them", "它们"), plural=True)
    if b.max() < n and a.max() < n and len(a) == len(np.unique(a)) == len(targets):
        return _describe_single_receivers(a, b, n)
    return _describe_many_receivers(trace, a, b)


def _describe_single_receivers(a: Longs, b: Longs, n: int) -> Receivers:
    """Each sender has one receiver of its own: the next rank, a partner at some distance, the next one of a ring."""
    if ((b - a) % n == 1).all():
        return Receivers("to the next rank", "向下一个 rank ", ("the next rank", "对方"))
    if ((a - b) % n == 1).all():
        return Receivers("to the rank before it", "向前一个 rank ", ("the rank before", "对方"))
    if set(zip(a.tolist(), b.tolist(), strict=True)) == set(zip(b.tolist(), a.tolist(), strict=True)):
        far = np.unique(np.abs(a - b))
        if len(far) > 1:
            en, zh = "with its partner", "与伙伴"
        elif far[0] == 1:
            en, zh = "with a neighbour", "与邻居"
        else:
            en, zh = f"with the rank {far[0]} away", f"与相距 {far[0]} 的 rank "
        return Receivers(en, zh, ("each", "双方各自"), True)
    if len(a) <= 3:
        pair_texts = [f"{x} → {y}" for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        return Receivers(
            f"({words.join_list(pair_texts)})",
            f"（{words.join_list(pair_texts, True)}）",
            (words.choose_form(len(a), "the receiver", "each receiver"), "接收方"),
            which=False,
        )
    if len(np.unique((b - a) % n)) == 1:
        far = (b[0] - a[0]) % n
        if (b < a).all() or far > n - far:
            en, zh = f"to the rank {n - far} before it", f"向之前第 {n - far} 个 rank"
        else:
            en, zh = f"to the rank {far} after it", f"向之后第 {far} 个 rank"
        return Receivers(en, zh, ("the receiver", "接收方"))
    if len(a) == n and _is_one_ring(a, b):
        return Receivers("to the next rank of its ring", "向环中的下一个 rank ", ("the next rank", "对方"))
    en = "to one other rank each"
    if len(a) == n:
        en = "to its partner"
    return Receivers(en, "向各自的伙伴 ", ("the receiver", "接收方"))


def _describe_many_receivers(trace: Trace, a: Longs, b: Longs) -> Receivers | None:
    """Each sender has the same number of receivers: all others, all servers, its children ..."""
    n, endpoints = trace.schedule.ranks, trace.schedule.endpoints
    each = np.unique(np.unique(a, return_counts=True)[1])
    if len(each) != 1:
        return None
    if b.min() >= n and each[0] == endpoints - n:
        en, zh = name_helpers(trace.schedule)
        return Receivers(f"to every {en}", f"向每个{zh}", (f"every {en}", f"每个{zh}"))
    is_among_ranks = a.max() < n
    if b.max() < n and each[0] == n - is_among_ranks:
        en, zh = "to every rank", "向每个 rank"
        if is_among_ranks:
            en, zh = "to each of the other ranks", "向其余每个 rank"
        return Receivers(en, zh, ("each", "对方"))
    if len(np.unique(b)) < len(b) and each[0] == 1:
        return Receivers("to its parent", "向父结点", ("each parent", "父结点"))
    if each[0] == 2 and len(np.unique(a)) == n and np.isin((b - a) % n, (1, n - 1)).all():
        return Receivers("to its two neighbours", "向两侧的邻居", ("each neighbour", "对方"), plural=True)
    if each[0] > 1:
        some, some_zh = (f"to {each[0]} other ranks", f"向 {each[0]} 个 rank")
    else:
        some, some_zh = ("to one other rank", "向另一个 rank")
    return Receivers(some, some_zh, ("each receiver", "接收方"), plural=bool(each[0] > 1))


def _find_channel_rings(trace: Trace, src: Longs, dst: Longs, channel: Longs) -> Receivers | None:
    """Several channels, each of them a ring of its own order through all ranks."""
    channels = np.unique(channel)
    if (
        len(channels) < 2
        or len(src) != len(channels) * trace.schedule.ranks
        or ((dst - src) % trace.schedule.ranks == 1).all()
    ):
        return None
    if not all(_is_one_ring(src[channel == c], dst[channel == c]) for c in channels):
        return None
    return Receivers(
        "to the next rank of that channel's ring", "向该 channel 环中的下一个 rank", ("the next rank", "对方")
    )


def _is_one_ring(a: Longs, b: Longs) -> bool:
    onward = dict(zip(a.tolist(), b.tolist(), strict=True))
    rank, seen = 0, set()
    while rank in onward and rank not in seen:
        seen.add(rank)
        rank = onward[rank]
    return len(seen) == len(onward)


def _describe_contributions(counts: Counts, full: int, verb: str) -> Text:
    """` that holds 9 of 16 contributions`: nothing to say about finished chunks, where nothing is summed, or where a
    wrong schedule counts somebody twice; `verb`: `holds` or `hold`."""
    low, high = int(counts.min()), int(counts.max())
    if full == 1 or low >= full or high > full:
        return "", ""
    if low == high:
        some = f"{low}"
    else:
        some = f"{low} to {high}"
    return (
        f" that {verb} {some} of {full} contributions",
        f"，其中已累加 {full} 份贡献中的 {some.replace(' to ', ' 至 ')} 份",
    )


def _describe_after_reduce(trace: Trace, moment: Moment, mask: Mask, whom: Receivers) -> Text:
    """What the receiver does with it: `, which adds its own and has 10`."""
    full = count_goal(trace.schedule)
    had, has = moment.had[mask], moment.has[mask]
    zh = f"；{whom.name[1]}"
    start, keeps, adds, its, have = ", which", "keeps", "adds", "its own", "has"
    if whom.plural:
        keeps, adds, its, have = "keep", "add", "their own", "have"
    elif whom.exchange or not whom.which:
        start = f"; {whom.name[0]}"
    if has.min() != has.max():
        return f"{start} {adds} what arrives to {its}", f"{zh}把收到的与自己的相加"
    total = int(has[0])
    if total < full:
        many, many_zh = (f"{total}", f"变成 {total} 份")
    else:
        many, many_zh = (f"all {full}", f"得到全部 {full} 份")
    arrived = (has - had) // np.maximum(1, moment.sent_contributions[mask])
    if (
        arrived.min() == arrived.max() > 1
        and moment.sent_contributions[mask].min() == moment.sent_contributions[mask].max()
    ):
        together = int(arrived[0])
    else:
        together = 0
    if had.max() == 0 and not together:
        return f"{start} {keeps} it and {have} {many}", f"{zh}保存它，{many_zh}"
    if had.max() == 0:
        return f"{start} {adds} them up and {have} {many}", f"{zh}把它们相加，{many_zh}"
    if 1 < had.min() == had.max() < full:
        some = int(had[0])
    else:
        some = 0
    if some:
        count, count_zh = (f" {some}", f"自己的 {some} 份")
    else:
        count, count_zh = ("", "自己的一份")
    if together:
        if together == 2:
            all_of = "both"
        else:
            all_of = f"all {together}"
        return (
            f"{start} {adds} {all_of} to {its}{count} and {have} {many}",
            f"{zh}把收到的 {together} 个与{count_zh}相加，{many_zh}",
        )
    return f"{start} {adds} {its}{count} and {have} {many}", f"{zh}加上{count_zh}，{many_zh}"


def _describe_after_copy(trace: Trace, moment: Moment, mask: Mask, whom: Receivers) -> Text:
    """How far the receivers are: finished chunks of each, or how many ranks have everything."""
    s = trace.schedule
    receivers = np.unique(moment.step.dst[mask])
    receivers = receivers[receivers < s.ranks]
    full = count_goal(s)
    if not len(receivers) or moment.sent_contributions[mask].min() < full:
        return "", ""
    if get_collective(s.collective).after == "peer":
        return "", ""
    whole = int((moment.finished[: s.ranks] == s.chunks).sum())
    done = np.unique(moment.finished[receivers])
    if full > 1:
        what, what_zh = "the sum", "完整的和"
        noun, noun_zh, done_zh = "finished chunks", "已完成的 chunk", "已完成"
    else:
        what, what_zh = "the data", "全部数据"
        noun, noun_zh, done_zh = "chunks", "chunk", ""
    if s.chunks == 1 or (len(done) > 1 and done[-1] == s.chunks):
        if whole == s.ranks:
            return f"; all {whole} ranks have {what} then", f"；此后全部 {whole} 个 rank 都有{what_zh}"
        return (
            f"; {whole} of {s.ranks} ranks {words.choose_form(whole, 'has', 'have')} {what} then",
            f"；此后 {s.ranks} 个 rank 中有 {whole} 个拥有{what_zh}",
        )
    if len(done) > 1:
        return "", ""
    count = int(done[0])
    holder, holder_zh = "every rank", "每个 rank "
    if len(receivers) < s.ranks:
        holder, holder_zh = "each receiver", "接收方"
    if len(receivers) == 1:
        holder = "it"
    if count == s.chunks:
        return f"; {holder} has all {count} {noun} then", f"；此后{holder_zh}有全部 {count} 个{noun_zh}"
    return (
        f"; {holder} has {count} of {s.chunks} {noun} then",
        f"；此后{holder_zh}有 {s.chunks} 个 chunk 中的 {count} 个{done_zh}",
    )


# ---- how long it takes


def _describe_time(trace: Trace, moment: Moment) -> Text:
    """The second sentence: which kind of link delivers in what time, and which cable many wait for."""
    away = moment.limit >= 0
    if not away.any():
        return "", ""
    crowd = _describe_crowd(trace, moment)
    if crowd is not None:
        return crowd
    links = trace.topology.links
    kinds = np.array([c.kind for c in links.cables], dtype=object)[links.cable[moment.limit[away]]]
    parts: list[Text] = []
    for kind in sorted(set(kinds.tolist()), key=lambda k: float(moment.seconds[away][kinds == k].max())):
        mine = np.flatnonzero(away)[kinds == kind]
        parts.append(
            _describe_delivery(trace, moment, kind, mine, alone=len(set(kinds.tolist())) == 1, first=not parts)
        )
    en, zh = ", ".join(p[0] for p in parts[:3]), "，".join(p[1] for p in parts[:3])
    return f"{words.capitalise(en)}.", words.tidy_spaces(f"{zh}。")


def _describe_delivery(
    trace: Trace, moment: Moment, kind: str, rows: npt.NDArray[np.int64], alone: bool, first: bool
) -> Text:
    seconds = moment.seconds[rows]
    low, high = float(seconds.min()), float(seconds.max())
    even = high - low <= 0.02 * high
    if even:
        span = words.format_duration(high)
    else:
        span = words.format_range(words.format_duration(low), words.format_duration(high))
    span_zh = span.replace(" to ", " 至 ")
    step = moment.step
    pairs = sorted(set(zip(step.src[rows].tolist(), step.dst[rows].tolist(), strict=True)))
    pair_texts = [f"{a} → {b}" for a, b in pairs]
    extra, extra_zh = "", ""
    if not alone and len(pairs) <= 3:
        extra, extra_zh = f" ({words.join_list(pair_texts)})", f"（{words.join_list(pair_texts, True)}）"
    if kind == "cable" and len(rows) > 1:
        return f"each arrives after {span}", f"各需 {span_zh}"
    if kind == "cable":
        return f"it arrives after {span}", f"需要 {span_zh}"
    name, name_zh = words.name_kind(kind)
    verb = ""
    if first:
        verb = " delivers"
    return f"{name}{extra}{verb} in {span}", f"{name_zh}{extra_zh} 需要 {span_zh}"


def _describe_crowd(trace: Trace, moment: Moment) -> Text | None:
    """Incast and its mirror image: many transfers of different pairs through the one link that ends the step; none
    without contention."""
    if trace.conditions is not None and trace.conditions.sharing == "none":
        return None
    worst = int(np.argmax(moment.load))
    link = int(moment.limit[worst])
    if link < 0 or moment.crowd[worst] < 3:
        return None
    on = moment.limit == link
    pairs = len(set(zip(moment.step.src[on].tolist(), moment.step.dst[on].tolist(), strict=True)))
    alone = float(moment.nbytes[on].max()) / float(trace.topology.links.bandwidth[link])
    if pairs < 3 or moment.load[worst] < 1.5 * alone:
        return None
    others = np.unique(moment.limit[(moment.load > 0.99 * moment.load[worst]) & (moment.crowd >= 3)])
    total, count = words.format_size(int(moment.nbytes[on].sum())), int(moment.crowd[worst])
    takes = words.format_duration(float(moment.load[worst]))
    en, zh = name_link(trace, link)
    if len(others) > 1:
        return (
            f"{count} chunks wait for each of {len(others)} cables: {total} through one takes {takes}.",
            f"{len(others)} 条线缆上各有 {count} 个 chunk 在等：每条要传 {total}，需要 {takes}。",
        )
    return (
        f"{count} chunks wait for one cable ({en}): {total} through it takes {takes}.",
        f"{count} 个 chunk 等同一条线缆（{zh}）：{total} 全部经过它，需要 {takes}。",
    )
