"""Why a run takes as long as it does: the busiest link, and what would change if something else were faster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError
from ...locale import Text
from ...registry import find_schedule_algorithm
from ...simulate.run import simulate
from ...units import format_bytes
from . import words
from .names import name_link

if TYPE_CHECKING:
    import pandas as pd

    from ...simulate import Bottleneck, Trace

_NOTHING = 0.0005  # a part of the time too small to be told
_MOST_AGAIN = 200_000  # transfers beyond which the run is not repeated only for a sentence


def describe_bottleneck(trace: Trace) -> dict[str, dict[str, str]] | None:
    """`text` (what is busy) and `more` (what would help), each in English and Chinese; None where nothing moved.

    Args:
        trace: The run.
    """
    limit = trace.bottleneck
    if limit is None:
        return None
    subject = _name_subject(trace, limit)
    text, more = _describe_limit(trace, limit, subject), _describe_gains(trace, limit)
    return {
        "text": {"en": text[0], "zh": text[1]},
        "more": {"en": more[0], "zh": more[1]},
        "short": {"en": subject[0], "zh": subject[1]},
    }


def _describe_limit(trace: Trace, limit: Bottleneck, subject: Text) -> Text:
    """What holds the run up, in one sentence."""
    share = words.format_percent(limit.share)
    if limit.latency > 0.5:
        left, most = words.format_percent(limit.latency), words.format_percent(limit.busiest_share)
        return (
            f"Latency: {left} of the run would remain if every link had endless bandwidth; the busiest is used {most}.",
            f"延迟：即使每条链路的带宽都无限大，仍需 {left} 的时间；最忙的链路只用了 {most}。",
        )
    if limit.share > 1.0005:  # without contention a link carries more than it can
        return (
            f"{subject[0]}: its bytes would need {share} of the run.",
            f"{subject[1]}：按其带宽传完需要全程的 {share}。",
        )
    if _is_another_busier(limit):
        saving = limit.saves[limit.kind]
        return (
            f"{subject[0]}: doubling it saves {_format_saving(saving)}.",
            f"{subject[1]}：带宽加倍{_format_saving_zh(saving)}。",
        )
    if _is_shared_in_turn(trace, limit):
        return (
            f"{subject[0]}: they take turns, none is busy for more than {share} of the run.",
            f"{subject[1]}：轮流工作，每条最多占全程 {share} 的时间。",
        )
    return f"{subject[0]}: busy {share} of the run.", f"{subject[1]}：全程 {share} 的时间在忙。"


def _is_shared_in_turn(trace: Trace, limit: Bottleneck) -> bool:
    """Do several cables hold the run up one after another, and not the two directions of one?"""
    links = trace.topology.links
    joins = {frozenset((int(links.src[i]), int(links.dst[i]))) for i in limit.links}
    return limit.has_alternating_links and len(joins) > 1


def _is_another_busier(limit: Bottleneck) -> bool:
    """Is a link of another kind busy for longer than the one whose doubling helps most?"""
    return limit.busiest_share > limit.share * 1.0005


def _explain_busier(trace: Trace, limit: Bottleneck) -> list[Text]:
    """Why the busiest link is not the bottleneck, where it is of another kind."""
    if not _is_another_busier(limit) or limit.latency > 0.5:
        return []
    kind = trace.topology.links.kind(limit.busiest)
    (en, zh), then = words.name_kind(kind), _describe_next_limit(trace, kind, limit.saves)
    most, share, saved = words.format_percent(limit.busiest_share), words.format_percent(limit.share), limit.saves[kind]
    if saved < _NOTHING:
        only, only_zh = ("saves nothing", "毫无收益")
    else:
        only, only_zh = (f"saves {_format_saving(saved)} only", f"只省 {_format_saving(saved)}")
    return [
        (
            f"{words.capitalise(en)} is busy longer, {most} of the run against {share}, "
            f"but doubling it {only}{then[0]}.",
            f"{zh} 忙得更久（全程的 {most}，而前者为 {share}），但其带宽加倍{only_zh}{then[1]}",
        )
    ]


def _name_subject(trace: Trace, limit: Bottleneck) -> Text:
    """The bottleneck as people name it: one link by its ends, many by their kind."""
    en, zh = words.name_kind(limit.kind)
    links = trace.topology.links
    nodes = trace.topology.devices.node
    if limit.kind in ("infiniband", "ethernet") and int(nodes.max(initial=-1)) > 0:
        if _is_shared_in_turn(trace, limit):
            noun, noun_zh = (" links", "链路")
        else:
            noun, noun_zh = ("", "")
        return f"{en}{noun} between the nodes", words.tidy_spaces(f"节点间的 {zh} {noun_zh}").strip()
    if limit.kind == "cable" and _is_shared_in_turn(trace, limit):
        return "The cables", "线缆"
    joins = {frozenset((int(links.src[i]), int(links.dst[i]))) for i in limit.links}
    if len(joins) == 1:
        name, name_zh = name_link(trace, limit.link)
        if len(limit.links) > 1:
            each, each_zh = (", each way", "（双向）")
        else:
            each, each_zh = ("", "")
        if limit.kind == "cable":
            what, what_zh = ("The cable", "线缆")
        else:
            what, what_zh = (words.capitalise(en), zh)
        return f"{what} {name}{each}", f"{what_zh} {name_zh}{each_zh}"
    if limit.kind != "cable":
        inside = int(nodes.max(initial=-1)) > 0 and limit.kind in ("nvlink", "pcie", "xgmi")
        if inside:
            return (f"{en} in the nodes", f"节点内的 {zh}")
        return (words.capitalise(en), zh)
    used = _count_used(trace, limit)
    if len(limit.links) == used:
        return "Every cable in use", "每条用到的线缆"
    return (
        f"{len(limit.links)} of {used} cable directions in use",
        f"用到的 {used} 个线缆方向中的 {len(limit.links)} 个",
    )


def _count_used(trace: Trace, limit: Bottleneck) -> int:
    """Links of the bottleneck's kind that carry anything."""
    links = trace.topology.links
    return sum(links.kind(i) == limit.kind for i in np.flatnonzero(trace.link_bytes > 0).tolist())


def _describe_gains(trace: Trace, limit: Bottleneck) -> Text:
    """What doubling each kind of link would save, who would be the limit then, and what more channels would give."""
    if (alone := _describe_hot_links(trace, limit)) is not None:
        return alone
    saving = limit.saves[limit.kind]
    next_limit = _describe_next_limit(trace, limit.kind, limit.saves)
    if len(limit.saves) > 1 or len(limit.links) == 1 or limit.kind != "cable":
        what = ("it", "带宽加倍")
    else:
        what = ("all cables", "所有线缆带宽加倍")
    busier = _explain_busier(trace, limit)
    first = busier or [
        (
            f"Doubling {what[0]} saves {_format_saving(saving)}{next_limit[0]}.",
            f"{what[1]}{_format_saving_zh(saving)}{next_limit[1]}",
        )
    ]
    en, zh = [text for text, _ in first], [text for _, text in first]
    if busier:
        named_kinds = {limit.kind, trace.topology.links.kind(limit.busiest)}
    else:
        named_kinds = {limit.kind}
    others = sorted(
        ((kind, saved) for kind, saved in limit.saves.items() if kind not in named_kinds), key=lambda it: -it[1]
    )
    for kind, saved in (pair for pair in others if pair[1] >= _NOTHING):
        name, name_zh = words.name_kind(kind)
        en.append(f"Doubling {name} saves {_format_saving(saved)}.")
        zh.append(f"{name_zh} 加倍{_format_saving_zh(saved)}")
    idle = [words.name_kind(kind) for kind, saved in others if saved < _NOTHING]
    if idle:
        en.append(f"Doubling {words.join_list([e for e, _ in idle]).replace(' and ', ' or ')} saves nothing.")
        zh.append(f"{words.join_list([z for _, z in idle], True).replace(' 和 ', ' 或 ')} 加倍毫无收益")
    channels = _describe_channels(trace) or ("", "")
    return " ".join(filter(None, (*en, channels[0]))), words.tidy_spaces("；".join(zh) + "。" + channels[1])


def _describe_hot_links(trace: Trace, limit: Bottleneck) -> Text | None:
    """Where one cable among many of its kind is the limit: what doubling only it saves, and doubling all others."""
    if len(limit.saves) > 1 or 3 * len(limit.links) > _count_used(trace, limit) or len(trace.schedule) > _MOST_AGAIN:
        return None
    hot = np.zeros(len(trace.topology.links), bool)
    hot[list(limit.links)] = True
    saved_alone, saved_others = (1 - _simulate_faster(trace, which).duration / trace.duration for which in (hot, ~hot))
    links = trace.topology.links
    cables = {frozenset((int(links.src[i]), int(links.dst[i]))) for i in limit.links}
    if len(cables) > 1:
        pronoun, pronoun_zh = ("these", "它们")
    else:
        pronoun, pronoun_zh = ("it", "它")
    en = (
        f"Doubling only {pronoun} saves {_format_saving(saved_alone)}; "
        f"doubling all others saves {_format_saving(saved_others)}."
    )
    alone_zh, others_zh = _format_saving_zh(saved_alone), _format_saving_zh(saved_others)
    return en, words.tidy_spaces(f"只把{pronoun_zh}的带宽加倍{alone_zh}；其余全部加倍{others_zh}。")


def _simulate_faster(trace: Trace, which: npt.NDArray[np.bool_]) -> Trace:
    """The same run with some links twice as fast."""
    links = trace.topology.links
    return trace.run_again(
        replace(trace.topology, links=replace(links, bandwidth=np.where(which, 2, 1) * links.bandwidth))
    )


def describe_busiest_cable(trace: Trace, table: pd.DataFrame) -> Text:
    """One cable, the busiest: for how much of the run, and what doubling it alone and doubling each kind of link would
    save.

    `table` is what `sensitivity` found for this Trace, with at least one cable tried.

    Args:
        trace: The run.
        table: What `sensitivity` found for this run, with at least one cable tried.
    """
    used = np.flatnonzero(trace.link_bytes)
    link = int(used[np.argsort(-trace.link_busy[used], kind="stable")[0]])
    name, share = trace.topology.link_name(link), words.format_percent(float(trace.link_busy[link]) / trace.duration)
    alone = float(table.loc[(table["what"] == "link") & (table["name"] == name), "doubled"].iloc[0])
    kind = trace.topology.links.kind(link)
    if kind == "cable":
        kind, kind_zh = ("cable", "线缆")
    else:
        kind, kind_zh = words.name_kind(kind)
    cable_name, cable_name_zh = name_link(trace, link)
    kinds = table[table["what"] == "kind"].sort_values("doubled", ascending=False, kind="stable")
    gain = [(words.name_all_of_kind(k), saved) for k, saved in zip(kinds["name"], kinds["doubled"], strict=True)]
    en = [f"doubling this cable alone saves {_format_saving(alone)}"]
    zh = [f"只把这一条的带宽加倍{_format_saving_zh(alone)}"]
    for (kind_text, kind_text_zh), saved in gain:
        if saved >= _NOTHING:
            en.append(f"{kind_text}, {_format_saving(saved)}")
            zh.append(f"{kind_text_zh} 加倍{_format_saving_zh(saved)}")
    if idle := [pair for pair, saved in gain if saved < _NOTHING]:
        en.append(f"{words.join_list([kind_text for kind_text, _ in idle]).replace(' and ', ' or ')}, nothing")
        zh.append(f"{words.join_list([kind_text for _, kind_text in idle], True).replace(' 和 ', ' 或 ')} 加倍毫无收益")
    other, other_zh = _describe_other_traffic(trace, link)
    head, head_zh = "", ""
    if not cable_name.startswith(kind):  # PCIe 0 → CPU 0 says it already
        head, head_zh = f"{words.capitalise(kind)} ", f"{kind_zh} "
    return f"{head}{cable_name} is busy {share} of the run{other}: {'; '.join(en)}.", words.tidy_spaces(
        f"{head_zh}{cable_name_zh} 全程 {share} 的时间在忙{other_zh}：{'；'.join(zh)}。"
    )


def _describe_other_traffic(trace: Trace, link: int) -> Text:
    """The part of its use that is not the run's own."""
    carried = int(trace.other_bytes[link])
    amount = format_bytes(carried)
    if carried:
        return (f" (with {amount} of other traffic)", f"（含 {amount} 其他流量）")
    return ("", "")


def _format_saving(share: float) -> str:
    if share < _NOTHING:
        return "nothing"
    if share < 0.1:
        return words.format_percent(round(share, 3))
    return words.format_percent(round(share, 2))


def _format_saving_zh(share: float) -> str:
    if share < _NOTHING:
        return "毫无收益"
    return f"可省 {_format_saving(share)}"


def _describe_next_limit(trace: Trace, kind: str, saves: dict[str, float]) -> Text:
    """What is the limit once a kind of link is twice as fast: the kind whose doubling would save most then."""
    if len(saves) < 2 or saves[kind] < _NOTHING or len(trace.schedule) > _MOST_AGAIN:
        return "", ""
    faster = trace.run_again(trace.topology.scaled(kind=kind, by=2))
    busiest = faster.topology.links.kind(int(np.argmax(faster.link_busy)))
    if busiest == kind:
        return "", ""
    en, zh = words.name_kind(busiest)
    return f" (then {en} is the limit)", f"（之后受限于 {zh}）"


def _describe_channels(trace: Trace) -> Text | None:
    """What as many channels as the machine has ways would save, where the algorithm has channels and uses fewer."""
    schedule, topology = trace.schedule, trace.topology
    entry = find_schedule_algorithm(schedule)
    if topology.orders is None:
        offered = 0
    else:
        offered = len(topology.orders)
    if (
        entry is None
        or "channels" not in entry.options
        or offered <= schedule.channels
        or topology.ranks != schedule.ranks
    ):
        return None
    if len(schedule) * offered > _MOST_AGAIN or trace.rerun is not None:
        return None  # a run with conditions of its own cannot be repeated with another schedule
    options = {**schedule.options, "channels": offered}
    if "topology" in entry.options:
        options["topology"] = topology
    try:
        other = simulate(entry(schedule.ranks, **options), topology, trace.nbytes, trace.dtype, trace.engine)
    except CollsimError:
        return None
    saved = 1 - other.duration / trace.duration
    if saved < 0.02:
        return None
    return (
        f"{offered} channels save {_format_saving(saved)}.",
        f"改用 {offered} 个 channel 可省 {_format_saving(saved)}。",
    )
