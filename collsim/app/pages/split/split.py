"""A thousand GPUs: where the groups of a split stand, what they send, and every legal split as a map and a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import streamlit as st

import collsim as cs
from collsim.collective import Load
from collsim.train.parallel.combined_split import as_split
from collsim.train.parallel.model_parallel import ExpertParallel, TensorParallel
from collsim.train.workload.expert_load import OVERLAPS
from collsim.units import format_time
from collsim.viz.sentences.words import format_decimal_bytes

from ...scenario.snippets import join_words, list_option_words
from ...shell import codebox
from ...shell.address import change_remembered, finish_controls, get_remembered, remember
from ...shell.controls import choose_start, forget
from ...shell.form import draw_row
from ...shell.notes import (
    draw_headline,
    draw_mistake,
    explain,
    format_figure,
    format_quantity,
    format_title,
    format_verdict,
)
from ...shell.page import register_page
from ...shell.player import mount_bundle
from ...shell.results import get_latest
from ...shell.session import choose_text, t
from ..train.tabs import draw_tabs
from . import searched
from .searched import ADDRESS, SplitChoice, SplitView

PAGE = "split"


@register_page(PAGE, 17, address=ADDRESS, listed=False)
def draw() -> None:
    """Draw the page: tabs and controls in rows, figures of the split that is open, map and table."""
    choice: SplitChoice = get_remembered(PAGE)
    st.html(format_title(t("page.split"), t("split.below")))
    draw_tabs(PAGE)
    choice = draw_row(PAGE, choice, model=1.3, machine=1.5, nodes=1, batch=1, memory=1)
    choice = draw_row(PAGE, choice, split=4, micro=1, recompute=1)
    _choose_routing(choice)
    finish_controls(choice)
    latest_result = get_latest(searched.show_step, choice)
    request = (choice.model, choice.machine, choice.nodes, choice.batch, choice.memory)
    table = get_latest(searched.search_splits, *request)
    step, now = None, None
    if latest_result is not None:
        step = latest_result[0]
        if latest_result[1] == (choice,):
            now = searched.build_opened_row(choice, step)
        if step.refusal is not None:
            draw_mistake(t("split.over", reason=explain(step.refusal)))
        _draw_headline(step)
    _draw_card(choice, step, table[0] if table is not None and table[1] == request else None, now)
    torch = codebox.build_step_torch_parts(step.torch) if step else []
    megatron = codebox.build_megatron_parts(partial(build_megatron_options, choice))
    codebox.draw_code_box(build_script(choice), build_command(choice), torch, [megatron])


def _choose_routing(choice: SplitChoice) -> None:
    """How tokens go to experts, where GPUs share some; what is picked becomes a part of the split."""
    part = _find_experts(choice)
    if part is None or part.size == 1:
        return
    offered: dict[str, dict[object, str]] = {
        "imbalance": {word: t(f"split.imbalance.{word}") for word in get_args(Load)},
        "capacity_factor": {0.0: t("split.capacity.none"), 1.0: "1", 1.25: "1.25", 1.5: "1.5", 2.0: "2"},
        "padded": {False: t("split.padded.no"), True: t("split.padded.yes")},
        "per_node": _list_node_sizes(choice, part.size),
        "max_nodes": {0: t("split.nodes.all")},
        "overlap_with": {word: t(f"split.overlap.{word}") for word in OVERLAPS},
    }
    if not part.capacity_factor:  # nothing to fill buffers up to
        del offered["padded"]
    if part.per_node:
        nodes = part.size // part.per_node
        offered["max_nodes"].update((2**i, str(2**i)) for i in range((nodes - 1).bit_length()))
    for name in ("per_node", "max_nodes"):  # nothing to choose from
        if len(offered[name]) == 1 and not getattr(part, name):
            del offered[name]
    row = st.columns(max(4, len(offered)), vertical_alignment="bottom", gap="small")
    for column, (name, words) in zip(row, offered.items(), strict=False):
        current = getattr(part, name)
        labels = {repr(value): label for value, label in words.items()}
        # Counts and exponents that the text has are no words, and stay as they are.
        labels.setdefault(repr(current), part.format_option(name, current).strip("'"))
        with column:
            choose_start(
                f"split_{name}", t(f"split.{name}"), labels, repr(current), partial(_on_routing_picked, name, words)
            )


def _list_node_sizes(choice: SplitChoice, experts: int) -> dict[object, str]:
    """Whether a token goes once to a node: where the GPUs that share the experts fill several nodes."""
    tensor = as_split(cs.train.parse_strategy(choice.split)).find_part(TensorParallel)
    local = cs.machine(choice.machine).ranks // (tensor.size if tensor else 1)
    sizes: dict[object, str] = {0: t("split.node.no")}
    if 1 < local < experts and experts % local == 0:
        sizes[local] = t("split.node.yes", gpus=local)
    return sizes


def _find_experts(choice: SplitChoice) -> ExpertParallel | None:
    return as_split(cs.train.parse_strategy(choice.split)).find_part(ExpertParallel)


def _on_routing_picked(name: str, words: Mapping[object, str], picked: str, before: str) -> None:
    """An option of the experts was picked: the split has it, too."""
    choice: SplitChoice = get_remembered(PAGE)
    value = next((value for value in words if repr(value) == picked), None)
    if value is None or _find_experts(choice) is None:
        return
    options = {name: value}
    without: dict[str, dict[str, object]] = {"capacity_factor": {"padded": False}, "per_node": {"max_nodes": 0}}
    if not value:
        options |= without.get(name, {})
    split = as_split(cs.train.parse_strategy(choice.split)).with_options(**options)
    remember(PAGE, replace(choice, split=split.label))
    forget("split_split")


def _draw_headline(split: SplitView) -> None:
    row, memory = split.figures, split.document["memory"]
    parts = {name: f"{100 * row[name] / row['time']:.1f}" for name in ("computing", "exposed", "bubble")}
    shares = {name: f"{share} %" for name, share in parts.items()}
    waits = choose_text(split.waits)
    if waits:
        waits = f"{waits[:1].upper()}{waits[1:]}{t('split.end')}"
    of = ""
    if memory["room"]:
        of = t("split.of", memory=format_decimal_bytes(memory["room"]))
    draw_headline(
        format_quantity(t("train.time"), format_time(row["time"]), t("split.samples", count=f"{row['batch']:,}")),
        format_figure("MFU", f"{100 * row['mfu']:.1f} ", "%", t("split.mfu")),
        format_figure(t("split.bubble"), f"{parts['bubble']} ", "%", t("split.bubble.note")),
        format_quantity(t("train.memory"), format_decimal_bytes(memory["total"]), of),
        format_verdict(
            t("split.head", **shares),
            *filter(None, (waits, choose_text(split.experts), t("split.rest", **shares))),
            name=t("train.why"),
        ),
    )


def _draw_card(
    choice: SplitChoice, step: SplitView | None, table: dict[str, object] | None, now: dict[str, object] | None
) -> None:
    opened = -1
    if table is not None:
        opened = find_open_row(choice, table)
    # A click comes back as the number of a row, which only the table that was drawn can tell.
    st.session_state["split_table"] = table
    document = step.document if step is not None else None
    data = {"id": repr(choice), "step": document, "table": table, "open": opened, "now": now}
    mount_bundle("splits", "split", data, on_act_change=_on_act)


def find_open_row(choice: SplitChoice, table: dict[str, Any]) -> int:
    """Which row of a search is open; -1 for none.

    Args:
        choice: What is chosen on the page Split.
        table: A search as columns, as `build_splits_table` makes it.
    """
    rows = zip(table["parallel"], table["micro_batch"], table["recompute"], strict=True)
    selected = choice.split, choice.micro, choice.recompute
    return next((k for k, row in enumerate(rows) if tuple(row) == selected), -1)


def _on_act() -> None:
    """A dot or a row was clicked: that split is opened."""
    act, table = (st.session_state.get("split") or {}).get("act"), st.session_state.get("split_table")
    row = None
    if isinstance(act, dict):
        row = act.get("row")
    if table is None or not isinstance(row, int) or not 0 <= row < len(table["parallel"]):
        return
    chosen = {"split": table["parallel"][row], "micro": table["micro_batch"][row], "recompute": table["recompute"][row]}
    change_remembered(PAGE, **chosen)
    forget("split_split", "split_micro", "split_recompute")


# ---- the same as code ----------------------------------------------------------------------------------------------


def build_script(choice: SplitChoice) -> str:
    """Python that prints the figures of the open split, and the search.

    Args:
        choice: What is chosen on the page Split.
    """
    memory = ""
    if choice.memory:
        memory = f", memory={choice.memory!r}"
    return (
        "import collsim as cs\n\n"
        f"m = cs.machine({choice.machine!r}, nodes={choice.nodes})\n"
        f"way = cs.train.parse_strategy({choice.split!r})\n"
        f"t = cs.training_step({choice.model!r}, m, parallel=way, batch={choice.batch}, micro_batch={choice.micro},\n"
        f"                     dtype='bfloat16', recompute={choice.recompute!r}{memory})\n"
        "print(t)\nprint(t.count_crossing_bytes())\n"
        f"print(cs.best_parallel({choice.model!r}, m, batch={choice.batch}{memory}, top={searched.TOP}))\n"
    )


def build_command(choice: SplitChoice) -> str:
    """The commands that print the same.

    Args:
        choice: What is chosen on the page Split.
    """
    names = ("machine", "nodes", "batch", "memory")
    where = list_option_words({name: getattr(choice, name) for name in names})
    how = {"micro_batch": choice.micro, "dtype": "bfloat16", "recompute": choice.recompute, "parallel": choice.split}
    step = join_words(["collsim", "train", choice.model, *where, *list_option_words(how)])
    return "\n".join((step, join_words(["collsim", "train-search", choice.model, *where])))


def build_megatron_options(choice: SplitChoice) -> str:
    """The command line of Megatron-LM that splits so.

    Args:
        choice: What is chosen on the page Split.

    Raises:
        CollsimError: Megatron-LM has no options for such a split.
    """
    from collsim.train.parallel.megatron_command import build_megatron_command

    gpus = cs.machine(choice.machine).ranks
    return build_megatron_command(
        choice.split, cs.model(choice.model), choice.batch, choice.micro, choice.recompute, choice.nodes, gpus
    )
