"""Why a run takes as long as it does: the busiest link, and what would change if something else were faster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError
from ...registry import algorithm_of
from ...simulate.run import simulate
from ...units import format_bytes
from . import words
from .names import link_name

if TYPE_CHECKING:
    import pandas as pd

    from ...simulate import Bottleneck, Trace

Pair = tuple[str, str]
_NOTHING = 0.0005  # a part of the time too small to be told
_MOST_AGAIN = 200_000  # transfers beyond which the run is not repeated only for a sentence


def bottleneck(trace: Trace) -> dict[str, Any] | None:
    """`text` (what is busy) and `more` (what would help), each in English and Chinese; None where nothing moved."""
    found = trace.bottleneck
    if found is None:
        return None
    subject = _subject(trace, found)
    text, more = _limit(trace, found, subject), _counterfactual(trace, found)
    return {
        "text": {"en": text[0], "zh": text[1]},
        "more": {"en": more[0], "zh": more[1]},
        "short": {"en": subject[0], "zh": subject[1]},
    }


def _limit(trace: Trace, found: Bottleneck, subject: Pair) -> Pair:
    """What holds the run up, in one sentence."""
    share = words.percent(found.share)
    if found.latency > 0.5:
        left, most = words.percent(found.latency), words.percent(found.most)
        return (
            f"Latency: {left} of the run would remain if every link had endless bandwidth; the busiest is used {most}.",
            f"延迟：即使每条链路的带宽都无限大，仍需 {left} 的时间；最忙的链路只用了 {most}。",
        )
    if found.share > 1.0005:  # without contention a link carries more than it can
        return (
            f"{subject[0]}: its bytes would need {share} of the run.",
            f"{subject[1]}：按其带宽传完需要全程的 {share}。",
        )
    if _another_is_busier(found):
        own = found.saves[found.kind]
        return f"{subject[0]}: doubling it saves {_saved(own)}.", f"{subject[1]}：带宽加倍{_saved_zh(own)}。"
    if _takes_turns(trace, found):
        return (
            f"{subject[0]}: they take turns, none is busy for more than {share} of the run.",
            f"{subject[1]}：轮流工作，每条最多占全程 {share} 的时间。",
        )
    return f"{subject[0]}: busy {share} of the run.", f"{subject[1]}：全程 {share} 的时间在忙。"


def _takes_turns(trace: Trace, found: Bottleneck) -> bool:
    """Do several cables hold the run up one after another, and not the two directions of one?"""
    links = trace.topology.links
    joins = {frozenset((int(links.src[i]), int(links.dst[i]))) for i in found.links}
    return found.takes_turns and len(joins) > 1


def _another_is_busier(found: Bottleneck) -> bool:
    """Is a link of another kind busy for longer than the one whose doubling helps most?"""
    return found.most > found.share * 1.0005


def _busier(trace: Trace, found: Bottleneck) -> list[Pair]:
    """Why the busiest link is not the bottleneck, where it is of another kind."""
    if not _another_is_busier(found) or found.latency > 0.5:
        return []
    kind = trace.topology.links.kind(found.busiest)
    (en, zh), then = words.kind_name(kind), _then(trace, kind, found.saves)
    most, share, saved = words.percent(found.most), words.percent(found.share), found.saves[kind]
    only, only_zh = (
        ("saves nothing", "毫无收益") if saved < _NOTHING else (f"saves {_saved(saved)} only", f"只省 {_saved(saved)}")
    )
    return [
        (
            f"{words.capital(en)} is busy longer, {most} of the run against {share}, but doubling it {only}{then[0]}.",
            f"{zh} 忙得更久（全程的 {most}，而前者为 {share}），但其带宽加倍{only_zh}{then[1]}",
        )
    ]


def _subject(trace: Trace, found: Bottleneck) -> Pair:
    """The bottleneck as people name it: one link by its ends, many by their kind."""
    en, zh = words.kind_name(found.kind)
    links = trace.topology.links
    nodes = trace.topology.devices.node
    if found.kind in ("infiniband", "ethernet") and int(nodes.max(initial=-1)) > 0:
        turns, turns_zh = (" links", "链路") if _takes_turns(trace, found) else ("", "")
        return f"{en}{turns} between the nodes", words.tidy(f"节点间的 {zh} {turns_zh}").strip()
    if found.kind == "cable" and _takes_turns(trace, found):
        return "The cables", "线缆"
    joins = {frozenset((int(links.src[i]), int(links.dst[i]))) for i in found.links}
    if len(joins) == 1:
        name, name_zh = link_name(trace, found.link)
        each, each_zh = (", each way", "（双向）") if len(found.links) > 1 else ("", "")
        what, what_zh = ("The cable", "线缆") if found.kind == "cable" else (words.capital(en), zh)
        return f"{what} {name}{each}", f"{what_zh} {name_zh}{each_zh}"
    if found.kind != "cable":
        inside = int(nodes.max(initial=-1)) > 0 and found.kind in ("nvlink", "pcie", "xgmi")
        return (f"{en} in the nodes", f"节点内的 {zh}") if inside else (words.capital(en), zh)
    used = _used(trace, found)
    if len(found.links) == used:
        return "Every cable in use", "每条用到的线缆"
    return (
        f"{len(found.links)} of {used} cable directions in use",
        f"用到的 {used} 个线缆方向中的 {len(found.links)} 个",
    )


def _used(trace: Trace, found: Bottleneck) -> int:
    """Links of the bottleneck's kind that carry anything."""
    links = trace.topology.links
    return sum(links.kind(i) == found.kind for i in np.flatnonzero(trace.link_bytes > 0).tolist())


def _counterfactual(trace: Trace, found: Bottleneck) -> Pair:
    """What doubling each kind of link would save, who would be the limit then, and what more channels would give."""
    if (alone := _hot_links_alone(trace, found)) is not None:
        return alone
    own = found.saves[found.kind]
    then = _then(trace, found.kind, found.saves)
    what = (
        ("it", "带宽加倍")
        if len(found.saves) > 1 or len(found.links) == 1 or found.kind != "cable"
        else ("all cables", "所有线缆带宽加倍")
    )
    busier = _busier(trace, found)
    first = busier or [(f"Doubling {what[0]} saves {_saved(own)}{then[0]}.", f"{what[1]}{_saved_zh(own)}{then[1]}")]
    en, zh = [one for one, _ in first], [one for _, one in first]
    told = {found.kind, trace.topology.links.kind(found.busiest)} if busier else {found.kind}
    others = sorted(((kind, saved) for kind, saved in found.saves.items() if kind not in told), key=lambda it: -it[1])
    for kind, saved in (pair for pair in others if pair[1] >= _NOTHING):
        name, name_zh = words.kind_name(kind)
        en.append(f"Doubling {name} saves {_saved(saved)}.")
        zh.append(f"{name_zh} 加倍{_saved_zh(saved)}")
    idle = [words.kind_name(kind) for kind, saved in others if saved < _NOTHING]
    if idle:
        en.append(f"Doubling {words.listed([e for e, _ in idle]).replace(' and ', ' or ')} saves nothing.")
        zh.append(f"{words.listed([z for _, z in idle], True).replace(' 和 ', ' 或 ')} 加倍毫无收益")
    channels = _with_channels(trace)
    if channels is not None:
        en.append(channels[0])
    return " ".join(en), words.tidy("；".join(zh) + "。" + (channels[1] if channels is not None else ""))


def _hot_links_alone(trace: Trace, found: Bottleneck) -> Pair | None:
    """Where one cable among many of its kind is the limit: what doubling only it saves, and doubling all others."""
    if len(found.saves) > 1 or 3 * len(found.links) > _used(trace, found) or len(trace.schedule) > _MOST_AGAIN:
        return None
    hot = np.zeros(len(trace.topology.links), bool)
    hot[list(found.links)] = True
    own, others = (1 - _faster(trace, which).spent / trace.spent for which in (hot, ~hot))
    links = trace.topology.links
    many = len({frozenset((int(links.src[i]), int(links.dst[i]))) for i in found.links}) > 1
    en = (
        f"Doubling {'only these' if many else 'only it'} saves {_saved(own)}; doubling all others saves "
        f"{_saved(others)}."
    )
    return en, words.tidy(
        f"只把{'它们' if many else '它'}的带宽加倍{_saved_zh(own)}；其余全部加倍{_saved_zh(others)}。"
    )


def _faster(trace: Trace, which: npt.NDArray[np.bool_]) -> Trace:
    """The same run with some links twice as fast."""
    links = trace.topology.links
    return trace.again(replace(trace.topology, links=replace(links, bandwidth=np.where(which, 2, 1) * links.bandwidth)))


def busiest_cable(trace: Trace, table: pd.DataFrame) -> Pair:
    """One cable, the busiest: for how much of the run, and what doubling it alone and doubling each kind of link would
    save.

    `table` is what `sensitivity` found for this Trace, with at least one cable tried.
    """
    used = np.flatnonzero(trace.link_bytes)
    link = int(used[np.argsort(-trace.link_busy[used], kind="stable")[0]])
    name, share = trace.topology.link_name(link), words.percent(float(trace.link_busy[link]) / trace.spent)
    alone = float(table.loc[(table["what"] == "link") & (table["name"] == name), "doubled"].iloc[0])
    kind = trace.topology.links.kind(link)
    kind, kind_zh = ("cable", "线缆") if kind == "cable" else words.kind_name(kind)
    said, said_zh = link_name(trace, link)
    kinds = table[table["what"] == "kind"].sort_values("doubled", ascending=False, kind="stable")
    gain = [(words.every(k), saved) for k, saved in zip(kinds["name"], kinds["doubled"], strict=True)]
    en = [f"doubling this cable alone saves {_saved(alone)}"]
    zh = [f"只把这一条的带宽加倍{_saved_zh(alone)}"]
    for (one, one_zh), saved in gain:
        if saved >= _NOTHING:
            en.append(f"{one}, {_saved(saved)}")
            zh.append(f"{one_zh} 加倍{_saved_zh(saved)}")
    if idle := [pair for pair, saved in gain if saved < _NOTHING]:
        en.append(f"{words.listed([one for one, _ in idle]).replace(' and ', ' or ')}, nothing")
        zh.append(f"{words.listed([one for _, one in idle], True).replace(' 和 ', ' 或 ')} 加倍毫无收益")
    other, other_zh = _besides(trace, link)
    head, head_zh = (
        ("", "") if said.startswith(kind) else (f"{words.capital(kind)} ", f"{kind_zh} ")
    )  # PCIe 0 → CPU 0 says it already
    return f"{head}{said} is busy {share} of the run{other}: {'; '.join(en)}.", words.tidy(
        f"{head_zh}{said_zh} 全程 {share} 的时间在忙{other_zh}：{'；'.join(zh)}。"
    )


def _besides(trace: Trace, link: int) -> Pair:
    """The part of its use that is not the run's own."""
    carried = int(trace.other_bytes[link])
    said = format_bytes(carried)
    return (f" (with {said} of other traffic)", f"（含 {said} 其他流量）") if carried else ("", "")


def _saved(share: float) -> str:
    return "nothing" if share < _NOTHING else words.percent(round(share, 3) if share < 0.1 else round(share, 2))


def _saved_zh(share: float) -> str:
    return "毫无收益" if share < _NOTHING else f"可省 {_saved(share)}"


def _then(trace: Trace, kind: str, saves: dict[str, float]) -> Pair:
    """What is the limit once a kind of link is twice as fast: the kind whose doubling would save most then."""
    if len(saves) < 2 or saves[kind] < _NOTHING or len(trace.schedule) > _MOST_AGAIN:
        return "", ""
    faster = trace.again(trace.topology.scaled(kind=kind, by=2))
    busiest = faster.topology.links.kind(int(np.argmax(faster.link_busy)))
    if busiest == kind:
        return "", ""
    en, zh = words.kind_name(busiest)
    return f" (then {en} is the limit)", f"（之后受限于 {zh}）"


def _with_channels(trace: Trace) -> Pair | None:
    """What as many channels as the machine has ways would save, where the algorithm has channels and uses fewer."""
    schedule, topology = trace.schedule, trace.topology
    entry = algorithm_of(schedule)
    offered = 0 if topology.orders is None else len(topology.orders)
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
    saved = 1 - other.spent / trace.spent
    if saved < 0.02:
        return None
    return f"{offered} channels save {_saved(saved)}.", f"改用 {offered} 个 channel 可省 {_saved(saved)}。"
