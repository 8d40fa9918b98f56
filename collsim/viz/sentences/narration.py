"""A sentence or two per step, in English and Chinese, made from what the step does; and why the run takes as long as it
does.

Subject first, numbers with units, the nouns of the field. Where a step follows no pattern that fits a sentence, the
algorithm's own line (`says=`) takes the place of the first sentence.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ...analysis.device_names import name_link
from ...analysis.endpoint_names import name_endpoint, name_helpers, name_ranks
from ...analysis.moments import Moment, count_goal
from ...analysis.run_facts import RunFacts
from ...collective import get_collective
from ...locale import Text, build_text, join_texts, list_items, repeat_text
from ...nccl.machine.wired_nodes import find_network_card
from ...nccl.model.unknown_inputs import RETRANSMISSION, compute_loss_share
from ...registry import find_schedule_algorithm
from ...schedule import Schedule
from ...verify import Counts
from . import words

if TYPE_CHECKING:
    from ...simulate import Trace

_MAX_LISTED = 4  # pairs that a sentence names one by one
Mask = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int32] | npt.NDArray[np.int64]


def narrate(facts: RunFacts) -> list[Text]:
    """For every step what happens, in English and Chinese; an empty list where there is nothing to do.

    Args:
        facts: Of the run.
    """
    trace = facts.trace
    sentences: list[Text] = []
    time_texts: dict[tuple[object, ...], Text | None] = {}
    parties_of: dict[bytes, Parties | None] = {}
    for moment in facts.moments:
        first = _describe_moves(trace, moment, parties_of)
        seconds = moment.seconds.min(), moment.seconds.max(), moment.load.max()
        ends = moment.step.src.tobytes(), moment.step.dst.tobytes(), moment.limit.tobytes()
        times = (*ends, int(moment.nbytes.sum()), *(round(float(value) * 1e10) for value in seconds))
        if times not in time_texts:
            time_texts[times] = _describe_time(trace, moment)
        second = time_texts[times]
        sentences.append(join_texts("sentences", [text for text in (first, second) if text is not None]))
    return sentences


# ---- what moves


class Senders(NamedTuple):
    """Who sends, as the subject of a sentence.

    Attributes:
        text: `every rank`, `rank 3`, `4 ranks`.
        many: Whether the verb is in the plural.
    """

    text: Text
    many: bool


def _describe_moves(trace: Trace, moment: Moment, parties_of: dict[bytes, Parties | None]) -> Text:
    """The first sentence: who sends what to whom, and what the receiver has then; `met`: the parties of other steps."""
    step = moment.step
    reduces, away = step.reduce, step.src != step.dst
    if not away.any():
        return build_text("sentences", "narration.own_memory")
    parts = []
    for mask, adds in ((reduces & away, True), (~reduces & away, False)):
        if mask.any():
            parts.append(_write_clause(trace, moment, mask, adds, parties_of))
    if any(p is None for p in parts):
        return _describe_irregular(trace, moment)
    clauses = [p for p in parts if p is not None]
    if len(clauses) == 1:
        return words.tidy_text(build_text("sentences", "narration.sentence", clause=clauses[0]))
    return words.tidy_text(build_text("sentences", "narration.meanwhile", clause=clauses[0], second=clauses[1]))


def _describe_irregular(trace: Trace, moment: Moment) -> Text:
    pairs = _number_pairs(trace, moment.step.src, moment.step.dst)
    moved = np.unique(pairs[moment.step.src != moment.step.dst])
    few = len(moved) <= _MAX_LISTED
    entry = find_schedule_algorithm(trace.schedule)
    sentences = []
    if entry is not None and any(entry.summary) and not (few and _has_idle_rank(trace, moment)):
        sentences.append(entry.summary)
    if few:
        sentences.append(_list_transfers(trace, moment, [pairs == pair for pair in moved]))
    else:
        count, total = len(moment.step), words.format_size(int(moment.nbytes.sum()))
        sentences.append(build_text("sentences", "narration.transfers_in_all", count=f"{count:,}", total=total))
    return join_texts("sentences", sentences)


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
    parts = []
    for row in rows:
        count = int(row.sum())
        chunks = _describe_chunks(moment.nbytes[row], np.array([count])).text
        src, dst = (_name_end(trace.schedule, int(end[row][0])) for end in (moment.step.src, moment.step.dst))
        parts.append(build_text("sentences", "narration.goes", chunks=chunks, count=count, src=src, dst=dst))
    moves = list_items(parts, last="last_move", between="moves")
    return words.tidy_text(build_text("sentences", "narration.sentence", clause=moves))


def _name_end(schedule: Schedule, endpoint: int) -> Text:
    """The number of a rank, the name of a helper."""
    if endpoint < schedule.ranks:
        return repeat_text(str(endpoint))
    return name_endpoint(schedule, endpoint)


class Parties(NamedTuple):
    """Who sends to whom in some transfers.

    Attributes:
        who: The senders, as a subject.
        each: Transfers of each sender.
        fan: To how many others each sends.
        rings: The receivers, where several rings send at once.
        whom: The receivers.
    """

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
    """One clause on the reduces, or the copies, of a step; None where they follow no pattern."""
    moved = moment.step.src[mask], moment.step.dst[mask], moment.step.channel[mask]
    key = b"".join(column.tobytes() for column in moved)
    if key not in parties_of:  # most steps of a schedule have the same
        parties_of[key] = _find_parties(trace, *moved)
    parties = parties_of[key]
    if parties is None:
        return None
    who, each, fan, rings, whom = parties
    counts = each // fan
    per_channel = rings is not None and each.min() == each.max() == trace.schedule.channels
    if per_channel:
        counts = each
    finished = bool(moment.sent_contributions[mask].min() >= count_goal(trace.schedule) > 1)
    chunks = _describe_chunks(moment.nbytes[mask], counts, finished=finished, per_channel=per_channel)
    holds = _describe_contributions(moment.sent_contributions[mask], count_goal(trace.schedule), chunks.each)
    if adds:
        after = _describe_after_reduce(trace, moment, mask, whom)
    else:
        after = _describe_after_copy(trace, moment, mask, whom)
    verb = "send"
    if whom.exchange:
        verb = "exchange"
    clause = f"narration.{verb}s"
    if who.many:
        clause = f"narration.each_{verb}"
    parts = {"sender": who.text, "chunks": chunks.text, "holds": holds, "receiver": whom.text, "after": after}
    return build_text("sentences", clause, **parts)


def _count_receivers(trace: Trace, src: Longs, dst: Longs) -> int:
    """To how many others each sender sends, where it is the same for all; else 1."""
    pairs = np.unique(_number_pairs(trace, src, dst))
    counts = np.unique(np.unique(pairs // trace.schedule.endpoints, return_counts=True)[1])
    if len(counts) == 1:
        return int(counts[0])
    return 1


def _is_even(trace: Trace, src: Longs, dst: Longs) -> bool:
    """Whether every sender sends each of its receivers as many chunks as the others."""
    pairs, count = np.unique(_number_pairs(trace, src, dst), return_counts=True)
    begins = np.flatnonzero(np.diff(pairs // trace.schedule.endpoints, prepend=-1))
    return bool((np.minimum.reduceat(count, begins) == np.maximum.reduceat(count, begins)).all())


def _describe_senders(trace: Trace, senders: Longs, receivers: Longs) -> Senders | None:
    n = trace.schedule.ranks
    if len(senders) == 1:
        return Senders(name_endpoint(trace.schedule, int(senders[0])), False)
    ranks = senders[senders < n]
    if len(ranks) == n == len(senders):
        return Senders(build_text("sentences", "narration.every_rank"), False)
    if len(senders) == n - 1 == len(ranks) and len(receivers) == 1 and receivers[0] < n:
        return Senders(build_text("sentences", "narration.each_other_rank"), False)
    if len(ranks) == 0:
        if len(senders) == trace.schedule.endpoints - n:
            return Senders(build_text("sentences", "narration.every", helper=name_helpers(trace.schedule)), False)
        return None
    return Senders(name_ranks(trace.schedule, senders.tolist()), True)


class Chunks(NamedTuple):
    """What is sent, as the object of a sentence.

    Attributes:
        text: `one 16 MiB chunk`.
        each: How many chunks each sender sends, for the verb that follows.
    """

    text: Text
    each: int


def _describe_chunks(
    nbytes: npt.NDArray[np.int64], counts: Longs, *, finished: bool = False, per_channel: bool = False
) -> Chunks:
    """`one 16 MiB chunk`, `4 chunks of 2 MiB each`; sizes that differ are given as a range."""
    small, large = int(nbytes.min()), int(nbytes.max())
    few, many = int(counts.min()), int(counts.max())
    count: object = repeat_text(str(many))
    if few < many:
        count = words.format_range(str(few), str(many))
    is_range = large - small > large * 0.005
    size = repeat_text(words.format_size(large))
    if is_range:
        size = words.format_range(words.format_size(small), words.format_size(large))
    key = "chunks"
    if many == 1:
        key = "chunk"
    if large == 0:
        key = f"empty_{key}"
    elif many == 1 and is_range:
        key = "chunk_between"
    elif many > 1 and per_channel:
        key = "chunks_per_channel"
    if finished:
        key += "_finished"
    return Chunks(build_text("sentences", f"narration.{key}", count=count, size=size), many)


class Receivers(NamedTuple):
    """To whom data are sent, as words of a sentence.

    Attributes:
        text: `to the next rank`.
        name: What the next clause calls them where it cannot say `which`.
        exchange: Whether both sides send.
        plural: Whether they are several.
        which: Whether the words end with the receiver, so that `, which` can follow.
    """

    text: Text
    name: Text
    exchange: bool = False
    plural: bool = False
    which: bool = True  # the words end with the receiver, so that `, which` can follow


def _build_receivers(
    key: str, name: str, /, *, exchange: bool = False, plural: bool = False, which: bool = True, **values: object
) -> Receivers:
    """Receivers by the keys of both texts; `values` of the first."""
    text, short = build_text("sentences", f"narration.{key}", **values), build_text("sentences", f"narration.{name}")
    return Receivers(text, short, exchange, plural, which)


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
        name = name_endpoint(schedule, int(targets[0]))
        return Receivers(build_text("sentences", "narration.to", receiver=name), name)
    if len(np.unique(a)) == 1:
        is_rank = int(a[0]) < n
        if len(targets) != n - is_rank:
            named = name_ranks(schedule, targets.tolist())
            return _build_receivers("to", "each_of_them", plural=True, receiver=named)
        if is_rank:
            return _build_receivers("to_every_other_rank", "each_of_them", plural=True)
        return _build_receivers("to_every_rank", "each_of_them", plural=True)
    if b.max() < n and a.max() < n and len(a) == len(np.unique(a)) == len(targets):
        return _describe_single_receivers(a, b, n)
    return _describe_many_receivers(trace, a, b)


def _describe_single_receivers(a: Longs, b: Longs, n: int) -> Receivers:
    """Each sender has one receiver of its own: the next rank, a partner at some distance, the next one of a ring."""
    if ((b - a) % n == 1).all():
        return _build_receivers("to_next_rank", "next_rank")
    if ((a - b) % n == 1).all():
        return _build_receivers("to_rank_before", "rank_before")
    if set(zip(a.tolist(), b.tolist(), strict=True)) == set(zip(b.tolist(), a.tolist(), strict=True)):
        far = np.unique(np.abs(a - b))
        if len(far) > 1:
            return _build_receivers("with_partner", "each", exchange=True)
        if far[0] == 1:
            return _build_receivers("with_neighbour", "each", exchange=True)
        return _build_receivers("with_rank_away", "each", exchange=True, distance=far[0])
    if len(a) <= 3:
        pairs = list_items([f"{x} → {y}" for x, y in zip(a.tolist(), b.tolist(), strict=True)])
        name = "each_receiver"
        if len(a) == 1:
            name = "receiver"
        return _build_receivers("pairs", name, which=False, pairs=pairs)
    if len(np.unique((b - a) % n)) == 1:
        far = (b[0] - a[0]) % n
        if (b < a).all() or far > n - far:
            return _build_receivers("to_rank_far_before", "receiver", distance=n - far)
        return _build_receivers("to_rank_far_after", "receiver", distance=far)
    if len(a) == n and _is_one_ring(a, b):
        return _build_receivers("to_next_of_ring", "next_rank")
    if len(a) == n:
        return _build_receivers("to_partner", "receiver")
    return _build_receivers("to_one_other_each", "receiver")


def _describe_many_receivers(trace: Trace, a: Longs, b: Longs) -> Receivers | None:
    """Each sender has the same number of receivers: all others, all servers, its children ..."""
    n, endpoints = trace.schedule.ranks, trace.schedule.endpoints
    counts = np.unique(np.unique(a, return_counts=True)[1])
    if len(counts) != 1:
        return None
    if b.min() >= n and counts[0] == endpoints - n:
        every = build_text("sentences", "narration.every", helper=name_helpers(trace.schedule))
        return Receivers(build_text("sentences", "narration.to", receiver=every), every)
    is_among_ranks = a.max() < n
    if b.max() < n and counts[0] == n - is_among_ranks:
        key = "to_every_rank"
        if is_among_ranks:
            key = "to_each_other_rank"
        return _build_receivers(key, "each_one")
    if len(np.unique(b)) < len(b) and counts[0] == 1:
        return _build_receivers("to_parent", "each_parent")
    if counts[0] == 2 and len(np.unique(a)) == n and np.isin((b - a) % n, (1, n - 1)).all():
        return _build_receivers("to_two_neighbours", "each_neighbour", plural=True)
    if counts[0] > 1:
        return _build_receivers("to_other_ranks", "each_receiver", plural=True, count=counts[0])
    return _build_receivers("to_one_other_rank", "each_receiver")


def _find_channel_rings(trace: Trace, src: Longs, dst: Longs, channel: Longs) -> Receivers | None:
    """Several channels, each of them a ring of its own order through all ranks."""
    channels = np.unique(channel)
    ranks = trace.schedule.ranks
    if len(channels) < 2 or len(src) != len(channels) * ranks or ((dst - src) % ranks == 1).all():
        return None
    if not all(_is_one_ring(src[channel == c], dst[channel == c]) for c in channels):
        return None
    return _build_receivers("to_next_of_channel", "next_rank")


def _is_one_ring(a: Longs, b: Longs) -> bool:
    onward = dict(zip(a.tolist(), b.tolist(), strict=True))
    rank, seen = 0, set()
    while rank in onward and rank not in seen:
        seen.add(rank)
        rank = onward[rank]
    return len(seen) == len(onward)


def _describe_contributions(counts: Counts, full: int, chunks: int) -> Text:
    """` that holds 9 of 16 contributions`: nothing to say about finished chunks, where nothing is summed, or where a
    wrong schedule counts somebody twice; `chunks`: how many each sends."""
    low, high = int(counts.min()), int(counts.max())
    if full == 1 or low >= full or high > full:
        return repeat_text("")
    some = repeat_text(str(low))
    if low < high:
        some = words.format_range(str(low), str(high))
    return build_text("sentences", "narration.contributions", some=some, full=full, chunks=chunks)


def _describe_after_reduce(trace: Trace, moment: Moment, mask: Mask, whom: Receivers) -> Text:
    """What the receiver does with it: `, which adds its own and has 10`."""
    full = count_goal(trace.schedule)
    had, has = moment.had[mask], moment.has[mask]
    is_named = not whom.plural and (whom.exchange or not whom.which)
    start = build_text("sentences", f"narration.{'receiver_then' if is_named else 'which'}", receiver=whom.name)
    receivers = 1 + whom.plural  # for the forms of words

    def build(key: str, **values: object) -> Text:
        return build_text("sentences", f"narration.{key}", start=start, receivers=receivers, **values)

    if has.min() != has.max():
        return build("adds_arrived")
    total = build_text("sentences", f"narration.has_{'some' if has[0] < full else 'all'}", count=int(has[0]), full=full)
    sent = moment.sent_contributions[mask]
    arrived, together = (has - had) // np.maximum(1, sent), 0
    if arrived.min() == arrived.max() > 1 and sent.min() == sent.max():
        together = int(arrived[0])
    if had.max() == 0 and not together:
        return build("keeps", total=total)
    if had.max() == 0:
        return build("adds_up", total=total)
    contributions = build_text("sentences", "narration.own_contribution", receivers=receivers)
    if 1 < had.min() == had.max() < full:
        contributions = build_text("sentences", "narration.own_contributions", receivers=receivers, count=int(had[0]))
    if together == 2:
        return build("adds_both", contributions=contributions, total=total)
    if together:
        return build("adds_several", together=together, contributions=contributions, total=total)
    return build("adds", contributions=contributions, total=total)


def _describe_after_copy(trace: Trace, moment: Moment, mask: Mask, whom: Receivers) -> Text:
    """How far the receivers are: finished chunks of each, or how many ranks have everything."""
    s = trace.schedule
    receivers = np.unique(moment.step.dst[mask])
    receivers = receivers[receivers < s.ranks]
    full = count_goal(s)
    if not len(receivers) or moment.sent_contributions[mask].min() < full:
        return repeat_text("")
    if get_collective(s.collective).after == "peer":
        return repeat_text("")
    finished_ranks = int((moment.finished[: s.ranks] == s.chunks).sum())
    done = np.unique(moment.finished[receivers])
    if s.chunks == 1 or (len(done) > 1 and done[-1] == s.chunks):
        what = build_text("sentences", f"narration.{'the_sum' if full > 1 else 'the_data'}")
        key = "some_ranks_have"
        if finished_ranks == s.ranks:
            key = "all_ranks_have"
        return build_text("sentences", f"narration.{key}", count=finished_ranks, ranks=s.ranks, what=what)
    if len(done) > 1:
        return repeat_text("")
    count = int(done[0])
    holder = "every_rank"
    if len(receivers) < s.ranks:
        holder = "each_receiver"
    if len(receivers) == 1:
        holder = "it"
    key = "has_chunks"
    if count == s.chunks:
        key = "has_all_chunks"
    if full > 1:
        key += "_finished"
    holder_text = build_text("sentences", f"narration.{holder}")
    return build_text("sentences", f"narration.{key}", holder=holder_text, count=count, chunks=s.chunks)


# ---- how long it takes


def _describe_time(trace: Trace, moment: Moment) -> Text | None:
    """The second sentence: which kind of link delivers in what time, and which cable many wait for."""
    away = moment.limit >= 0
    if not away.any():
        return None
    crowd = _describe_crowd(trace, moment)
    if crowd is not None:
        incast = _describe_incast(trace, moment)
        return join_texts("sentences", [text for text in (crowd, incast) if text is not None])
    links = trace.topology.links
    kinds = np.array([c.kind for c in links.cables], dtype=object)[links.cable[moment.limit[away]]]
    parts: list[Text] = []
    for kind in sorted(set(kinds.tolist()), key=lambda k: float(moment.seconds[away][kinds == k].max())):
        transfers, alone = np.flatnonzero(away)[kinds == kind], len(set(kinds.tolist())) == 1
        parts.append(_describe_delivery(trace, moment, kind, transfers, alone=alone, first=not parts))
    return words.tidy_text(build_text("sentences", "narration.sentence", clause=join_texts("clauses", parts[:3])))


def _describe_delivery(
    trace: Trace, moment: Moment, kind: str, rows: npt.NDArray[np.int64], alone: bool, first: bool
) -> Text:
    seconds = moment.seconds[rows]
    low, high = float(seconds.min()), float(seconds.max())
    even = high - low <= 0.02 * high
    span = repeat_text(words.format_duration(high))
    if not even:
        span = words.format_range(words.format_duration(low), words.format_duration(high))
    if kind == "cable":
        key = "narration.each_arrives"
        if len(rows) == 1:
            key = "narration.arrives"
        return build_text("sentences", key, span=span)
    step = moment.step
    pairs = sorted(set(zip(step.src[rows].tolist(), step.dst[rows].tolist(), strict=True)))
    link = words.name_kind(kind)
    if not alone and len(pairs) <= 3:
        pairs_text = list_items([f"{a} → {b}" for a, b in pairs])
        link = build_text("sentences", "narration.link_for_pairs", link=link, pairs=pairs_text)
    key = "narration.in_time"
    if first:
        key = "narration.delivers"
    return build_text("sentences", key, link=link, span=span)


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
    values = {"count": count, "total": total, "takes": takes}
    # nothing stands in a queue unless transfers are served one by one
    has_queue = trace.conditions is not None and trace.conditions.sharing == "fifo"
    if len(others) > 1:
        key = "narration.chunks_queue_for_cables" if has_queue else "narration.chunks_share_cables"
        return build_text("sentences", key, cables=len(others), **values)
    key = "narration.chunks_queue_for_cable" if has_queue else "narration.chunks_share_cable"
    return build_text("sentences", key, cable=name_link(trace, link), **values)


def _describe_incast(trace: Trace, moment: Moment) -> Text | None:
    """What TCP makes of many flows into one port, which no simulation of the links shows; none where the switch's
    buffer holds what they send at once."""
    card, links = find_network_card(trace.topology), trace.topology.links
    if card is None or card.rdma:
        return None
    is_network = np.array([cable.kind == card.cable.kind for cable in links.cables])
    on = np.flatnonzero(moment.limit >= 0)
    on = on[is_network[links.cable[moment.limit[on]]]]
    pairs = set(zip(moment.step.src[on].tolist(), moment.step.dst[on].tolist(), strict=True))
    senders = Counter(dst for _, dst in pairs)
    most = max(senders.values(), default=0)
    if not compute_loss_share(most, float(moment.nbytes[on].max(initial=0))):
        return None
    return build_text("sentences", "narration.incast", senders=most, timer=words.format_duration(RETRANSMISSION))
