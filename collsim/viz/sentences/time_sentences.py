"""Why a run takes as long as it does: the busiest link, and what would change if something else were faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...analysis.device_names import name_link
from ...analysis.run_facts import MAX_TRANSFERS_RERUN, RunFacts
from ...locale import Text, build_text, join_texts, list_items, map_languages, repeat_text
from ...units import format_bytes, format_percent
from . import words

if TYPE_CHECKING:
    import pandas as pd

    from ...simulate import Bottleneck, Trace

_NEGLIGIBLE_SHARE = 0.0005  # a part of the time too small to be told


def describe_bottleneck(facts: RunFacts) -> dict[str, dict[str, str]] | None:
    """`text` (what is busy), `more` (what would help) and `short`, each by language; None where nothing moved.

    Args:
        facts: Of the run.
    """
    trace, limit = facts.trace, facts.trace.bottleneck
    if limit is None:
        return None
    subject = _name_subject(facts, limit)
    text, more = _describe_limit(trace, limit, subject), _describe_gains(facts, limit)
    texts = {"text": text, "more": more, "short": subject}
    return {part: map_languages(words_of_part) for part, words_of_part in texts.items()}


def _describe_limit(trace: Trace, limit: Bottleneck, subject: Text) -> Text:
    """What holds the run up, in one sentence."""
    share = format_percent(limit.busy_share)
    # More than half of the time would remain with endless bandwidth: no link is to blame.
    if limit.latency > 0.5:
        left, most = format_percent(limit.latency), format_percent(limit.busiest_share)
        return build_text("sentences", "causes.latency", left=left, most=most)
    if limit.busy_share > 1.0005:  # without contention a link carries more than it can
        return build_text("sentences", "causes.needs", subject=subject, share=share)
    if _is_another_busier(limit):
        saving = _format_saving(limit.savings[limit.kind])
        return build_text("sentences", "causes.doubling_saves", subject=subject, saving=saving)
    if _is_shared_in_turn(trace, limit):
        return build_text("sentences", "causes.take_turns", subject=subject, share=share)
    return build_text("sentences", "causes.busy", subject=subject, share=share)


def _is_shared_in_turn(trace: Trace, limit: Bottleneck) -> bool:
    """Do several cables hold the run up one after another, and not the two directions of one?"""
    links = trace.topology.links
    joins = {frozenset((int(links.src[i]), int(links.dst[i]))) for i in limit.links}
    return limit.has_alternating_links and len(joins) > 1


def _is_another_busier(limit: Bottleneck) -> bool:
    """Is a link of another kind busy for longer than the one whose doubling helps most?"""
    # Shares are shown with three digits, so what differs by less would read as equal.
    return limit.busiest_share > limit.busy_share * 1.0005


def _explain_busier(trace: Trace, limit: Bottleneck) -> Text | None:
    """Why the busiest link is not the bottleneck, where it is of another kind."""
    if not _is_another_busier(limit) or limit.latency > 0.5:
        return None
    kind = trace.topology.links.kind(limit.busiest)
    saved = limit.savings[kind]
    key = "causes.busier_in_vain"
    if saved >= _NEGLIGIBLE_SHARE:
        key = "causes.busier"
    shares = {"most": format_percent(limit.busiest_share), "share": format_percent(limit.busy_share)}
    next_limit, saving = _describe_next_limit(trace, kind, limit), _format_saved_share(saved)
    return build_text("sentences", key, kind=words.name_kind(kind), saving=saving, next_limit=next_limit, **shares)


def _name_subject(facts: RunFacts, limit: Bottleneck) -> Text:
    """The bottleneck as people name it: one link by its ends, many by their kind."""
    trace, kind = facts.trace, words.name_kind(limit.kind)
    links = trace.topology.links
    nodes = trace.topology.devices.node
    if limit.kind in ("infiniband", "ethernet") and int(nodes.max(initial=-1)) > 0:
        key = "between_nodes"
        if _is_shared_in_turn(trace, limit):
            key = "links_between_nodes"
        return build_text("sentences", f"causes.{key}", kind=kind)
    if limit.kind == "cable" and _is_shared_in_turn(trace, limit):
        return build_text("sentences", "causes.the_cables")
    joins = {frozenset((int(links.src[i]), int(links.dst[i]))) for i in limit.links}
    if len(joins) == 1:
        if limit.kind == "cable":
            kind = build_text("sentences", "causes.the_cable")
        key = "link"
        if len(limit.links) > 1:
            key = "link_each_way"
        return build_text("sentences", f"causes.{key}", kind=kind, name=name_link(trace, limit.link))
    if limit.kind != "cable":
        inside = int(nodes.max(initial=-1)) > 0 and limit.kind in ("nvlink", "pcie", "xgmi")
        key = "causes.all_of_kind"
        if inside:
            key = "causes.in_nodes"
        return build_text("sentences", key, kind=kind)
    used = facts.count_used_links(limit.kind)
    if len(limit.links) == used:
        return build_text("sentences", "causes.every_cable")
    return build_text("sentences", "causes.some_cables", count=len(limit.links), used=used)


def _describe_gains(facts: RunFacts, limit: Bottleneck) -> Text:
    """What doubling each kind of link would save, who would be the limit then, and what more channels would give."""
    trace = facts.trace
    if facts.hot_link_savings is not None:
        return _describe_hot_links(trace, limit, *facts.hot_link_savings)
    busier = _explain_busier(trace, limit)
    named_kinds = {limit.kind}
    if busier is not None:
        sentences = [busier]
        named_kinds.add(trace.topology.links.kind(limit.busiest))
    else:
        key = "doubling_it"
        if len(limit.savings) == 1 < len(limit.links) and limit.kind == "cable":
            key = "doubling_cables"
        saving = _format_saving(limit.savings[limit.kind])
        next_limit = _describe_next_limit(trace, limit.kind, limit)
        sentences = [build_text("sentences", f"causes.{key}", saving=saving, next_limit=next_limit)]
    others = [(kind, saved) for kind, saved in limit.savings.items() if kind not in named_kinds]
    others.sort(key=lambda pair: -pair[1])
    for kind, saved in (pair for pair in others if pair[1] >= _NEGLIGIBLE_SHARE):
        values = {"kind": words.name_kind(kind), "saving": _format_saving(saved)}
        sentences.append(build_text("sentences", "causes.doubling_kind", **values))
    if idle := [words.name_kind(kind) for kind, saved in others if saved < _NEGLIGIBLE_SHARE]:
        sentences.append(build_text("sentences", "causes.doubling_in_vain", kinds=list_items(idle, last="or")))
    gains = build_text("sentences", "causes.gains", gains=join_texts("gains", sentences))
    if (channels := _describe_channels(facts)) is not None:
        gains = join_texts("sentences", [gains, channels])
    return words.tidy_text(gains)


def _describe_hot_links(trace: Trace, limit: Bottleneck, saved_alone: float, saved_others: float) -> Text:
    """Where one cable among many of its kind is the limit: what doubling only it saves, and doubling all others."""
    links = trace.topology.links
    cables = {frozenset((int(links.src[i]), int(links.dst[i]))) for i in limit.links}
    key = "doubling_only_it"
    if len(cables) > 1:
        key = "doubling_only_these"
    savings = {"saving": _format_saving(saved_alone), "others": _format_saving(saved_others)}
    return words.tidy_text(build_text("sentences", f"causes.{key}", **savings))


def describe_busiest_cable(trace: Trace, table: pd.DataFrame) -> Text:
    """One cable, the busiest: for how much of the run, and what doubling it alone and doubling each kind of link would
    save.

    Args:
        trace: The run.
        table: What `sensitivity` found for this run, with at least one cable tried.
    """
    used = np.flatnonzero(trace.link_bytes)
    link = int(used[np.argsort(-trace.link_busy[used], kind="stable")[0]])
    name, share = trace.topology.link_name(link), format_percent(float(trace.link_busy[link]) / trace.duration)
    alone = float(table.loc[(table["what"] == "link") & (table["name"] == name), "doubled"].iloc[0])
    kind = trace.topology.links.kind(link)
    kind_name = words.name_kind(kind)
    if kind == "cable":
        kind_name = build_text("sentences", "causes.cable")
    name_text = name_link(trace, link)
    kinds = table[table["what"] == "kind"].sort_values("doubled", ascending=False, kind="stable")
    gain = [(words.name_all_of_kind(k), saved) for k, saved in zip(kinds["name"], kinds["doubled"], strict=True)]
    parts = [build_text("sentences", "causes.this_alone", saving=_format_saving(alone))]
    for kind_text, saved in gain:
        if saved >= _NEGLIGIBLE_SHARE:
            parts.append(build_text("sentences", "causes.kind_saves", kind=kind_text, saving=_format_saving(saved)))
    if idle := [kind_text for kind_text, saved in gain if saved < _NEGLIGIBLE_SHARE]:
        parts.append(build_text("sentences", "causes.kinds_in_vain", kinds=list_items(idle, last="or")))
    if not name_text[0].startswith(kind_name[0]):  # PCIe 0 → CPU 0 says it already
        name_text = build_text("sentences", "causes.kind_and_name", kind=kind_name, name=name_text)
    carried, gains = int(trace.other_bytes[link]), join_texts("semicolons", parts)
    key = "causes.busy_with_other_traffic" if carried else "causes.busy_cable"
    values = {"cable": name_text, "share": share, "carried": format_bytes(carried), "gains": gains}
    return words.tidy_text(build_text("sentences", key, **values))


def _format_saving(share: float) -> Text:
    """What is saved, as the object of `saves`."""
    if share < _NEGLIGIBLE_SHARE:
        return build_text("sentences", "causes.nothing")
    return build_text("sentences", "causes.saving", share=_format_saved_share(share))


def _format_saved_share(share: float) -> str:
    digits = 2
    if share < 0.1:
        digits = 3
    return format_percent(round(share, digits))


def _describe_next_limit(trace: Trace, kind: str, limit: Bottleneck) -> Text:
    """What is the limit once a kind of link is twice as fast: the kind of the busiest link then."""
    if len(limit.savings) < 2 or limit.savings[kind] < _NEGLIGIBLE_SHARE or len(trace.schedule) > MAX_TRANSFERS_RERUN:
        return repeat_text("")
    busiest = limit.next_kinds[kind]
    if busiest == kind:
        return repeat_text("")
    return build_text("sentences", "causes.next_limit", kind=words.name_kind(busiest))


def _describe_channels(facts: RunFacts) -> Text | None:
    """What as many channels as the machine has rings would save, where that is worth a sentence."""
    if facts.channel_savings is None:
        return None
    offered, saved = facts.channel_savings
    if saved < 0.02:
        return None
    return build_text("sentences", "causes.channels", channels=offered, saving=_format_saving(saved))
