"""A thousand GPUs: where the groups of a split stand, what they send, and every legal split as a map and a table."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

import collsim as cs
from collsim.train.workload.transformer import RECOMPUTE
from collsim.units import format_time, parse_bytes
from collsim.viz.sentences.words import format_decimal_bytes
from collsim.viz.splits.places import build_splits_source

from ...scenario.mistakes import sentence
from ...scenario.snippets import quoted
from ...shell import codebox
from ...shell.address import leave, remember, remembered
from ...shell.codebox import CodePart
from ...shell.controls import choose, forget, number, place_label, quantity
from ...shell.notes import complain, figure, headline, mistake, quantity_figure, small, title, verdict
from ...shell.page import page
from ...shell.player import look
from ...shell.results import latest
from ...shell.session import language, session, t
from ..train.tabs import tabs
from . import searched
from .searched import ADDRESS, SplitChoice, SplitShown, expected, expected_search

PAGE = "split"


@page(PAGE, 17, address=ADDRESS, listed=False)
def draw() -> None:
    """Draw the page: tabs and controls in rows, figures of the split that is open, map and table."""
    choice: SplitChoice = remembered(PAGE)
    st.html(title(t("page.split"), t("split.below")))
    tabs(PAGE)
    choice = _where(choice)
    choice = _open(choice)
    leave(choice)
    complain(session().complaints)
    made = latest(searched.shown, choice, expected=expected, compiled=False)
    asked = (choice.model, choice.machine, choice.nodes, choice.batch, choice.memory)
    table = latest(searched.searched, *asked, expected=expected_search, compiled=False)
    step = None if made is None else made[0]
    now = searched.opened_row(choice, made[0]) if made is not None and made[1] == (choice,) else None
    if step is not None:
        if step.trouble is not None:
            mistake(t("split.over", why=sentence(step.trouble, language())))
        _headline(step)
    _card(choice, step, table[0] if table is not None and table[1] == asked else None, now)
    with st.expander(t("code.title")):
        codebox.draw(
            [CodePart(t("python"), script(choice), "python"), *(codebox.torch_of_step(step.torch) if step else [])],
            [CodePart(t("cli"), command(choice)), codebox.megatron(partial(megatron, choice))],
        )


def _where(choice: SplitChoice) -> SplitChoice:
    """What is trained, on how many nodes of what."""
    row = st.columns([1.3, 1.5, 1, 1, 1], vertical_alignment="bottom", gap="small")
    with row[0]:
        model = choose("split_model", t("train.model"), {name: name for name in searched.list_models()}, choice.model)
    with row[1]:
        machines = {name: place_label(name) for name in cs.topology.machines()}
        machine = choose("split_machine", t("place"), machines, choice.machine)
    with row[2]:
        counts = {n: str(n) for n in sorted({*searched.NODES, choice.nodes})}
        nodes = choose("split_nodes", t("nodes"), counts, choice.nodes)
    with row[3]:
        batches = {n: f"{n:,}" for n in sorted({*searched.BATCHES, choice.batch})}
        batch = choose("split_batch", t("split.batch"), batches, choice.batch)
    with row[4]:
        memory = _memory(choice.memory)
    return replace(choice, model=model, machine=machine, nodes=nodes, batch=batch, memory=memory)


def _memory(current: str) -> str:
    """Bytes of a GPU, or its own."""
    own = t("split.memory.own")
    sizes, read = [own, "16GB", "24GB", "40GB", "80GB", "141GB"], partial(_bytes_or, own)
    made = quantity("split_memory", sizes, current or own, t("split.memory"), read)
    return "" if made == own else made


def _bytes_or(own: str, text: str) -> str:
    """What was typed, if it is a number of bytes above 0, else `own`."""
    return text if text == own or parse_bytes(text, "memory") else own


def _open(choice: SplitChoice) -> SplitChoice:
    """The split that is open, as a person writes it."""
    row = st.columns([4, 1, 1], vertical_alignment="bottom", gap="small")
    with row[0]:
        read = next(word for word in ADDRESS.words if word.name == "split").read
        split = quantity("split_split", [choice.split], choice.split, t("split.split"), read)
    with row[1]:
        micro = number("split_micro", choice.micro, 1, searched.MOST_MICRO, t("split.micro"))
    with row[2]:
        words = {name: name for name in RECOMPUTE}
        recompute = choose("split_recompute", t("split.recompute"), words, choice.recompute)
    return replace(choice, split=split, micro=micro, recompute=recompute)


def _headline(made: SplitShown) -> None:
    row, memory = made.figures, made.document["memory"]
    parts = {name: f"{100 * row[name] / row['time']:.1f}" for name in ("computing", "exposed", "bubble")}
    shares = {name: f"{share} %" for name, share in parts.items()}
    waits = made.waits[language() == "zh"]
    waits = f"{waits[:1].upper()}{waits[1:]}{t('split.end')}" if waits else ""
    of = t("split.of", room=format_decimal_bytes(memory["room"])) if memory["room"] else ""
    headline(
        quantity_figure(
            small(t("train.time")), format_time(row["time"]), t("split.samples", count=f"{row['batch']:,}")
        ),
        figure(small("MFU"), f"{100 * row['mfu']:.1f} ", "%", t("split.mfu")),
        figure(small(t("split.bubble")), f"{parts['bubble']} ", "%", t("split.bubble.note")),
        quantity_figure(small(t("train.memory")), format_decimal_bytes(memory["total"]), of),
        verdict(
            t("split.head", **shares), *filter(None, (waits, t("split.rest", **shares))), name=small(t("train.why"))
        ),
    )


def _card(
    choice: SplitChoice, step: SplitShown | None, table: dict[str, Any] | None, now: dict[str, Any] | None
) -> None:
    opened = -1 if table is None else place_of(choice, table)
    st.session_state["split_table"] = table
    data = {
        "id": repr(choice),
        "step": step.document if step is not None else None,
        "table": table,
        "open": opened,
        "now": now,
        **look(),
    }
    mount = st.components.v2.component("collsim_split", js=build_splits_source())
    mount(key="split", data=data, on_act_change=_acted)


def place_of(choice: SplitChoice, table: dict[str, Any]) -> int:
    """Which row of a search is open; -1 for none."""
    rows = zip(table["parallel"], table["micro_batch"], table["recompute"], strict=True)
    wanted = choice.split, choice.micro, choice.recompute
    return next((k for k, row in enumerate(rows) if tuple(row) == wanted), -1)


def _acted() -> None:
    """A dot or a row was clicked: that split is opened."""
    act, table = (st.session_state.get("split") or {}).get("act"), st.session_state.get("split_table")
    row = act.get("row") if isinstance(act, dict) else None
    if table is None or not isinstance(row, int) or not 0 <= row < len(table["parallel"]):
        return
    chosen = {"split": table["parallel"][row], "micro": table["micro_batch"][row], "recompute": table["recompute"][row]}
    remember(PAGE, replace(remembered(PAGE), **chosen))
    forget("split_split", "split_micro", "split_recompute")


# ---- the same as code ----------------------------------------------------------------------------------------------


def script(choice: SplitChoice) -> str:
    """Python that prints the figures of the open split, and the search."""
    memory = f", memory={choice.memory!r}" if choice.memory else ""
    return (
        "import collsim as cs\n\n"
        f"m = cs.machine({choice.machine!r}, nodes={choice.nodes})\n"
        f"way = cs.train.parse_strategy({choice.split!r})\n"
        f"t = cs.training_step({choice.model!r}, m, parallel=way, batch={choice.batch}, micro_batch={choice.micro},\n"
        f"                     dtype='bfloat16', recompute={choice.recompute!r}{memory})\n"
        "print(t)\nprint(t.count_crossing_bytes())\n"
        f"print(cs.best_parallel({choice.model!r}, m, batch={choice.batch}{memory}, top={searched.TOP}))\n"
    )


def command(choice: SplitChoice) -> str:
    """The commands that print the same."""
    place = ["--machine", choice.machine, "--nodes", str(choice.nodes), "--batch", str(choice.batch)]
    place += ["--memory", choice.memory] if choice.memory else []
    one = ["collsim", "train", choice.model, *place, "--micro-batch", str(choice.micro), "--dtype", "bfloat16"]
    one += ["--recompute", choice.recompute, "--parallel", choice.split]
    every = ["collsim", "train-search", choice.model, *place]
    return "\n".join(" ".join(map(quoted, words)) for words in (one, every))


def megatron(choice: SplitChoice) -> str:
    """The command line of Megatron-LM that splits so. Raises CollsimError for what it has not."""
    from collsim.train.parallel.megatron_command import build_megatron_command as line

    gpus = cs.machine(choice.machine).ranks
    return line(choice.split, cs.model(choice.model), choice.batch, choice.micro, choice.recompute, choice.nodes, gpus)
